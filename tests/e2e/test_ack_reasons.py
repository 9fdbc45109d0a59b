"""The reason of an ACK is the kernel's: held against its own counts and against what is on the wire."""

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e import pcap, wire
from tests.e2e.experiments import numbers
from tests.e2e.halted import halted
from tests.e2e.kernel_counts import Counted, counted
from tests.e2e.log_counts import assert_counters_agree
from tests.e2e.logs import (
    IS_OUT,
    IS_PURE_ACK,
    Log,
    Logs,
    log_session,
    log_trials,
    run_log,
    until_whole,
)
from tests.e2e.lossy import dropping
from whyperf.run import Session
from whyperf.run.trial import Progress

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.usefixtures("ours")]

CONNECTIONS = 20
#: What surrounds a trial, given how to run it with an observer.
Around = Callable[[Session, Callable[[Progress], Logs]], Logs]


def plainly(_: Session, run: Callable[[Progress], Logs]) -> Logs:
    """Nothing around it."""
    return run(lambda *_: None)


def measure(folder: Path, around: Around = plainly, **levels: Any) -> Counted:
    """One log trial, whole, with the kernel's counts."""
    made: list[Counted] = []
    with log_session(folder / "results", **levels) as (opened, experiment):
        (planned,) = log_trials(experiment)

        def once() -> Logs:
            run = lambda on_progress: run_log(opened, experiment, planned, on_progress)  # noqa: E731
            made.append(counted(opened, lambda: around(opened, run)))
            return made[-1].logs

        until_whole(once)
    found = made[-1]
    for log in found.logs:
        assert log.manifest.status == "complete"
        assert_timer(log, found)
        assert_retransmissions(log, found)
    return found


def reasons(log: Log) -> dict[str, int]:
    """Pure ACKs sent, by reason."""
    return dict(log.segments.filter(IS_OUT, IS_PURE_ACK).group_by("ack_reason").len().rows())


def assert_timer(log: Log, found: Counted) -> None:
    """The kernel counts the ACKs of its timer, and those that it leaves to the process that holds the socket."""
    added = found.added[log.host]
    acks = log.segments.filter(IS_OUT, IS_PURE_ACK)
    assert acks.filter(pl.col("context") != "timer", ack_reason="delayed_timer").is_empty()
    # A FIN is acknowledged as late as any other segment; a probe is another timer's.
    by_timer = acks.filter(context="timer").filter(pl.col("ack_reason") != "window_probe")
    assert set(by_timer["ack_reason"]) <= {"delayed_timer", "fin"}
    least, most = added["TcpExtDelayedACKs"] - added["TcpExtDelayedACKLocked"], added["TcpExtDelayedACKs"]
    assert least <= len(by_timer) <= most, (log.host, reasons(log))


def assert_retransmissions(log: Log, found: Counted) -> None:
    """The kernel counts retransmissions, fast ones apart, if the queue takes them; a loss probe may carry new data."""
    added = found.added[log.host]
    again = log.segments.filter(IS_OUT, pl.col("retransmission").is_not_null())
    by_kind = {
        str(kind): int(segments["wire_segments"].sum()) for (kind,), segments in again.group_by("retransmission")
    }
    assert sum(by_kind.values()) == added["TcpRetransSegs"], (log.host, by_kind)
    fast, failed = added["TcpExtTCPFastRetrans"], added["TcpExtTCPRetransFail"]
    assert fast <= by_kind.get("fast", 0) <= fast + failed
    assert by_kind.get("probe", 0) <= added["TcpExtTCPLossProbes"]
    assert (by_kind.get("timeout", 0) > 0) == (added["TcpExtTCPTimeouts"] > 0)


