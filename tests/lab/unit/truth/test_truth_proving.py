"""Verdicts of truth experiments are verified, and so are changes that cannot help."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.truth import Catalog, CellKind, load_catalog, roles_of
from lab.truth.figures import figures_of_proofs
from lab.truth.grade import grade
from lab.truth.output.page import as_json, markdown
from lab.truth.proving import LOOKS, Claim, Progress, claims_of, plan_proving
from tests.lab.unit.truth.explained_doses import HELD_OUT, explained, paced, plan_of, together, written
from whyperf.explain.causes import Cause
from whyperf.explain.model import Change, Verdict
from whyperf.plan import Plan, build
from whyperf.profile import Design, Level, Profile, Sweep

CATALOG = f"""{paced(1, 2, 3)}{HELD_OUT}
tried = [
  {{ dose = 1, wrong = {{ no_delay = true }}, why = "Segments are full." }},
  {{ dose = 2, wrong = {{ no_delay = true }}, why = "Segments are full." }},
  {{ dose = 4, wrong = {{ no_delay = true }}, why = "Segments are full." }},
]
"""
RIGHT: dict[str, Level] = {"pacing_rate_bps": "default"}


def verdict(cause: Cause, factors: dict[str, Level], gain: float | None = 8.0) -> Verdict:
    return Verdict(
        cause=cause, claim="It is.", confidence="high", evidence=[], refuted_by="",
        change=Change(factors=factors, by_hand="Do."), predicted_gain=gain,
    )  # fmt: skip


def claims_from(folder: Path, *verdicts: list[Verdict]) -> tuple[Catalog, list[Claim]]:
    """The claims of the doses 1, 2 and 4, whose cells have these verdicts; each lowers the rate to 10 %."""
    catalog, plan, cell_of = plan_of(folder, CATALOG)
    rates = {cell.id: 1e6 for cell in plan.cells} | {cell_of["paced-baseline"]: 1e7}
    cells = [
        explained(cell_of[f"paced-dose{dose}"], given, trial=None)
        for dose, given in zip((1, 2, 4), verdicts, strict=True)
    ]
    explanation = together(cells)
    return catalog, claims_of(catalog, grade(catalog, plan, rates, explanation), explanation)


@pytest.fixture
def tried(tmp_path: Path) -> tuple[Catalog, list[Claim]]:
    """A correct second verdict, a verdict whose change is made by hand, and no correct verdict."""
    right = [verdict(Cause.BOTTLENECK, {"no_delay": True}), verdict(Cause.PACING_RATE, RIGHT)]
    return claims_from(tmp_path, right, [verdict(Cause.PACING_RATE, {})], [verdict(Cause.BOTTLENECK, RIGHT)])


def planned(tried: tuple[Catalog, list[Claim]]) -> Plan:
    found = plan_proving(*tried, seed=3)
    assert found is not None
    return found[1]


def run(
    tried: tuple[Catalog, list[Claim]], gains: dict[str, Callable[[int], float | None]]
) -> tuple[Progress, list[str]]:
    """Measures the trials that are needed, with these gains by side and block; returns their names."""
    plan = planned(tried)
    sweep_of = {cell.id: cell.sweep for cell in plan.cells}
    rates: dict[str, float | None] = {}
    progress = Progress(plan, tried[1], rates.get, plan.trials())
    for trial in plan.trials():
        if progress.is_needed(trial):
            side = sweep_of[trial.cell].rpartition("-")[2]
            gain = gains[side](trial.block) if side in gains else 1.0
            rates[trial.id] = None if gain is None else 100.0 * gain
            progress.on_measured(trial.id)
    return progress, list(rates)


def test_the_first_correct_verdict_is_verified_and_an_obstacle_is_reported(tried: tuple[Catalog, list[Claim]]) -> None:
    found = [(claim.role.dose, claim.right, claim.obstacle) for claim in tried[1]]
    assert found == [(1, RIGHT, ""), (2, {}, "its change can only be made by hand"), (4, {}, "no verdict is correct")]


def test_a_block_has_the_dose_and_both_changes(tried: tuple[Catalog, list[Claim]]) -> None:
    plan = planned(tried)
    cells = {cell.sweep: cell.factors for cell in plan.cells}
    assert list(cells) == ["paced-dose1-original", "paced-dose1-right", "paced-dose1-wrong"]
    original = cells["paced-dose1-original"]
    assert original["pacing_rate_bps"] == 1_000_000
    assert cells["paced-dose1-right"] == original | RIGHT
    assert cells["paced-dose1-wrong"] == original | {"no_delay": True}
    assert len(plan.blocks) == LOOKS.most
    assert {frozenset(block) for block in plan.blocks} == {frozenset(cell.id for cell in plan.cells)}
    assert planned(tried).id == plan.id


def test_a_decided_side_is_not_measured_again(tried: tuple[Catalog, list[Claim]]) -> None:
    noise = (0.5, 2.6, 0.6, 2.9, 0.7, 2.2)
    progress, measured = run(tried, {"right": lambda _: 8.0, "wrong": lambda block: noise[block % 6]})
    sweep_of = {cell.id: cell.sweep for cell in planned(tried).cells}
    counts: dict[str, int] = {}
    for trial in measured:
        side = sweep_of[trial.partition("-")[2]].rpartition("-")[2]
        counts[side] = counts.get(side, 0) + 1
    assert counts["right"] == LOOKS.first
    assert counts["original"] == counts["wrong"] > LOOKS.first
    first, *others = progress.proofs()
    assert first.right is not None
    assert first.right.outcome == "confirmed"
    assert first.error == pytest.approx(0.0)
    assert [proof.right for proof in others] == [None, None]


def test_a_trial_without_a_result_is_no_pair(tried: tuple[Catalog, list[Claim]]) -> None:
    progress, _ = run(tried, {"right": lambda block: None if block == 2 else 8.0, "wrong": lambda _: 1.0})
    proof = progress.proofs()[0]
    assert proof.right is not None
    assert proof.wrong is not None
    assert (proof.right.outcome, proof.right.pairs) == ("confirmed", 8)
    assert (proof.wrong.outcome, proof.wrong.pairs) == ("refuted", 6)


def test_the_figures_count_the_verified_claims(tried: tuple[Catalog, list[Claim]]) -> None:
    progress, _ = run(tried, {"right": lambda _: 9.0, "wrong": lambda _: 9.0})
    proofs = progress.proofs()
    found = {figure.key: figure for figure in figures_of_proofs(proofs)}
    assert (found["confirmed"].ratio, found["confirmed"].of, found["confirmed"].holds) == (1.0, 1, True)
    assert (found["refuted"].ratio, found["refuted"].of, found["refuted"].holds) == (0.0, 1, False)
    assert found["gain_error"].ratio == pytest.approx(1 / 9)
    assert found["gain_error"].holds
    page = markdown([], ["here"], proofs)
    assert "| median error of the predicted gain | 11.1% (of 1) | at most 20% | yes |" in page
    assert "| paced: pacing_rate_bps 1000000 | `pacing_rate`: pacing_rate_bps = default | 8.00 |" in page
    assert "| paced: pacing_rate_bps 2000000 | its change can only be made by hand | - |" in page
    document = as_json([], {}, proofs)
    assert isinstance(document["proofs"], list)
    assert [proof["obstacle"] for proof in document["proofs"]] == [claim.obstacle for claim in tried[1]]


def test_without_verified_claims_there_are_no_figures() -> None:
    assert figures_of_proofs([]) == []
    assert "Verified changes" not in markdown([], ["here"])


def test_the_shipped_catalog_tries_enough_and_every_wrong_change_can_be_planned() -> None:
    catalog = load_catalog()
    tried = [(entry, dose) for entry in catalog.entry for dose in entry.tried]
    assert len(tried) >= 18
    assert len({entry.causes[0] for entry, _ in tried}) >= 16
    role_of = {(role.of, role.dose): role for role in roles_of(catalog) if role.kind is CellKind.DOSE}
    sweeps = []
    for entry, dose in tried:
        role = role_of[entry.name, dose.dose]
        assert not set(dose.wrong) & set(role.own), "a wrong change leaves the injected cause"
        sweeps.append(Sweep(role.sweep, role.factors | dose.wrong, {}, 1, (), 0))
    profile = Profile(
        name="wrong", where="here", text="", about="Wrong.", seed=1, kind="veth", fixed={}, design=Design(trials=1),
        sweeps=tuple(sweeps), workloads=catalog.workloads,
    )  # fmt: skip
    for cell, (_, dose) in zip(build(profile).cells, tried, strict=True):
        assert cell.factors.items() >= dose.wrong.items()


def test_a_missing_dose_cannot_be_tried(tmp_path: Path) -> None:
    path = written(tmp_path, CATALOG.replace("dose = 4", "dose = 5"))
    with pytest.raises(Exception, match="tried names a dose by its number"):
        load_catalog(path)
