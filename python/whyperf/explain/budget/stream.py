"""A sender's TCP at each row of its log: what is written, sent and acknowledged, and what may go.

All of it follows from the headers and from three columns of the socket. Where the columns of a row were
read before the kernel took in what the row brought, the row after it shows what was in force between them.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from whyperf.analyze.flow.log import FIN, SYN
from whyperf.explain.budget.calls import Calls
from whyperf.explain.segment_log import PROCESS, UNKNOWN_NUMBER, Bools, Ints, LoggedConnection, Places

_NO_DATA = -1
NO_EDGE = 1 << 62
"""Of a window that no row has announced yet."""


@dataclass(frozen=True)
class Arrived:
    """Ranges of octets that were sent, or that arrived: their starts and their ends, ascending, shape (n,) each."""

    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, starts: Ints, ends: Ints) -> Self:
        """Of ranges in any order."""
        return cls(np.sort(starts, kind="stable"), np.sort(ends, kind="stable"))

    def how_often(self, octet: Ints) -> Ints:
        """In how many ranges each octet lies."""
        begun = np.searchsorted(self.starts, octet, side="right")
        return np.asarray(begun - np.searchsorted(self.ends, octet, side="right"), dtype=np.int64)


@dataclass(frozen=True)
class Stream:
    """Shape (n,) each, after row i of the log.

    `sent` and `acked` are one past the last octet sent, and acknowledged; `written` one past the last that the
    application had written as far as the rows show; `edge` one past the last octet the peer's window allows;
    `window` that window. `cwnd` and `ssthresh` are in force from the row on. `flight` is how many segments are
    outstanding. `released` is the next row that carries new payload, n if none; `is_by_process` whether a process
    sent the last one. `is_outstanding`: something is unacknowledged, be it a FIN. `was_cwnd_full`: within the round
    trip until then it was. `is_lost`: the row sends again what did not arrive.
    """

    mss: int
    sent: Ints
    acked: Ints
    written: Ints
    edge: Ints
    window: Ints
    cwnd: Ints
    ssthresh: Ints
    flight: Ints
    released: Places
    is_by_process: Bools
    is_outstanding: Bools
    in_recovery: Bools
    was_cwnd_full: Bools
    is_lost: Bools


def stream_of(segments: LoggedConnection, mss_bytes: int = 1, arrived: Arrived | None = None) -> Stream:
    """The state of the sending TCP after each row.

    Args:
        segments: of the sender's log.
        mss_bytes: what a full segment holds at least.
        arrived: what came to the receiver; without it, all that was sent again counts as lost.
    """
    mss = max(_mss(segments), mss_bytes)
    carries = segments.is_out & (segments.payload_bytes > 0)
    is_new = carries & (segments.retransmission == UNKNOWN_NUMBER)
    sent = _sent(segments, carries, is_new)
    answers = ~segments.is_out & (segments.acknowledgment != UNKNOWN_NUMBER)
    acknowledged = _highest(np.where(answers, segments.acknowledgment, 0))
    acked = np.minimum(acknowledged, sent)
    written = _written(segments, sent, acked)
    # An acknowledgment that others overtook announces an old window (RFC 9293 section 3.10.7.4, SND.WL2).
    opens = answers & (segments.acknowledgment >= acked) & (segments.flags & SYN == 0)
    window = _filled_on(segments.window_bytes, opens)
    edge = _filled_on(segments.acknowledgment + segments.window_bytes, opens)
    edge = np.where(edge == _NO_DATA, NO_EDGE, edge)
    flight = _flight(segments, is_new, acked, mss)
    is_lost = _is_lost(segments, carries, arrived)
    return Stream(
        mss=mss,
        sent=sent,
        acked=acked,
        written=written,
        edge=edge,
        window=window,
        cwnd=_in_force(segments.cwnd_segments),
        ssthresh=_in_force(segments.ssthresh_segments),
        flight=flight,
        released=_next(is_new),
        is_by_process=_filled_on(segments.context, is_new) == PROCESS,
        is_outstanding=_highest(np.where(segments.is_out, segments.sequence_end + (segments.flags & FIN != 0), 0))
        > acknowledged,
        in_recovery=_in_recovery(is_lost, sent, acked),
        was_cwnd_full=acked < _filled_on(sent, carries & (flight >= segments.cwnd_segments)),
        is_lost=is_lost,
    )


def written_by_calls(calls: Calls, stream: Stream) -> Ints:
    """One past the last octet that each call had written when it ended, shape (calls,).

    What went before the first logged call follows from the last row: what all calls wrote is then sent or waits.
    """
    total = np.cumsum(calls.moved)
    if total.size == 0 or stream.written.size == 0:
        return total
    before = int(stream.written[-1]) - int(total[-1])
    return total + before


def _sent(segments: LoggedConnection, carries: Bools, is_new: Bools) -> Ints:
    """One past the last octet sent; SYN and FIN take a sequence number each and carry nothing.

    New payload begins where the last one ended; what lies between was sent too, though the log has lost it.
    """
    new = np.flatnonzero(is_new)
    starts = np.repeat(np.append(segments.sequence[new], 0), np.diff(new, prepend=0, append=segments.time_ns.size))
    return _highest(np.maximum(np.where(carries, segments.sequence_end, 1), starts))


def _written(segments: LoggedConnection, sent: Ints, acked: Ints) -> Ints:
    """One past the last octet written, at each row.

    Where both hosts share a CPU, an acknowledgment may arrive before `snd_nxt` counts what it answers (tcp_write_xmit,
    tcp_event_new_data_sent). What a row that arrived shows is therefore taken from the socket's own numbers, and no
    more than the next row that left knows of.
    """
    known = segments.unsent_bytes != UNKNOWN_NUMBER
    unacked = segments.unacked_bytes
    by_socket = np.where(segments.is_out | (unacked == UNKNOWN_NUMBER), sent, acked + unacked)
    shown = np.where(known, by_socket + segments.unsent_bytes, sent)
    at_most = np.where(segments.is_out & known, shown, np.iinfo(np.int64).max)
    at_most = np.minimum.accumulate(at_most[::-1])[::-1]
    return _highest(np.maximum(np.minimum(shown, at_most), sent))


def _mss(segments: LoggedConnection) -> int:
    """The largest segment that went out on the wire, bytes."""
    single = np.where(segments.is_out & (segments.wire_segments <= 1), segments.payload_bytes, 0)
    parts = np.where(segments.is_out, segments.gso_size_bytes, 0)
    largest = max(int(single.max(initial=0)), int(parts.max(initial=0)))
    return max(largest, 1)


def _next(which: Bools) -> Places:
    """For each row the next of `which` after it, the number of rows if none."""
    rows = np.flatnonzero(which)
    counts = np.diff(rows, prepend=0, append=which.size)
    found: Places = np.repeat(np.append(rows, which.size).astype(np.int32), counts)
    return found


def _highest(values: Ints) -> Ints:
    return np.maximum.accumulate(values) if values.size else values


def _filled_on(values: Ints, known: Bools) -> Ints:
    """Each row's value, or that of the last row known before it; `_NO_DATA` before the first."""
    place = _highest(np.where(known, np.arange(values.size), -1))
    return np.where(place >= 0, values[np.maximum(place, 0)], _NO_DATA)


