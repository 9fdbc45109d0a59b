"""What the histograms hold: known delays to their resolution, and a stall in full where the load is open."""

import os
import signal
import time

import pytest

from tests.protocol.pipe_talk import Body
from tests.protocol.workload_talk import (
    MS,
    StartTalk,
    end_of,
    execute,
    group,
    iterations,
    phases,
    prepare,
    read,
    think,
    transaction,
    workload,
    write,
)

CONSTANT: Body = {"by": "constant", "per_kilosecond": 1_000_000}


@pytest.mark.parametrize("delay_ms", [1, 20])
def test_a_known_delay_is_in_the_histogram(talk: StartTalk, delay_ms: int) -> None:
    """Request, a pause of the far side, reply: no latency is shorter, and none is known worse than to a thousandth."""
    steps = [write(10), think(delay_ms * MS, is_mirrored=True), read(10)]
    load = workload(group(transaction(*steps, repeat=iterations(15)), strands=2))
    _, near = execute(talk, load, {"by": "workload"})
    rows = near.latencies("service")
    assert rows["latency_count"].sum() == 30
    assert min(rows["latency_ns_high"]) >= delay_ms * MS
    # Not one is counted as longer than the whole trial took for each of its executions.
    took_ns = max(near.tables["flows"]["last_call_mono_ns"]) - min(near.tables["flows"]["first_call_mono_ns"])
    assert max(rows["latency_ns_low"]) <= took_ns - 14 * delay_ms * MS
    for low, high in zip(rows["latency_ns_low"], rows["latency_ns_high"], strict=True):
        assert 0 <= high - low <= low / 1000 + 1


@pytest.mark.paced
def test_an_open_loop_shows_a_stall_in_full(talk: StartTalk) -> None:
    """A server that stands still for 100 ms: every request that was to begin meanwhile counts its wait."""
    load = workload(group(transaction(write(10), read(10), arrivals=CONSTANT), strands=4))
    far, near = prepare(talk, load, phases(1_200), interval_ns=100 * MS)
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    for _ in range(3):
        assert near.read()[1]["reply"] == "progress"
    os.kill(far.process.pid, signal.SIGSTOP)
    stopped = time.monotonic()
    time.sleep(0.1)
    stall_ns = int((time.monotonic() - stopped) * 1e9)
    os.kill(far.process.pid, signal.SIGCONT)
    _, near_side = (end_of(*agent.finish(identifier)) for agent, identifier in started)

    def longer(kind: str, than_ns: float) -> int:
        rows = near_side.latencies(kind)
        return int(rows.filter(rows["latency_ns_high"] >= than_ns)["latency_count"].sum())

    assert near_side.outcome == "complete"
    # The rate was kept: 1000 a second for 1.2 s.
    assert near_side.total("intended_count") == 1_200
    # Of 100 that were to begin in the stall half waited for more than its half. A closed loop would have one each.
    per_ms = 1
    assert longer("intended", stall_ns / 2) >= stall_ns / 2 / MS * per_ms - 2
    assert longer("intended", stall_ns - 8 * MS) >= 4
    assert longer("service", stall_ns / 2) < longer("intended", stall_ns / 2)


def test_a_trace_is_over_when_it_is_used_up(talk: StartTalk) -> None:
    arrivals: Body = {"by": "trace", "intended_ns": [0, 0, 5 * MS, 6 * MS, 90 * MS]}
    load = workload(group(transaction(write(10), read(10), arrivals=arrivals, repeat=iterations(100)), strands=2))
    far, near = execute(talk, load, {"by": "workload"})
    assert near.total("transactions_count") == far.total("transactions_count") == 5
    assert near.latencies("intended")["latency_count"].sum() == 5


def test_a_far_side_that_stalls_for_ever_is_cut_and_what_was_done_is_kept(talk: StartTalk) -> None:
    load = workload(group(transaction(write(1), read(1)), strands=3))
    far, near = prepare(talk, load, phases(600), deadline_ns=1_000 * MS)
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    assert near.read()[1]["reply"] == "progress"
    os.kill(far.process.pid, signal.SIGSTOP)
    try:
        near_side = end_of(*near.finish(started[1][1]))
    finally:
        os.kill(far.process.pid, signal.SIGCONT)
    assert near_side.outcome == "deadline"
    assert near_side.total("transactions_count") > 0
    assert set(near_side.tables["flows"]["ended"]) == {"deadline"}
