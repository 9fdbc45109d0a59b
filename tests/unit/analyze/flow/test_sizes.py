"""Histograms of sizes, super-segments and what was sent in them."""

from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze.flow import traces
from tests.unit.analyze.synthetic import known
from whyperf.analyze.flow import SizeHistogram, contexts, counted_histogram, scan_log, size_histogram, super_segments

BULK = """
    1    > . 1:3001     ack 1 gso=1448 ctx=process
    2    > . 3001:4449  ack 1          ctx=net_rx
    3    > . 4449:10241 ack 1 gso=1448 ctx=net_rx ksoftirqd
    4    < . 1:101      ack 1
    6000 > . 10241:10341 ack 1         ctx=net_rx
"""


def bulk(folder: Path) -> pl.LazyFrame:
    return known(scan_log(traces.write(folder / "log01-c0001", traces.trace(BULK)), "near"))


def counts(histogram: SizeHistogram) -> dict[int, int]:
    return dict(histogram.sizes.select("size_bytes", "count").iter_rows())


def test_a_super_segment_is_one_packet_and_many_segments(tmp_path: Path) -> None:
    log = bulk(tmp_path)
    packets, segments = size_histogram(log), size_histogram(log, of="segments")
    assert counts(packets) == {100: 1, 1448: 1, 3000: 1, 5792: 1}
    assert counts(segments) == {100: 1, 104: 1, 1448: 7}
    assert packets.exact
    assert packets.sizes["bytes"].sum() == segments.sizes["bytes"].sum() == 10340
    assert packets.sizes["count_ratio"].sum() == pytest.approx(1)


def test_what_arrives_is_the_other_direction(tmp_path: Path) -> None:
    assert counts(size_histogram(bulk(tmp_path), "in")) == {100: 1}


def test_many_sizes_become_classes_by_powers_of_two(tmp_path: Path) -> None:
    found = size_histogram(bulk(tmp_path), exact_sizes=2)
    assert not found.exact
    rows = found.sizes.select("size_bytes", "last_bytes", "count", "bytes").rows()
    assert rows == [(64, 127, 1, 100), (1024, 2047, 1, 1448), (2048, 4095, 1, 3000), (4096, 8191, 1, 5792)]


def test_the_kernels_classes_give_the_same_frame() -> None:
    sizes = pl.DataFrame(
        {
            "what": ["segment_out", "segment_out", "segment_in", "segment_out"],
            "class_bytes": [1024, 0, 1024, 1024],
            "sizes_count": [2, 1, 9, 1],
            "sizes_bytes": [2896, 0, 9999, 1448],
        }
    )
    found = counted_histogram(sizes)
    assert (found.level, found.of, found.exact) == ("counters", "packets", False)
    rows = found.sizes.select("size_bytes", "last_bytes", "count", "bytes").rows()
    assert rows == [(0, 0, 1, 0), (1024, 2047, 3, 4344)]


def test_the_average_super_segment_every_five_seconds(tmp_path: Path) -> None:
    found = super_segments(bulk(tmp_path))
    assert found["start_ns"].to_list() == [0, 5_000_000_000]
    assert found["packet_bytes_mean"].to_list() == [pytest.approx(10240 / 3), 100.0]
    assert found["segments_per_packet"].to_list() == [pytest.approx(8 / 3), 1.0]


def test_who_sent_the_data(tmp_path: Path) -> None:
    found = {row["context"]: row for row in contexts(bulk(tmp_path)).iter_rows(named=True)}
    assert (found["process"]["packets"], found["net_rx"]["packets"], found["worker"]["packets"]) == (1, 3, 0)
    assert found["net_rx"]["packets_ratio"] == pytest.approx(0.75)
    assert found["process"]["bytes_ratio"] == pytest.approx(3000 / 10340)
    assert found["net_rx"]["ksoftirqd_packets"] == 1
