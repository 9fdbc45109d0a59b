"""Gains that another cell of the same experiment measured."""

from whyperf.explain.beside import Beside
from whyperf.explain.causes import Cause
from whyperf.explain.model import Change, Level, Verdict
from whyperf.plan import Cell


def verdict(**change: Level) -> Verdict:
    return Verdict(
        cause=Cause.RECEIVE_BUFFER,
        claim="It is.",
        confidence="high",
        evidence=[],
        refuted_by="",
        change=Change(factors=change),
        predicted_gain=9.0,
    )


SWEEP = (
    Cell(id="c0001", sweep="s", factors={"window_bytes": 8192, "duration_s": 1.0}),
    Cell(id="c0002", sweep="s", factors={"window_bytes": "default", "duration_s": 2.0}),
    Cell(id="c0003", sweep="s", factors={"window_bytes": 65_536, "duration_s": 1.0}),
)


def test_a_cell_with_the_change_tells_the_gain() -> None:
    told = Beside(SWEEP, {"c0001": 1e6, "c0002": 4e6}).measured("c0001", verdict(window_bytes="default"))
    assert told.predicted_gain == 4
    assert told.predicted_low is not None
    assert told.predicted_high is not None
    assert told.predicted_low < 4 < told.predicted_high
    assert "cell c0002" in told.predicted_from


def test_no_such_cell_or_no_rate_leaves_the_prediction() -> None:
    known = Beside(SWEEP, {"c0001": 1e6, "c0003": 4e6})
    assert known.measured("c0001", verdict(window_bytes="default")).predicted_gain == 9
    assert known.measured("c0001", verdict(window_bytes=131_072)).predicted_gain == 9
    assert known.measured("c0002", verdict(window_bytes=8192)).predicted_gain == 9
    # A cell is not its own change.
    assert known.measured("c0003", verdict(window_bytes=65_536)).predicted_gain == 9


def test_a_change_that_costs_rate_is_told_as_it_was_measured() -> None:
    told = Beside(SWEEP, {"c0001": 4e6, "c0003": 3e6}).measured("c0001", verdict(window_bytes=65_536))
    assert told.predicted_gain == 0.75
