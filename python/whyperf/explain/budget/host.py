"""The evidence of one host read and explained, connection by connection."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.log import SYN
from whyperf.analyze.flow.trial import reported_unreadable
from whyperf.explain.budget import receiver, sender
from whyperf.explain.budget.attached import Lifespan, before_first_segment, is_empty_at_first
from whyperf.explain.budget.calls import Calls, read_calls_of
from whyperf.explain.budget.chronographs import compared, is_buffer_counted, read_samples, with_samples
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
from whyperf.explain.segment_log import LoggedConnection, SegmentLog
from whyperf.explain.states import ReceiverState, SenderState


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
    samples of their receive queues (`attached.read_queues`).
    """
    found = HostBudgets()
    for connection, segments in evidence.connections():
        calls = evidence.calls_on(connection)
        life = attached.get(connection) or receiver_lifetime(segments, calls, starts.get(connection))
        if life is None:
            continue
        states = receiver.explain_gaps(segments, calls, life)
        if connection in attached:
            is_empty = is_empty_at_first((queues or {}).get(connection))
            before = ReceiverState.UNKNOWN if is_empty is None else _QUEUED[is_empty]
            np.copyto(states.state, receiver.CODE[before], where=states.gaps.segment < 0)
        changes = np.flatnonzero(np.concatenate(([True], states.holds[1:] != states.holds[:-1])))
        found.peers[connection] = Peer(_arrived(segments), states.gaps.start[changes], states.holds[changes])
        found.keep(evidence, connection, spans_of(states.gaps, states.state, receiver.RECEIVER_STATES), [])
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
