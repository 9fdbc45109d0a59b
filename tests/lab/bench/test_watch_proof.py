"""The sums of the proof of the watch: pairs, kills, lines, and a log next to a capture."""

import polars as pl

from lab.bench.watch import log, overhead
from lab.bench.watch.overhead import Half, Pair
from tests.e2e import pcap


def test_the_change_is_that_of_pairs() -> None:
    pairs = [Pair(Half(bps, 1.0), Half(bps * 0.97, 0.99, 0.004)) for bps in (10e9, 20e9, 40e9)]
    bar, busy, agent = overhead.rows_of("counters", pairs, 1, "")
    assert (bar.reached, bar.is_ok) == ("-3.00% (-3.00 to -3.00)", True)
    assert (busy.reached, busy.is_ok, busy.is_bar) == ("99.0%", True, False)
    assert (agent.reached, agent.is_bar) == ("0.40% of all CPUs", False)
    assert not overhead.rows_of("user", pairs, 1, "")[0].is_ok


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
