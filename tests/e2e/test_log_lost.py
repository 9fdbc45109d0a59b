"""A log that is read too late loses segments, counts every one of them, and is never taken for complete."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.halted import halted, idle_threads
from tests.e2e.hidden import is_any_hidden
from tests.e2e.logs import Logs, log_session, log_trials, run_log, unlogged_segments
from whyperf.analyze.flow import completeness, open_trial
from whyperf.record import Experiment
from whyperf.run import Session
from whyperf.wire import ReplyProgress

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.usefixtures("ours")]

#: More small segments than a CPU's log holds (crates/probe/src/evidence/watch.rs: 128 MB a CPU at most).
MSS_BYTES, TRANSFER_BYTES = 88, 95_000_000
#: At most, of one connection, what a busy host sends again of it included.
CLOSE_SEGMENTS = 64
#: A load that has not moved for so long has ended.
QUIET_S = 1.0


def run_with_halted_writer(opened: Session, experiment: Experiment) -> Logs:
    """Makes a log trial in which the near agent's log is not read before the load is over."""
    (planned,) = log_trials(experiment)
    moved = {"bytes": 0, "at": 0.0}

    def on_progress(host: str, progress: ReplyProgress) -> None:
        if host == "near" and progress["payload_bytes"]:
            moved.update(bytes=moved["bytes"] + progress["payload_bytes"], at=time.monotonic())

    near = opened.agents()[0].pid
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(run_log, opened, experiment, planned, on_progress)
        while not (writers := idle_threads(near)):
            assert not trial.done(), trial.result()
            time.sleep(0.001)
        (writer,) = writers
        with halted(writer):
            while moved["bytes"] < TRANSFER_BYTES and (not moved["at"] or time.monotonic() - moved["at"] < QUIET_S):
                time.sleep(0.05)
        return trial.result()


def test_what_a_full_log_loses_is_counted(tmp_path: Path) -> None:
    with log_session(
        tmp_path / "results",
        transfer_bytes=TRANSFER_BYTES,
        # Slow enough for the far log, which is read meanwhile, on any host.
        write_rate_bps=60_000_000,
        mss_bytes=MSS_BYTES,
        mtu_bytes=1500,
        tso=False,
        gso=False,
        gro=False,
    ) as (opened, experiment):
        near, far = run_with_halted_writer(opened, experiment)
    assert (near.manifest.status, far.evidence["lost_events_count"]) == ("complete", [])
    assert [end.payload_bytes for end in near.manifest.hosts.values()] == [TRANSFER_BYTES] * 2

    evidence, segments = near.evidence, near.segments
    lost = {entry["cpu"]: entry["count"] for entry in evidence["lost_events_count"]}
    assert lost
    assert evidence["logged_events_count"] == len(segments) + sum(lost.values())
    # A full log keeps what came first, as much as it holds, a power of two; read again, it takes the close.
    for cpu in lost:
        kept = len(segments.filter(cpu=cpu))
        assert kept - 2 ** (kept.bit_length() - 1) < CLOSE_SEGMENTS
    # TCP's own count is the truth: without super-segments each of its segments is one event. Its last sample is taken
    # before the close, which may be lost too; a hidden process may hide others.
    ((sent, received),) = unlogged_segments(near).values()
    closing = sum(lost.values()) - (sent + received)
    assert closing < CLOSE_SEGMENTS
    assert closing >= 0 or is_any_hidden()

    lacking = completeness(open_trial(near.folder), "near")
    assert lacking is not None
    assert not lacking.complete
    assert lacking.lost_events_count == lost
    assert lacking.reason is not None
    assert f"{sum(lost.values()):,} events of {evidence['logged_events_count']:,} were lost" in lacking.reason
