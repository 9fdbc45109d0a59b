"""What the levels below the log give: counters in the kernel, and what everybody may ask for."""

import polars as pl
import pytest

from tests.unit.analyze.flow import levels
from tests.unit.analyze.flow.traces import MS
from whyperf.analyze.flow import (
    counted_ack_ratio,
    counted_ack_reasons,
    counted_contexts,
    counted_super_segments,
    user_ack_ratio,
)


def moved(table: pl.DataFrame) -> pl.DataFrame:
    """A table with its instants as `read_counters` and `read_user` give them."""
    instants = [name for name in table.columns if name.endswith("_mono_ns")]
    return table.rename({name: name.replace("_mono_ns", "_ns") for name in instants})


COUNTERS = moved(
    levels.counters(
        {"data_out_packets": 2, "data_out_segments": 20, "data_out_bytes": 28960, "acks_in_count": 4},
        {"data_out_packets": 1, "data_out_segments": 1, "data_out_bytes": 1448},
    )
)


def test_the_counted_ratio_is_by_interval() -> None:
    found = counted_ack_ratio(COUNTERS, "sender")
    assert found.level == "counters"
    assert found.intervals["segments_per_ack"].to_list() == [5.0, None]
    assert found.segments_per_ack == 21 / 4
    assert found.packets_per_ack == 3 / 4


def test_connections_of_an_interval_are_one() -> None:
    other = moved(levels.counters({"data_out_segments": 4, "acks_in_count": 4}, connection=1))
    found = counted_ack_ratio(pl.concat([COUNTERS, other]), "sender")
    assert found.intervals["segments_per_ack"].to_list() == [3.0, None]


def test_the_counted_super_segment() -> None:
    found = counted_super_segments(COUNTERS)
    assert found["packet_bytes_mean"].to_list() == [14480.0, 1448.0]
    assert (found["end_ns"] - found["start_ns"]).to_list() == [100 * MS, 100 * MS]


def test_counted_contexts_and_reasons() -> None:
    counters = moved(
        levels.counters({"net_rx_out_packets": 3, "process_out_packets": 1, "quick_acks_count": 2, "fin_acks_count": 2})
    )
    shares = dict(counted_contexts(counters).select("context", "packets_ratio").iter_rows())
    assert (shares["net_rx"], shares["process"], shares["timer"]) == (0.75, 0.25, 0.0)
    reasons = dict(counted_ack_reasons(counters).select("reason", "ratio").iter_rows())
    assert (reasons["quick"], reasons["fin"], reasons["other"]) == (0.5, 0.5, 0.0)


def test_the_users_ratio_is_from_differences() -> None:
    """At the receiver: 10 data segments in and 2 pure ACKs out, then 30 and 10."""
    samples = moved(
        levels.tcp_info(
            ("warm-up", {"data_segments_in": 100, "segments_out": 50, "data_segments_out": 10}),
            ("measure", {"data_segments_in": 110, "segments_out": 53, "data_segments_out": 11}),
            ("measure", {"data_segments_in": 140, "segments_out": 63, "data_segments_out": 11}),
        )
    )
    found = user_ack_ratio(samples, "receiver")
    assert found.intervals["segments_per_ack"].to_list() == [5.0, 3.0]
    assert found.segments_per_ack == pytest.approx(40 / 12)
    assert found.packets_per_ack is None
    assert found.intervals["packets_per_ack"].to_list() == [None, None]
