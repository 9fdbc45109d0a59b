"""The evidence of one host read and explained, connection by connection."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.log import SYN
from whyperf.analyze.flow.trial import reported_unreadable
from whyperf.explain.budget import receiver, sender
from whyperf.explain.budget.calls import Calls, read_calls_of
from whyperf.explain.budget.chronographs import compared, is_buffer_counted, read_samples, with_samples
from whyperf.explain.budget.lifetime import receiver_lifetime, sender_lifetime
from whyperf.explain.budget.merge import labeled, spans_of, within
from whyperf.explain.budget.sender import Options, Peer
from whyperf.explain.budget.shares import MAX_LONGEST, budget_of_sums, longest_of, sums_of
from whyperf.explain.budget.stream import Arrived
from whyperf.explain.model import Budget, Chronograph, Spell
from whyperf.explain.segment_log import LoggedConnection, SegmentLog


@dataclass(frozen=True)
class HostEvidence:
    """What a host logged, by connection; `calls` are those that move the payload, None when not logged.

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
    """What came of a host: budgets and spans; of a receiver, what its sender's states need of each connection.

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
        self.spans.append(labeled(spans, evidence.host, evidence.role, connection))
        for state, spells in longest_of(spans, connection).items():
            both = sorted((*self.longest.get(state, ()), *spells), key=lambda spell: spell.from_ns - spell.to_ns)
            self.longest[state] = tuple(both[:MAX_LONGEST])
        self.budgets.append(
            budget_of_sums(
                trial=evidence.trial,
                host=evidence.host,
                role=evidence.role,
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
    """What the table `flows` has of each connection's socket."""
    path = trial.file("flows", host)
    if path is None:
        return {}
    with reported_unreadable(path):
        flows = pl.scan_parquet(path)
        there = flows.collect_schema().names()
        asked = {"no_delay": pl.lit(False), "mss_bytes": pl.lit(1)}
        columns = [
            pl.col(name).fill_null(value) if name in there else value.alias(name) for name, value in asked.items()
        ]
        rows = flows.select("connection", *columns).collect()
    return {int(number): Options(bool(no_delay), int(mss)) for number, no_delay, mss in rows.iter_rows()}


def explain_receiver(evidence: HostEvidence, starts: dict[int, int]) -> HostBudgets:
    """The receiver's budgets; each life begins with its sender's, as far as that is known."""
    found = HostBudgets()
    for connection, segments in evidence.connections():
        calls = evidence.calls_on(connection)
        life = receiver_lifetime(segments, calls, starts.get(connection))
        if life is None:
            continue
        states = receiver.explain_gaps(segments, calls, life)
        changes = np.flatnonzero(np.concatenate(([True], states.holds[1:] != states.holds[:-1])))
        found.peers[connection] = Peer(_arrived(segments), states.gaps.start[changes], states.holds[changes])
        found.keep(evidence, connection, spans_of(states.gaps, states.state, receiver.RECEIVER_STATES), [])
    return found


def _arrived(segments: LoggedConnection) -> Arrived | None:
    """What payload arrived; None when octets are not known by their numbers: the log does not start with the SYN."""
    if not (segments.flags & SYN).any():
        return None
    carries = ~segments.is_out & (segments.payload_bytes > 0)
    return Arrived.of(segments.sequence[carries], segments.sequence_end[carries])


def explain_sender(evidence: HostEvidence, peers: dict[int, Peer]) -> HostBudgets:
    """The sender's budgets; `peers` is of the receiver, `HostBudgets.peers`."""
    found = HostBudgets()
    for connection, segments in evidence.connections():
        calls = evidence.calls_on(connection)
        life = sender_lifetime(segments, calls)
        if life is None:
            continue
        peer = peers.get(connection, Peer())
        samples = evidence.samples.get(connection)
        options = evidence.options.get(connection, Options())
        if calls is None:
            options = replace(options, fills_buffer=is_buffer_counted(samples))
        states = sender.explain_gaps(segments, calls, with_samples(life, samples), peer, options)
        clocks = {
            "busy_ns": states.is_busy,
            "rwnd_limited_ns": states.is_window_full,
            "send_buffer_limited_ns": states.is_buffer_full,
        }
        chronographs = compared(samples, states.gaps, clocks, evidence.zero_mono_ns)
        spans = within(spans_of(states.gaps, states.state, sender.SENDER_STATES), life)
        found.keep(evidence, connection, spans, chronographs)
    return found
