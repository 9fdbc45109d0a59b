"""Tables as agents send them of watched connections, made of trials that were measured.

The agent numbers all watched connections of its host from 0, takes each for the sender's, and adds the tables `watched`
and `sockets`. What it cannot know of another program is left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tests.unit.analyze.synthetic import HOST_FACTS
from whyperf.record.kinds import COLUMNS
from whyperf.watch.request import WatchedSide, WatchQuestion

TYPES = {"u32": pl.UInt32(), "u64": pl.UInt64(), "bool": pl.Boolean(), "text": pl.String()}
UNKNOWN = ("opening_mono_ns", "opened_mono_ns", "window_requested_bytes", "first_call_mono_ns", "last_call_mono_ns")
"""Columns of `flows` that nobody knows of another program's socket."""
OWN = ("transactions", "latencies", "datagrams", "round_trips", "path", "path_lateness")
"""Tables in which whyperf's own load counts itself."""
BEFORE_NS = 1_000_000
"""So long before its first sample a connection opened that was watched from its first segment on."""
FINISHED: Mapping[str, Any] = {
    "reply": "finished",
    "outcome": {"ended": "complete"},
    "payload_bytes": 0,
    "notes": [],
    "evidence": {
        "asked": "user",
        "got": "user",
        "reason": None,
        "missing": [],
        "broken_off": None,
        "logged_calls_count": 0,
        "logged_events_count": 0,
        "lost_calls_count": [],
        "lost_events_count": [],
        "missed_runs_count": 0,
        "unseen_segments_count": 0,
        "profile": None,
        "stages": None,
    },
}


@dataclass(frozen=True)
class SeenConnection:
    """A connection of a measured trial, as `host` there saw it, which becomes a watched one."""

    trial: Path
    host: Literal["near", "far"]
    connection: int = 0
    #: What the table `watched` says of it, in place of what is usual.
    watched: Mapping[str, Any] = field(default_factory=dict)
    #: Its ends, in place of those that it had.
    local: str | None = None
    remote: str | None = None
    #: Left out: tables of this connection.
    without: tuple[str, ...] = ()


def schema(table: str) -> dict[str, pl.DataType]:
    """The columns of a table of this version."""
    kinds = json.loads(COLUMNS.read_text())[table]
    return {name: TYPES[kind if isinstance(kind, str) else "text"] for name, kind in kinds.items()}


def shaped(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """The frame with the columns of this version; what it lacks is null."""
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema(table).items()
    )


def tables_of(parts: Sequence[SeenConnection], side: str = "near") -> dict[str, pl.DataFrame]:
    """The tables of one agent that watched these connections."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for number, part in enumerate(parts):
        for name, frame in _tables(part):
            if "connection" in frame.columns:
                own = frame.filter(pl.col("connection") == part.connection).with_columns(
                    pl.lit(number, pl.UInt32).alias("connection")
                )
                frames.setdefault(name, []).append(_foreign(own, part))
            elif number == 0:
                frames.setdefault(name, []).append(frame)
        frames["intervals"] = [*frames.get("intervals", []), *_intervals(part, number)]
        watched, sockets = _watched(part, number), _sockets(part, number)
        frames.setdefault("watched", []).append(watched)
        frames.setdefault("sockets", []).append(sockets)
    together = {name: pl.concat([shaped(frame, name) for frame in found]) for name, found in frames.items() if found}
    return {name: _named(frame, side, parts[0]) for name, frame in together.items()}


def _tables(part: SeenConnection) -> Iterator[tuple[str, pl.DataFrame]]:
    for path in sorted(part.trial.glob(f"*.{part.host}.parquet")):
        name = path.name.partition(".")[0]
        if name not in {*OWN, *part.without, "intervals"}:
            yield name, pl.read_parquet(path)


def _foreign(frame: pl.DataFrame, part: SeenConnection) -> pl.DataFrame:
    changes: dict[str, pl.Expr] = {}
    if "opening_mono_ns" in frame.columns or "window_requested_bytes" in frame.columns:
        changes |= {name: pl.lit(None).cast(frame.schema[name]) for name in UNKNOWN if name in frame.columns}
        changes |= {name: pl.lit(0).cast(frame.schema[name]) for name in frame.columns if name.endswith("calls_count")}
        changes |= {"ended": pl.lit("complete")}
        changes |= {} if part.local is None else {"local_address": pl.lit(part.local)}
        changes |= {} if part.remote is None else {"remote_address": pl.lit(part.remote)}
    return frame.with_columns(**changes)


def _named(frame: pl.DataFrame, side: str, first: SeenConnection) -> pl.DataFrame:
    """Rows of one side, all of them as if they were a sender's and measured."""
    changes = {"host": pl.lit(side)}
    if "role" in frame.columns:
        changes |= {"role": pl.lit("sender")}
    if "phase" in frame.columns:
        changes |= {"phase": pl.lit("measure")}
    if "process" in frame.columns and "thread" in frame.columns:
        changes |= {"process": pl.lit(first.watched.get("process", 4000), pl.UInt32)}
    return frame.with_columns(**changes)


