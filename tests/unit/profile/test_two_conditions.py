"""A profile under two conditions."""

from pathlib import Path

import pytest

from whyperf.plan import build
from whyperf.profile import ProfileError, find, load_workload, parse
from whyperf.profile.conditions import MIN_TRIALS, in_two_conditions

LONG = "a-name-of-forty-characters-that-is-taken"


def sweeps(*names: str, more: str = "") -> str:
    text = "".join(
        f'[[sweep]]\nname = "{name}"\n[sweep.fixed]\nmss_bytes = {1000 + place}\n' for place, name in enumerate(names)
    )
    return f'about = "Something."\n{more}\n{text}'


def test_conditions_must_differ() -> None:
    for same in ({}, {"gso": True}):
        with pytest.raises(ProfileError, match="both conditions are the same"):
            in_two_conditions(find("quick"), same, dict(same))


@pytest.mark.parametrize("option", ["--set", "--against"])
def test_a_condition_has_one_level(option: str) -> None:
    given = {"--set": {"dscp": 1}, "--against": {"dscp": 2}} | {option: {"dscp": (1, 2)}}
    with pytest.raises(ProfileError, match="one level of each factor") as raised:
        in_two_conditions(find("quick"), given["--set"], given["--against"])
    assert raised.value.where == option


def test_both_conditions_have_enough_trials_for_an_interval() -> None:
    plan = build(in_two_conditions(find("quick"), {"dscp": 1}, {"dscp": 2}), target="testbed")
    assert len(plan.blocks) == MIN_TRIALS
    text = sweeps("main", more="[design]\ntrials = 9")
    plan = build(in_two_conditions(parse(text, name="p", where="p"), {"dscp": 1}, {"dscp": 2}), target="testbed")
    assert len(plan.blocks) == 9


def test_long_names_of_sweeps_stay_different() -> None:
    asked = parse(sweeps(LONG, f"{LONG[:-1]}x"), name="p", where="p")
    names = [sweep.name for sweep in in_two_conditions(asked, {"dscp": 1}, {"dscp": 2}).sweeps]
    assert len(set(names)) == 4
    assert all(len(name) <= 40 for name in names)
    assert [name.rpartition("-")[2] for name in names] == ["before", "after"] * 2


def test_what_only_one_condition_sets_is_usual_in_the_other() -> None:
    plan = build(in_two_conditions(find("quick"), {}, {"no_delay": True}), target="testbed")
    assert [cell.factors["no_delay"] for cell in plan.cells] == [False, True]


def test_the_profile_that_is_kept_says_the_same() -> None:
    made = in_two_conditions(find("quick"), {"mtu_bytes": 1500}, {"mtu_bytes": 9000})
    again = parse(made.text, name=made.name, where="kept")
    assert build(again, target="testbed").id == build(made, target="testbed").id


@pytest.mark.parametrize("is_own", [True, False])
def test_files_of_values_stand_next_to_the_profile_or_to_its_workload(tmp_path: Path, is_own: bool) -> None:
    (tmp_path / "sizes").write_text("64\n")
    group = 'group = [{ transaction = [{ steps = [{ op = "read", size = { file = "sizes" } }] }] }]\n'
    path = tmp_path / "mine.toml"
    path.write_text(f'[workload]\nname = "mine"\n{group}' if is_own else group)
    profile = find(str(path)) if is_own else find("quick").with_workload(load_workload(path))
    assert "mine" in in_two_conditions(profile, {"dscp": 1}, {"dscp": 2}).workloads
