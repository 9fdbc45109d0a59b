"""The sums of the proof of the watch: pairs, kills, lines, and a log next to a capture."""

import json

import polars as pl
import pytest

from bench.watch import kills, log, overhead
from bench.watch.first_verdict import has_verdict
from bench.watch.kills import Kill
from bench.watch.overhead import Half, Pair
from bench.watch.place import CpuTimes
from tests.e2e import pcap


def test_the_change_is_that_of_pairs() -> None:
    pairs = [Pair(Half(bps, 1.0), Half(bps * 0.97, 0.99, 0.004)) for bps in (10e9, 20e9, 40e9)]
    bar, busy, agent = overhead.rows_of("counters", pairs, 1, "")
    assert (bar.reached, bar.is_ok) == ("-3.00% (-3.00 to -3.00)", True)
    assert (busy.reached, busy.is_ok, busy.is_bar) == ("99.0%", True, False)
    assert (agent.reached, agent.is_bar) == ("0.40% of all CPUs", False)
    assert not overhead.rows_of("user", pairs, 1, "")[0].is_ok


def test_a_kill_with_a_problem_misses_the_bar() -> None:
    found = [Kill(n, "agent", "user", 1.0, before_bps=1e9, after_bps=1e9) for n in (1, 2)]
    left, rate, *_ = kills.rows_of(found, 1)
    assert left.is_ok
    assert rate.is_ok
    found[1].problems.append("files left: ['there']")
    left, *_ = kills.rows_of(found, 1)
    assert not left.is_ok
    assert "2: files left" in left.reached


def test_idle_is_no_verdict() -> None:
    plain = "    1.0 s  iperf3 (7) 127.0.0.1:1 - 127.0.0.1:2  sent {}; received 0 bit/s, idle; RTT 20.0 µs; cwnd 10"
    assert has_verdict(plain.format("1.0 Gbit/s, peer window"), is_json=False)
    assert not has_verdict(plain.format("0 bit/s, idle"), is_json=False)
    for limit, expected in (("network", True), ("nothing_arrives", False)):
        assert has_verdict(json.dumps({"type": "interval", "recent_limit": limit}), is_json=True) is expected
    assert not has_verdict('{"type": "result"}', is_json=True)


def test_the_busy_share_is_of_the_time_between() -> None:
    assert CpuTimes(150, 1200).busy_since(CpuTimes(100, 1000)) == pytest.approx(0.75)


def captured() -> pl.DataFrame:
    """A SYN that offers a scale of 7, then segments of 100 bytes, one each ms."""
    syn = (0, 1, 2, 10, 0, 0, 2, 64_240, 7, True)
    rest = [(number * 1_000_000, 1, 2, number * 100, 5, 100, 16, 500 + number, None, False) for number in range(1, 6)]
    return pl.DataFrame([syn, *rest], schema=pcap.COLUMNS, orient="row")


def logged(first: int, last: int) -> pl.DataFrame:
    """The log of a part of it."""
    scaled = pl.when(pl.col("flags") == 2).then("window_field").otherwise(pl.col("window_field") * 128)
    whole = captured().with_columns(window_bytes=scaled).select(*log.COMPARED, "window_bytes")
    return whole.slice(first, last - first + 1)


def test_a_log_is_a_part_of_the_capture_without_gaps() -> None:
    whole, part = (0, 5_000_000), (2_000_000, 4_000_000)
    assert log.differs(logged(0, 5), captured(), whole) == ""
    assert log.differs(logged(2, 4), captured(), part) == ""
    assert log.differs(logged(1, 5), captured(), part) == ""
    assert "lie within the watch" in log.differs(logged(3, 4), captured(), part)
    assert "lie within the watch" in log.differs(logged(2, 3), captured(), part)
    gap = pl.concat([logged(1, 2), logged(4, 5)])
    assert "row 3 of sequence" in log.differs(gap, captured(), part)
    assert "nothing is logged of 3 segments" in log.differs(logged(0, 5).clear(), captured(), part)
    wrong = logged(2, 4).with_columns(window_bytes=pl.col("window_field"))
    assert "was not captured" in log.differs(wrong, captured(), part)