def _flow(part: SeenConnection) -> dict[str, Any]:
    flows = pl.read_parquet(part.trial / f"flows.{part.host}.parquet")
    return flows.filter(pl.col("connection") == part.connection).row(0, named=True)


def _times(part: SeenConnection) -> pl.Series:
    samples = pl.read_parquet(part.trial / f"tcp_info.{part.host}.parquet")
    return samples.filter(pl.col("connection") == part.connection)["sample_mono_ns"].sort()


def _watched(part: SeenConnection, number: int) -> pl.DataFrame:
    flow, times = _flow(part), _times(part)
    row = {
        "host": part.host,
        "connection": number,
        "local_address": part.local or flow["local_address"],
        "remote_address": part.remote or flow["remote_address"],
        "cookie": 1000 + number + (500 if part.host == "far" else 0),
        "program": "iperf3",
        "executable": "/usr/bin/iperf3",
        "process": 4000,
        "user": 1000,
        "control_group": "/user.slice",
        "whole": True,
        "first_mono_ns": times[0],
        "last_mono_ns": times[-1],
        "closed": False,
        "listens": part.host == "far",
        **part.watched,
    }
    return pl.DataFrame([row])


def _intervals(part: SeenConnection, number: int) -> list[pl.DataFrame]:
    """From sample to sample, as agents have it; the payload is that of the direction of most."""
    if "intervals" in part.without:
        return []
    samples = pl.read_parquet(part.trial / f"tcp_info.{part.host}.parquet")
    own = samples.filter(pl.col("connection") == part.connection).sort("sample_mono_ns")
    times = own["sample_mono_ns"].to_list()
    name = "bytes_acked" if own["bytes_acked"][-1] >= own["bytes_received"][-1] else "bytes_received"
    counts = own[name].to_list()
    if part.watched.get("whole", True):
        times, counts = [times[0] - BEFORE_NS, *times], [0, *counts]
    spans = list(zip(times, times[1:], counts, counts[1:], strict=False))
    rows = [
        {"connection": number, "interval": place, "start_mono_ns": a, "end_mono_ns": b, "payload_bytes": y - x}
        for place, (a, b, x, y) in enumerate(spans)
        if b > a
    ]
    return [pl.DataFrame(rows, schema_overrides=schema("intervals")).with_columns(calls_count=pl.lit(0, pl.UInt64))]


def _sockets(part: SeenConnection, number: int) -> pl.DataFrame:
    return pl.DataFrame({
        "host": part.host,
        "connection": number,
        "sample_mono_ns": _times(part),
        "receive_queue_bytes": 0,
        "send_queue_bytes": 4096,
    })  # fmt: skip


def sent(
    folder: Path, parts: Sequence[SeenConnection], host: Literal["near", "far"] = "near", **changes: Any
) -> WatchedSide:
    """What an agent sent, its tables in `folder`; `changes` are fields of the side."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, frame in tables_of(parts, host).items():
        paths[name] = folder / f"{name}.parquet"
        frame.write_parquet(paths[name])
    facts: Any = {
        **HOST_FACTS,
        "boot_id": f"boot-of-{host}",
        "hostname": f"{host}-host",
        "hooks": [],
        "stage_hooks": [],
    }
    evidence = json.loads((parts[0].trial / "manifest.json").read_text())["hosts"][parts[0].host].get("evidence")
    finished: Any = {**FINISHED, "evidence": {**FINISHED["evidence"], **(evidence or {})}}
    side = WatchedSide(host=host, facts=facts, clock=None, finished=finished, tables=paths)
    return replace(side, **changes)


def question(**changes: Any) -> WatchQuestion:
    """What was asked."""
    asked = WatchQuestion(
        command_line="whyperf watch :5201 --time 1s",
        selection={"ports": [5201]},
        evidence="user",
        started_realtime="2026-01-02T03:04:05+00:00",
        name=":5201",
    )
    return replace(asked, **changes)
