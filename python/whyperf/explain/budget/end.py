"""One end's evidence read and explained, connection by connection."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import told_unreadable
from whyperf.explain.budget.calls import Calls, read_calls_of
from whyperf.explain.budget.chronographs import compared, read_samples
from whyperf.explain.budget.events import Bools, Ints, Segments, read_segments
from whyperf.explain.budget.gaps import Gaps, cut
from whyperf.explain.budget.life import receiver_life, sender_life
from whyperf.explain.budget.merge import labeled, spans_of
from whyperf.explain.budget.receiver import RECEIVER_STATES, receiver_states
from whyperf.explain.budget.sender import SENDER_STATES, Options, sender_states
from whyperf.explain.budget.shares import budget_of_sums, sums_of
from whyperf.explain.model import Budget, Chronograph


@dataclass(frozen=True)
class Evidence:
    """What an end logged, by connection; `calls` are those that move the payload, None when not logged."""

    trial: str
    host: str
    role: Literal["sender", "receiver"]
    segments: dict[int, Segments]
    calls: dict[int, Calls] | None
    samples: dict[int, pl.DataFrame]
    options: dict[int, Options]

    def calls_on(self, connection: int) -> Calls | None:
        """The calls on a connection; None when not logged."""
        return None if self.calls is None else self.calls.get(connection)


@dataclass
class Explained:
    """What came of an end: budgets and spans, and for its peer when it let payload lie: instants, and whether it did
    from each on.
    """

    budgets: list[Budget] = field(default_factory=list)
    spans: list[pl.DataFrame] = field(default_factory=list)
    holds: dict[int, tuple[Ints, Bools]] = field(default_factory=dict)

    def keep(self, evidence: Evidence, connection: int, spans: pl.DataFrame, chronographs: list[Chronograph]) -> None:
        """Adds the spans of one connection and their budget."""
        self.spans.append(labeled(spans, evidence.host, evidence.role, connection))
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


def read_evidence(trial: FlowTrial, end: FlowEnd, connections: Collection[int] | None) -> Evidence | None:
    """The evidence of `end`; None without a segment log.

    Raises:
        RecordError: a table cannot be read.
    """
    segments = read_segments(trial, end.host, connections)
    if segments is None:
        return None
    role: Literal["sender", "receiver"] = "sender" if end.role == "sender" else "receiver"
    calls = read_calls_of(trial, end.host, "write" if role == "sender" else "read", connections)
    samples = read_samples(trial, end.host, connections)
    return Evidence(trial.trial, end.host, role, segments, calls, samples, _options(trial, end.host))


def _options(trial: FlowTrial, host: str) -> dict[int, Options]:
    """What the table `flows` tells of each connection's socket."""
    path = trial.file("flows", host)
    if path is None:
        return {}
    with told_unreadable(path):
        flows = pl.scan_parquet(path)
        there = flows.collect_schema().names()
        asked = {"no_delay": pl.lit(False), "mss_bytes": pl.lit(1)}
        columns = [
            pl.col(name).fill_null(value) if name in there else value.alias(name) for name, value in asked.items()
        ]
        rows = flows.select("connection", *columns).collect()
    return {int(number): Options(bool(no_delay), int(mss)) for number, no_delay, mss in rows.iter_rows()}


def explain_receiver(evidence: Evidence, begins: dict[int, int]) -> Explained:
    """The receiver's budgets; each life begins with its sender's, as far as that is known."""
    found = Explained()
    for connection, segments in evidence.segments.items():
        calls = evidence.calls_on(connection)
        life = receiver_life(segments, calls, begins.get(connection))
        if life is None:
            continue
        gaps = cut(segments, calls, life)
        states = receiver_states(segments, calls, gaps)
        changes = np.flatnonzero(np.concatenate(([True], states.holds[1:] != states.holds[:-1])))
        found.holds[connection] = (gaps.begin[changes], states.holds[changes])
        found.keep(evidence, connection, spans_of(gaps, states.state, RECEIVER_STATES), [])
    return found


def explain_sender(evidence: Evidence, holds: dict[int, tuple[Ints, Bools]]) -> Explained:
    """The sender's budgets; `holds` is of the receiver, `Explained.holds`."""
    found = Explained()
    for connection, segments in evidence.segments.items():
        calls = evidence.calls_on(connection)
        life = sender_life(segments, calls)
        if life is None:
            continue
        instants, held = holds.get(connection, (None, None))
        gaps = cut(segments, calls, life, instants)
        reader_holds = None if instants is None or held is None else _at(gaps, instants, held)
        options = evidence.options.get(connection, Options())
        states = sender_states(segments, calls, gaps, reader_holds, options)
        clocks = {
            "busy_ns": states.is_busy,
            "rwnd_limited_ns": states.is_window_full,
            "send_buffer_limited_ns": states.is_buffer_full,
        }
        chronographs = compared(evidence.samples.get(connection), gaps, clocks)
        found.keep(evidence, connection, spans_of(gaps, states.state, SENDER_STATES), chronographs)
    return found


def _at(gaps: Gaps, instants: Ints, values: Bools) -> Bools:
    """What holds at the begin of each gap; nothing before the first instant."""
    place = np.searchsorted(instants, gaps.begin, side="right") - 1
    return np.where(place >= 0, values[np.maximum(place, 0)], False)
