"""Which cells of two results belong together."""

from typing import Any

from whyperf.compare.pairing import has_conditions, paired, paired_conditions
from whyperf.plan import Cell, Plan, build
from whyperf.profile import Profile, parse
from whyperf.profile.conditions import in_two_conditions

SWEEPS = """
about = "Two sweeps."
[[sweep]]
name = "windows"
[sweep.factors]
window_bytes = [4096, 8192]
[[sweep]]
name = "writes"
[sweep.factors]
write_size_bytes = [512, 1024]
"""


def cell(name: str, sweep: str = "main", **factors: Any) -> Cell:
    return Cell(id=name, sweep=sweep, factors=factors)


def profile(text: str = SWEEPS) -> Profile:
    return parse(text, name="asked", where="asked.toml")


def planned(asked: Profile) -> Plan:
    return build(asked, target="testbed")


def test_cells_are_paired_by_the_levels_of_what_either_result_varies() -> None:
    a = [cell("c0001", window_bytes=1, gso=True), cell("c0002", window_bytes=2, gso=True)]
    b = [cell("c0001", window_bytes=2, gso=False), cell("c0002", window_bytes=3, gso=False)]
    found = paired(a, b, ("window_bytes",))
    assert found.pairs == (("c0002", "c0001"),)
    assert (found.only_a, found.only_b, found.by) == (("c0001",), ("c0002",), ("window_bytes",))


def test_two_single_cells_are_a_pair_whatever_they_differ_in() -> None:
    found = paired([cell("c0007", window_bytes=1)], [cell("c0009", window_bytes=2)], ("window_bytes",))
    assert found.pairs == (("c0007", "c0009"),)


def test_sweeps_of_the_same_names_are_not_mixed() -> None:
    names = ("one", "two")
    a = [cell("c0001", "one", gso=True), cell("c0002", "two", gso=True)]
    b = [cell("c0001", "two", gso=True), cell("c0002", "one", gso=True)]
    assert {each.sweep for each in a} == set(names)
    assert paired(a, b, ("gso",)).pairs == (("c0001", "c0002"), ("c0002", "c0001"))


def test_each_cell_has_one_partner() -> None:
    a = [cell("c0001", gso=True)]
    b = [cell("c0001", gso=True), cell("c0002", gso=True)]
    found = paired(a, b, ("gso",))
    assert (found.pairs, found.only_b) == ((("c0001", "c0001"),), ("c0002",))


def test_each_cell_of_a_profile_is_planned_under_both_conditions() -> None:
    plan = planned(in_two_conditions(profile(), {"gso": True}, {"gso": False, "tso": False}))
    assert has_conditions(plan)
    sides = [[each for each in plan.cells if each.sweep.endswith(end)] for end in ("-before", "-after")]
    found = paired_conditions(sides[0], sides[1], plan.varied)
    assert len(found.pairs) == 4
    assert not found.only_a
    assert not found.only_b
    for before, after in found.pairs:
        first, second = plan.cell(before).factors, plan.cell(after).factors
        differ = {name for name in (*first, *second) if first.get(name) != second.get(name)}
        assert differ == {"gso", "tso"}
        assert (first["gso"], second["gso"]) == (True, False)
    # Both are in each block.
    assert all(len(block) == 8 for block in plan.blocks)


def test_a_plan_of_sweeps_without_conditions_has_none() -> None:
    assert not has_conditions(planned(profile()))
