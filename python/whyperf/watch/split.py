"""Splits what one agent sent of all connections into the tables of each.

A table that takes little memory is read once. A larger one, which only logs are, is read again for each connection that
has rows in it, a part at a time: its size never matters.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from whyperf.analyze.read.watched import RECEIVED_PAYLOAD, SENT_PAYLOAD
from whyperf.record import is_table, wrong_in_table
from whyperf.record.durable import restrict
from whyperf.record.parquet import bytes_in_memory
from whyperf.watch.request import WatchedSide
from whyperf.watch.sockets import Host, Role, Socket

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A table that takes more memory is not read whole.
MAX_IN_MEMORY: Final = 128 << 20

#: Tables that say which connections there were, and what they moved when.
NEEDED: Final = frozenset({"watched", "flows", "intervals"})

#: Samples that make an interval.
MIN_SAMPLES: Final = 2


@dataclass(frozen=True)
class TrialEnd:
    """Where the rows of a socket go: its trial's folder, the host that it is there, and its role."""

    folder: Path
    host: Host
    role: Role


@dataclass
class SideTables:
    """The tables of one side that can be read; `left_out` says which cannot."""

    side: WatchedSide
    left_out: list[str] = field(default_factory=list)
    _parts: dict[str, "_Table"] = field(default_factory=dict)
    #: Tables of the host, by table and by what its host is called: where they were written first.
    _written: dict[tuple[str, Host], Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Opens the tables."""
        self.left_out += [_no_room(self.side.host, name) for name in self.side.lost]
        for name, path in sorted(self.side.tables.items()):
            wrong = _wrong(path, name)
            if wrong is None:
                self._parts[name] = _Table(path)
            else:
                self.left_out.append(f"The {self.side.host} agent's table {name[:40]!r} is left out: it {wrong}.")

    @property
    def paths(self) -> dict[str, Path]:
        """The files of the tables that can be read."""
        return {name: table.path for name, table in self._parts.items()}

    def write(self, socket: Socket, place: TrialEnd) -> dict[str, int]:
        """Writes the tables of one socket, and those of its host; returns the number of rows of each of the former.

        Raises:
            OSError: the disk refuses.
            PolarsError: a table cannot be read after all.
        """
        counts = {}
        for name, table in self._parts.items():
            path = place.folder / f"{name}.{place.host}.parquet"
            if table.is_by_connection:
                rows = self._of_socket(name, table, socket, place)
                counts[name] = _write(rows, path, table.metadata)
            elif name == "threads":
                # CPU time is recorded by thread, of all programs that have watched connections.
                own = table.whole.filter(pl.col("process").eq_missing(pl.lit(socket.process)))
                _write(_renamed(own, table.schema, place), path, table.metadata)
            else:
                self._share(name, table, place.host, path)
        return counts

    def _of_socket(self, name: str, table: "_Table", socket: Socket, place: TrialEnd) -> pl.DataFrame | pl.LazyFrame:
        rows = _renamed(table.of(socket.connection), table.schema, place)
        if name == "intervals":
            return self._intervals(rows.lazy().collect(), socket, place)
        if name == "flows":
            payload = socket.sent_bytes if place.role == "sender" else socket.received_bytes
            return rows.with_columns(pl.lit(payload, table.schema["payload_bytes"]).alias("payload_bytes"))
        return rows

    def _intervals(self, rows: pl.DataFrame, socket: Socket, place: TrialEnd) -> pl.DataFrame:
        """The intervals with the payload of the direction that counts. The agent did not know which it would be."""
        samples = self._samples(socket, place.role)
        if samples.height < MIN_SAMPLES:
            return rows
        at, counted = (samples[name].to_numpy().astype(np.float64) for name in ("sample_mono_ns", "count"))
        first = at[0] if rows.is_empty() else float(rows["start_mono_ns"].to_numpy().min())
        if socket.whole and first < at[0]:
            # It opened during the watch: until its first sample, it moved what that counts.
            at, counted = np.concatenate([[first], at]), np.concatenate([[0.0], counted])
        if rows.is_empty() or float(rows["end_mono_ns"].to_numpy().max()) < at[-1]:
            rows = _spans(at, rows.schema, place)
        start, end = (
            np.rint(np.interp(rows[name].to_numpy().astype(np.float64), at, counted))
            for name in ("start_mono_ns", "end_mono_ns")
        )
        grown = np.maximum(end - start, 0).astype(np.uint64)
        return rows.with_columns(pl.Series("payload_bytes", grown, dtype=rows.schema["payload_bytes"]))

    def _samples(self, socket: Socket, role: Role) -> pl.DataFrame:
        """The samples of a socket in order: `sample_mono_ns`, and `count`, the payload of the direction until then."""
        table = self._parts.get("tcp_info")
        if table is None:
            return pl.DataFrame(schema={"sample_mono_ns": pl.UInt64(), "count": pl.Int64()})
        count = SENT_PAYLOAD if role == "sender" else RECEIVED_PAYLOAD
        rows = table.of(socket.connection).lazy().select("sample_mono_ns", count.alias("count"))
        # A count that goes down is none; what is between two samples is never negative.
        return rows.sort("sample_mono_ns").unique("sample_mono_ns", keep="last", maintain_order=True).collect()

    def _share(self, name: str, table: "_Table", host: Host, path: Path) -> None:
        """Writes a table of the host once; the other trials have the same file. Nothing recorded is ever changed."""
        first = self._written.get((name, host))
        if first is not None and _linked(first, path):
            return
        if host == self.side.host:
            shutil.copyfile(table.path, path)
            restrict(path)
        else:
            rows = table.lazy.with_columns(pl.lit(host).cast(table.schema["host"]).alias("host"))
            _write(rows, path, table.metadata)
        self._written[name, host] = path

    def free_room(self) -> str | None:
        """Removes the largest table that a trial can do without, so that others find room on a full disk; returns a
        sentence on it. None where there is none."""
        sizes = {name: table.path.stat().st_size for name, table in self._parts.items() if name not in NEEDED}
        if not sizes:
            return None
        name = max(sizes, key=lambda name: sizes[name])
        # What was received has no other name: its room is free at once.
        os.truncate(self._parts.pop(name).path, 0)
        return _no_room(self.side.host, name)

    def moved(self, partial: Path, final: Path) -> None:
        """A trial's folder has its final name: what was written there first lies there now."""
        self._written = {
            key: final / path.name if path.parent == partial else path for key, path in self._written.items()
        }


@dataclass
class _Table:
    """A table of all connections."""

    path: Path

    @cached_property
    def lazy(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.path)

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        return self.lazy.collect_schema()

    @cached_property
    def metadata(self) -> dict[str, str]:
        """Units, meanings and sources of the columns stand in the Arrow schema."""
        return dict(pl.read_parquet_metadata(self.path))

    @cached_property
    def is_by_connection(self) -> bool:
        return "connection" in self.schema

    @cached_property
    def whole(self) -> pl.DataFrame:
        return pl.read_parquet(self.path)

    @cached_property
    def _by_connection(self) -> dict[int, pl.DataFrame] | None:
        """The rows of each connection; None of a table that is too large."""
        if bytes_in_memory(self.path) > MAX_IN_MEMORY:
            return None
        parts = self.whole.partition_by("connection", as_dict=True, maintain_order=True)
        return {int(key[0]): part for key, part in parts.items()}

    @cached_property
    def _present(self) -> frozenset[int]:
        """The connections with rows in a large table."""
        found = self.lazy.select(pl.col("connection").unique()).collect(engine="streaming")
        return frozenset(found["connection"].to_list())

    def of(self, connection: int) -> pl.DataFrame | pl.LazyFrame:
        """The rows of one connection, in their order."""
        if (parts := self._by_connection) is not None:
            return parts.get(connection, pl.DataFrame(schema=dict(self.schema)))
        if connection not in self._present:
            return pl.DataFrame(schema=dict(self.schema))
        return self.lazy.filter(pl.col("connection") == connection)


def _no_room(host: str, name: str) -> str:
    return f"The {host} agent's table '{name}' is left out: the disk was full. Free some space before the next watch."


def _wrong(path: Path, name: str) -> str | None:
    """Why a table cannot be kept, in words that follow "it"; None where it can."""
    return wrong_in_table(path, name) if is_table(name) else "is none of the record's"


def _renamed(
    rows: pl.DataFrame | pl.LazyFrame, schema: Mapping[str, pl.DataType], place: TrialEnd
) -> pl.DataFrame | pl.LazyFrame:
    """The rows as those of the only connection of their trial."""
    values: dict[str, str | int] = {"host": place.host, "connection": 0, "role": place.role}
    return rows.with_columns(
        pl.lit(value).cast(schema[name]).alias(name) for name, value in values.items() if name in schema
    )


def _spans(at: "NDArray[np.float64]", schema: Mapping[str, pl.DataType], place: TrialEnd) -> pl.DataFrame:
    """The intervals between samples, without their payload."""
    edges = at.astype(np.uint64)
    return pl.DataFrame({
        "host": place.host,
        "connection": 0,
        "role": place.role,
        "interval": np.arange(edges.size - 1),
        "phase": "measure",
        "start_mono_ns": edges[:-1],
        "end_mono_ns": edges[1:],
        "payload_bytes": 0,
        "calls_count": 0,
    }).select(pl.col(name).cast(kind) for name, kind in schema.items())  # fmt: skip


def _write(rows: pl.DataFrame | pl.LazyFrame, path: Path, metadata: Mapping[str, str]) -> int:
    """Writes a table as private as its folder; returns the number of its rows."""
    if isinstance(rows, pl.LazyFrame):
        rows.sink_parquet(path, metadata=dict(metadata))
    else:
        rows.write_parquet(path, metadata=dict(metadata))
    restrict(path)
    if isinstance(rows, pl.DataFrame):
        return rows.height
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def _linked(first: Path, path: Path) -> bool:
    try:
        os.link(first, path)
    except OSError:
        # A file system without them, or with too many to one file.
        return False
    return True
