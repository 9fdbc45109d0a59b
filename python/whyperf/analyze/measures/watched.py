"""Of a connection of another program: how long it was watched, and what it moved in each direction."""

from typing import Any

import polars as pl

from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import WatchedConnection


def cell_connections(inputs: Inputs) -> dict[str, WatchedConnection]:
    """By cell; empty where the load was our own. Both directions are as the first watched end counts them."""
    samples = {
        (row["cell"], row["host"]): row
        for row in inputs.tcp_info.group_by("cell", "host")
        .agg(
            ((pl.col("sample_mono_ns").max() - pl.col("sample_mono_ns").min()) / 1e9).alias("seconds"),
            pl.col("bytes_acked").max().cast(pl.Int64).alias("sent_bytes"),
            pl.col("bytes_received").max().cast(pl.Int64).alias("received_bytes"),
        )
        .iter_rows(named=True)
    }
    seen = {(row["cell"], row["host"]): row for row in inputs.watched.iter_rows(named=True)}
    found = {}
    for cell in inputs.cells:
        if cell.watched is not None:
            host = cell.watched.hosts[0]
            row, times = samples.get((cell.id, host), {}), seen.get((cell.id, host), {})
            found[cell.id] = WatchedConnection(
                **cell.watched.model_dump(exclude={"hosts", "nth", "listens"}),
                accepted=cell.watched.listens,
                hosts=list(cell.watched.hosts),
                is_whole=times.get("whole"),
                is_closed=times.get("closed"),
                watched_s=row.get("seconds") or None,
                sent_bytes=row.get("sent_bytes"),
                received_bytes=row.get("received_bytes"),
                sent_bps=_rate(row, "sent_bytes"),
                received_bps=_rate(row, "received_bytes"),
            )
    return found


def _rate(row: dict[str, Any], name: str) -> float | None:
    moved, seconds = row.get(name), row.get("seconds")
    return None if moved is None or not seconds else 8 * moved / seconds
