"""The sender's state in each gap.

The checks have the order in which `tcp_write_xmit` (net/ipv4/tcp_output.c) checks before it sends: pacing, congestion
window, receive window, Nagle's algorithm, TCP small queues. A state that holds data back counts only while data
waits; otherwise what the application does decides.
"""

from dataclasses import dataclass, field

import numpy as np

from whyperf.analyze.flow.log import SYN
from whyperf.explain.budget.calls import Activity, Calls, Gaps, cut, first_that_holds, is_doing, last_at, split_calls
from whyperf.explain.budget.stream import NO_EDGE, Arrived, Stream, stream_of, written_by_calls
from whyperf.explain.segment_log import (
    HRTIMER,
    NET_RX,
    PROBE,
    PROCESS,
    TIMEOUT,
    TIMER,
    UNKNOWN_NUMBER,
    WORKER,
    Bools,
    Codes,
    Ints,
    LoggedConnection,
    Places,
)
from whyperf.explain.states import SenderState

SENDER_STATES = tuple(SenderState)
CODE = {state: place for place, state in enumerate(SENDER_STATES)}

SOFTWARE_NS = 1_000_000
"""Longest time in which data that may go, and that nothing holds, is taken to be under way in the host's own
software."""


WRITE_NS = 50_000
"""Without a log of calls: so long before a process sends it is taken to be in the call that writes what it sends; a
call of 128 KB takes half of it."""


@dataclass(frozen=True)
class Options:
    """The facts known of a sender's socket: Nagle's algorithm off, its segment size (1: what the log shows), and
    whether the kernel counted time in which the send buffer was the limit.
    """

    no_delay: bool = False
    mss_bytes: int = 1
    fills_buffer: bool = False


@dataclass(frozen=True)
class Peer:
    """The evidence of the receiver's log: what arrived, and, from each of `instants` (ns) on, whether the reader let
    payload lie (`holds`).
    """

    arrived: Arrived | None = None
    instants: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    holds: Bools = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    def holds_in(self, gaps: Gaps) -> Bools:
        """True for each gap at whose start it did; nothing before the first instant."""
        if self.instants.size == 0:
            return np.zeros(gaps.start.size, dtype=np.bool_)
        holds = np.concatenate(([False], self.holds))
        return holds[last_at(self.instants, gaps.start) + 1]


@dataclass(frozen=True)
class SenderGaps:
    """Each gap's state (a place in `SENDER_STATES`), and what the kernel's chronographs ask, shape (n,) each.

    `is_busy`: something is unacknowledged or unsent, or a call is at work on what it sends next. `is_window_full`:
    something waits and was pushed, the congestion window is open and the receive window is not. `is_buffer_full`: all
    is sent, the last of it while the application waited for room already: the kernel looks only when it has sent
    something (tcp_cwnd_validate), and not once a third of the buffer is free (tcp_check_space).
    """

    gaps: Gaps
    state: Codes
    is_busy: Bools
    is_window_full: Bools
    is_buffer_full: Bools


def explain_gaps(
    segments: LoggedConnection, calls: Calls | None, life: tuple[int, int], peer: Peer, options: Options
) -> SenderGaps:
    """The gaps of a sender's life, and their states.

    Args:
        segments: of the sender's log.
        calls: its write calls; None when they were not logged.
        life: its start and its end, ns.
        peer: what the receiver's log shows.
        options: what is known of the socket.
    """
    stream = stream_of(segments, options.mss_bytes, peer.arrived)
    whole = cut(segments, calls, life, peer.instants)
    gaps = split_calls(whole, segments, calls, _is_buffer_short_after(stream, whole))
    return _SenderStates(segments, calls, gaps, stream, peer=peer, options=options).states()


def _is_buffer_short_after(stream: Stream, gaps: Gaps) -> Bools:
    """True where a writer that filled the buffer would not be woken: less than a third of it is free
    (sk_stream_is_writeable, include/net/sock.h).
    """
    row = np.maximum(gaps.segment, 0)
    following = np.minimum(gaps.segment + 1, stream.written.size - 1)
    return _is_short(np.maximum(stream.written[following] - stream.acked[row], 0), gaps)


