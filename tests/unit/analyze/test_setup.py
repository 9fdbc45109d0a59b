"""Set-up of connections before the load: how many, and from the first call to the last greeting."""

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.summary import CellResult
from whyperf.cli.output.single import single_lines

MS = made.MS


def cell(connections: int, *spans_ms: float, opened: bool = True) -> CellResult:
    """A cell whose trials each opened their connections evenly over so many milliseconds."""
    trials = [made.Trial(block=block + 1, connections=connections) for block in range(len(spans_ms))]
    known = made.inputs(trials)
    spans = dict(zip((trial.name for trial in trials), spans_ms, strict=True))
    base = made.Trial().start_ns - 5 * made.SECOND
    step = pl.col("trial").replace_strict(spans, return_dtype=pl.Float64) * MS / connections
    start = (base + pl.col("connection") * step).cast(pl.Int64)
    times = (start.alias("opening_mono_ns"), (start + step).cast(pl.Int64).alias("opened_mono_ns"))
    flows = known.flows.with_columns(*times) if opened else known.flows
    (result,) = summarize_inputs(made.changed(known, flows=flows)).cells
    return result


def test_from_the_first_call_to_the_last_greeting() -> None:
    setup = made.known(cell(100, 5.0, 400.0, 20.0).setup)
    assert (setup.connections, setup.seconds, setup.per_s) == pytest.approx((100, 0.02, 5_000), rel=1e-6)


def test_many_connections_are_reported_in_a_line_and_few_are_not() -> None:
    assert "Set-up          100 connections in 20.0 ms (5,000/s)" in single_lines(cell(100, 20.0))
    assert not any(line.startswith("Set-up") for line in single_lines(cell(99, 20.0)))


def test_without_instants_there_is_none() -> None:
    assert cell(100, 20.0, opened=False).setup is None
