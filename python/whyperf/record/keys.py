"""Keys that separate the rows of a table, and the length that a stack may have.

Rows of several tables are joined, and stacks are made rows of functions. Where a row stands many times, or a stack is
long, a small table takes any amount of memory then. No agent writes such tables.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

_OF_CONNECTION = ("host", "connection", "role")

KEYS: Final[Mapping[str, Sequence[str]]] = {
    "flows": _OF_CONNECTION,
    "intervals": (*_OF_CONNECTION, "interval"),
    "tcp_info": (*_OF_CONNECTION, "sample_mono_ns"),
    "tcp_options": _OF_CONNECTION,
    "tls": _OF_CONNECTION,
    "sctp": _OF_CONNECTION,
    "cpu": ("host", "cpu", "interval"),
    # A thread that ends has a second row in its last interval.
    "threads": ("host", "thread", "role", "interval", "start_mono_ns"),
    "devices": ("host", "device"),
    "host_counters": ("host", "counter", "subject", "kind"),
    "counters": (*_OF_CONNECTION, "interval"),
    "sizes": (*_OF_CONNECTION, "interval", "what", "class_bytes"),
    "softirqs": ("host", "cpu", "interval", "vector"),
    "stacks": ("host", "group", "program", "context", "vector", "functions"),
    "functions": ("host", "function"),
    "transactions": ("host", "group", "transaction", "interval"),
    "latencies": ("host", "group", "transaction", "phase", "kind", "latency_ns_low"),
    "datagrams": ("host", "connection", "interval"),
    "path": ("host", "direction", "interval"),
    "path_lateness": ("host", "direction", "lateness_ns_low"),
    "round_trips": ("host", "probe"),
    "transport_info": (*_OF_CONNECTION, "sample_mono_ns"),
    "watched": ("host", "connection"),
    "sockets": ("host", "connection", "sample_mono_ns"),
}
"""Columns whose values a table has once. Logs have none: segments, calls and stages may be alike."""

MAX_FRAMES = 127
"""Addresses of a stack in the kernel, and as many in a program: PERF_MAX_STACK_DEPTH of Linux
(include/uapi/linux/perf_event.h)."""

MAX_INLINED = 32
"""Functions of an address of a program: `INLINED_MOST` of crates/probe/src/stacks/resolver.rs."""

MAX_FUNCTIONS_OF_STACK = MAX_FRAMES + MAX_FRAMES * MAX_INLINED

MAX_FUNCTIONS_OF_STACKS = 1 << 23
"""On all stacks of a table over all trials: two sides that keep 16,384 stacks of 2 times 127 addresses each
(`STACKS_MOST` of crates/probe/src/stacks/sampler.rs). They take about 1 GB."""

_TOO_MANY = f"makes them over {MAX_FUNCTIONS_OF_STACKS:,} functions on the stacks of all trials, which is too many"


def wrong_in_rows(rows: pl.LazyFrame, name: str) -> str | None:
    """The fault in rows of a trial's table `name`, in words that follow "a table that"; or None."""
    there = rows.collect_schema().names()
    if name == "stacks" and "functions" in there:
        count = _functions_of_stack()
        longest, total = rows.select(count.max().alias("longest"), count.sum().alias("total")).collect().row(0)
        if (longest or 0) > MAX_FUNCTIONS_OF_STACK:
            return f"has a stack of {longest:,} functions, and a stack has at most {MAX_FUNCTIONS_OF_STACK:,}"
        if total > MAX_FUNCTIONS_OF_STACKS:
            return f"has {total:,} functions on its stacks, and may have {MAX_FUNCTIONS_OF_STACKS:,}"
    key = [column for column in key_of(name) if column in there]
    if not key:
        return None
    repeated = rows.group_by(key).len().filter(pl.col("len") > 1).head(1).collect(engine="streaming")
    return f"has {repeated['len'][0]:,} rows of the same {', '.join(key)}" if repeated.height else None


def wrong_trials(frame: pl.DataFrame, name: str) -> dict[str, str]:
    """The faults in the rows of each trial, as of `wrong_in_rows`, of the rows of all trials; those of trials that
    are right are left out."""
    key = [column for column in key_of(name) if column in frame.columns]
    if not key or frame.is_empty():
        return {}
    wrong = dict.fromkeys(frame.filter(frame.select("trial", *key).is_duplicated())["trial"].unique().to_list(), "")
    if name == "stacks" and "functions" in key:
        count = _functions_of_stack()
        sums = frame.group_by("trial", maintain_order=True).agg(
            count.max().alias("longest"), count.sum().alias("total")
        )
        beyond = (pl.col("longest") > MAX_FUNCTIONS_OF_STACK) | (pl.col("total").cum_sum() > MAX_FUNCTIONS_OF_STACKS)
        wrong |= dict.fromkeys(sums.filter(beyond)["trial"].to_list(), _TOO_MANY)
    for trial, reason in wrong.items():
        wrong[trial] = wrong_in_rows(frame.lazy().filter(pl.col("trial") == trial), name) or reason
    return wrong


def key_of(name: str) -> Sequence[str]:
    """The columns whose values a table has once; none of a log."""
    return KEYS.get(name, ())


def _functions_of_stack() -> pl.Expr:
    return pl.col("functions").cast(pl.String).str.count_matches(" ", literal=True).cast(pl.UInt64) + 1
