"""Which trial the reported rate is of."""

import pytest

from whyperf.explain.experiment import with_whose_rate
from whyperf.explain.explanation import CellExplanation


@pytest.mark.parametrize(
    ("trial", "measured", "is_reported"),
    [("log01-c0001", None, True), ("log01-c0001", 2e9, False), ("001-c0001", None, False)],
)
def test_a_rate_of_a_trial_with_the_log_is_reported_as_such(
    trial: str, measured: float | None, is_reported: bool
) -> None:
    cell = CellExplanation(
        cell="c0001",
        trial=trial,
        rate_bps=1e9,
        dominant_state=None,
        missing=[],
        budgets=[],
        patterns=[],
        verdicts=[],
        headline="",
    )
    missing = with_whose_rate(cell, measured).missing
    assert any(trial in sentence for sentence in missing) is is_reported
