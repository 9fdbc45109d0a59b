"""Which connections a question is about, and when the schedule has them at work.

A flow that the schedule has not started yet, or has ended, waits for nothing: that time belongs to no cause.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import manifest_of
from whyperf.analyze.transports.schedule import scheduled_connections

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


def scheduled(trial: FlowTrial) -> Mapping[int, Span]:
    """When the schedule has each connection at work; nothing without a schedule.

    Raises:
        RecordError: the trial's manifest cannot be read.
    """
    rows = scheduled_connections(manifest_of(trial), ())
    return {int(str(row["connection"])): (int(str(row["start_ns"])), int(str(row["stop_ns"]))) for row in rows}
