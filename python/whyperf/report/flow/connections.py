"""The overview of all connections of a trial, for the terminal and for the page."""

from dataclasses import dataclass

import polars as pl

from whyperf.report.flow.summary import FlowSummary


@dataclass(frozen=True)
class Column:
    """A column: its heading, the kind of its numbers (count, ratio, mean), and the column that it shows."""

    heading: str
    kind: str
    name: str


COLUMNS = (
    Column("Connection", "count", "connection"),
    Column("Payload bytes", "count", "payload_bytes"),
    Column("Share", "ratio", "share"),
    Column("Segments", "count", "data_segments"),
    Column("Average segment", "mean", "segment_bytes_mean"),
    Column("Average super-segment", "mean", "packet_bytes_mean"),
    Column("Segments per ACK", "mean", "segments_per_ack"),
    Column("Retransmitted packets", "count", "retransmitted_packets"),
)
"""The columns of the table. Columns without any value are left out."""


@dataclass(frozen=True)
class Connections:
    """The overview: columns, rows by connection, and a note."""

    columns: tuple[Column, ...]
    rows: list[list[float | None]]
    note: str


def connections(summary: FlowSummary) -> Connections | None:
    """The overview of a trial with several connections; None for a trial with one."""
    if len(summary.numbers) < 2:
        return None
    share = (pl.col("payload_bytes") / pl.col("payload_bytes").sum()).alias("share")
    table = summary.connections.with_columns(share)
    known = tuple(column for column in COLUMNS if table[column.name].null_count() < table.height)
    rows = [[_number(value) for value in row] for row in table.select(column.name for column in known).iter_rows()]
    level = str(summary.connections["level"][0])
    source = "the log" if level == "segments" else f"evidence of level {level}"
    end = summary.hosts[0].end
    note = f"Recorded by the {end.role} ({end.host} side), from {source}, over the whole duration of each connection."
    return Connections(known, rows, note)


def _number(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else float(f"{value:.6g}")
