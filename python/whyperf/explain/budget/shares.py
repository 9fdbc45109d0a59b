"""From spans or sums to the shares of a budget."""

from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl

from whyperf.explain.explanation import Budget, Chronograph, Spell, StateShare

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
