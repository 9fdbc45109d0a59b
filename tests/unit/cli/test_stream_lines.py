"""Lines of single connections."""

from dataclasses import replace

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import bit_rate
from whyperf.cli.output.streams import stream_lines


def cell(*trials: made.Trial) -> CellResult:
    return summarize_inputs(made.inputs(trials)).cells[0]


def test_every_connection_has_its_goodput_retransmissions_and_round_trips() -> None:
    trial = made.Trial(connections=2, shares=(0.75, 0.25), rate_bps=2e9)
    found = cell(*(replace(trial, block=block, retransmitted=112 * block) for block in (1, 2, 3)))
    first, second = found.streams
    assert (first.goodput_bps, second.goodput_bps) == pytest.approx((1.5e9, 0.5e9), rel=1e-6)
    # Of 11.2 s of load, 10 s are in the window; the median trial has 224.
    assert first.retransmitted_segments == pytest.approx(200, abs=2)
    assert second.retransmitted_segments == 0
    assert (first.rtt_ns, first.rtt_ns_min) == (60_000, 40_000)
    lines = stream_lines(found, bit_rate)
    assert [line.split() for line in lines[1:]] == [
        ["0", "1.50", "Gbit/s", f"{first.retransmitted_segments:.0f}", "60.0", "µs", "40.0", "µs"],
        ["1", "500", "Mbit/s", "0", "60.0", "µs", "40.0", "µs"],
    ]
    assert len({len(line) for line in lines}) == 1
    assert len(lines[0]) <= 80


def test_many_connections_have_no_lines() -> None:
    found = cell(made.Trial(connections=17))
    assert found.streams == []
    assert stream_lines(found, bit_rate) == ["17 connections; --per-stream prints up to 16"]
