"""Diagnoses at the levels of evidence: what is right, what is wrong, and what confidence is worth."""

from pathlib import Path

import pytest

from lab.truth import roles_of
from lab.truth.level_figures import tallies
from lab.truth.levels import Diagnosis, Explained, View, diagnoses, trials_of
from lab.truth.output.level_page import levels_json, levels_section, situations_section
from tests.lab.unit.truth.explained_doses import explained, plan_of
from tests.lab.unit.truth.test_field_catalog import TWO
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Verdict

HELPS_WINDOW = {"two-situation": 100.0, "two-without1": 200.0, "two-without2": 101.0, "two-control": 400.0}
"""Rates of which only removing the window raises that of the situation."""


def verdict(cause: str, confidence: str = "high") -> Verdict:
    return Verdict.model_validate(
        {"cause": cause, "claim": f"It is {cause}.", "confidence": confidence, "evidence": [], "refuted_by": ""}
    )


def diagnosed(
    folder: Path,
    *verdicts: Verdict,
    rates: dict[str, float] | None = None,
    view: View = View.COUNTERS,
    catalog_text: str = TWO,
) -> Diagnosis:
    catalog, plan, cells = plan_of(folder, catalog_text)
    role = next(role for role in roles_of(catalog) if role.is_explained)
    found = Explained(role, view, "001-c0001", explained(cells[role.sweep], verdicts))
    measured = {cells[sweep]: rate for sweep, rate in (rates or HELPS_WINDOW).items()}
    return diagnoses(catalog, plan, measured, [found])[0]


@pytest.mark.parametrize(
    ("causes", "outcome", "has_candidate"),
    [
        (["receive_buffer", "bottleneck"], "first", True),
        (["bottleneck", "receive_buffer"], "second", True),
        (["bottleneck", "small_queue", "receive_buffer"], "wrong", True),
        (["capacity"], "wrong", False),
        (["not_known", "small_queue"], "not_known", False),
        (["not_known", "small_queue", "receive_buffer"], "not_known", True),
        ([], "not_known", False),
    ],
)
def test_the_first_verdict_decides(tmp_path: Path, causes: list[str], outcome: str, has_candidate: bool) -> None:
    found = diagnosed(tmp_path, *map(verdict, causes))
    assert (found.accepted, found.counts) == (("receive_buffer",), True)
    assert (found.outcome, found.has_candidate) == (outcome, has_candidate)


@pytest.mark.parametrize(
    ("view", "outcome"), [(View.COUNTERS, "first"), (View.USER, "first"), (View.SEGMENTS, "wrong")]
)
def test_only_logs_of_both_hosts_must_show_the_kind_of_loss(tmp_path: Path, view: View, outcome: str) -> None:
    lossy = TWO.replace('causes = ["receive_buffer"]', 'causes = ["random_loss"]')
    assert diagnosed(tmp_path, verdict("path_loss"), view=view, catalog_text=lossy).outcome == outcome
    assert diagnosed(tmp_path, verdict("path_loss"), view=view).outcome == "wrong"


@pytest.mark.parametrize(("kinds", "outcome"), [(["small_queue", "policer"], "first"), (["small_queue"], "wrong")])
def test_losses_of_the_path_are_right_if_they_name_the_kind(tmp_path: Path, kinds: list[str], outcome: str) -> None:
    policed = TWO.replace('causes = ["receive_buffer"]', 'causes = ["policer"]')
    losses = verdict("path_loss").model_copy(update={"values": {"causes": kinds}})
    assert diagnosed(tmp_path, losses, catalog_text=policed).outcome == outcome


def test_what_both_removed_together_help_may_be_named_as_either(tmp_path: Path) -> None:
    rates = {"two-situation": 100.0, "two-without1": 101.0, "two-without2": 101.0, "two-control": 400.0}
    found = diagnosed(tmp_path, verdict("bottleneck"), rates=rates)
    assert (found.accepted, found.outcome) == (("receive_buffer", "local_queue", "bottleneck"), "first")
    assert found.lowered_ratio == pytest.approx(0.75)


def test_a_situation_that_lowers_nothing_does_not_count(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, verdict("reordering"), rates=dict.fromkeys(HELPS_WINDOW, 100.0))
    assert not found.counts
    assert tallies([found]) == []


def test_tallies_count_by_level_and_confidence(tmp_path: Path) -> None:
    found = [
        diagnosed(tmp_path, verdict("receive_buffer")),
        diagnosed(tmp_path, verdict("receive_buffer", "medium")),
        diagnosed(tmp_path, verdict("bottleneck", "medium"), verdict("receive_buffer")),
        diagnosed(tmp_path, verdict("reordering")),
        diagnosed(tmp_path, verdict("not_known", "low"), verdict("receive_buffer")),
        diagnosed(tmp_path, verdict("receive_buffer"), view=View.SEGMENTS),
    ]
    segments, counters = tallies(found)
    assert (segments.view, segments.of, segments.right_ratio, segments.holds) == (View.SEGMENTS, 1, 1.0, True)
    assert counters.counts == {"first": 2, "second": 1, "not_known": 1, "wrong": 1}
    assert counters.candidates == 1
    assert counters.stated == {"high": (1, 2), "medium": (1, 2), "low": (0, 0)}
    assert counters.another == {"high": 1, "medium": 1, "low": 0}
    assert counters.holds is False


def test_the_page_and_the_json_name_what_is_wrong(tmp_path: Path) -> None:
    catalog, _, _ = plan_of(tmp_path, TWO)
    found = [diagnosed(tmp_path, verdict("reordering")), diagnosed(tmp_path, verdict("receive_buffer"))]
    page = situations_section(catalog.situation, found)
    assert "| two | combination | 75% | `receive_buffer` | - | **`reordering`** (high), `receive_buffer` | - |" in page
    assert "| counters, both hosts | 2 | 50.0% (1) | 0 | 0 | - | 1 | 50.0% (1 high) | 50% (1 of 2) | - |" in (
        levels_section(found)
    )
    document = levels_json(found)
    assert [entry["outcome"] for entry in document["diagnoses"]] == ["wrong", "first"]  # type: ignore[attr-defined]
    assert document["levels"][0]["another_by_confidence"] == {"high": 1, "medium": 0, "low": 0}  # type: ignore[index]


def test_levels_are_of_trials_with_or_without_the_log(tmp_path: Path) -> None:
    _, plan, cells = plan_of(tmp_path, TWO)
    complete = [trial.id for trial in plan.trials()]
    cell = cells["two-situation"]
    logged, plain = trials_of(plan, complete, cell, View.SENDER_SEGMENTS), trials_of(plan, complete, cell, View.RUN)
    assert [name[:3] for name in logged] == ["log", "log"]
    assert [name[:3] for name in plain] == ["001", "002"]
    assert trials_of(plan, complete[:1], cell, View.SEGMENTS) == []


def test_a_cause_that_does_not_exist_yet_is_named_by_no_verdict() -> None:
    with pytest.raises(ValueError, match="cause"):
        verdict("no_such_cause")
    assert str(Cause.RECEIVE_BUFFER) in ("receive_buffer",)
