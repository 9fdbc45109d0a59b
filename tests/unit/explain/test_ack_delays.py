"""How long ACKs were under way, from what both hosts' kernels counted."""

from pathlib import Path

import polars as pl
import pytest

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.gather.delays import ack_delay_ns
from whyperf.explain.gather.read import ALWAYS

MS = 1_000_000
STEP_MS, BYTES_PER_MS = 50, 1_000
CLOCKS_APART_MS = 3_000
TRIP_MS = 10


def found(folder: Path, delays_ms: list[list[float]], samples: int = 40, uncertainty_ms: int = 0) -> float | None:
    """Of connections whose ACKs take these times at first, one sample each, and the last of them from then on."""
    of_sender, of_receiver = [], []
    for number, delays in enumerate(delays_ms):
        for at in range(samples):
            came_ms = at * STEP_MS
            bytes_came = came_ms * BYTES_PER_MS
            taken = delays[min(at, len(delays) - 1)]
            of_receiver.append((number, (came_ms + CLOCKS_APART_MS) * MS, bytes_came))
            of_sender.append((number, int((came_ms + taken) * MS), bytes_came))
    columns = ("connection", "sample_mono_ns")
    for host, rows, count in (("near", of_sender, "bytes_acked"), ("far", of_receiver, "bytes_received")):
        frame = pl.DataFrame(rows, schema=(*columns, count), orient="row")
        frame.write_parquet(folder / f"tcp_info.{host}.parquet")
    ends = {
        "near": FlowEnd("near", "sender", 0, EndEvidence()),
        "far": FlowEnd("far", "receiver", CLOCKS_APART_MS * MS, EndEvidence(), uncertainty_ns=uncertainty_ms * MS),
    }
    trial = FlowTrial(folder, "001-c0001", "c0001", "complete", ends, 0, None)
    return ack_delay_ns(trial, ends["near"], ends["far"], ALWAYS, TRIP_MS * MS)


def test_acks_that_wait_are_late_by_what_they_took_above_half_a_round_trip(tmp_path: Path) -> None:
    assert found(tmp_path, [[5, 5, 5, 60]]) == pytest.approx(55 * MS)


def test_counts_that_leap_between_samples_leave_the_median(tmp_path: Path) -> None:
    assert found(tmp_path, [[4, 40, 5, 0.1, 5]]) == pytest.approx(0, abs=MS)


def test_of_delays_that_differ_so_much_is_said_only_what_is_sure(tmp_path: Path) -> None:
    leaps = [0.1, 3, 6.5, 9, 14] * 8
    delay = found(tmp_path, [leaps])
    assert delay is not None
    assert delay < 1 * MS < (6.5 - TRIP_MS / 2) * MS


def test_what_the_clocks_may_be_wrong_by_is_no_delay(tmp_path: Path) -> None:
    assert found(tmp_path, [[5, 5, 5, 60]], uncertainty_ms=20) == pytest.approx(35 * MS)


def test_acks_that_always_take_as_long_are_not_late(tmp_path: Path) -> None:
    assert found(tmp_path, [[5]]) == pytest.approx(0)


def test_connections_that_share_a_path_are_looked_at_together(tmp_path: Path) -> None:
    assert found(tmp_path, [[5, 5, 5, 45], [5, 5, 5, 65]]) == pytest.approx(40 * MS, abs=MS)


def test_few_samples_show_no_delay(tmp_path: Path) -> None:
    assert found(tmp_path, [[5, 60]], samples=6) is None


def test_without_the_receivers_counts_nothing_is_known(tmp_path: Path) -> None:
    found(tmp_path, [[5]])
    (tmp_path / "tcp_info.far.parquet").unlink()
    near, far = (
        FlowEnd("near", "sender", 0, EndEvidence()),
        FlowEnd("far", "receiver", CLOCKS_APART_MS * MS, EndEvidence()),
    )
    trial = FlowTrial(tmp_path, "001-c0001", "c0001", "complete", {"near": near, "far": far}, 0, None)
    assert ack_delay_ns(trial, near, far, ALWAYS, TRIP_MS * MS) is None
