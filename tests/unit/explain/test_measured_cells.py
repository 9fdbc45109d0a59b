"""Gains that another cell of the same experiment measured."""

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Change, Level, Verdict
from whyperf.explain.measured_cells import MeasuredCells
from whyperf.explain.wording.catalog import statement
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


def test_a_cell_with_the_change_reports_the_gain() -> None:
    gain = MeasuredCells(SWEEP, {"c0001": 1e6, "c0002": 4e6}).gain_in("c0001", verdict(window_bytes="default"))
    assert gain.predicted_gain == 4
    assert gain.predicted_low is not None
    assert gain.predicted_high is not None
    assert gain.predicted_low < 4 < gain.predicted_high
    assert gain.predicted_basis == statement("cell", cell="c0002")


def test_no_such_cell_or_no_rate_leaves_the_prediction() -> None:
    known = MeasuredCells(SWEEP, {"c0001": 1e6, "c0003": 4e6})
    assert known.gain_in("c0001", verdict(no_delay=True)).predicted_gain == 9
    assert known.gain_in("c0003", verdict(window_bytes="default")).predicted_gain == 9
    assert known.gain_in("c0003", verdict(window_bytes=131_072)).predicted_gain == 9
    assert known.gain_in("c0002", verdict(window_bytes=8192)).predicted_gain == 9
    # A cell is not its own change.
    assert known.gain_in("c0003", verdict(window_bytes=65_536)).predicted_gain == 9


def test_a_change_that_costs_rate_is_reported_as_it_was_measured() -> None:
    gain = MeasuredCells(SWEEP, {"c0001": 4e6, "c0003": 3e6}).gain_in("c0001", verdict(window_bytes=65_536))
    assert gain.predicted_gain == 0.75


def sized(name: str, size: int, window: int = 65_536, read: int | None = None) -> Cell:
    sizes = {"write_size_bytes": size, "read_size_bytes": size if read is None else read}
    return Cell(id=name, sweep="s", factors={**sizes, "window_bytes": window})


def test_a_cell_that_goes_most_of_the_way_shows_more_than_a_rule() -> None:
    cells = (sized("c0001", 1024), sized("c0002", 2048), sized("c0003", 32_768), sized("c0004", 32_768, 4096))
    rates = {"c0001": 1e6, "c0002": 1.5e6, "c0003": 2e6, "c0004": 9e6}
    gain = MeasuredCells(cells, rates).gain_in("c0001", verdict(write_size_bytes=131_072))
    assert gain.predicted_gain == 2
    assert gain.predicted_basis is not None
    assert gain.predicted_basis.values["levels"] == ["write_size_bytes=32768", "read_size_bytes=32768"]
    # Twice the size says little of 128 times, and a cell with another window nothing of this one.
    few = {**rates, "c0003": None}
    assert MeasuredCells(cells, few).gain_in("c0001", verdict(write_size_bytes=131_072)).predicted_gain == 9


def test_a_cell_that_makes_one_size_larger_and_the_other_smaller_shows_nothing() -> None:
    cells = (sized("c0001", 1024), sized("c0002", 131_072, read=64))
    gain = MeasuredCells(cells, {"c0001": 1e6, "c0002": 2e6}).gain_in("c0001", verdict(write_size_bytes=131_072))
    assert gain.predicted_gain == 9


def test_the_largest_level_stands_for_one_that_the_kernel_chooses() -> None:
    known = MeasuredCells(SWEEP, {"c0001": 1e6, "c0003": 4e6}).gain_in("c0001", verdict(window_bytes="default"))
    assert known.predicted_gain == 4
    # The kernel may choose more, so what the rule predicted is not ruled out.
    assert known.predicted_high == 9


@pytest.mark.parametrize(("level", "gain"), [(32_767, 9.0), (32_768, 4.0)])
def test_a_level_four_times_as_large_stands_for_one_that_the_kernel_chooses(level: int, gain: float) -> None:
    cells = (SWEEP[0], Cell(id="c0009", sweep="s", factors={"window_bytes": level, "duration_s": 1.0}))
    found = MeasuredCells(cells, {"c0001": 1e6, "c0009": 4e6}).gain_in("c0001", verdict(window_bytes="default"))
    assert found.predicted_gain == gain
