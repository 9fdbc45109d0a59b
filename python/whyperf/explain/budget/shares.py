"""From spans or sums to the shares of a budget.

Gaps that follow each other in one state made one span.

From when to when one side of a connection is explained: from its first byte to its last.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from whyperf.analyze.flow.log import SYN
from whyperf.explain.budget.calls import Calls, Gaps
from whyperf.explain.explanation import Budget, Chronograph, Spell, StateShare
from whyperf.explain.segment_log import UNKNOWN_NUMBER, Codes, LoggedConnection

SPAN_COLUMNS: Mapping[str, pl.DataType] = {
    "host": pl.String(),
    "role": pl.String(),
    "connection": pl.UInt32(),
    "begin_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "state": pl.String(),
}
"""Columns of `TrialBudgets.spans`."""


def spans_of(gaps: Gaps, state: Codes, names: Sequence[str]) -> pl.DataFrame:
    """The spans of one connection on one side: begin_ns, end_ns, state; `names` are those of the codes in `state`."""
    change = np.flatnonzero(np.concatenate(([True], state[1:] != state[:-1])))
    ends = np.concatenate((gaps.start[change[1:]], gaps.end[-1:]))
    word = pl.Series("state", [str(name) for name in names], dtype=pl.String).gather(pl.Series(state[change]))
    return pl.DataFrame({"begin_ns": gaps.start[change], "end_ns": ends, "state": word})


def within(spans: pl.DataFrame, life: tuple[int, int]) -> pl.DataFrame:
    """`spans` as far as they lie within the life."""
    start, end = life
    inside = spans.filter((pl.col("end_ns") > start) & (pl.col("begin_ns") < end))
    return inside.with_columns(pl.col("begin_ns", "end_ns").clip(start, end))


def labeled(spans: pl.DataFrame, host: str, role: str, connection: int) -> pl.DataFrame:
    """`spans` with whose they are, of `SPAN_COLUMNS`."""
    labels = {"host": host, "role": role, "connection": connection}
    keys = [pl.lit(value, SPAN_COLUMNS[name]).alias(name) for name, value in labels.items()]
    return spans.select(*keys, "begin_ns", "end_ns", "state")


def sender_lifetime(segments: LoggedConnection, calls: Calls | None) -> tuple[int, int] | None:
    """From the first write call or byte of the load (its SYN, if the load opened it) to the acknowledgment of the
    last byte; None without payload. What went before the load began is its preamble.
    """
    carries = segments.is_out & (segments.payload_bytes > 0)
    starts = [segments.time_ns[carries], segments.time_ns[segments.is_out & (segments.flags & SYN != 0)]]
    if calls is not None:
        starts.append(calls.start)
    first = _first(starts)
    if first is None or not carries.any():
        return None
    last = int(segments.sequence_end[carries].max())
    answers = ~segments.is_out & (segments.acknowledgment != UNKNOWN_NUMBER) & (segments.acknowledgment >= last)
    ends = segments.time_ns[answers][:1] if answers.any() else segments.time_ns[-1:]
    called = int(calls.end[-1]) if calls and calls.end.size else first
    end = max(int(ends[0]), int(segments.time_ns[carries][-1]), called)
    return (first, end) if end > first else None


def receiver_lifetime(segments: LoggedConnection, calls: Calls | None, begin_ns: int | None) -> tuple[int, int] | None:
    """From `begin_ns`, the sender's start (or its own first byte), to the last byte read, or arrived if no read
    calls were logged; None without payload.
    """
    carries = ~segments.is_out & (segments.payload_bytes > 0)
    first = begin_ns if begin_ns is not None else _first([segments.time_ns[carries]])
    if first is None or not carries.any():
        return None
    end = int(segments.time_ns[carries][-1])
    if calls is not None:
        reads = calls.end[calls.moved > 0]
        end = max(end, int(reads[-1]) if reads.size else end)
    return (first, end) if end > first else None


def _first(times: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> int | None:
    """The first instant of the load; what there is before it belongs to the preamble."""
    found = [int(part[part >= 0].min()) for part in times if (part >= 0).any()]
    return min(found, default=None)


MAX_LONGEST = 3
"""Spans of a state that are listed one by one."""


def budget_of_sums(
    *,
    trial: str,
    host: str,
    role: Literal["sender", "receiver"],
    connection: int,
    begin_ns: int,
    end_ns: int,
    sums: Mapping[str, tuple[int, int]],
    chronographs: Sequence[Chronograph] = (),
) -> Budget:
    """A budget from `sums`: of each state its ns and how often it was entered. They add up to the life."""
    life = max(end_ns - begin_ns, 1)
    shares = [
        StateShare(state=str(state), ns=ns, ratio=ns / life, spells=spells) for state, (ns, spells) in sums.items()
    ]
    return Budget(
        trial=trial,
        host=host,
        role=role,
        connection=connection,
        begin_ns=begin_ns,
        end_ns=end_ns,
        shares=sorted(shares, key=lambda share: (-share.ns, share.state)),
        chronographs=list(chronographs),
    )


def sums_of(spans: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """Of each state in `spans` (begin_ns, end_ns, state): its ns, and its spans."""
    length = pl.col("end_ns") - pl.col("begin_ns")
    found = spans.group_by("state").agg(length.sum().alias("ns"), pl.len().alias("spells"))
    return {state: (int(ns), int(spells)) for state, ns, spells in found.iter_rows()}


def longest_of(spans: pl.DataFrame, connection: int) -> dict[str, list[Spell]]:
    """The longest spans of each state on one connection, the longest first; of equal ones the earliest."""
    length = pl.col("end_ns") - pl.col("begin_ns")
    # Only what is as long as a state's third longest is put in order, of millions.
    least = length >= length.top_k(MAX_LONGEST).min().over("state")
    found: dict[str, list[Spell]] = {}
    rows = spans.filter(least).sort(length, descending=True, maintain_order=True)
    for state, start, end in rows.select("state", "begin_ns", "end_ns").iter_rows():
        spells = found.setdefault(state, [])
        if len(spells) < MAX_LONGEST:
            spells.append(Spell(connection=connection, from_ns=start, to_ns=end))
    return found
