"""The catalog of truth experiments fits together, and becomes a plan."""

from pathlib import Path

import pytest

from lab.truth import CellKind, load_catalog, plan_truth, roles_of
from tests.lab.unit.truth.explained_doses import HELD_OUT, paced, written
from whyperf.explain.causes import Cause
from whyperf.profile import ProfileError

SHORT = paced(1, 2) + HELD_OUT + "short = 2\n"


def test_the_shipped_catalog_has_what_it_should() -> None:
    catalog = load_catalog()
    assert len({entry.causes[0] for entry in catalog.entry}) >= 20
    assert len(catalog.pair) >= 10
    assert len(catalog.undisturbed) + len(catalog.baseline) >= 20
    # A run without a cause may name the capacity.
    for run in (*catalog.baseline.values(), *catalog.undisturbed):
        assert Cause.CAPACITY in run.limits


def test_every_cell_of_the_shipped_catalog_can_be_planned() -> None:
    catalog = load_catalog()
    _, plan = plan_truth(catalog)
    assert [cell.sweep for cell in plan.cells] == [role.sweep for role in roles_of(catalog)]
    _, short = plan_truth(catalog, short=True)
    assert 0 < short.trials_count < plan.trials_count / 5


def test_a_dose_is_measured_next_to_its_own_baseline(tmp_path: Path) -> None:
    catalog = load_catalog(written(tmp_path, SHORT))
    _, plan = plan_truth(catalog, trials=3)
    sweep_of = {cell.id: cell.sweep for cell in plan.cells}
    blocks = [{sweep_of[cell] for cell in block} for block in plan.blocks]
    together = {"paced-baseline", "paced-dose1", "paced-dose2", "paced-dose3"}
    assert blocks.count(together) == 3
    assert blocks.count({"veth-undisturbed"}) == 1
    # Only what is explained carries the log.
    logged = [sweep_of[cell] for block in plan.log_blocks for cell in block]
    assert sorted(logged) == ["paced-dose1", "paced-dose2", "paced-dose3", "veth-undisturbed"]


def test_a_held_out_dose_comes_behind_the_others(tmp_path: Path) -> None:
    roles = roles_of(load_catalog(written(tmp_path, SHORT)))
    doses = [role for role in roles if role.kind is CellKind.DOSE]
    assert [(role.dose, role.held_out) for role in doses] == [(1, False), (2, False), (3, True)]
    (short,) = [role for role in roles_of(load_catalog(written(tmp_path, SHORT)), short=True) if role.dose]
    assert short.own == {"pacing_rate_bps": 2_000_000}


def test_an_unknown_cause_is_refused_in_one_sentence() -> None:
    with pytest.raises(ProfileError, match=r"--only: slow_reder: there is no truth .*; did you mean slow_reader\?"):
        load_catalog().named(["slow_reder"])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('baseline = "veth"', 'baseline = "vet"', "paced: there is no baseline vet"),
        ('["pacing_rate"]', '["pacing_rate", "bottleneck"]', "needs its reason under also"),
        ("pacing_rate_bps = 1000000", "pacing_rate = 1000000", "there is no factor of this name"),
        ("short = 2", "short = 3", "the number of a dose"),
        ("short = 2", "shrt = 2", "Extra inputs"),
        ("[baseline.veth]", "[baseline.veth", "not valid TOML"),
    ],
)
def test_an_error_in_a_catalog_is_reported(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in SHORT
    with pytest.raises(ProfileError, match=problem):
        load_catalog(written(tmp_path, SHORT.replace(old, new)))
