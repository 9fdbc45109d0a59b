"""Plans: permutations, filters, identity."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.foreign.documents import MAX_VALUES
from whyperf.hosts import MAX_PAIRS
from whyperf.plan import Plan, PlannedFleet, build, plan_document
from whyperf.plan.plan_document import identify
from whyperf.profile import Profile, ProfileError, find, parse

WINDOWS = st.lists(st.integers(64, 1 << 20), min_size=1, max_size=5, unique=True)
SIZES = st.lists(st.sampled_from([512, 1024, 4096, 8192, 65536]), min_size=1, max_size=4, unique=True)


def sweep_of(windows: list[int], sizes: list[int], *, trials: int = 3, cpu_trials: int = 1, seed: int = 7) -> Profile:
    text = f"""
about = "A question."
seed = {seed}
[fixed]
transfer_bytes = 1048576
[design]
trials = {trials}
[[sweep]]
name = "throughput"
[sweep.factors]
window_bytes = {windows}
write_size_bytes = {sizes}
[[sweep]]
name = "cpu"
trials = {cpu_trials}
[sweep.factors]
window_bytes = {windows}
"""
    return parse(text, name="sample", where="sample.toml")


PROFILES = st.builds(
    sweep_of, WINDOWS, SIZES, trials=st.integers(1, 6), cpu_trials=st.integers(1, 8), seed=st.integers(0, 2**63 - 1)
)


@given(PROFILES)
def test_every_block_is_a_permutation_of_the_cells_that_take_part(profile: Profile) -> None:
    plan = build(profile)
    trials = {sweep.name: sweep.trials or profile.design.most_trials for sweep in profile.sweeps}
    assert len(plan.blocks) == max(trials.values())
    for number, block in enumerate(plan.blocks, start=1):
        assert Counter(block) == Counter(cell.id for cell in plan.cells if trials[cell.sweep] >= number)


@given(PROFILES)
def test_the_same_arguments_give_the_same_bytes_and_survive_the_file(profile: Profile) -> None:
    text = build(profile).to_json()
    assert build(profile).to_json() == text
    assert Plan.from_json(text, "plan.json").to_json() == text


@given(PROFILES, st.data())
def test_only_keeps_cells_and_their_order_and_invents_none(profile: Profile, data: st.DataObject) -> None:
    whole = build(profile)
    window = data.draw(st.sampled_from(sorted({int(cell.factors["window_bytes"]) for cell in whole.cells})))
    part = build(profile, only=[f"window_bytes={window}", "sweep=throughput"])
    assert set(map(str, part.cells)) <= set(map(str, whole.cells))
    assert all(cell.factors["window_bytes"] == window and cell.sweep == "throughput" for cell in part.cells)
    wanted = {cell.id for cell in part.cells}
    assert wanted == {
        cell.id for cell in whole.cells if cell.sweep == "throughput" and cell.factors["window_bytes"] == window
    }
    for ours, theirs in zip(part.blocks, whole.blocks, strict=False):
        assert list(ours) == [cell for cell in theirs if cell in wanted]


@given(PROFILES, st.integers(1, 5), st.integers(1, 5))
def test_more_trials_leave_the_first_blocks_as_they_are(profile: Profile, fewer: int, more: int) -> None:
    short = build(profile, trials=min(fewer, more))
    long = build(profile, trials=max(fewer, more))
    assert long.blocks[: len(short.blocks)] == short.blocks


def test_another_seed_gives_another_order() -> None:
    profile = sweep_of([4096, 8192, 16384], [512, 1024, 4096])
    assert build(profile, seed=1).blocks != build(profile, seed=2).blocks
    assert build(profile, seed=1).id != build(profile, seed=2).id


def test_an_order_is_kept_over_the_years() -> None:
    # Changes only when plans of the same seed change: then say so in the change log.
    assert build(sweep_of([4096, 8192], [512, 1024, 4096]), seed=1995).blocks[0] == GOLDEN_BLOCK


GOLDEN_BLOCK = ("c0004", "c0008", "c0007", "c0005", "c0006", "c0002", "c0003", "c0001")

BASE = """
about = "A question."
[design]
trials = 2
[fixed]
no_delay = true
duration_s = 5
[[sweep]]
name = "one"
[sweep.fixed]
quick_ack = true
mtu_bytes = 9188
[sweep.factors]
window_bytes = [4096, 8192]
connections = [1, 2]
"""

REORDERED = """
[fixed]
duration_s = 5.0
no_delay = true
[design]
trials = 2
[[sweep]]
factors = { connections = [1, 2], window_bytes = { from = 4096, to = 8192, times = 2 } }
fixed = { mtu_bytes = 9188, quick_ack = true }
name = "one"
"""


def plan_of(text: str, **options: object) -> Plan:
    about = "" if text.startswith("\nabout") else 'about = "Other words."\n'
    return build(parse(about + text, name="sample", where="sample.toml"), **options)  # type: ignore[arg-type]


def test_the_identifier_is_blind_to_key_order_and_words() -> None:
    assert plan_of(BASE).id == plan_of(REORDERED).id
    assert re.fullmatch("[0-9a-f]{12}", plan_of(BASE).id)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("trials = 2", "trials = 3"),
        ("trials = 2", "trials = 2\npause_ms = 5"),
        ("no_delay = true", "no_delay = false"),
        ("duration_s = 5", "duration_s = 5.5"),
        ("duration_s = 5", "duration_s = 5\ncongestion_control = 'reno'"),
        ("mtu_bytes = 9188", "mtu_bytes = 1500"),
        ("[4096, 8192]", "[4096, 8193]"),
        ("[1, 2]", "[1]"),
        ('name = "one"', 'name = "two"'),
    ],
)
def test_the_identifier_sees_what_decides_the_measurement(before: str, after: str) -> None:
    assert plan_of(BASE.replace(before, after)).id != plan_of(BASE).id


def test_the_identifier_sees_target_and_seed() -> None:
    plans = [
        plan_of(BASE),
        plan_of(BASE, target="loopback"),
        plan_of(BASE, target="host7"),
        plan_of(BASE, target="host8"),
    ]
    plans.append(plan_of(BASE, seed=1))
    assert len({plan.id for plan in plans}) == len(plans)


def test_a_changed_plan_file_is_noticed() -> None:
    text = plan_of(BASE).to_json().replace('"window_bytes": 8192', '"window_bytes": 8193')
    with pytest.raises(ProfileError, match="changed or damaged"):
        Plan.from_json(text, "plan.json")
    with pytest.raises(ProfileError, match="not a plan of version 1"):
        Plan.from_json(text[: len(text) // 2], "plan.json")
    with pytest.raises(ProfileError, match="the plan is of version 2, this is whyperf for version 1; use the whyperf"):
        Plan.from_json(text.replace('"plan_version": 1', '"plan_version": 2'), "plan.json")


FLEET = PlannedFleet(pattern="pairs", far=("far7",), via="docker")


@pytest.mark.parametrize(
    ("target", "change", "key"),
    [
        # Without a question, as kind `loopback` needs none, the agent would be run on far7 by ssh.
        ("far7", {"testbed": plan_document.Testbed(kind="loopback")}, "testbed.kind"),
        ("far7", {"testbed": plan_document.Testbed(kind="model")}, "testbed.kind"),
        ("far7", {"testbed": plan_document.Testbed(kind="watched")}, "testbed.kind"),
        ("loopback", {"testbed": plan_document.Testbed(kind="network")}, "testbed.kind"),
        ("loopback", {"fleet": FLEET}, "fleet"),
        ("testbed", {"fleet": FLEET}, "fleet"),
        ("loopback", {"near": ("near8",)}, "near"),
        ("far7", {"near": ("local",) * (MAX_PAIRS + 1)}, "near"),
        ("loopback", {"near": ()}, "near"),
        ("far7", {"fleet": FLEET, "near": ("local", "near8")}, "fleet"),
        ("far7", {"fleet": FLEET.model_copy(update={"parts": (("a",), ("b",))})}, "fleet"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(target: str, change: dict[str, object], key: str) -> None:
    plan = plan_of(BASE, target=target)
    assert Plan.from_json(plan.to_json(), "plan.json") == plan
    changed = plan.model_copy(update=change)
    with pytest.raises(ProfileError) as refused:
        Plan.from_json(changed.model_copy(update={"id": identify(changed)}).to_json(), "plan.json")
    assert refused.value.key == key
    assert str(refused.value).endswith("; copy the result whole, or measure into another folder")


@pytest.mark.parametrize("target", ["testbed", "loopback", "model"])
def test_no_far_host_of_a_fleet_is_a_place_of_this_host(target: str) -> None:
    with pytest.raises(ProfileError, match=f"^--to: {target} names a place of this host"):
        plan_of(BASE, target=target, fleet=FLEET)


def test_a_plan_has_no_more_pairs_than_can_be_read_again() -> None:
    most = plan_of(BASE, target="far7", near=("local",) * MAX_PAIRS)
    assert Plan.from_json(most.to_json(), "plan.json") == most
    with pytest.raises(ProfileError, match=r"^--from: it has 4,097 hosts, and a run takes up to 4,096; name fewer$"):
        plan_of(BASE, target="far7", near=("local",) * (MAX_PAIRS + 1))


def test_a_plan_of_many_values_is_refused_before_it_takes_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    text = plan_of(BASE).to_json()
    text = text.replace("{", '{"selection": [' + "[]," * (MAX_VALUES // 2) + "[]],", 1)
    monkeypatch.setattr(Plan, "model_validate_json", pytest.fail)
    with pytest.raises(
        ProfileError, match=r"^plan.json: this is not a plan of version 1: it has over 8,000,000 values; "
    ):
        Plan.from_json(text, "plan.json")


def test_references_are_resolved_and_cells_that_become_one_are_merged() -> None:
    text = BASE + 'write_size_bytes = [4096, "=window_bytes"]\n'
    pairs = [(cell.factors["window_bytes"], cell.factors["write_size_bytes"]) for cell in plan_of(text).cells]
    assert Counter(pairs) == {(4096, 4096): 2, (8192, 4096): 2, (8192, 8192): 2}


def test_testbed_factors_elsewhere() -> None:
    plan = plan_of(BASE, target="host7")
    assert "mtu_bytes" not in plan.cells[0].factors
    assert plan.warnings == ("The profile's mtu_bytes = 9188 is left out: the path to host7 has no such setting.",)


@pytest.mark.parametrize(
    ("key", "value"), [("id", "x" * 3000), ("id", "\x1b[2J"), ("plan_version", ["x" * 3000]), ("x" * 3000, 1)]
)
def test_a_damaged_plan_is_a_short_sentence(key: str, value: object) -> None:
    written = json.loads(build(find("quick")).to_json())
    with pytest.raises(ProfileError) as refused:
        Plan.from_json(json.dumps(written | {key: value}), "plan.json")
    assert len(str(refused.value)) < 500
    assert str(refused.value).isprintable()


def test_a_plan_has_no_number_that_is_none() -> None:
    written = build(find("quick")).to_json()
    changed = re.sub(r'"duration_s": [0-9.]+', '"duration_s": NaN', written)
    assert changed != written
    with pytest.raises(ProfileError, match=r"factors\.duration_s"):
        Plan.from_json(changed, "plan.json")
