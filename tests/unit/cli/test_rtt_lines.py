"""Percentiles of the RTT probe, under load and idle: on the terminal, in tables and in the JSON result."""

from tests.unit.analyze import synthetic as made
from whyperf.analyze import Summary, summarize_inputs
from whyperf.analyze.summary import Latency, RttProbe
from whyperf.cli.output.single import single_lines
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


def test_the_load_is_measured_from_the_requests_of_the_window() -> None:
    trips = tuple((1.0 + number * 0.1, (10 + number % 2) * MS) for number in range(100))
    probe = summarize_inputs(made.inputs([made.Trial(round_trips=trips)])).cells[0].rtt_probe
    assert probe is not None
    assert probe.load is not None
    assert (probe.load.p50_ns, probe.load.p99_ns, probe.idle) == (10 * MS, 11 * MS, None)
