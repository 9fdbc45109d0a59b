"""The segment log of one host, typed small and on the controller's clock."""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow.relative import Raw, stream_of, unwrap
from whyperf.analyze.flow.trial import FlowTrial, TableOfEnd, reported_unreadable
from whyperf.record import code_words

_WORDS = {column: code_words("segments", column) for column in ("direction", "context", "ack_reason", "retransmission")}
DIRECTIONS, CONTEXTS, ACK_REASONS, RETRANSMISSIONS = _WORDS.values()

FIN, SYN, RST, ACK = 1, 2, 4, 16
"""Flags of the TCP header."""

LOG_COLUMNS = ("time_ns", "connection", "direction", "sequence", "acknowledgment", "payload_bytes", "wire_segments")
"""Columns of `read_log` when none are named."""


def scan_log(trial: FlowTrial, host: str, connections: Collection[int] | None = None) -> pl.LazyFrame | None:
    """The log of the end at `host`, nothing read yet, rows in no order; None when there is no log.

    The record's columns with `time_ns` (Int64, ns after the start of the load) for
    `segment_mono_ns`, without `host` and `role`; texts are enums. `sequence` and `acknowledgment`
    are raw (UInt32).
    """
    source = trial.table("segments", host)
    return None if source is None else _scan(trial, host, source, connections)


def read_log(
    trial: FlowTrial,
    host: str,
    connections: Collection[int] | None = None,
    columns: Sequence[str] = LOG_COLUMNS,
    where: pl.Expr | None = None,
) -> pl.DataFrame | None:
    """The log of the end at `host` in the order of time; None when there is no log.

    Args:
        trial: whose.
        host: near or far.
        connections: numbers of those wanted; all when absent.
        columns: those wanted, of `scan_log`; ask for few, a log may have millions of rows.
        where: which rows are wanted, by columns of `scan_log`; all when absent.

    `sequence` and `acknowledgment` are Int64, relative and unwrapped per connection and direction:
    the initial sequence number is 0 and the first octet 1, beyond 4 GiB they go on growing.
    Without the handshake, what the first segment carries begins at 1. `acknowledgment` is null in
    a segment without the ACK flag.

    Raises:
        RecordError: the file cannot be read.
    """
    source = trial.table("segments", host)
    if source is None:
        return None
    with reported_unreadable(source.path):
        return _Reader(_scan(trial, host, source, connections), columns, where).frame()


def _scan(trial: FlowTrial, host: str, source: TableOfEnd, connections: Collection[int] | None) -> pl.LazyFrame:
    shift = trial.ends[host].offset_ns + trial.zero_mono_ns
    time = (pl.col("segment_mono_ns").cast(pl.Int64) - shift).alias("time_ns")
    enums = [pl.col(name).cast(pl.Enum(list(known))) for name, known in _WORDS.items()]
    with reported_unreadable(source.path):
        log = source.rows
        names = [name for name in log.collect_schema() if name not in {"host", "role", "segment_mono_ns", *_WORDS}]
    if connections is not None:
        log = log.filter(pl.col("connection").is_in(list(connections)))
    return log.select(time, *names, *enums)


_NUMBERS = ("sequence", "acknowledgment")

_ASKED_TWICE = ("connection", "direction", "flags")
"""Columns that relative numbers need and that are mostly wanted themselves."""


