"""The round-trip times of a cell: in the result, the table of a comparison, its headline and the CSV."""

import csv
import io
from dataclasses import replace

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import Summary
from whyperf.cli.output.cells_csv import print_csv
from whyperf.cli.output.tables import sweep_tables
from whyperf.report.headline import headline
from whyperf.report.table import cells_table

RTT = {"cubic": 43_000_000, "bbr": 21_000_000}
LOWEST = 20_000_000


def compared(rates: dict[str, float], *, path: bool = True) -> Summary:
    """A comparison of congestion controls over a path of 20 ms."""
    factors = {"path_rtt_ms": 20.0} if path else {}
    trials = [
        made.Trial(cell=f"c000{number}", rate_bps=rate, factors={"congestion_control": control, **factors})
        for number, (control, rate) in enumerate(rates.items(), start=1)
    ]
    inputs = made.inputs(trials)
    by_trial = {trial.name: RTT[str(trial.factors["congestion_control"])] for trial in trials}
    info = inputs.tcp_info.with_columns(
        pl.col("trial").replace_strict(by_trial, return_dtype=inputs.tcp_info.schema["rtt_ns"]).alias("rtt_ns"),
        pl.lit(LOWEST).cast(inputs.tcp_info.schema["rtt_ns_min"]).alias("rtt_ns_min"),
    )
    return summarize_inputs(replace(inputs, tcp_info=info))


def test_a_comparison_over_a_path_shows_the_round_trips() -> None:
    summary = compared({"cubic": 95e6, "bbr": 90e6})
    assert [cell.rtt and (cell.rtt.rtt_ns, cell.rtt.rtt_ns_min) for cell in summary.cells] == [
        (43e6, LOWEST),
        (21e6, LOWEST),
    ]
    table = cells_table(summary)
    headings = [column.heading for column in table.columns]
    at = headings.index("Loaded RTT")
    assert [(row[at].text, row[at + 1].text) for row in table.rows] == [("43.0 ms", "20.0 ms"), ("21.0 ms", "20.0 ms")]
    assert "Loaded RTT" in [column.header for column in sweep_tables(summary, 80)[0].columns]
    assert headline(summary).endswith(
        "5.3 % less. RTT under load: 43.0 ms with congestion control cubic, 21.0 ms with congestion control bbr."
    )
    stream = io.StringIO()
    print_csv(summary, stream)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert [(float(row["rtt_ns"]), int(row["rtt_ns_min"])) for row in rows] == [(43e6, LOWEST), (21e6, LOWEST)]


def test_without_a_path_the_table_is_as_narrow_as_before() -> None:
    assert "Loaded RTT" not in [column.heading for column in cells_table(compared({"cubic": 1e9}, path=False)).columns]


@pytest.mark.parametrize(("slower", "ends"), [(94.97e6, "no difference."), (94e6, "1.1 % less.")])
def test_equal_rates_are_no_difference(slower: float, ends: str) -> None:
    assert ends in headline(compared({"cubic": 95e6, "bbr": slower}))
