"""The field catalog: its draw, its cells, and which of its causes are right."""

from collections import Counter
from pathlib import Path

import pytest

from lab.truth import FILES, load_catalog, plan_truth, roles_of
from lab.truth.catalog import Name
from lab.truth.situation import COMING, Ingredient, Situation, draw, helpful
from tests.lab.unit.truth.explained_doses import written
from whyperf.explain.causes import Cause
from whyperf.profile import ProfileError

TWO = """
[baseline.path]
about = "A path."
undisturbed = false
factors = { path_rtt_ms = 10, path_rate_bps = 100000000 }
[[situation]]
name = "two"
about = "A window and a shaper."
group = "combination"
half = "tuning"
baseline = "path"
factors = { connections = 2 }
ingredient = [
  { name = "window", causes = ["receive_buffer"], factors = { receive_buffer_bytes = 32768 } },
  { name = "shaper", causes = ["local_queue", "bottleneck"], also = { bottleneck = "Its rate." }, disturb = [
    { kind = "queue", host = "near", discipline = "tbf rate 50mbit burst 32kb limit 200kb" },
  ] },
]
"""


@pytest.mark.parametrize("name", ["field", "unseen"])
def test_the_halves_are_those_of_the_draw(name: Name) -> None:
    groups: dict[str, list[str]] = {}
    catalog = load_catalog(FILES[name])
    for situation in catalog.situation:
        groups.setdefault(situation.group, []).append(situation.name)
    drawn = draw(groups)
    assert {situation.name: situation.half for situation in catalog.situation} == drawn
    assert abs(2 * Counter(drawn.values())["tuning"] - len(drawn)) <= 1
    # Another seed draws other halves: the draw does not follow the order of the names.
    assert draw(groups, seed=1) != drawn


def test_the_catalog_covers_what_it_should() -> None:
    catalog = load_catalog(FILES["field"])
    assert len(catalog.situation) >= 70
    assert len({situation.group for situation in catalog.situation}) >= 14
    kinds = {found.kind for run in catalog.situation for part in run.ingredient for found in part.disturb}
    assert kinds == {"burn", "cpu_quota", "memory_limit", "pause", "firewall", "queue", "sysctl", "traffic"}
    named = {cause for run in catalog.situation for part in run.ingredient for cause in part.causes}
    assert named >= COMING - set(Cause)


def test_every_situation_can_be_planned() -> None:
    catalog = load_catalog(FILES["field"])
    for half in ("tuning", "held_out"):
        part = catalog.halved("tuning" if half == "tuning" else "held_out")
        _, plan = plan_truth(part, trials=2)
        assert [cell.sweep for cell in plan.cells] == [role.sweep for role in roles_of(part)]
        assert {role.held_out for role in roles_of(part)} == {half == "held_out"}


def test_the_further_situations_are_others_on_the_same_and_on_own_baselines() -> None:
    field, further = load_catalog(FILES["field"]), load_catalog(FILES["further"])
    _, plan = plan_truth(further, trials=2)
    assert [cell.sweep for cell in plan.cells] == [role.sweep for role in roles_of(further)]
    assert not {run.name for run in field.situation} & {run.name for run in further.situation}
    baselines = {run.baseline for run in further.situation}
    assert baselines & set(field.baseline)
    assert baselines - set(field.baseline)
    assert not any(role.held_out for role in roles_of(further))


def test_the_unseen_situations_are_in_no_other_catalog() -> None:
    unseen = load_catalog(FILES["unseen"])
    others = [load_catalog(path) for name, path in FILES.items() if name != "unseen"]
    _, plan = plan_truth(unseen, trials=2)
    assert [cell.sweep for cell in plan.cells] == [role.sweep for role in roles_of(unseen)]
    assert len(unseen.situation) + len(unseen.undisturbed) >= 72
    assert len(unseen.undisturbed) >= 8
    assert sum(len(run.ingredient) > 1 for run in unseen.situation) >= 10
    names = {run.name for run in unseen.situation} | {run.name for run in unseen.undisturbed}
    for other in others:
        known = {run.name for run in other.situation} | {run.name for run in other.undisturbed}
        assert not names & (known | {run.name for run in other.pair})
        injected = [(other.baseline[run.baseline].factors, run.factors, run.ingredient) for run in other.situation]
        for run in unseen.situation:
            assert (unseen.baseline[run.baseline].factors, run.factors, run.ingredient) not in injected
    baselines = {run.baseline for run in unseen.situation}
    assert baselines - set(load_catalog(FILES["field"]).baseline) >= {"europe", "download", "satellite", "city-v6"}


