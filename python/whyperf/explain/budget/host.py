"""Time budgets of all connections of a side; those of a receiver from its segments and calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.log import SYN
from whyperf.analyze.flow.trial import reported_unreadable
from whyperf.explain.budget import sender
from whyperf.explain.budget.calls import (
    Activity,
    Calls,
    Gaps,
    cut,
    first_that_holds,
    is_doing,
    last_at,
    read_calls_of,
    split_calls,
)
from whyperf.explain.budget.from_counters import (
    Lifespan,
    before_first_segment,
    compared,
    is_buffer_counted,
    is_empty_at_first,
    read_samples,
    with_samples,
)
from whyperf.explain.budget.sender import Options, Peer
from whyperf.explain.budget.shares import (
    MAX_LONGEST,
    budget_of_sums,
    labeled,
    longest_of,
    receiver_lifetime,
    sender_lifetime,
    spans_of,
    sums_of,
    within,
)
from whyperf.explain.budget.stream import Arrived
from whyperf.explain.explanation import Budget, Chronograph, Spell
from whyperf.explain.segment_log import UNKNOWN_NUMBER, Bools, Codes, Ints, LoggedConnection, SegmentLog
from whyperf.explain.states import ReceiverState, SenderState


@dataclass(frozen=True)
class Arrivals:
    """Shape (n,) each, after row i of the log.

    `readable` is one past the last octet that arrived in sequence, `answered` one past the last acknowledged, `read`
    one past the last that the application took, as far as the rows show. `has_hole`: later payload has arrived than
    what is missing.
    """

    readable: Ints
    answered: Ints
    read: Ints
    has_hole: Bools


def arrivals_of(segments: LoggedConnection) -> Arrivals:
    """The state of the receiving TCP after each row."""
    size = segments.time_ns.size
    carries = ~segments.is_out & (segments.payload_bytes > 0)
    reach = np.maximum.accumulate(np.where(carries, segments.sequence_end, 0)) if size else segments.time_ns
    before = np.concatenate(([0], reach[:-1])) if size else reach
    answers = segments.is_out & (segments.acknowledgment != UNKNOWN_NUMBER)
    answered = np.maximum.accumulate(np.where(answers, segments.acknowledgment, 0)) if size else reach
    # A segment behind a hole is answered at once, and so is the one that fills it (RFC 5681 section 4.2): the
    # hole lasts until something behind its start is acknowledged. Holes are filled in any order, the last one counts.
    opens = carries & (segments.sequence > before) & (before > 0)
    hole = np.maximum.accumulate(np.where(opens, before, -1)) if size else reach
    has_hole = (hole >= 0) & (answered <= hole)
    # The peer's FIN is acknowledged as an octet and carries none.
    answered = np.minimum(answered, np.maximum(reach, 1))
    readable = np.where(has_hole, np.minimum(answered, reach), reach)
    queue = segments.receive_queue_bytes
    read = np.where(answers & (queue != UNKNOWN_NUMBER), np.minimum(segments.acknowledgment, reach), 0)
    read = np.maximum.accumulate(np.maximum(read - np.maximum(queue, 0), 0)) if size else reach
    return Arrivals(readable, answered, read, has_hole)


def read_by_calls(calls: Calls, segments: LoggedConnection, arrivals: Arrivals) -> Ints:
    """One past the last octet that the application had read when each call ended, shape (calls,).

    What was read before the first logged call is what an acknowledgment outside of any call says beyond the calls
    until then; the median of all such, since a call's count and a segment's may cross.
    """
    total = np.cumsum(calls.moved)
    if total.size == 0:
        return total
    queue = segments.receive_queue_bytes
    rows = np.flatnonzero(segments.is_out & (queue != UNKNOWN_NUMBER) & (segments.acknowledgment != UNKNOWN_NUMBER))
    ended = np.searchsorted(calls.end, segments.time_ns[rows], side="right")
    begun = np.searchsorted(calls.start, segments.time_ns[rows], side="right")
    rows, ended = rows[ended == begun], ended[ended == begun]
    if rows.size == 0:
        return total + max(int(arrivals.readable[-1] if arrivals.readable.size else 0) - int(total[-1]), 0)
    counted = np.concatenate(([0], total))[ended]
    base = segments.acknowledgment[rows] - queue[rows] - counted
    return total + max(int(np.median(base)), 0)


RECEIVER_STATES = tuple(ReceiverState)
CODE = {state: place for place, state in enumerate(RECEIVER_STATES)}

BATCH_NS = 10_000
"""Receive processing takes in segments that arrive no further apart without a pause."""


@dataclass(frozen=True)
class ReceiverGaps:
    """Each gap's state (a place in `RECEIVER_STATES`), and whether payload lay there that the application let lie:
    it was not at it, or more than a window had come since it last had read all. Shape (n,) each.
    """

    gaps: Gaps
    state: Codes
    holds: Bools


def explain_gaps(segments: LoggedConnection, calls: Calls | None, life: tuple[int, int]) -> ReceiverGaps:
    """The gaps of the receiver's life and their states; `calls` are its read calls, None when not logged."""
    arrivals = arrivals_of(segments)
    whole = cut(segments, calls, life)
    gaps = split_calls(whole, segments, calls, ~_lies(segments, calls, arrivals, whole))
    has_row, row = gaps.segment >= 0, np.maximum(gaps.segment, 0)
    readable, answered = (np.where(has_row, values[row], 0) for values in (arrivals.readable, arrivals.answered))
    lies = _lies(segments, calls, arrivals, gaps)
    activity = gaps.activity
    working = is_doing(activity, Activity.ON_CPU, Activity.BETWEEN_CALLS)
    wanting = is_doing(activity, Activity.RUNNABLE, Activity.SERVING, Activity.AFTER_WOULD_BLOCK)
    is_logged = activity != Activity.NOT_LOGGED
    batch = _is_batch(segments, gaps)
    questions: list[tuple[ReceiverState, Bools]] = [
        (ReceiverState.HANDSHAKE, has_row & (segments.flags[row] & SYN != 0)),
        (ReceiverState.SOFTIRQ, (activity == Activity.SOFTIRQ) | (batch & (activity == Activity.RUNNABLE))),
        (ReceiverState.READ_CALL, working & (lies | (activity == Activity.ON_CPU))),
        (ReceiverState.WAITS_FOR_CPU, lies & wanting),
        (ReceiverState.NOT_READING, lies & (activity == Activity.AWAY)),
        (ReceiverState.UNKNOWN, lies & ~is_logged & ~batch),
        (ReceiverState.SEQUENCE_HOLE, has_row & arrivals.has_hole[row]),
        (ReceiverState.SOFTIRQ, batch),
        (ReceiverState.DELAYED_ACK, (readable > answered) & _is_answered_next(segments, gaps)),
    ]
    state = first_that_holds([(holds, CODE[state]) for state, holds in questions], CODE[ReceiverState.WAITING])
    announced = segments.is_out & (segments.flags & SYN == 0)
    window = int(segments.window_bytes[announced].max(initial=0))
    behind = _read_in_run(lies, readable) > window
    return ReceiverGaps(gaps, state, lies & (behind | (activity == Activity.AWAY)))


