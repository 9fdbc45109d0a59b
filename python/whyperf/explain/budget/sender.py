"""The sender's state in each gap.

Asked in the order in which `tcp_write_xmit` (net/ipv4/tcp_output.c) asks before it sends: pacing, congestion
window, receive window, Nagle's algorithm, TCP small queues. A state that holds data back counts only while data
waits; then what the application does tells the rest.
"""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.flow.log import SYN
from whyperf.explain.budget.calls import Calls
from whyperf.explain.budget.events import (
    HRTIMER,
    NET_RX,
    PROBE,
    TIMEOUT,
    TIMER,
    UNKNOWN_NUMBER,
    WORKER,
    Bools,
    Ints,
    Segments,
)
from whyperf.explain.budget.gaps import Activity, Gaps
from whyperf.explain.budget.stream import NO_EDGE, Stream, stream_of, written_by_calls
from whyperf.explain.states import SenderState

SENDER_STATES = tuple(SenderState)
CODE = {state: place for place, state in enumerate(SENDER_STATES)}

SOFTWARE_NS = 1_000_000
"""Longest time in which data that may go, and that nothing holds, is taken to be under way in the end's own
software."""


@dataclass(frozen=True)
class Options:
    """What is known of a sender's socket: Nagle's algorithm off, and its segment size (1: what the log shows)."""

    no_delay: bool = False
    mss_bytes: int = 1


@dataclass(frozen=True)
class SenderGaps:
    """Each gap's state (a place in `SENDER_STATES`), and what the kernel's chronographs ask, shape (n,) each.

    `is_busy`: something is unacknowledged or unsent. `is_window_full`: something waits, the congestion window is open
    and the receive window is not. `is_buffer_full`: all is sent, and the application waits for room.
    """

    state: Ints
    is_busy: Bools
    is_window_full: Bools
    is_buffer_full: Bools


def sender_states(
    segments: Segments, calls: Calls | None, gaps: Gaps, reader_holds: Bools | None, options: Options
) -> SenderGaps:
    """The state of each gap.

    Args:
        segments: of the sender's log.
        calls: its write calls; None when they were not logged.
        gaps: of the sender's life.
        reader_holds: whether the receiver let payload lie in each gap; None without its log.
        options: what is known of the socket.
    """
    asked = _Asked(segments, calls, gaps, stream_of(segments, options.mss_bytes), reader_holds)
    return asked.answer(no_delay=options.no_delay)