def test_the_timer_acknowledges_what_nothing_else_does(tmp_path: Path) -> None:
    # The far side has just answered the greeting, so its first ACK waits for data to travel with; the next
    # segment comes after 50 ms, the timer runs out after 40.
    found = measure(
        tmp_path,
        connections=CONNECTIONS,
        write_size_bytes=1000,
        write_rate_bps=160_000,
        warmup_s=0,
        duration_s=0.2,
        cooldown_s=0,
    )
    _, far = found.logs
    assert reasons(far)["delayed_timer"] > CONNECTIONS / 2


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump, to see what is on the wire")
def test_acks_out_of_order_are_those_with_sack_blocks(tmp_path: Path) -> None:
    path = tmp_path / "far.pcap"

    def around(opened: Session, run: Callable[[Progress], Logs]) -> Logs:
        assert opened.testbed is not None
        far = opened.testbed["far"]["netns"], opened.testbed["far"]["device"]
        with dropping(*far), wire.capture(*far, path):
            return run(lambda *_: None)

    offload = {"tso": False, "gso": False, "gro": False}
    found = measure(tmp_path, around, transfer_bytes=4_000_000, mtu_bytes=1500, **offload)
    _, far = found.logs
    (own, peer) = far.ports()[0]
    sent = far.segments.filter(IS_OUT)
    captured = pcap.read(path).filter(from_port=own, to_port=peer)
    assert numbers(sent, "acknowledgment") == numbers(captured, "acknowledgment")
    # RFC 2018 section 4: an ACK carries SACK blocks as long as there is data behind a hole, or a duplicate.
    acks = sent.with_columns(captured["has_sack"]).filter(IS_PURE_ACK)
    assert acks.filter((pl.col("ack_reason") == "out_of_order") != pl.col("has_sack")).is_empty()
    assert reasons(far)["out_of_order"] > 0
    assert found.added["near"]["TcpExtTCPFastRetrans"] > 0
    for log in found.logs:
        assert_counters_agree(log)


def thread_of(pid: int, name: str) -> int | None:
    """A thread of a process by its name."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int(task.name)
    return None


def stop_reading(seconds: float) -> Around:
    """Halts the far side's reader once it has read something."""

    def around(opened: Session, run: Callable[[Progress], Logs]) -> Logs:
        moved: list[int] = []
        with ThreadPoolExecutor(1) as pool:
            trial = pool.submit(run, lambda _, progress: moved.append(progress["payload_bytes"]))
            while not any(moved):
                assert not trial.done(), trial.result()
                time.sleep(0.01)
            reader = thread_of(opened.agents()[1].pid, "receiver-0")
            assert reader is not None
            with halted(reader):
                time.sleep(seconds)
            return trial.result()

    return around


def test_a_reader_that_stops_is_probed_and_opens_the_window_again(tmp_path: Path) -> None:
    found = measure(
        tmp_path,
        stop_reading(0.7),
        warmup_s=0,
        duration_s=1,
        cooldown_s=0,
        window_bytes=65536,
        write_size_bytes=8192,
        write_rate_bps=20_000_000,
        mtu_bytes=1500,
    )
    near, far = found.logs
    # RFC 9293 section 3.8.6.1: a closed window is probed.
    assert reasons(near)["window_probe"] == found.added["near"]["TcpExtTCPWinProbe"] > 0
    announced = far.segments.filter(IS_OUT).with_columns(pl.col("window_bytes").shift(1).alias("before"))
    opening = announced.filter(pl.col("before") == 0, pl.col("window_bytes") > 0)
    assert len(opening) == found.added["far"]["TcpExtTCPFromZeroWindowAdv"] > 0
    assert set(opening["ack_reason"]) == {"read_call"}
    closing = announced.filter(pl.col("before") > 0, pl.col("window_bytes") == 0)
    assert len(closing) == found.added["far"]["TcpExtTCPToZeroWindowAdv"] > 0


def test_quick_acks_leave_at_once(tmp_path: Path) -> None:
    at_once: dict[bool, int] = {}
    share: dict[bool, float] = {}
    for quick_ack in (False, True):
        # A segment every millisecond: as a rule it is read before the next one comes.
        found = measure(
            tmp_path / str(quick_ack),
            quick_ack=quick_ack,
            write_size_bytes=1000,
            write_rate_bps=8_000_000,
            warmup_s=0,
            duration_s=0.3,
            cooldown_s=0,
            mtu_bytes=1500,
        )
        by_reason = reasons(found.logs[1])
        # TCP_QUICKACK has the kernel acknowledge on arrival, or in the read call, whichever comes first (tcp(7)).
        at_once[quick_ack] = by_reason.get("quick", 0) + by_reason.get("read_call", 0)
        share[quick_ack] = at_once[quick_ack] / sum(by_reason.values())
    # Of about 300 segments each. A reader that comes late acknowledges in the read call without it, too.
    assert at_once[False] * 1.2 < at_once[True]
    assert share[True] > max(0.5, share[False])