def _lies(segments: LoggedConnection, calls: Calls | None, arrivals: Arrivals, gaps: Gaps) -> Bools:
    """True where payload that can be read lies unread."""
    has_row, row = gaps.segment >= 0, np.maximum(gaps.segment, 0)
    read = arrivals.read[row]
    if calls is not None and calls.end.size:
        by_calls = read_by_calls(calls, segments, arrivals)
        read = np.maximum(read, np.concatenate(([0], by_calls))[last_at(calls.end, gaps.start) + 1])
    found: Bools = has_row & (arrivals.readable[row] > read)
    return found


def _read_in_run(lies: Bools, readable: Ints) -> Ints:
    """Octets that arrived from the first to the last of the gaps in a row in which payload lay, for each gap.

    A reader that is as fast as the sender reads all it finds, and waits; a slower one always finds some.
    """
    change = np.flatnonzero(np.concatenate(([True], lies[1:] != lies[:-1])))
    lengths = np.diff(np.concatenate((change, [lies.size])))
    arrived = readable[change + lengths - 1] - readable[np.maximum(change - 1, 0)]
    return np.repeat(arrived, lengths)


def _is_batch(segments: LoggedConnection, gaps: Gaps) -> Bools:
    """Between two arrivals that receive processing took in without pause."""
    size = segments.time_ns.size
    row, following = np.maximum(gaps.segment, 0), np.minimum(gaps.segment + 1, max(size - 1, 0))
    near = segments.time_ns[following] - segments.time_ns[row] <= BATCH_NS
    return (gaps.segment >= 0) & (gaps.segment + 1 < size) & ~segments.is_out[following] & near