class _Reader:
    """Reads a log column by column, so that no more than one is held twice while it is put in order.

    Rows that were picked are fewer: all their columns are read at once, and each is let go when it is in order.
    """

    def __init__(self, log: pl.LazyFrame, columns: Sequence[str], where: pl.Expr | None) -> None:
        self._log = log
        self._columns = columns
        self._picked = None if where is None else log.filter(where).select(_needed(columns)).collect(engine="streaming")
        self._kept: dict[str, pl.Series] = {}
        time = self._read("time_ns").to_numpy()
        self._order: Raw | None = None
        if time.size and (time[1:] < time[:-1]).any():
            self._order = np.argsort(time, kind="stable").astype(np.uint32)
        if self._picked is not None and "time_ns" not in columns:
            self._picked.drop_in_place("time_ns")

    def frame(self) -> pl.DataFrame:
        """The columns, in order of time."""
        numbers = self._numbers([name for name in _NUMBERS if name in self._columns])
        return pl.DataFrame([numbers[name] if name in numbers else self._column(name) for name in self._columns])

    def _numbers(self, wanted: Sequence[str]) -> dict[str, pl.Series]:
        """Relative sequence and acknowledgment numbers."""
        if not wanted:
            return {}
        stream = stream_of(self._array("connection"), (self._column("direction") == "out").to_numpy())
        sequence = self._array("sequence")
        base = self._initial()
        _fill_bases(base, sequence, stream, np.ones(stream.size, dtype=np.bool_))
        made = {}
        if "acknowledgment" in wanted:
            made["acknowledgment"] = self._acknowledgments(stream, base)
        if "sequence" in wanted:
            made["sequence"] = pl.Series("sequence", unwrap(sequence, stream, base))
        return made

    def _initial(self) -> dict[int, int]:
        """The initial sequence number of each stream whose SYN is in the log."""
        stream = 2 * pl.col("connection") + (pl.col("direction") == "out").cast(pl.UInt32)
        syn = self._log.filter(pl.col("flags") & SYN != 0).select(stream.alias("stream"), "sequence")
        return dict(syn.collect(engine="streaming").iter_rows())

    def _acknowledgments(self, stream: Raw, base: dict[int, int]) -> pl.Series:
        """An acknowledgment counts the octets of the other direction."""
        raw = self._array("acknowledgment")
        acks = self._array("flags") & ACK != 0
        other = stream ^ np.uint32(1)
        _fill_bases(base, raw, other, acks)
        if acks.all():
            return pl.Series("acknowledgment", unwrap(raw, other, base))
        relative = np.zeros(raw.size, dtype=np.int64)
        relative[acks] = unwrap(raw[acks], other[acks], base)
        made = pl.DataFrame({"acknowledgment": relative, "has": acks})
        return made.select(pl.when("has").then("acknowledgment")).to_series()

    def _array(self, name: str) -> Raw:
        return self._column(name).to_numpy()

    def _column(self, name: str) -> pl.Series:
        if name in self._kept:
            return self._kept[name]
        read = self._read(name)
        column = read if self._order is None else read.gather(pl.Series(self._order))
        if name in _ASKED_TWICE:
            self._kept[name] = column
        return column

    def _read(self, name: str) -> pl.Series:
        if self._picked is None:
            return self._log.select(name).collect().to_series().rechunk()
        if name in _ASKED_TWICE or name == "time_ns":
            return self._picked[name].rechunk()
        return self._picked.drop_in_place(name).rechunk()


def _needed(columns: Sequence[str]) -> list[str]:
    """The columns that must be read for `columns`: their time, and what relative numbers are made from."""
    more = ("connection", "direction", "sequence") if any(name in columns for name in _NUMBERS) else ()
    flags = ("flags",) if "acknowledgment" in columns else ()
    return list(dict.fromkeys(("time_ns", *columns, *more, *flags)))


def _fill_bases(base: dict[int, int], raw: Raw, stream: Raw, rows: NDArray[np.bool_]) -> None:
    """Gives streams without a base, their SYN not being logged, the one that makes their first number, of `rows`, 1."""
    missing = rows & ~np.isin(stream, np.array(list(base), dtype=np.uint32))
    if not missing.any():
        return
    streams, first = np.unique(stream[missing], return_index=True)
    at = np.flatnonzero(missing)[first]
    base.update({int(name): (int(raw[row]) - 1) & 0xFFFFFFFF for name, row in zip(streams, at, strict=True)})
