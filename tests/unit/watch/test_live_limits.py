"""What limits a connection between two snapshots."""

from typing import Any

import pytest

from tests.unit.watch.snapshots_of import MSS, SECOND_NS, connection
from whyperf.watch.live_limits import ConnectionInterval, Limit, interval, largest, merged

MS = 1_000_000


def between(before: dict[str, Any], now: dict[str, Any], length_ns: int = SECOND_NS) -> ConnectionInterval:
    return interval("near", connection(**before), connection(**now), SECOND_NS, SECOND_NS + length_ns)


@pytest.mark.parametrize(
    ("now", "limit"),
    [
        ({}, Limit.NOTHING_TO_SEND),
        ({"busy_ns": 400 * MS}, Limit.NOTHING_TO_SEND),
        ({"busy_ns": 1000 * MS, "rwnd_limited_ns": 600 * MS}, Limit.RECEIVE_WINDOW),
        ({"busy_ns": 1000 * MS, "send_buffer_limited_ns": 600 * MS}, Limit.SEND_BUFFER),
        ({"busy_ns": 1000 * MS, "rwnd_limited_ns": 400 * MS, "send_buffer_limited_ns": 400 * MS}, Limit.MIXED),
        ({"busy_ns": 1000 * MS}, Limit.ACKNOWLEDGMENT),
    ],
)
def test_the_sending_direction_has_the_limit_of_half_of_the_time(now: dict[str, Any], limit: Limit) -> None:
    assert between({}, now).sent.limit is limit


def test_data_that_waits_while_nothing_else_limits_waits_for_the_network() -> None:
    busy = {"busy_ns": 1000 * MS, "unsent_bytes": 5 * MSS}
    assert between({"unsent_bytes": MSS}, busy).sent.ns_by_limit[Limit.NETWORK] == 1000 * MS
    # It waited at one of the two snapshots only.
    once = between({}, busy).sent.ns_by_limit
    assert (once[Limit.NETWORK], once[Limit.ACKNOWLEDGMENT]) == (500 * MS, 500 * MS)


@pytest.mark.parametrize(
    "now",
    [
        {"busy_ns": 1012 * MS},
        {"busy_ns": 900 * MS, "rwnd_limited_ns": 950 * MS, "send_buffer_limited_ns": 80 * MS},
        {"busy_ns": 300 * MS, "rwnd_limited_ns": 100 * MS, "received_bytes": 1, "receive_queue_bytes": 70_000},
    ],
)
def test_the_states_of_a_direction_add_up_to_the_interval(now: dict[str, Any]) -> None:
    """Jiffies of the kernel make parts that are larger than the whole."""
    found = between({}, now)
    for direction in (found.sent, found.received):
        assert sum(direction.ns_by_limit.values()) == SECOND_NS
        assert min(direction.ns_by_limit.values()) >= 0


@pytest.mark.parametrize(
    ("before", "now", "limit"),
    [
        ({}, {}, Limit.NOTHING_ARRIVES),
        ({}, {"received_bytes": 10**6}, Limit.SENDER_OR_NETWORK),
        # What is waiting to be read is less than the window that is left: the reader is about to be woken up.
        (
            {"receive_queue_bytes": 3 * MSS},
            {"received_bytes": 10**6, "receive_queue_bytes": 3 * MSS},
            Limit.SENDER_OR_NETWORK,
        ),
        (
            {"receive_queue_bytes": 60_000, "own_window_bytes": 5_000},
            {"received_bytes": 10**5, "receive_queue_bytes": 60_000, "own_window_bytes": 0},
            Limit.READER,
        ),
        # A reader that has stopped, and a window that is closed.
        (
            {"receive_queue_bytes": 60_000, "own_window_bytes": 0},
            {"receive_queue_bytes": 60_000, "own_window_bytes": 0},
            Limit.READER,
        ),
        # A kernel that does not show the window.
        (
            {"receive_queue_bytes": 3 * MSS, "own_window_bytes": None},
            {"received_bytes": 10**5, "receive_queue_bytes": 3 * MSS, "own_window_bytes": None},
            Limit.READER,
        ),
        (
            {"receive_queue_bytes": MSS, "own_window_bytes": None},
            {"received_bytes": 10**5, "receive_queue_bytes": MSS, "own_window_bytes": None},
            Limit.SENDER_OR_NETWORK,
        ),
    ],
)
def test_the_receiving_direction_is_judged_by_what_was_not_read(
    before: dict[str, Any], now: dict[str, Any], limit: Limit
) -> None:
    assert between(before, now).received.limit is limit


def test_rates_are_of_the_time_between_the_snapshots() -> None:
    found = between({"acked_bytes": 1000}, {"acked_bytes": 126_000, "received_bytes": 250}, SECOND_NS // 2)
    assert found.send_bps == pytest.approx(2_000_000)
    assert found.receive_bps == pytest.approx(4_000)
    assert found.sends_more
    assert found.verdict is found.sent.limit
    assert between({}, {"received_bytes": 1}).verdict is Limit.SENDER_OR_NETWORK


def test_a_reader_that_has_stopped_is_the_limit_although_nothing_moves() -> None:
    stuck = {"receive_queue_bytes": 60_000, "own_window_bytes": 0}
    assert between(stuck, stuck).verdict is Limit.READER
    assert between(stuck, {**stuck, "acked_bytes": 5}).verdict is Limit.NOTHING_TO_SEND
    assert between({}, {}).verdict is Limit.NOTHING_TO_SEND


def test_a_counter_that_went_back_is_no_progress() -> None:
    """A connection that is gone may have lost its last counters."""
    found = between({"acked_bytes": 1000, "retransmitted_segments": 3}, {"state": 7})
    assert (found.sent.payload_bytes, found.retransmitted_segments) == (0, 0)
    assert found.is_closed


def test_intervals_that_follow_each_other_make_one() -> None:
    first = between({}, {"acked_bytes": 100, "busy_ns": 1000 * MS, "rwnd_limited_ns": 1000 * MS})
    second = interval(
        "near",
        connection(acked_bytes=100),
        connection(acked_bytes=150, retransmitted_segments=2),
        2 * SECOND_NS,
        5 * SECOND_NS,
    )
    both = merged([first, second])
    assert (both.start_ns, both.end_ns) == (SECOND_NS, 5 * SECOND_NS)
    assert both.sent.payload_bytes == 150
    assert both.retransmitted_segments == 2
    assert both.sent.ns_by_limit[Limit.RECEIVE_WINDOW] == SECOND_NS
    assert both.verdict is Limit.NOTHING_TO_SEND
    assert sum(both.received.ns_by_limit.values()) == both.length_ns


def test_no_time_has_no_limit() -> None:
    assert largest({}) is Limit.MIXED
    assert largest({Limit.NETWORK: 0}) is Limit.MIXED
    assert largest({Limit.NETWORK: 1, Limit.SEND_BUFFER: 1}) is Limit.NETWORK