def _is_answered_next(segments: LoggedConnection, gaps: Gaps) -> Bools:
    """The next thing to happen is an acknowledgment that goes out, and no more payload before it."""
    size = segments.time_ns.size
    following = np.minimum(gaps.segment + 1, max(size - 1, 0))
    answers = segments.is_out[following] & (segments.acknowledgment[following] != UNKNOWN_NUMBER)
    found: Bools = (gaps.segment + 1 < size) & answers
    return found


@dataclass(frozen=True)
class HostEvidence:
    """The log of a host, by connection; `calls` are those that move the payload, None when not logged.

    `zero_mono_ns` is the start of the load on the host's own clock.
    """

    trial: str
    host: str
    role: Literal["sender", "receiver"]
    log: SegmentLog
    calls: dict[int, Calls] | None
    samples: dict[int, pl.DataFrame]
    options: dict[int, Options]
    zero_mono_ns: int

    def connections(self) -> Iterator[tuple[int, LoggedConnection]]:
        """Each connection with its segments."""
        for number in self.log.connections:
            if (segments := self.log.connection(number)) is not None:
                yield number, segments

    def calls_on(self, connection: int) -> Calls | None:
        """The calls on a connection; None when not logged."""
        return None if self.calls is None else self.calls.get(connection)


@dataclass
class HostBudgets:
    """The results of a host: budgets and spans; of a receiver, what its sender's states need of each connection.

    `longest` has the longest spans of each state, all connections together.
    """

    budgets: list[Budget] = field(default_factory=list)
    spans: list[pl.DataFrame] = field(default_factory=list)
    peers: dict[int, Peer] = field(default_factory=dict)
    longest: dict[str, tuple[Spell, ...]] = field(default_factory=dict)

    def keep(
        self, evidence: HostEvidence, connection: int, spans: pl.DataFrame, chronographs: list[Chronograph]
    ) -> None:
        """Adds the spans of one connection and their budget."""
        self.add(
            evidence.trial, evidence.host, evidence.role, connection=connection, spans=spans, chronographs=chronographs
        )

    def add(
        self,
        trial: str,
        host: str,
        role: Literal["sender", "receiver"],
        *,
        connection: int,
        spans: pl.DataFrame,
        chronographs: Sequence[Chronograph] = (),
    ) -> None:
        """Adds the spans of one connection, wherever they are from, and their budget."""
        self.spans.append(labeled(spans, host, role, connection))
        for state, spells in longest_of(spans, connection).items():
            both = sorted((*self.longest.get(state, ()), *spells), key=lambda spell: spell.from_ns - spell.to_ns)
            self.longest[state] = tuple(both[:MAX_LONGEST])
        self.budgets.append(
            budget_of_sums(
                trial=trial,
                host=host,
                role=role,
                connection=connection,
                begin_ns=int(spans["begin_ns"][0]),
                end_ns=int(spans["end_ns"][-1]),
                sums=sums_of(spans),
                chronographs=chronographs,
            )
        )


def read_evidence(trial: FlowTrial, end: FlowEnd, log: SegmentLog | None) -> HostEvidence | None:
    """The evidence of `end` in addition to its segment log `log`; None without that.

    Raises:
        RecordError: a table cannot be read.
    """
    if log is None:
        return None
    role: Literal["sender", "receiver"] = "sender" if end.role == "sender" else "receiver"
    calls = read_calls_of(trial, end.host, "write" if role == "sender" else "read")
    samples = read_samples(trial, end.host)
    zero = trial.zero_mono_ns + end.offset_ns
    return HostEvidence(trial.trial, end.host, role, log, calls, samples, _options(trial, end.host), zero)


