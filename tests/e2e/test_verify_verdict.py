"""A verdict tried on the model: right ones are confirmed, wrong ones refuted, and both are found again."""

import json
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf
from whyperf.cli.workflows.verify import try_all, verify
from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Change, Explanation, Verdict
from whyperf.explain.verify import Attempt, Looks, attempts_of, summary_of, with_verifications
from whyperf.record import Experiment


def verdict(cause: Cause, predicted_gain: float, **factors: int | bool) -> Verdict:
    return Verdict(
        cause=cause,
        claim="A claim.",
        confidence="high",
        evidence=[],
        refuted_by="",
        change=Change(factors=dict(factors)),
        predicted_gain=predicted_gain,
    )


@pytest.fixture(scope="module")
def small_window(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    folder = tmp_path_factory.mktemp("verify") / "small-window"
    only = ("sweep=throughput", "window_bytes=8192", "write_size_bytes=7168")
    options = [word for part in only for word in ("--only", part)]
    whyperf(
        "simulate",
        "window-sweep",
        "--hosts",
        "sparc10+sba-200",
        *options,
        "--trials",
        "1",
        "--out",
        folder,
        folder=folder.parent,
    )
    return Experiment.open(folder)


@pytest.mark.parametrize(
    ("tried", "outcome"),
    [
        (verdict(Cause.RECEIVE_BUFFER, 2.0, window_bytes=52428), "confirmed"),
        (verdict(Cause.QUICK_ACK, 2.0, interval_ms=50), "refuted"),
    ],
)
def test_the_change_is_made_on_the_model_and_judged(small_window: Experiment, tried: Verdict, outcome: str) -> None:
    cell = CellExplanation(
        cell=small_window.plan.cells[0].id, trial=None, rate_bps=None, dominant_state=None, missing=[], budgets=[],
        patterns=[], verdicts=[tried], headline="",
    )  # fmt: skip
    found = verify(small_window, Attempt(cell, 1, tried), Looks(6, 8), as_json=False)
    assert found is not None
    assert (found.outcome, found.pairs) == (outcome, 6)
    explanation = Explanation(experiment=small_window.name, cells=[cell], headline="")
    (again,) = with_verifications(explanation, small_window).cells[0].verdicts
    assert again.verification == found, "found again from the records alone"
    kept = Path(small_window.folder).parent / found.experiment
    assert json.loads((kept / "verifies.json").read_text())["cell"] == cell.cell


def test_where_the_limit_is_not_known_every_candidate_is_tried(
    small_window: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    not_known = verdict(Cause.NOT_KNOWN, 1.0).model_copy(update={"change": None})
    verdicts = [
        not_known,
        verdict(Cause.QUICK_ACK, 3.0, interval_ms=50),
        verdict(Cause.SEND_BUFFER, 3.0, window_bytes=52428),
    ]
    cell = CellExplanation(
        cell=small_window.plan.cells[0].id, trial=None, rate_bps=None, dominant_state=None, missing=[], budgets=[],
        patterns=[], verdicts=verdicts, headline="",
    )  # fmt: skip
    tried = try_all(small_window, attempts_of(cell), Looks(6, 6), as_json=False)
    assert [(attempt.number, found.outcome) for attempt, found in tried] == [(2, "refuted"), (3, "confirmed")]
    assert summary_of(tried) == "The rate rises with the change of the send buffer."
    printed = capsys.readouterr().err
    assert "Trying 2 changes one after the other" in printed
    assert "in 6 pairs (about " in printed
