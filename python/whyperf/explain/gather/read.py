"""Readings that all gathering needs: tables by name, the direction of payload, and when connections are on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import manifest_of, reported_unreadable
from whyperf.analyze.transports.schedule import scheduled_connections


def read_columns(trial: FlowTrial, table: str, host: str, columns: Sequence[str]) -> pl.DataFrame | None:
    """The table of the end at `host`; None when that end wrote none.

    A column that an older agent did not write is null. Instants stay on the end's own clock.

    Raises:
        RecordError: the file cannot be read.
    """
    source = trial.table(table, host)
    if source is None:
        return None
    with reported_unreadable(source.path):
        there = source.rows.collect_schema().names()
        known = [pl.col(name) if name in there else pl.lit(None).alias(name) for name in columns]
        return source.rows.select(known).collect()


def first(frame: pl.DataFrame | None, expression: pl.Expr) -> float | None:
    """One figure of a frame; None without a frame, or where it is null."""
    if frame is None or frame.is_empty():
        return None
    value = frame.select(expression).item()
    return None if value is None else float(value)


SWAPPED_RATIO = 8
"""Factor by which more must come than goes: where messages go both ways, the one who asks stays the sender."""

_COUNTS = ("connection", "bytes_acked", "bytes_received")


def sending(trial: FlowTrial, end: FlowEnd) -> frozenset[int] | None:
    """The connections on which this side sends, and does not only get; None where all are, or nothing was counted.

    Raises:
        RecordError: the table cannot be read.
    """
    info = read_columns(trial, "tcp_info", end.host, _COUNTS)
    if info is None or info.is_empty():
        return None
    last = _moved(trial, info)
    gets = (pl.col("bytes_received") >= SWAPPED_RATIO * pl.col("bytes_acked")) & (pl.col("bytes_received") > 0)
    found = frozenset(last.filter(~gets.fill_null(value=False))["connection"].to_list())
    return found if 0 < len(found) < last.height else None


_OTHER = {"sender": "receiver", "receiver": "sender"}


def _moved(trial: FlowTrial, info: pl.DataFrame) -> pl.DataFrame:
    """Amounts that each connection sent and got: in all, and while it was watched if it is another program's."""
    counts = pl.col("bytes_acked", "bytes_received").cast(pl.Int64)
    return info.group_by("connection").agg(counts.max() - counts.min() if trial.is_watched else counts.max())


def by_payload(trial: FlowTrial) -> FlowTrial:
    """The trial with its roles after the payload; as it is where nothing was counted.

    Raises:
        RecordError: the table cannot be read.
    """
    sender = trial.end("sender")
    info = None if sender is None else read_columns(trial, "tcp_info", sender.host, _COUNTS)
    if info is None or info["bytes_acked"].null_count() == info.height:
        return trial
    last = _moved(trial, info)
    sent, received = (first(last, pl.col(name).sum()) or 0 for name in ("bytes_acked", "bytes_received"))
    if received < SWAPPED_RATIO * sent or not received:
        return trial
    if trial.is_watched:
        # Nobody asked for a direction, so none is turned.
        return replace(trial, ends={host: replace(end, role=_OTHER[end.role]) for host, end in trial.ends.items()})
    ends = {host: replace(end, role=_OTHER.get(end.role, end.role)) for host, end in trial.ends.items()}
    return replace(trial, ends=ends, is_turned=not trial.is_turned)


Span = tuple[int, int]


@dataclass(frozen=True)
class Active:
    """Connections, and the spans (ns after the start of the load) in which the schedule has them at work.

    Attributes:
        connections: those asked about; None: all.
        spans: by connection; one that is not there is at work all the time.
    """

    connections: frozenset[int] | None = None
    spans: Mapping[int, Span] = field(default_factory=dict)

    def has(self, connection: int) -> bool:
        """True where it is one of those asked about."""
        return self.connections is None or connection in self.connections

    def idle_ns(self, connection: int, begin_ns: int, end_ns: int) -> int:
        """The part of a span of its life for which the schedule has the connection switched off."""
        start, stop = self.spans.get(connection, (begin_ns, end_ns))
        return max(0, end_ns - begin_ns - max(0, min(end_ns, stop) - max(begin_ns, start)))

    def rows(self, frame: pl.DataFrame, trial: FlowTrial, end: FlowEnd, time: str = "sample_mono_ns") -> pl.DataFrame:
        """The rows of a side's table with `connection` and an instant: of these connections, while they are at work."""
        if self.connections is not None:
            frame = frame.filter(pl.col("connection").is_in(list(self.connections)))
        if not self.spans:
            return frame
        spans = pl.DataFrame(
            {
                "connection": list(self.spans),
                "from_ns": [start for start, _ in self.spans.values()],
                "to_ns": [stop for _, stop in self.spans.values()],
            },
            schema={"connection": frame.schema["connection"], "from_ns": pl.Int64, "to_ns": pl.Int64},
        )
        instant = pl.col(time).cast(pl.Int64) - (trial.zero_mono_ns + end.offset_ns)
        inside = instant.is_between("from_ns", "to_ns").fill_null(value=True)
        return frame.join(spans, on="connection", how="left").filter(inside).drop("from_ns", "to_ns")


ALWAYS = Active()
"""All connections, all the time."""


MANY_OVERTAKE, SELDOM_SHORTER = 0.01, 0.1
"""Reordering that the sender's kernel saw, over its data segments, from which on the fastest ones overtook others; and
the part of the smoothed round trips that these have then shortened: assumptions. A log of 2.2 % overtaking segments had
46 % of its packets out of order."""


def least_trip_ns(samples: pl.DataFrame) -> int | None:
    """The smallest round trip of the path, by samples of TCP_INFO; None without one.

    The kernel's minimum is of one segment. Where segments overtake one another it is of one that did, and no path of
    the others: then a short smoothed round trip is nearer.
    """
    last = samples.group_by("connection").agg(
        pl.col("reordering_events_count", "data_segments_out").cast(pl.Int64).max()
    )
    events, sent = last["reordering_events_count"].sum(), last["data_segments_out"].sum()
    timed = samples.filter(pl.col("rtt_ns") > 0)
    is_overtaken = bool(events) and float(events) >= MANY_OVERTAKE * float(sent)
    least = timed["rtt_ns"].quantile(SELDOM_SHORTER) if is_overtaken else timed["rtt_ns_min"].min()
    return None if least is None else int(least)  # type: ignore[arg-type]


def scheduled(trial: FlowTrial) -> Mapping[int, Span]:
    """When the schedule has each connection at work; nothing without a schedule.

    Raises:
        RecordError: the trial's manifest cannot be read.
    """
    rows = scheduled_connections(manifest_of(trial), ())
    return {int(str(row["connection"])): (int(str(row["start_ns"])), int(str(row["stop_ns"]))) for row in rows}
