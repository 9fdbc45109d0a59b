"""The kernel's clocks, and from the log when they ran: they change when TCP is called, not when a condition starts."""

import numpy as np
import polars as pl
import pytest

from tests.unit.explain import scenes
from whyperf.explain.budget.calls import Gaps
from whyperf.explain.budget.from_counters import LATE_NS, compared

MS = 1_000_000


def test_a_window_is_the_limit_when_what_a_woken_call_wrote_is_pushed() -> None:
    scene = """
        call 1 3 moved=2896
        call 4 6 moved=2896
        call 7 40 moved=2896 blocked=24
        0 < ack=1 win=2896 unsent=0
        2 > 1:2897 unsent=0 cwnd=10
        30 < ack=2897 win=2896 unsent=2896 cwnd=10
        31 > 2897:5793 by=net_rx unsent=0 cwnd=10
        60 < ack=5793 win=2896 unsent=2896 cwnd=10
        61 > 5793:8689 by=net_rx unsent=0 cwnd=10
        90 < ack=8689 win=2896 unsent=0 cwnd=10
    """
    assert scenes.clocks(scene)["rwnd_limited"] == ["6-31", "40-61"]


def test_a_call_keeps_its_connection_busy_from_when_it_copies() -> None:
    scene = """
        call 0 12 moved=2896
        call 40 52 moved=2896
        10 > 1:2897 unsent=0 cwnd=10
        30 < ack=2897 unsent=0 cwnd=10
        50 > 2897:5793 unsent=0 cwnd=10
        70 < ack=5793 unsent=0 cwnd=10
    """
    assert scenes.clocks(scene)["busy"] == ["0-30", "40-70"]


@pytest.mark.parametrize(("acked", "runs"), [(4345, []), (1449, ["21-40"])])
def test_a_send_buffer_is_no_limit_once_a_third_of_it_is_free(acked: int, runs: list[str]) -> None:
    scene = f"""
        call 0 60 moved=7240 blocked=48
        1 > 1:5793 unsent=1448 cwnd=20
        20 < ack={acked} unsent=1448 cwnd=20
        21 > 5793:7241 by=net_rx unsent=0 cwnd=20
        40 < ack=7241 unsent=0 cwnd=20
    """
    assert scenes.clocks(scene)["sndbuf_limited"] == runs


def test_an_acknowledgment_from_the_backlog_releases_what_was_deferred() -> None:
    """Both windows have room for less than a super-segment, and the call's end takes in the acknowledgment."""
    scene = """
        call 0 5 moved=14480
        call 6 40 moved=1448
        0 < ack=1 win=7240 unsent=0
        1 > 1:5793 wire=4 unsent=8688 cwnd=100
        30 < ack=5793 win=14480 unsent=8688 cwnd=100
        38 > 5793:14481 wire=6 unsent=0 cwnd=100
        60 < ack=14481 unsent=0 cwnd=100
    """
    assert scenes.clocks(scene)["rwnd_limited"] == ["1-38"]


@pytest.mark.parametrize(("end_ns", "counted_ns"), [(7 * MS + LATE_NS - 1, 4 * MS), (7 * MS + LATE_NS, 8 * MS)])
def test_a_jiffy_is_counted_when_its_interrupt_is_taken_in(end_ns: int, counted_ns: int) -> None:
    times = np.array([0, end_ns, 80 * MS])
    rows = np.zeros(2, dtype=np.int32)
    gaps = Gaps(times[:-1], times[1:], rows, rows, np.zeros(2, dtype=np.int8))
    samples = pl.DataFrame(
        {
            "sample_ns": [0, 80 * MS],
            "busy_ns": [0, 8 * MS],
            "rwnd_limited_ns": [0, 4 * MS],
            "send_buffer_limited_ns": [0, 0],
        }
    )
    runs, never = np.array([True, False]), np.zeros(2, dtype=np.bool_)
    clocks = {"busy_ns": runs, "rwnd_limited_ns": never, "send_buffer_limited_ns": never}
    assert compared(samples, gaps, clocks, zero_mono_ns=MS)[0].budget_ns == counted_ns
