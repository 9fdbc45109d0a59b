"""Tables of a fleet with so many connections that nobody looks at single ones, made small while they are read.

A single agent with as many sums its intervals by itself (`MAX_SINGLE`). Here each agent has fewer, and all together
more: their intervals are summed after the fact, file by file, so that memory holds one file and the sums.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from whyperf.analyze.measures.goodput import MAX_SINGLE

Shrink = Callable[[pl.DataFrame], pl.DataFrame]
Document = Mapping[str, Any]

_SPAN = ("start_mono_ns", "end_mono_ns")
_KEYS = ("trial", "block", "cell", "host")


def is_large(manifests: Iterable[Document]) -> bool:
    """True where a trial has more connections over all its pairs than single ones are known of."""
    return any(_connections(manifest) > MAX_SINGLE for manifest in manifests)


def _connections(manifest: Document) -> int:
    specs = [host.get("spec") or {} for end, host in manifest.get("hosts", {}).items() if end.startswith("near")]
    return sum(int(spec.get("connections_count") or 1) for spec in specs)


def _numbered(rows: pl.DataFrame, each: str, instant: str) -> pl.DataFrame:
    """Rows with `number`: the first of each connection or thread has 0, the next 1 and so on."""
    ordered = rows.sort(each, instant)
    return ordered.with_columns(pl.int_range(pl.len()).over(each).alias("number"))


def _together(rows: pl.DataFrame, *columns: pl.Expr) -> pl.DataFrame:
    """One row for each number and phase. A file has the rows of one side of one trial."""
    keys = [name for name in (*_KEYS, "role") if name in rows.columns]
    found = rows.group_by("phase", "number", maintain_order=True).agg(pl.col(keys).first(), *columns)
    return found.sort("number").drop("number")


def _mean(instant: str) -> pl.Expr:
    """Connections are read one after the other, within microseconds."""
    return pl.col(instant).cast(pl.Int64).mean().round().cast(pl.UInt64)


def _known_sum(name: str) -> pl.Expr:
    """The sum of a count; null where one is not known."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)


def _intervals(rows: pl.DataFrame) -> pl.DataFrame:
    """One row an interval, with the number of the first connection, as an agent with a multitude writes them."""
    return _together(
        _numbered(rows, "connection", "start_mono_ns"),
        pl.col("connection").min(),
        *(_mean(name) for name in _SPAN),
        pl.col("payload_bytes").sum(),
    )


def _threads(rows: pl.DataFrame) -> pl.DataFrame:
    """The threads of a side together."""
    return _together(
        _numbered(rows, "thread", "start_mono_ns"),
        pl.col("thread").min(),
        *(_mean(name) for name in _SPAN),
        pl.col("cpu_ns").sum(),
        *(_known_sum(name) for name in _there(rows, ("scheduled_count",))),
    )


def _samples(rows: pl.DataFrame) -> pl.DataFrame:
    """The sockets of a side as one, for their first samples, their second ones and so on: sums of what only grows,
    medians of the rest. A socket that was closed keeps its counts.
    """
    numbered = _numbered(rows, "connection", "sample_mono_ns")
    growing = _there(rows, _GROWING)
    counts = [pl.col(name).cast(pl.Int64) for name in growing]
    grown = [(count - count.shift(fill_value=0)).over("connection") for count in counts]
    found = _together(
        numbered.with_columns(grown),
        pl.col("connection").min(),
        _mean("sample_mono_ns"),
        *(pl.col(name).min() for name in _there(rows, ("rtt_ns_min",))),
        *(pl.col(name).first() for name in _there(rows, ("state",))),
        *(pl.col(name).median().round().cast(rows.schema[name]) for name in _there(rows, _MEDIANS)),
        *(_known_sum(name) for name in growing),
    )
    return found.with_columns(pl.col(name).cum_sum().cast(rows.schema[name]) for name in growing)


def _there(rows: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """The columns that the agent's version wrote."""
    return [name for name in names if name in rows.columns]


_GROWING = (
    *("retransmitted_segments", "data_segments_out", "bytes_acked", "bytes_received", "bytes_sent"),
    "bytes_retransmitted",
)
_MEDIANS = ("rtt_ns", "send_mss_bytes", "cwnd_segments", "peer_window_bytes", "own_window_bytes")

SHRINK: Mapping[str, Shrink] = {"intervals": _intervals, "threads": _threads, "tcp_info": _samples}
"""The ways that tables are made small, by name."""
