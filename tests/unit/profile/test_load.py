"""Profiles as people write them, right and wrong."""
# ruff: noqa: E501 - a case is a line.

from pathlib import Path

import pytest

from tests.unit.profile.given import parts
from whyperf.plan import MODEL, build
from whyperf.profile import ProfileError, find, load, parse, shipped_names
from whyperf.profile.errors import repeated

GOOD = """
about = "A question."
[fixed]
mtu_bytes = 9188
read_size_bytes = "=write_size_bytes"
[design]
trials = 3
[[sweep]]
name = "throughput"
[sweep.fixed]
transfer_bytes = 1048576
[sweep.factors]
window_bytes = [4096, 8192]
write_size_bytes = { from = 512, to = 1024, step = 512 }
"""


def test_a_byte_order_mark_is_no_part_of_the_profile(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD, encoding="utf-8-sig")
    assert load(tmp_path / "good.toml").text == GOOD


def test_a_good_profile_is_read_as_written() -> None:
    profile = parse(GOOD, name="good", where="good.toml")
    assert profile.seed == 1995
    assert profile.design.trials == 3
    assert profile.sweeps[0].levels == {"window_bytes": (4096, 8192), "write_size_bytes": (512, 1024)}


#: What of `GOOD` is replaced | by what | what is said behind the file's name.
MISTAKES = r"""
about = "A question." | about = 5 | about: 5 does not fit: input should be a valid string
about = "A question." | seed = -1 | seed: -1 does not fit: input should be greater than or equal to 0
[design] | [desing] | desing: there is no such key; did you mean design?
trials = 3 | trials = 3\n[fleet]\nvia = "sh -c id {host}" | fleet.via: a profile names a kind of pipe (ssh, kubectl, podman
trials = 3 | trials = 0 | design.trials: 0 does not fit
trials = 3 | trials = 3\ntrials_max = 5 | design: give trials, or trials_min, trials_max and interval_width, not both
trials = 3 | trials_max = 5 | design: a stop rule needs trials_max and interval_width
trials = 3 | trials_min = 5\ntrials_max = 3\ninterval_width = 0.1 | design: trials_max is below trials_min; swap them
trials = 3 | trials_max = 2\ninterval_width = 0.1 | design.trials_max: 2 does not fit
trials = 3 | trials_max = 3\ninterval_width = 0 | design.interval_width: 0 does not fit
trials = 3 | log_trials = 100 | design.log_trials: 100 does not fit
trials = 3 | trials =  | this is not valid TOML: Invalid value (at line 7
mtu_bytes = 9188 | mtu_bytes = [1500, 9188] | fixed.mtu_bytes: one level belongs here
mtu_bytes = 9188 | mtu_bytes = 12 | fixed.mtu_bytes: invalid value 12; give
"=write_size_bytes" | "=write_size" | fixed.read_size_bytes: "=write_size" names no factor; did
[fixed] | [testbed]\nkind = "loopback"\n[fixed] | fixed.mtu_bytes: loopback has no such setting; take testbed kind "veth"
[4096, 8192] | [4096, 4096] | sweep.throughput.factors.window_bytes: level 4096 is there twice; drop one
[[sweep]] | [[sweep]]\nname = "cpu"\n[[sweep]] | sweep.cpu: the sweep is empty; give it factors or fixed
[[sweep]] | [[sweep]]\nname = "throughput"\nfixed.no_delay = true\n[[sweep]] | sweep.throughput: two sweeps have this name
name = "throughput" | name = "Through put" | sweep.Through put.name: a name has small letters, digits and "-" inside only
name = "throughput" | exclude = [{}] | sweep.main.exclude: an empty combination would leave out every cell; remove it
name = "throughput" | exclude = [{ no_delay = 3 }] | sweep.1.exclude.no_delay: invalid value 3
name = "throughput" | trials = 0 | sweep.1.trials: 0 does not fit
transfer_bytes = 1048576 | window_bytes = 5 | sweep.throughput.factors.window_bytes: the sweep fixes this factor too
[[sweep]] | fixed = 3\n[[sweep]] | design.fixed: there is no such key
[[sweep]] | [sweep.a] | sweep: sweeps are a list; write [[sweep]] with name
"""