class _Asked:
    """The questions, each answered for all gaps at once."""

    def __init__(
        self,
        segments: Segments,
        calls: Calls | None,
        gaps: Gaps,
        stream: Stream,
        reader_holds: Bools | None,
    ) -> None:
        self.segments, self.gaps, self.stream = segments, gaps, stream
        self.activity = gaps.activity
        self.has_row = gaps.segment >= 0
        self.row = np.maximum(gaps.segment, 0)
        size = segments.at.size
        following = gaps.segment + 1
        self.has_next = following < size
        self.next_row = np.minimum(following, size - 1)
        self.reader_holds = np.zeros(gaps.begin.size, dtype=np.bool_) if reader_holds is None else reader_holds
        sent = self._after(stream.sent)
        written = np.maximum(self._after(stream.written), sent)
        if calls is not None and calls.end.size:
            ended = np.searchsorted(calls.end, gaps.begin, side="right") - 1
            told = written_by_calls(calls, stream)[np.maximum(ended, 0)]
            written = np.maximum(written, np.where(ended >= 0, told, 0))
        self.unsent = written - sent
        self.unacked = sent - self._after(stream.acked)
        self.flight = self._after(stream.flight)
        self.cwnd = self._after(stream.cwnd)
        self.room = np.where(self.has_row, stream.edge[self.row], NO_EDGE) - sent

    def _after(self, values: Ints) -> Ints:
        return np.where(self.has_row, values[self.row], 0)

    def answer(self, *, no_delay: bool) -> SenderGaps:
        """All of them, the first that holds being the state."""
        stream, segments = self.stream, self.segments
        waits = self.unsent > 0
        least = np.minimum(stream.mss, self.unsent)
        released = np.where(self.has_row, stream.released[self.row], stream.released.size)
        by = np.where(
            released < segments.at.size, segments.context[np.minimum(released, segments.at.size - 1)], UNKNOWN_NUMBER
        )
        has_cwnd = self.cwnd > 0
        cwnd_full = has_cwnd & (self.flight >= self.cwnd)
        window_full = self.room < least
        is_open = waits & ~cwnd_full & ~window_full
        small = is_open & (self.unsent < stream.mss) & (self.unacked > 0) & (not no_delay)
        # What an acknowledgment released though both windows had room was deferred for the sake of a larger
        # super-segment (tcp_tso_should_defer), within the window that had less room.
        deferred = is_open & ~small & (by == NET_RX) & (self.unacked > 0) & ~self._is_acked_now(released)
        by_cwnd = has_cwnd & ((self.cwnd - self.flight) * stream.mss <= self.room)
        held_by_cwnd = waits & cwnd_full | deferred & by_cwnd
        held_by_window = waits & ~cwnd_full & window_full | deferred & ~by_cwnd
        recovers = self.has_row & stream.in_recovery[self.row]
        wants = (self.activity == Activity.BLOCKED) | (self.activity == Activity.AFTER_WOULD_BLOCK)
        blocked = wants & ~waits & (self.unacked > 0)
        held = held_by_cwnd | held_by_window | (blocked & cwnd_full)
        sleeps = ~self._is_working()
        moves = waits & (by != UNKNOWN_NUMBER)
        zero = held_by_window & (self._after(stream.edge) - self._after(stream.acked) < least)
        slow_start = held & ~held_by_window & (self.cwnd < self._after(stream.ssthresh))
        questions: list[tuple[SenderState, Bools]] = [
            (SenderState.HANDSHAKE, self._is_handshake()),
            (SenderState.RTO_WAIT, self._ends_by_timer()),
            (SenderState.LOSS_RECOVERY, recovers & (held | blocked | deferred | (waits & sleeps))),
            (SenderState.PACING, is_open & (by == HRTIMER)),
            (SenderState.ZERO_WINDOW, zero),
            (SenderState.RECEIVE_WINDOW_READER, held_by_window & self.reader_holds),
            (SenderState.RECEIVE_WINDOW_BUFFER, held_by_window),
            (SenderState.SLOW_START, slow_start),
            (SenderState.CONGESTION_WINDOW, held),
            (SenderState.DEVICE, is_open & (by == WORKER)),
            (SenderState.NAGLE, small & sleeps),
            (SenderState.SEND_BUFFER, blocked),
            (SenderState.WAITS_FOR_CPU, np.isin(self.activity, (Activity.RUNNABLE, Activity.SERVING))),
            (SenderState.WRITE_CALL, self._is_working() | (moves & (self.gaps.length <= SOFTWARE_NS))),
            (SenderState.NOT_WRITING, ~waits),
            (SenderState.SEND_BUFFER, wants),
        ]
        state = np.select(
            [holds for _, holds in questions],
            [CODE[state] for state, _ in questions],
            CODE[SenderState.UNKNOWN],
        )
        return SenderGaps(
            state=state,
            is_busy=waits | (self.unacked > 0),
            is_window_full=held_by_window,
            is_buffer_full=blocked & ~cwnd_full,
        )

    def _is_working(self) -> Bools:
        """The end's CPU is at work for this connection: in the call, or between two that follow at once."""
        works: Bools = np.isin(self.activity, (Activity.ON_CPU, Activity.SOFTIRQ, Activity.TURNING))
        return works

    def _is_acked_now(self, released: Ints) -> Bools:
        """The acknowledgment that releases the data has arrived, and receive processing is at it."""
        at_it = ~self.segments.is_out[self.row] | (self.segments.context[self.row] == NET_RX)
        found: Bools = self.has_row & at_it & (released == self.row + 1)
        return found

    def _is_handshake(self) -> Bools:
        found: Bools = self.has_row & (self.segments.flags[self.row] & SYN != 0)
        return found

    def _ends_by_timer(self) -> Bools:
        """The next segment is what the retransmission timer, or the one of tail loss probes, sent again."""
        again = self.segments.again[self.next_row]
        by_timer = (again == TIMEOUT) | ((again == PROBE) & (self.segments.context[self.next_row] == TIMER))
        found: Bools = self.has_next & self.segments.is_out[self.next_row] & by_timer & (self.unacked > 0)
        return found