def _options(trial: FlowTrial, host: str) -> dict[int, Options]:
    """Reads what the table `flows` has of each connection's socket."""
    source = trial.table("flows", host)
    if source is None:
        return {}
    with reported_unreadable(source.path):
        flows = source.rows
        there = flows.collect_schema().names()
        asked = {"no_delay": pl.lit(False), "mss_bytes": pl.lit(1)}
        columns = [
            pl.col(name).fill_null(value) if name in there else value.alias(name) for name, value in asked.items()
        ]
        rows = flows.select("connection", *columns).collect()
    return {int(number): Options(bool(no_delay), int(mss)) for number, no_delay, mss in rows.iter_rows()}


NOT_ATTACHED: Mapping[int, Lifespan] = {}


def explain_receiver(
    evidence: HostEvidence,
    starts: dict[int, int],
    attached: Mapping[int, Lifespan] = NOT_ATTACHED,
    queues: Mapping[int, pl.DataFrame] | None = None,
) -> HostBudgets:
    """The receiver's budgets; each life begins with its sender's, as far as that is known.

    `attached` says from when to when connections of other programs were watched, which then is their life; `queues` has
    samples of their receive queues (`from_counters.read_queues`).
    """
    found = HostBudgets()
    for connection, segments in evidence.connections():
        calls = evidence.calls_on(connection)
        life = attached.get(connection) or receiver_lifetime(segments, calls, starts.get(connection))
        if life is None:
            continue
        states = explain_gaps(segments, calls, life)
        if connection in attached:
            is_empty = is_empty_at_first((queues or {}).get(connection))
            before = ReceiverState.UNKNOWN if is_empty is None else _QUEUED[is_empty]
            np.copyto(states.state, CODE[before], where=states.gaps.segment < 0)
        changes = np.flatnonzero(np.concatenate(([True], states.holds[1:] != states.holds[:-1])))
        found.peers[connection] = Peer(_arrived(segments), states.gaps.start[changes], states.holds[changes])
        found.keep(evidence, connection, spans_of(states.gaps, states.state, RECEIVER_STATES), [])
    return found


_QUEUED = {True: ReceiverState.WAITING, False: ReceiverState.UNREAD}
"""The state of a receiver before its first logged segment, by whether its queue is empty."""


def _arrived(segments: LoggedConnection) -> Arrived | None:
    """Payload that arrived; None when octets are not known by their numbers: the log does not start with the SYN."""
    if not (segments.flags & SYN).any():
        return None
    carries = ~segments.is_out & (segments.payload_bytes > 0)
    return Arrived.of(segments.sequence[carries], segments.sequence_end[carries])


def explain_sender(
    evidence: HostEvidence, peers: dict[int, Peer], attached: Mapping[int, Lifespan] = NOT_ATTACHED
) -> HostBudgets:
    """The sender's budgets; `peers` is of the receiver, `HostBudgets.peers`.

    `attached` says from when to when connections of other programs were watched, which then is their life. Without the
    receiver's log, their full windows leave open who is the reason.
    """
    found = HostBudgets()
    for connection, segments in evidence.connections():
        calls = evidence.calls_on(connection)
        life = attached.get(connection) or sender_lifetime(segments, calls)
        if life is None:
            continue
        peer = peers.get(connection, Peer())
        samples = evidence.samples.get(connection)
        options = evidence.options.get(connection, Options())
        if calls is None:
            options = replace(options, fills_buffer=is_buffer_counted(samples))
        states = sender.explain_gaps(segments, calls, with_samples(life, samples), peer, options)
        is_alone = connection in attached and connection not in peers
        if is_alone:
            # Whether reader or buffer is why a window is full only the receiver's log shows.
            full = states.state == sender.CODE[SenderState.RECEIVE_WINDOW_BUFFER]
            np.copyto(states.state, sender.CODE[SenderState.RECEIVE_WINDOW], where=full)
        clocks = {
            "busy_ns": states.is_busy,
            "rwnd_limited_ns": states.is_window_full,
            "send_buffer_limited_ns": states.is_buffer_full,
        }
        chronographs = compared(samples, states.gaps, clocks, evidence.zero_mono_ns)
        spans = within(spans_of(states.gaps, states.state, sender.SENDER_STATES), life)
        if connection in attached and (first := int(segments.time_ns[0])) > life[0]:
            before = before_first_segment(samples, life[0], min(first, life[1]))
            spans = pl.concat([before, within(spans, (first, life[1]))]) if first < life[1] else before
        found.keep(evidence, connection, spans, chronographs)
    return found