@pytest.mark.parametrize(("before", "after", "says"), parts(MISTAKES))
def test_a_mistake_is_said_with_file_key_and_remedy(before: str, after: str, says: str) -> None:
    assert GOOD.count(before) == 1
    with pytest.raises(ProfileError) as caught:
        parse(GOOD.replace(before, after.replace("\\n", "\n")), name="x", where="x.toml")
    assert str(caught.value).startswith(f"x.toml: {says}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("design", "most", "least"),
    [
        ("", 1, None),
        ("trials = 100000", 100_000, None),
        ("trials_max = 9\ninterval_width = 10", 9, 3),
        ("trials_min = 5\ntrials_max = 9\ninterval_width = 0.1", 9, 5),
    ],
)
def test_how_many_trials_a_design_has(design: str, most: int, least: int | None) -> None:
    found = parse(f"[design]\n{design}\n", name="x", where="x").design
    assert found.most_trials == most
    assert least is None or (found.trials, found.trials_min) == (None, least)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("mtu_bytes = 9188", "mtu_bytes = 9188\nduration_s = 5", "duration_s: transfer_bytes ends the trial by bytes"),
        ("transfer_bytes = 1048576", "write_size_bytes = 8192", "write_size_bytes: the sweep fixes"),
    ],
)
def test_factors_that_contradict_each_other_are_refused(before: str, after: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        build(parse(GOOD.replace(before, after), name="x", where="x.toml"))
    assert says in str(caught.value)
    assert str(caught.value).startswith("x.toml: sweep.throughput")


def test_all_mistakes_of_a_file_are_said_at_once() -> None:
    wrong = GOOD.replace("trials = 3", "trails = 3").replace("mtu_bytes = 9188", 'mtu = 9188\nduration_s = "5 parsecs"')
    wrong = wrong.replace("[4096, 8192]", "[0, 8192]") + "exclude = [{ no_delay = 7 }]\n"
    with pytest.raises(ProfileError) as caught:
        parse(wrong.replace("exclude", "[[sweep]]\nname = 'b'\nexclude"), name="x", where="x.toml")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "design.trails",
        "fixed.mtu",
        "fixed.duration_s",
        "sweep.throughput.factors.window_bytes",
        "sweep.b.exclude.no_delay",
    ]
    assert all(line.startswith("x.toml: ") for line in lines)
    assert "x.toml: design.trails: there is no such key; did you mean trials?" in lines


def test_what_a_profile_carries_is_checked_with_the_rest() -> None:
    text = """
        [fixed]
        mtu = 9000
        [workload]
        metrc = "goodput"
        defaults = { window_bytes = "9Q", bogus = 1 }
        [[workload.group]]
        usrs = 3
        [schedule]
        name = "own"
        flows = 1
    """
    with pytest.raises(ProfileError) as caught:
        parse(text, name="x", where="x.toml")
    keys = [line.split(": ")[1] for line in str(caught.value).splitlines()]
    assert keys == ["fixed.mtu", "workload.group.1.usrs", "workload.metrc", "schedule.flows"]


def test_a_sweep_without_a_name_is_main() -> None:
    profile = parse('[[sweep]]\n[sweep.factors]\nwindow_bytes = ["64K", "1M"]\n', name="x", where="x.toml")
    assert [sweep.name for sweep in profile.sweeps] == ["main"]
    twice = "[[sweep]]\n[sweep.fixed]\nwindow_bytes = 65536\n" * 2
    with pytest.raises(
        ProfileError, match=r"sweep\.main: two sweeps have this name; rename one \(a sweep without a name"
    ):
        parse(twice, name="x", where="x.toml")


class Name(str):
    """A name that is compared with no other."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if str(self) != str(other):
            pytest.fail("two names are compared")
        return True


def test_a_name_that_is_there_twice_is_found_without_comparing_each_with_each() -> None:
    assert repeated([]) is repeated(Name(number) for number in range(1000)) is None
    assert repeated(map(Name, "abcdcb")) == "b"


#: Profiles that ask how something depends on the path, or on settings that only the testbed has.
OF_THE_TESTBED = {
    *("wan-transports", "rules-cost", "stack-overheads", "control-fairness", "ecn-bbr", "offload-cost"),
    *("reno-recovery", "small-queue-fast", "copy-steps-live", "packet-steering"),
}


def test_all_shipped_profiles_can_be_planned_on_every_target() -> None:
    assert {"quick", "window-sweep", "read-size", "stop-and-go", "socket-buffer", "demo"} <= set(shipped_names())
    for name in shipped_names():
        if find(name).is_of_model:
            assert build(find(name), target=MODEL).trials_count > 0
            continue
        assert build(find(name)).trials_count > 0
        for target in ("loopback", "host7"):
            if name in OF_THE_TESTBED:
                with pytest.raises(ProfileError, match=r"has no such setting|cannot vary it|cannot be emulated"):
                    build(find(name), target=target)
            else:
                assert build(find(name), target=target).trials_count > 0


def test_window_sweep_is_the_first_study() -> None:
    plan = build(find("window-sweep"))
    throughput = [cell for cell in plan.cells if cell.sweep == "throughput"]
    assert len(throughput) == 7 * 64
    assert {cell.factors["window_bytes"] for cell in throughput} == {4096, 8192, 16384, 24576, 32768, 40960, 52428}
    assert all(cell.factors["read_size_bytes"] == cell.factors["write_size_bytes"] for cell in plan.cells)
    assert all(cell.factors["transfer_bytes"] == 16 * 2**20 for cell in throughput)
    assert len(plan.blocks) == 25
    assert len(plan.blocks[0]) == 7 * 64 + 7
    assert len(plan.blocks[5]) == 7 * 64
