"""Latency under load and courses by factor level, as the report draws them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.transport_samples import trial as scheduled
from whyperf.analyze import read_inputs, summarize_inputs
from whyperf.analyze.measures.latency import IDLE, LOAD
from whyperf.analyze.time_series import courses_of
from whyperf.analyze.transports.samples import PROBE, RttSamples
from whyperf.analyze.transports.summary import trial_indicators
from whyperf.record import Experiment
from whyperf.report.charts.blocks import Chart, Group
from whyperf.report.charts.distribution import box_columns, distribution_group
from whyperf.report.charts.layout import choose
from whyperf.report.charts.levels_over_time import MAX_POINTS, levels_over_time
from whyperf.report.charts.round_trips import round_trips_group
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.transports.over_time import time_group
from whyperf.report.transports.overlaid import overlaid_group

MS = 1e6


def drawn(chart: Chart) -> list[dict[str, Any]]:
    """The data of each mark of a chart, each once."""
    sources = [mark.data_source for mark in chart.figure.renderers]
    return [source.data for source in dict.fromkeys(sources)]


def names(group: Group) -> list[str]:
    assert group.legend is not None
    return [key.text for key in group.legend.keys]


def requests(*rows: tuple[str, str, str, Sequence[float | None]]) -> pl.DataFrame:
    """Rows of `probe_requests`: trial, cell, state, round trips in ms."""
    parts = [
        pl.DataFrame(
            {
                "trial": trial,
                "cell": cell,
                "state": state,
                "rtt_ns": [None if rtt is None else int(rtt * MS) for rtt in values],
            },
            schema={"trial": pl.String, "cell": pl.String, "state": pl.String, "rtt_ns": pl.UInt64},
        )
        for trial, cell, state, values in rows
    ]
    return pl.concat(parts)


def test_a_distribution_has_the_share_of_the_values_and_a_box_for_each_part() -> None:
    values = np.arange(1, 1001, dtype=np.float64) * 1e5
    group = distribution_group("x", "Latency", "Time", {"idle": values / 100, "under load": values})
    shares, boxes = group.charts
    idle, loaded = drawn(shares)
    assert (idle["line"][0], loaded["line"][0]) == ("idle", "under load")
    at_half = loaded["y"].index(50.0)
    assert loaded["x"][at_half] == pytest.approx(50, rel=0.01)
    assert (loaded["y"][0], loaded["y"][-1]) == (0, 100)
    box = drawn(boxes)[1]
    found = [box[column][0] for column in ("low", "quarter", "y", "three_quarters", "high", "top")]
    assert found == pytest.approx([1.1, 25.1, 50.05, 75.0, 99.0, 100], rel=0.01)
    assert (box["x"], box["value"]) == ([1], ["50.0"])


def test_a_box_of_a_histogram_is_that_of_its_values() -> None:
    values, counts = np.array([1.0, 2.0, 3.0, 4.0]) * MS, np.array([1.0, 98.0, 100.0, 1.0])
    whole = box_columns(0, "a", np.repeat(values, counts.astype(int)), MS)
    assert dict(box_columns(0, "a", values, MS, counts)) == dict(whole)


def test_round_trips_of_one_cell_are_overlaid_by_trial_next_to_the_idle_ones() -> None:
    rows = requests(
        ("001-c0001", "c0001", IDLE, [1.0, 1.1]),
        ("001-c0001", "c0001", LOAD, [50.0, 60.0, None]),
        ("002-c0001", "c0001", LOAD, [70.0, 80.0]),
    )
    group = round_trips_group([], rows)
    assert group is not None
    assert names(group) == ["idle", "001-c0001", "002-c0001"]
    boxes = drawn(group.charts[1])
    assert [box["count"] for box in boxes] == [["2"], ["2"], ["2"]]
    assert [box["y"] for box in boxes] == [[1.05], [55.0], [75.0]]


def test_round_trips_of_several_cells_have_the_names_of_their_settings(tmp_path: Path) -> None:
    trials = [
        made.Trial(cell=f"c{number:04d}", duration_s=1, factors={"congestion_control": name})
        for number, name in enumerate(("cubic", "bbr"), 1)
    ]
    summary = summarize_inputs(read_inputs(Experiment.open(made.write(tmp_path / "two", trials))))
    rows = [(f"001-{cell.id}", cell.id, LOAD, [10.0 * number]) for number, cell in enumerate(summary.cells, 1)]
    group = round_trips_group(summary.cells, requests(*rows))
    assert group is not None
    assert names(group) == ["congestion control cubic", "congestion control bbr"]


def test_a_sweep_over_time_has_a_line_per_level_and_lists_for_the_other_factor(tmp_path: Path) -> None:
    settings = [(window, size) for window in (4096, 8192, 16384) for size in (512, 4096)]
    trials = [
        made.Trial(
            cell=f"c{number:04d}",
            rate_bps=window * size * 1e3,
            duration_s=2,
            window_bytes=window,
            write_size_bytes=size,
        )
        for number, (window, size) in enumerate(settings, 1)
    ]
    inputs = read_inputs(Experiment.open(made.write(tmp_path / "sweep", trials)))
    cells = summarize_inputs(inputs).cells
    layout = choose(cells)
    assert layout is not None
    assert layout.lines is not None
    cell_of = dict(inputs.trials.select("trial", "cell").iter_rows())
    courses = {cell_of[course.trial]: course for course in courses_of(inputs, list(cell_of))}
    assert set(courses) == {cell.id for cell in cells}
    group = levels_over_time("x", layout, courses, Switchboard())
    assert group is not None
    assert [chart.heading for chart in group.charts] == ["Goodput", "Congestion window", "Smoothed round-trip time"]
    assert len(group.choices) == 1
    for chart in group.charts:
        lines = drawn(chart)
        assert len(lines) == len(layout.lines.levels)
        assert all(5 <= len(line["x"]) <= MAX_POINTS for line in lines)
    rates = [np.mean(np.asarray(line["y"], dtype=float)) for line in drawn(group.charts[0])]
    chosen = group.choices[0].chosen
    medians = [
        cell.goodput_bps.median or 0.0
        for level in layout.lines.levels
        for cell in cells
        if cell.factors[layout.lines.factor] == level and f"{cell.factors[layout.x.factor]:,}" == chosen
    ]
    ratios = [rate / median for rate, median in zip(rates, medians, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=0.15)


def test_goodput_of_each_direction_and_percentiles_of_the_probe_share_the_time_axis(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "flows", [scheduled("cubic", 10.0, "c0001")])
    (found,) = trial_indicators(read_inputs(Experiment.open(folder)))["c0001"]
    up, down = found.course.active[:2], found.course.active[2:]
    both = replace(found.course, active=(*up, *(replace(flow, direction="receive") for flow in down)))
    at_s = np.arange(0, 16, 0.01)
    samples = RttSamples(PROBE, at_s, np.where(np.arange(at_s.size) % 10 == 9, 0.09, 0.05), 0.05)
    group = time_group({"cubic": replace(found, course=both, rtt_samples=samples)}, Switchboard())
    assert [chart.id for chart in group.charts] == [
        "transports-goodput-send",
        "transports-goodput-receive",
        "transports-rtt",
        "transports-window",
    ]
    assert len({id(chart.figure.x_range) for chart in group.charts}) == 1
    assert [name for name in names(group) if name.startswith("RTT")] == ["RTT, largest", "RTT, 90 %", "RTT, 50 %"]
    (send,), (receive,) = drawn(group.charts[0]), drawn(group.charts[1])
    assert (len(send.keys() & {"y1", "y2", "y3"}), len(receive.keys() & {"y1", "y2", "y3"})) == (2, 2)
    total = found.course.bps.sum(axis=0).mean() / 1e6
    assert np.mean(send["y2"]) + np.mean(receive["y2"]) == pytest.approx(total, rel=0.01)
    largest, most, half = drawn(group.charts[2])
    assert (set(largest["y"]), set(half["y"])) == ({90.0}, {50.0})
    assert all(50 <= value < 90 for value in most["y"])
    assert sum(int(count) for count in half["count"]) == at_s.size


def test_runs_are_overlaid_a_line_each_and_a_single_run_is_not(tmp_path: Path) -> None:
    trials = [scheduled("cubic", 10.0, "c0001", block) for block in (1, 2)]
    first, second = trial_indicators(read_inputs(Experiment.open(made.write(tmp_path / "runs", trials))))["c0001"]
    up, down = first.course.active[:2], first.course.active[2:]
    both = replace(first.course, active=(*up, *(replace(flow, direction="receive") for flow in down)))
    group = overlaid_group({"a": replace(first, course=both), "b": second})
    assert group is not None
    assert names(group) == ["a", "b"]
    send, receive, rtt = group.charts
    assert len({id(chart.figure.x_range) for chart in group.charts}) == 1
    # The flows of the second run all go one way.
    assert [[line["line"][0] for line in drawn(chart)] for chart in (send, receive, rtt)] == [
        ["a", "b"],
        ["a"],
        ["a", "b"],
    ]
    total = second.course.bps.sum(axis=0).mean() / 1e6
    assert np.mean(drawn(send)[1]["y"]) == pytest.approx(total, rel=0.01)
    assert overlaid_group({"a": first}) is None
