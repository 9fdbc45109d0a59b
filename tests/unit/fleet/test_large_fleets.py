"""Fleets with more connections than single ones are known of: their tables are summed while they are read."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.fleet.fleet_records import PairOfHosts, write_fleet
from whyperf.analyze import read_inputs, summarize_inputs
from whyperf.analyze.fleet import large
from whyperf.record import Experiment

TRIAL = replace(made.Trial(duration_s=1.0, warmup_s=0.3), connections=4, retransmitted=80, shares=(0.4, 0.3, 0.2, 0.1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pairs = [PairOfHosts(name, "srv", trial=TRIAL) for name in ("a", "b", "c")]
    return write_fleet(tmp_path / "r", "fan-in", pairs, rates=[[1e9, 2e9, 3e9], [1.1e9, 2.1e9, 2.9e9]])


def test_the_result_is_the_same_from_sums(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_inputs(Experiment.open(folder))
    monkeypatch.setattr("whyperf.analyze.read.record.is_large", lambda _: True)
    small = read_inputs(Experiment.open(folder))
    # A row for each side's interval or sample, not for each connection.
    for table in ("intervals", "tcp_info"):
        assert len(getattr(small, table)) * 4 == len(getattr(whole, table)), table
        assert set(getattr(small, table)["host"]) == set(getattr(whole, table)["host"])
    (usual,), (summed,) = summarize_inputs(whole).cells, summarize_inputs(small).cells
    assert summed.goodput_bps.median == pytest.approx(usual.goodput_bps.median)
    assert summed.cpu == usual.cpu
    assert usual.fleet is not None
    assert summed.fleet is not None
    assert [pair.goodput_bps.median for pair in summed.fleet.pairs] == pytest.approx(
        [pair.goodput_bps.median for pair in usual.fleet.pairs]
    )
    again, before = summed.retransmitted_segments, usual.retransmitted_segments
    assert again.ratio == pytest.approx(before.ratio, rel=0.02)
    assert again.median == pytest.approx(before.median, rel=0.02)
    assert before.median


def test_a_closed_socket_keeps_its_counts() -> None:
    rows = pl.DataFrame(
        {
            "trial": ["1"] * 5,
            "block": [1] * 5,
            "cell": ["c"] * 5,
            "host": ["near"] * 5,
            "role": ["sender"] * 5,
            "phase": ["measure"] * 5,
            "connection": [0, 0, 0, 1, 1],
            "sample_mono_ns": [10, 20, 30, 12, 22],
            "state": [1] * 5,
            "rtt_ns": [100, 100, 100, 300, 300],
            "rtt_ns_min": [90, 80, 80, 70, 70],
            "retransmitted_segments": [1, 2, 4, 10, 10],
            "data_segments_out": [None, 1, 2, 3, 4],
            **{name: [0] * 5 for name in ("bytes_acked", "bytes_received", "bytes_sent", "bytes_retransmitted")},
            **{name: [5] * 5 for name in ("send_mss_bytes", "cwnd_segments", "peer_window_bytes", "own_window_bytes")},
        }
    )
    found = large.SHRINK["tcp_info"](rows)
    assert found["retransmitted_segments"].to_list() == [11, 12, 14]
    assert found["sample_mono_ns"].to_list() == [11, 21, 30]
    assert found["rtt_ns"].to_list() == [200, 200, 100]
    assert found["rtt_ns_min"].to_list() == [70, 70, 80]
    # What one socket's kernel does not count is not known of all.
    assert found["data_segments_out"][0] is None


def test_connections_of_all_near_sides_decide() -> None:
    def manifest(*counts: int) -> dict[str, object]:
        ends = {f"near{at + 1}": {"spec": {"connections_count": number}} for at, number in enumerate(counts)}
        return {"hosts": {**ends, "far": {"spec": {"connections_count": 10_000}}}}

    assert not large.is_large([manifest(5000, 5000)])
    assert large.is_large([manifest(1), manifest(5000, 5001)])