def _is_short(held: Ints, gaps: Gaps) -> Bools:
    """True where the buffer, of which `held` octets are taken in each gap, has less than a third of it free.

    From one call to the next it held the most when the call had filled it.
    """
    change = np.flatnonzero(np.concatenate(([True], gaps.call[1:] != gaps.call[:-1])))
    most = np.repeat(np.maximum.reduceat(held, change), np.diff(np.concatenate((change, [held.size]))))
    found: Bools = 3 * held > 2 * most
    return found


class _SenderStates:
    """The state of each gap; each question is answered for all gaps at once."""

    def __init__(
        self,
        segments: LoggedConnection,
        calls: Calls | None,
        gaps: Gaps,
        stream: Stream,
        *,
        peer: Peer,
        options: Options,
    ) -> None:
        self.segments, self.gaps, self.stream = segments, gaps, stream
        self.activity = gaps.activity
        self.has_row = gaps.segment >= 0
        self.without_row = int(np.searchsorted(gaps.segment, 0))
        self.row = np.maximum(gaps.segment, 0)
        size = segments.time_ns.size
        following = gaps.segment + np.int32(1)
        self.has_next = following < size
        self.next_row = np.minimum(following, size - 1)
        self.options = options
        self.reader_holds = peer.holds_in(gaps)
        sent = self._after_row(stream.sent)
        written = np.maximum(self._after_row(stream.written), sent)
        if calls is not None and calls.end.size:
            ended = last_at(calls.end, gaps.start)
            by_calls = np.maximum(written_by_calls(calls, stream)[np.maximum(ended, 0)], sent)
            # Between calls they show all; a row may count as unsent what is under way at that moment.
            by_calls = np.where(self._is_in_call(calls), np.maximum(written, by_calls), by_calls)
            written = np.where(ended >= 0, by_calls, written)
        self.unacked = sent - self._after_row(stream.acked)
        self.room = np.where(self.has_row, stream.edge[self.row], NO_EDGE) - sent
        # At work in a call, the application writes what the next row shows; what it could have sent itself, or before
        # it slept, it would have.
        next_by_process = segments.is_out[self.next_row] & (segments.context[self.next_row] == PROCESS)
        in_call = self._is_in_call(calls)
        under_way = (self.activity == Activity.ON_CPU) & (self.gaps.length <= SOFTWARE_NS)
        self.is_sending = under_way & self.has_next & next_by_process
        shows = in_call & self._has_call_worked_since_row() & self.has_next & ~next_by_process
        shows &= (self.activity != Activity.BLOCKED) | (self.unacked > 0) | (self.room <= 0)
        shown = np.maximum(written, stream.written[self.next_row])
        # What it writes is pushed when it has written all, or before it sleeps (tcp_sendmsg_locked).
        self.pushed = np.where(shows & (self.activity == Activity.BLOCKED), shown, written) - sent
        self.unsent = np.where(shows, shown, written) - sent
        self.flight = self._after_row(stream.flight)
        self.cwnd = self._after_row(stream.cwnd)

    def _after_row(self, values: Ints) -> Ints:
        found = values[self.row]
        found[: self.without_row] = 0
        return found

    def states(self) -> SenderGaps:
        """All of them, the first that holds being the state."""
        stream, segments = self.stream, self.segments
        has_unsent = self.unsent > 0
        least = np.minimum(stream.mss, self.unsent)
        released = stream.released[self.row]
        released[: self.without_row] = stream.released.size
        released_in = np.concatenate((segments.context, [UNKNOWN_NUMBER])).astype(np.int8)[released]
        has_cwnd = self.cwnd > 0
        is_cwnd_full = has_cwnd & (self.flight >= self.cwnd)
        is_window_full = self.room < least
        is_open = has_unsent & ~is_cwnd_full & ~is_window_full
        is_small = is_open & (self.unsent < stream.mss) & (self.unacked > 0) & (not self.options.no_delay)
        wants_room = is_doing(self.activity, Activity.BLOCKED, Activity.AFTER_WOULD_BLOCK)
        is_runnable = is_doing(self.activity, Activity.RUNNABLE, Activity.SERVING)
        # What an acknowledgment released though both windows had room was deferred for the sake of a larger
        # super-segment (tcp_tso_should_defer), within the window that had less room.
        is_deferred = (
            is_open
            & ~is_small
            & self._is_released_by_ack(released, released_in)
            & (self.unacked > 0)
            & ~self._is_ack_being_processed(released)
        )
        by_cwnd = has_cwnd & ((self.cwnd - self.flight) * stream.mss <= self.room)
        held_by_cwnd = has_unsent & is_cwnd_full | is_deferred & by_cwnd
        held_by_window = has_unsent & ~is_cwnd_full & is_window_full | is_deferred & ~by_cwnd
        is_recovering = self.has_row & stream.in_recovery[self.row]
        # A rest of less than a segment goes with what the application will write once there is room.
        waits_for_room = wants_room & (~has_unsent | is_small) & (self.unacked > 0)
        is_held = held_by_cwnd | held_by_window | (waits_for_room & is_cwnd_full)
        # Who asked for room and has it is woken, and waits to run. Who sleeps on waits for something else.
        is_woken = wants_room & ~has_unsent & (self.unacked == 0)
        is_woken &= (self.activity == Activity.BLOCKED) | (self.gaps.length <= SOFTWARE_NS)
        is_idle = ~self._is_cpu_at_work()
        is_moving = has_unsent & (released_in != UNKNOWN_NUMBER)
        is_window_closed = held_by_window & (self._after_row(stream.edge) - self._after_row(stream.acked) < least)
        is_slow_start = is_held & ~held_by_window & (self.cwnd < self._after_row(stream.ssthresh))
        # The kernel looks when it has sent something, and not at a congestion window that has just been full.
        # What was selectively acknowledged makes room in the congestion window and none in the receive window.
        window_counts = (self.pushed > 0) & (held_by_window | (is_recovering & has_unsent & is_window_full))
        not_counted = stream.is_by_process | stream.was_cwnd_full
        questions: list[tuple[SenderState, Bools]] = [
            (SenderState.HANDSHAKE, self._is_in_handshake()),
            (SenderState.RTO_WAIT, self._is_waiting_for_timer()),
            (
                SenderState.LOSS_RECOVERY,
                is_recovering & (is_held | waits_for_room | is_deferred | (has_unsent & is_idle)),
            ),
            (SenderState.PACING, is_open & (released_in == HRTIMER)),
            (SenderState.ZERO_WINDOW, is_window_closed),
            (SenderState.RECEIVE_WINDOW_READER, held_by_window & self.reader_holds),
            (SenderState.RECEIVE_WINDOW_BUFFER, held_by_window),
            (SenderState.SLOW_START, is_slow_start),
            (SenderState.CONGESTION_WINDOW, is_held),
            (SenderState.DEVICE, is_open & (released_in == WORKER)),
            (SenderState.SEND_BUFFER, waits_for_room),
            (SenderState.WAITS_FOR_CPU, is_runnable | is_woken),
            (SenderState.NAGLE, is_small & is_idle),
            (SenderState.WRITE_CALL, self._is_cpu_at_work() | (is_moving & (self.gaps.length <= SOFTWARE_NS))),
            *self._states_without_calls(released, released_in),
            (SenderState.NOT_WRITING, ~has_unsent),
            (SenderState.SEND_BUFFER, wants_room),
        ]
        state = first_that_holds([(holds, CODE[state]) for state, holds in questions], CODE[SenderState.UNKNOWN])
        return SenderGaps(
            gaps=self.gaps,
            state=state,
            is_busy=has_unsent | self.is_sending | (self.has_row & stream.is_outstanding[self.row]),
            is_window_full=self._with_time_to_send(window_counts & (self.room <= self.unsent), is_open, released),
            is_buffer_full=waits_for_room
            & ~has_unsent
            & ~is_cwnd_full
            & self.has_row
            & ~not_counted[self.row]
            & self._is_buffer_short(),
        )

    def _with_time_to_send(self, holds: Bools, may_go: Bools, released: Places) -> Bools:
        """`holds`, and what it was before while data is being sent: `tcp_write_xmit` updates its clock at its end."""
        under_way = may_go & (released == self.row + 1)
        place = np.maximum.accumulate(np.where(under_way, 0, np.arange(holds.size, dtype=np.int32)))
        return holds[place]

    def _states_without_calls(self, released: Places, by: Codes) -> list[tuple[SenderState, Bools]]:
        """Where calls were not logged and all is sent: in a call shortly before a process sends, and where the kernel
        says that room was short, waiting for it while the buffer held about as much as it ever did.
        """
        unlogged = (self.activity == Activity.NOT_LOGGED) & (self.unsent == 0)
        if not unlogged.any():
            return []
        last = self.segments.time_ns.size - 1
        until = self.segments.time_ns[np.minimum(released, last)] - self.gaps.start
        writes = unlogged & (by == PROCESS) & (until <= WRITE_NS)
        full = unlogged & (3 * self.unacked > 2 * self.unacked.max()) & self.options.fills_buffer
        return [(SenderState.WRITE_CALL, writes), (SenderState.SEND_BUFFER, full)]

    def _is_in_call(self, calls: Calls | None) -> Bools:
        if calls is None or calls.end.size == 0:
            return np.zeros(self.gaps.start.size, dtype=np.bool_)
        found: Bools = (self.gaps.call >= 0) & (self.gaps.start < calls.end[np.maximum(self.gaps.call, 0)])
        return found

    def _is_buffer_short(self) -> Bools:
        """As long as a third of the buffer is not free, a writer that waits for room is not woken (tcp_check_space)."""
        return _is_short(self.unacked + self.unsent, self.gaps)

    def _has_call_worked_since_row(self) -> Bools:
        """The call was at work since the last row: asleep before, it could not write."""
        gaps, place = self.gaps, np.arange(self.gaps.start.size, dtype=np.int32)
        last = np.maximum(np.maximum.accumulate(np.where(self.activity == Activity.ON_CPU, place, -1)), 0)
        worked = (self.activity[last] == Activity.ON_CPU) & (gaps.call[last] == gaps.call)
        found: Bools = worked & (gaps.segment[last] == gaps.segment)
        return found

    def _is_cpu_at_work(self) -> Bools:
        """The host's CPU is at work for this connection: in the call, or between two consecutive calls."""
        return is_doing(self.activity, Activity.ON_CPU, Activity.SOFTIRQ, Activity.BETWEEN_CALLS)

    def _is_released_by_ack(self, released: Places, by: Codes) -> Bools:
        """True if an acknowledgment releases what is next: one that arrives while a call has the socket is taken in at
        the end of the call, by the process (tcp_add_backlog, release_sock), and may release a super-segment then.
        """
        last = self.segments.time_ns.size - 1
        before, after = np.clip(released - 1, 0, last), np.minimum(released, last)
        of_backlog = (by == PROCESS) & ~self.segments.is_out[before] & (self.segments.wire_segments[after] > 1)
        found: Bools = (by == NET_RX) | of_backlog
        return found

    def _is_ack_being_processed(self, released: Places) -> Bools:
        """The acknowledgment that releases the data has arrived, and receive processing is at it."""
        at_it = ~self.segments.is_out[self.row] | (self.segments.context[self.row] == NET_RX)
        found: Bools = self.has_row & at_it & (released == self.row + 1)
        return found

    def _is_in_handshake(self) -> Bools:
        found: Bools = self.has_row & (self.segments.flags[self.row] & SYN != 0)
        return found

    def _is_waiting_for_timer(self) -> Bools:
        """The next segment is what the retransmission timer, or the one of tail loss probes, sent for a lost one."""
        again = self.segments.retransmission[self.next_row]
        by_timer = (again == TIMEOUT) | ((again == PROBE) & (self.segments.context[self.next_row] == TIMER))
        found: Bools = self.has_next & self.stream.is_lost[self.next_row] & by_timer & (self.unacked > 0)
        return found
