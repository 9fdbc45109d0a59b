"""The log of calls says what the threads did, as the load counts it, and where their time went."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.logs import Log, log_session, log_trials, run_log
from whyperf.analyze.flow import open_trial, read_calls

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

#: A transfer takes 0.4 s, with a write of 8 KB every 6 ms: also a busy host has time between two.
RATE_BPS, TRANSFER_BYTES = 10_000_000, 500_000
SPENT = pl.sum_horizontal("blocked_ns", "preempted_ns", "softirq_ns")
SPENT_BEFORE = pl.sum_horizontal("waited_before_ns", "runnable_before_ns", "softirq_before_ns")


def logs_of(folder: Path, **levels: Any) -> Iterator[tuple[Log, Log]]:
    """The near and the far log of one trial of each cell."""
    with log_session(folder / "results", interval_ms=20, transfer_bytes=TRANSFER_BYTES, **levels) as (
        opened,
        experiment,
    ):
        for planned in log_trials(experiment):
            yield run_log(opened, experiment, planned)


def calls_of(log: Log) -> pl.DataFrame:
    """The end's calls of the payload's direction, from the start of the load on."""
    calls = read_calls(open_trial(log.folder), log.host)
    assert calls is not None
    # A load of few threads has a connection of its own next to them, which is not counted.
    assert log.evidence["lost_calls_count"] == []
    assert log.evidence["logged_calls_count"] == calls.height
    assert_times_fit(calls)
    call = "write" if log.role == "sender" else "read"
    return calls.filter(pl.col("end_ns") > 0, call=call)


def assert_times_fit(calls: pl.DataFrame) -> None:
    """No call of a thread, and no time between two, is shorter than what it spent there."""
    known = calls.filter(pl.col("start_ns").is_not_null()).sort("thread", "end_ns")
    length = pl.col("end_ns") - pl.col("start_ns")
    between = pl.col("start_ns") - pl.col("end_ns").shift().over("thread")
    assert known.filter((length < SPENT) | (between < SPENT_BEFORE)).is_empty()
    # A thread is seen from the process's first call on.
    assert calls["start_ns"].null_count() == 1


def test_calls_are_those_that_the_load_counts(tmp_path: Path) -> None:
    for logs in logs_of(tmp_path, connections=2, io_model=["blocking", "epoll", "io_uring"]):
        for log in logs:
            calls = calls_of(log)
            # Of epoll's threads the load counts calls in vain, too.
            is_counted = pl.col("moved_bytes") > 0
            if log.manifest.factors["io_model"] == "epoll":
                is_counted |= pl.col("outcome") == "would_block"
            moved = calls.filter(is_counted).group_by("connection").agg(pl.len(), pl.sum("moved_bytes"))
            counted = log.table("flows").select("connection", "calls_count", "payload_bytes")
            assert moved.sort("connection").rows() == counted.sort("connection").rows(), log.manifest.factors
            assert calls.filter((pl.col("outcome") != "done") & (pl.col("moved_bytes") > 0)).is_empty()


@pytest.mark.paced
def test_a_slow_writer_waits_outside_of_its_calls_and_its_reader_where_it_was_set_to(tmp_path: Path) -> None:
    for near, far in logs_of(tmp_path, write_rate_bps=RATE_BPS, write_size_bytes=8192, read_wait=["block", "poll"]):
        # Of most calls: on a busy host a few wait for what the other side has not got round to.
        writer, reader = (
            calls_of(log).select(pl.median("blocked_ns", "waited_before_ns")).row(0) for log in (near, far)
        )
        assert writer[0] < writer[1], writer
        blocks = near.manifest.factors["read_wait"] == "block"
        assert (reader[0] > reader[1]) == blocks, reader
