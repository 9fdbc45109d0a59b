"""Limits of a watched connection now: differences of two snapshots (WatchedConnection in crates/schema/src/watch.rs).

For display only. What the kernel counts itself (tcpi_busy_time, tcpi_rwnd_limited, tcpi_sndbuf_limited) gives the
shares of the sending direction; the receiving direction has the queue of what was not read, and nothing else. So a
limit that this side cannot see is named as what it may be, and a state is never taken from the other side's point of
view. `explain` has more evidence and may say more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from whyperf.wire import Endpoints, WatchedConnection

#: TCP_CLOSE of include/net/tcp_states.h.
CLOSED: Final = 7
BITS: Final = 8
NS_PER_S: Final = 1_000_000_000
#: A state that takes less of the time is not called the limit.
MIN_SHARE: Final = 0.5


class Limit(StrEnum):
    """The limit of a direction of a connection. The first group is for what this side sends, the second receives."""

    #: Nothing is written, and all that was sent is acknowledged.
    NOTHING_TO_SEND = "nothing_to_send"
    #: The window that the peer announces is full.
    RECEIVE_WINDOW = "receive_window"
    #: The send buffer holds no more, and everything in it is in flight.
    SEND_BUFFER = "send_buffer"
    #: Data waits to be sent, and neither of the two holds it back: congestion window, pacing or queue of the device.
    NETWORK = "network"
    #: Everything that was written is in flight: the program writes little at a time, or waits for an answer.
    ACKNOWLEDGMENT = "acknowledgment"

    #: Nothing arrives.
    NOTHING_ARRIVES = "nothing_arrives"
    #: Data that has arrived waits to be read.
    READER = "reader"
    #: All that arrives is read; the sender or the network sets the rate, which this side cannot distinguish.
    SENDER_OR_NETWORK = "sender_or_network"

    #: No single one for half of the time.
    MIXED = "mixed"


#: As rows of a table and lines show it.
SHORT: Final[Mapping[Limit, str]] = {
    Limit.NOTHING_TO_SEND: "idle",
    Limit.RECEIVE_WINDOW: "peer window",
    Limit.SEND_BUFFER: "send buffer",
    Limit.NETWORK: "network",
    Limit.ACKNOWLEDGMENT: "waits for ACK",
    Limit.NOTHING_ARRIVES: "idle",
    Limit.READER: "slow reader",
    Limit.SENDER_OR_NETWORK: "peer/network",
    Limit.MIXED: "mixed",
}

#: As sentences.
MEANINGS: Final[Mapping[Limit, str]] = {
    Limit.NOTHING_TO_SEND: "the program has nothing to send",
    Limit.RECEIVE_WINDOW: "the peer's receive window is full: a slow reader or a small receive buffer there",
    Limit.SEND_BUFFER: "the send buffer is full, and all of it is in flight",
    Limit.NETWORK: "the congestion window, pacing or the device holds data back",
    Limit.ACKNOWLEDGMENT: "all that was written is in flight: small writes, or the program waits for answers",
    Limit.NOTHING_ARRIVES: "the peer sends nothing",
    Limit.READER: "the program reads more slowly than data arrives",
    Limit.SENDER_OR_NETWORK: "the sender or the network; only the other side shows which",
    Limit.MIXED: "no single limit for half of the time",
}


@dataclass(frozen=True)
class DirectionInterval:
    """One direction of a connection in an interval. `ns_by_limit` adds up to the interval, in ns."""

    payload_bytes: int
    ns_by_limit: Mapping[Limit, int]

    @property
    def limit(self) -> Limit:
        """The limit that takes at least half of the time."""
        return largest(self.ns_by_limit)


@dataclass(frozen=True)
class ConnectionInterval:
    """A watched connection between two snapshots. Times in ns, on the clock of the host that watches."""

    host: str
    connection: int
    endpoints: Endpoints
    program: str
    process: int | None
    #: Totals and state at the end.
    last: WatchedConnection
    start_ns: int
    end_ns: int
    sent: DirectionInterval
    received: DirectionInterval
    retransmitted_segments: int
    sent_segments: int

    @property
    def length_ns(self) -> int:
        """The length of the interval."""
        return self.end_ns - self.start_ns

    @property
    def send_bps(self) -> float:
        """Acknowledged payload, in bit/s."""
        return _rate(self.sent.payload_bytes, self.length_ns)

    @property
    def receive_bps(self) -> float:
        """Received payload, in bit/s."""
        return _rate(self.received.payload_bytes, self.length_ns)

    @property
    def is_closed(self) -> bool:
        """True where the connection is gone."""
        return self.last["state"] == CLOSED

    @property
    def sends_more(self) -> bool:
        """True where this side has sent at least as much as it received."""
        return self.sent.payload_bytes >= self.received.payload_bytes

    @property
    def verdict(self) -> Limit:
        """The limit of the direction in which more moved. Where nothing did, what has arrived may wait to be read."""
        if not self.sent.payload_bytes and self.received.limit is Limit.READER:
            return Limit.READER
        return self.sent.limit if self.sends_more else self.received.limit


def interval(
    host: str, before: WatchedConnection, now: WatchedConnection, start_ns: int, end_ns: int
) -> ConnectionInterval:
    """The changes of a connection between two snapshots at `start_ns` and `end_ns`, which is later.

    Counters that went back, as those of a connection whose last state the kernel no longer had, count as unchanged.
    """
    length_ns = max(1, end_ns - start_ns)
    return ConnectionInterval(
        host=host,
        connection=now["connection"],
        endpoints=now["endpoints"],
        program=now["program"],
        process=now["process"],
        last=now,
        start_ns=start_ns,
        end_ns=start_ns + length_ns,
        sent=DirectionInterval(_grown(before, now, "acked_bytes"), _sending(before, now, length_ns)),
        received=DirectionInterval(_grown(before, now, "received_bytes"), _receiving(before, now, length_ns)),
        retransmitted_segments=_grown(before, now, "retransmitted_segments"),
        sent_segments=_grown(before, now, "data_segments_out"),
    )


def merged(intervals: Sequence[ConnectionInterval]) -> ConnectionInterval:
    """Several intervals of one connection that follow each other, as one; at least one is given."""
    first, last = intervals[0], intervals[-1]
    return ConnectionInterval(
        host=last.host,
        connection=last.connection,
        endpoints=last.endpoints,
        program=last.program,
        process=last.process,
        last=last.last,
        start_ns=first.start_ns,
        end_ns=last.end_ns,
        sent=_summed(each.sent for each in intervals),
        received=_summed(each.received for each in intervals),
        retransmitted_segments=sum(each.retransmitted_segments for each in intervals),
        sent_segments=sum(each.sent_segments for each in intervals),
    )


def largest(ns_by_limit: Mapping[Limit, int]) -> Limit:
    """The limit with at least half of the time; `MIXED` where none has."""
    total = sum(ns_by_limit.values())
    limit, longest = max(ns_by_limit.items(), key=lambda item: item[1], default=(Limit.MIXED, 0))
    return limit if total and longest >= MIN_SHARE * total else Limit.MIXED


def _sending(before: WatchedConnection, now: WatchedConnection, length_ns: int) -> dict[Limit, int]:
    """The time of the sending direction by limit. The kernel counts in jiffies: parts may add up to more."""
    busy_ns = min(length_ns, _grown(before, now, "busy_ns"))
    window_ns = min(busy_ns, _grown(before, now, "rwnd_limited_ns"))
    buffer_ns = min(busy_ns - window_ns, _grown(before, now, "send_buffer_limited_ns"))
    # Whether data waits to be sent is known at both snapshots only.
    waiting = (before["unsent_bytes"] > 0) + (now["unsent_bytes"] > 0)
    other_ns = busy_ns - window_ns - buffer_ns
    network_ns = other_ns * waiting // 2
    return {
        Limit.NOTHING_TO_SEND: length_ns - busy_ns,
        Limit.RECEIVE_WINDOW: window_ns,
        Limit.SEND_BUFFER: buffer_ns,
        Limit.NETWORK: network_ns,
        Limit.ACKNOWLEDGMENT: other_ns - network_ns,
    }


def _receiving(before: WatchedConnection, now: WatchedConnection, length_ns: int) -> dict[Limit, int]:
    """The time of the receiving direction by limit, from the queue at both snapshots."""
    filled = (_is_filled(before) + _is_filled(now)) / 2
    reader_ns = round(length_ns * filled)
    arrives = _grown(before, now, "received_bytes") > 0
    return {
        Limit.NOTHING_ARRIVES: 0 if arrives else length_ns - reader_ns,
        Limit.READER: reader_ns,
        Limit.SENDER_OR_NETWORK: length_ns - reader_ns if arrives else 0,
    }


def _is_filled(connection: WatchedConnection) -> bool:
    """True where what was not read is more than what arrives while a reader is being woken up.

    That is: as much as the window that is left, where the kernel shows it, and two segments elsewhere.
    """
    queue, window = connection["receive_queue_bytes"], connection["own_window_bytes"]
    return queue > 0 and queue >= (2 * max(1, connection["mss_bytes"]) if window is None else window)


def _summed(directions: Iterable[DirectionInterval]) -> DirectionInterval:
    payload_bytes = 0
    ns_by_limit: dict[Limit, int] = {}
    for direction in directions:
        payload_bytes += direction.payload_bytes
        for limit, ns in direction.ns_by_limit.items():
            ns_by_limit[limit] = ns_by_limit.get(limit, 0) + ns
    return DirectionInterval(payload_bytes, ns_by_limit)


def _grown(before: WatchedConnection, now: WatchedConnection, counter: str) -> int:
    return max(0, int(now[counter]) - int(before[counter]))  # type: ignore[literal-required]


def _rate(payload_bytes: int, length_ns: int) -> float:
    return BITS * payload_bytes * NS_PER_S / length_ns if length_ns else 0.0