def test_a_run_without_a_cause_is_in_both_halves_of_the_unseen_situations() -> None:
    unseen = load_catalog(FILES["unseen"])
    tuning, held_out = unseen.halved("tuning"), unseen.halved("held_out")
    assert {run.name for run in tuning.situation} | {run.name for run in held_out.situation} == {
        run.name for run in unseen.situation
    }
    assert tuning.undisturbed == held_out.undisturbed == unseen.undisturbed
    # Such a run has one honest limit.
    for run in unseen.undisturbed:
        assert len(run.limits) == 1


def test_a_situation_is_measured_with_without_and_diagnosed_as_often_as_it_is_measured(tmp_path: Path) -> None:
    catalog = load_catalog(written(tmp_path, TWO))
    roles = {role.sweep: role for role in roles_of(catalog)}
    assert list(roles) == ["two-situation", "two-without1", "two-without2", "two-control"]
    base = {"path_rtt_ms": 10, "path_rate_bps": 100000000, "connections": 2}
    assert roles["two-situation"].factors == base | {"receive_buffer_bytes": 32768}
    assert len(roles["two-situation"].disturbances) == 1
    # Without the window the shaper stays, and the other way round.
    assert (roles["two-without1"].factors, len(roles["two-without1"].disturbances)) == (base, 1)
    assert (roles["two-without2"].factors, roles["two-without2"].disturbances) == (roles["two-situation"].factors, ())
    assert (roles["two-control"].factors, roles["two-control"].disturbances) == (base, ())
    _, plan = plan_truth(catalog, trials=2)
    situation = next(cell.id for cell in plan.cells if cell.sweep == "two-situation")
    assert plan.log_blocks == ((situation,), (situation,))
    assert [len(block) for block in plan.blocks] == [4, 4]


def situation(*causes: str) -> Situation:
    parts = tuple(Ingredient(name=cause, causes=(cause,), factors={"no_delay": True}) for cause in causes)
    return Situation(name="some", about="", group="any", half="tuning", baseline="any", ingredient=parts)


@pytest.mark.parametrize(
    ("without", "control", "right"),
    [
        # Both help alone; the one that helps more comes first.
        ({1: 130.0, 2: 300.0}, 400.0, ["pacing_rate", "receive_buffer"]),
        ({1: 101.0, 2: 300.0}, 400.0, ["pacing_rate"]),
        # Neither helps alone: either is right if both together help.
        ({1: 101.0, 2: 102.0}, 400.0, ["receive_buffer", "pacing_rate"]),
        ({1: 101.0, 2: 102.0}, 110.0, []),
        ({1: None, 2: 102.0}, None, []),
    ],
)
def test_only_what_helps_is_right(without: dict[int, float | None], control: float | None, right: list[str]) -> None:
    found = helpful(situation("receive_buffer", "pacing_rate"), 100.0, without, control, 0.15)
    assert [ingredient.name for ingredient in found] == right


def test_a_situation_without_a_rate_has_no_right_cause() -> None:
    assert helpful(situation("receive_buffer"), None, {1: 100.0}, None, 0.15) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('also = { bottleneck = "Its rate." }, ', "", "needs its reason under also"),
        ('["receive_buffer"]', '["recieve_buffer"]', "there is no cause recieve_buffer"),
        ('kind = "queue"', 'kind = "queues"', "does not match any of the expected tags"),
        ('baseline = "path"', 'baseline = "pat"', "two: there is no baseline pat"),
        ('half = "tuning"', 'half = "half"', "Input should be 'tuning' or 'held_out'"),
        (", factors = { receive_buffer_bytes = 32768 }", "", "window injects nothing"),
    ],
)
def test_an_error_in_a_situation_is_reported(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in TWO
    with pytest.raises(ProfileError, match=problem):
        load_catalog(written(tmp_path, TWO.replace(old, new)))
