"""Percentiles of the RTT probe, under load and idle: on the terminal, in tables and in the JSON result."""

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import Summary, summarize_inputs
from whyperf.analyze.summary import Latency, Rtt, RttProbe
from whyperf.cli.output.single import single_lines
from whyperf.profile import Level
from whyperf.report.table import cells_table

MS = 1_000_000


def latency(kind: str, base_ms: int) -> Latency:
    times = {"p50_ns": base_ms * MS, "p90_ns": base_ms * 2 * MS, "p99_ns": base_ms * 3 * MS}
    rest = {"p99_9_ns": None, "p99_99_ns": None, "p99_999_ns": None, "max_ns": base_ms * 4 * MS}
    few = {"count": 200, "min_ns": MS, "mean_ns": 1.5 * MS}
    return Latency.model_validate({"kind": kind, **few, **times, **rest})


def probed() -> Summary:
    summary = summarize_inputs(made.inputs([made.Trial()]))
    probe = RttProbe(sent_count=400, lost_count=1, load=latency("load", 20), idle=latency("idle", 10))
    return summary.model_copy(update={"cells": [summary.cells[0].model_copy(update={"rtt_probe": probe})]})


def test_a_single_measurement_has_a_line_each() -> None:
    lines = single_lines(probed().cells[0])
    assert "RTT under load  50 % 20.0 ms, 90 % 40.0 ms, 99 % 60.0 ms, largest 80.0 ms" in lines
    assert "RTT idle        50 % 10.0 ms, 90 % 20.0 ms, 99 % 30.0 ms, largest 40.0 ms" in lines
    assert "RTT probe       1 of 400 requests not answered" in lines


@pytest.mark.parametrize(
    ("factors", "line"),
    [
        ({"path_rtt_ms": 20.0, "path_rate_bps": 100_000_000, "path_loss": 0.01}, "20 ms RTT, 100 Mbit/s, 1 % loss"),
        ({"path_rtt_ms": "none", "path_rate_bps": "none", "path_loss": 0.0005}, "0.05 % loss"),
        ({"path_rtt_ms": 0.2, "path_loss": "bursts:0.01/0.25"}, "0.2 ms RTT, loss bursts:0.01/0.25"),
        ({"path_rate_bps": 50_000_000}, "50 Mbit/s"),
        ({"path_rate_bps": 1_234_000_000}, "1.234 Gbit/s"),
        ({}, None),
    ],
)
def test_an_emulated_path_is_named_with_its_settings(factors: dict[str, Level], line: str | None) -> None:
    cell = summarize_inputs(made.inputs([made.Trial()])).cells[0]
    lines = single_lines(cell.model_copy(update={"factors": {**cell.factors, **factors}}))
    assert [each for each in lines if each.startswith("Path")] == (
        [] if line is None else [f"Path            {line} (emulated)"]
    )


def test_the_rtt_that_the_sender_saw_has_a_line_unless_a_probe_measured_it() -> None:
    seen = {"rtt": Rtt(rtt_ns=21_500_000, rtt_ns_min=20_000_000)}
    cell = summarize_inputs(made.inputs([made.Trial()])).cells[0].model_copy(update=seen)
    assert "RTT             median 21.5 ms, lowest 20.0 ms" in single_lines(cell)
    lines = single_lines(probed().cells[0].model_copy(update=seen))
    assert not any(line.startswith("RTT   ") for line in lines)


def test_retransmissions_are_those_of_the_measurement() -> None:
    cell = summarize_inputs(made.inputs([made.Trial(retransmitted=700)])).cells[0]
    line = next(line for line in single_lines(cell) if line.startswith("Retransmitted"))
    assert " segments in the measurement (" in line


def test_a_table_has_columns_only_where_they_are_recorded() -> None:
    table = cells_table(probed())
    row = {column.heading: entry.text for column, entry in zip(table.columns, table.rows[0], strict=True)}
    found = {heading: text for heading, text in row.items() if "RTT" in heading}
    assert found == {
        "RTT p50": "20.0 ms",
        "RTT p99": "60.0 ms",
        "Idle RTT p50": "10.0 ms",
        "Idle RTT p99": "30.0 ms",
    }
    without = cells_table(summarize_inputs(made.inputs([made.Trial()])))
    assert not any("RTT" in column.heading for column in without.columns)