def _in_force(column: Ints) -> Ints:
    """The value in the next row of the socket: it was read before the row after changed it."""
    known = column != UNKNOWN_NUMBER
    if not known.any():
        return np.full(column.size, _NO_DATA)
    filled = _filled_on(column[::-1], known[::-1])[::-1]
    following = np.concatenate((filled[1:], filled[-1:]))
    return np.where(following == _NO_DATA, _filled_on(column, known), following)


def _flight(segments: LoggedConnection, is_new: Bools, acked: Ints, mss: int) -> Ints:
    """LoggedConnection sent and not acknowledged. What SACK says of them is not in the log (tcp_packets_in_flight)."""
    end, wire = segments.sequence_end[is_new], np.maximum(segments.wire_segments[is_new], 1)
    total = np.cumsum(wire)
    whole = np.searchsorted(end, acked, side="right")
    before = np.concatenate(([0], total))
    # An acknowledgment may cut through a super-segment, whose segments are full ones but for the last.
    start = np.concatenate((segments.sequence[is_new], [np.iinfo(np.int64).max]))
    part = np.maximum(acked - start[whole], 0) // mss
    out: Ints = np.cumsum(np.where(is_new, np.maximum(segments.wire_segments, 1), 0))
    flight: Ints = out - before[whole] - part
    return flight


def _is_lost(segments: LoggedConnection, carries: Bools, arrived: Arrived | None) -> Bools:
    """Which retransmissions were for an octet that arrived less often than it was sent.

    What only came late, and was sent again too early, is no loss.
    """
    again: Bools = carries & (segments.retransmission != UNKNOWN_NUMBER)
    if arrived is None or not again.any():
        return again
    octet = segments.sequence[again]
    sent = Arrived.of(segments.sequence[carries], segments.sequence_end[carries])
    lost: Bools = again.copy()
    lost[again] = sent.how_often(octet) > arrived.how_often(octet)
    return lost


def _in_recovery(is_lost: Bools, sent: Ints, acked: Ints) -> Bools:
    """From a retransmission until what was outstanding then is acknowledged (the recovery point of RFC 6675)."""
    recovers: Bools = np.zeros(sent.size, dtype=np.bool_)
    again = np.flatnonzero(is_lost)
    place = 0
    while place < again.size:
        start = int(again[place])
        end = max(int(np.searchsorted(acked, sent[start])), start + 1)
        recovers[start:end] = True
        place = int(np.searchsorted(again, end))
    return recovers
