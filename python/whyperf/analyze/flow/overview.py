"""All connections of an end at a glance."""

from collections.abc import Mapping

import polars as pl

from whyperf.analyze.flow.acks import IS_PURE_ACK
from whyperf.analyze.flow.log import scan_log
from whyperf.analyze.flow.steps import divided
from whyperf.analyze.flow.tables import read_counters, read_user
from whyperf.analyze.flow.trial import FlowTrial


def overview(trial: FlowTrial, host: str) -> pl.DataFrame:
    """One row a connection, from the best level there is, over the whole life.

    `connection`, `payload_bytes` (the load's own count), `data_packets`, `data_segments`,
    `data_bytes` (of the payload's direction), `retransmitted_packets`, `acks` (the other way),
    `packet_bytes_mean`, `segment_bytes_mean`, `segments_per_ack`, `level`. What the level does not
    know is null.
    """
    end = trial.ends[host]
    log = scan_log(trial, host)
    if log is not None and end.evidence.got == "segments" and not end.evidence.lost_events_count:
        counts, level = _logged(log, end.role), "segments"
    elif (counted := read_counters(trial, host)) is not None:
        counts, level = _counted(counted.counters, end.role), "counters"
    else:
        counts, level = _sampled(read_user(trial, host).tcp_info, end.role), "user"
    moved = read_user(trial, host).flows.select("connection", pl.col("payload_bytes").cast(pl.Int64))
    whole = moved.join(counts, on="connection", how="full", coalesce=True).sort("connection")
    return whole.with_columns(
        divided("data_bytes", "data_packets", "packet_bytes_mean"),
        divided("data_bytes", "data_segments", "segment_bytes_mean"),
        divided("data_segments", "acks", "segments_per_ack"),
        pl.lit(level).alias("level"),
    )


def _ways(role: str) -> tuple[str, str]:
    """Which way the payload goes at an end with this role, and which way its ACKs."""
    return ("out", "in") if role == "sender" else ("in", "out")


def _logged(log: pl.LazyFrame, role: str) -> pl.DataFrame:
    way, back = _ways(role)
    is_data = (pl.col("direction") == way) & (pl.col("payload_bytes") > 0)
    is_again = is_data & pl.col("retransmission").is_not_null()
    sums = {
        "data_packets": is_data.sum(),
        "data_segments": pl.col("wire_segments").cast(pl.Int64).filter(is_data).sum(),
        "data_bytes": pl.col("payload_bytes").cast(pl.Int64).filter(is_data).sum(),
        "retransmitted_packets": is_again.sum() if way == "out" else pl.lit(None, dtype=pl.Int64),
        "acks": (IS_PURE_ACK & (pl.col("direction") == back)).sum(),
    }
    return _by_connection(log, sums)


def _counted(counters: pl.DataFrame, role: str) -> pl.DataFrame:
    way, back = _ways(role)
    names = {
        "data_packets": f"data_{way}_packets",
        "data_segments": f"data_{way}_segments",
        "data_bytes": f"data_{way}_bytes",
        "retransmitted_packets": "retransmitted_out_packets" if way == "out" else None,
        "acks": f"acks_{back}_count",
    }
    return _by_connection(counters, {name: _sum(column) for name, column in names.items()})


def _sampled(tcp_info: pl.DataFrame, role: str) -> pl.DataFrame:
    """The counts only grow: the largest is the last."""
    way, back = _ways(role)
    pure = pl.col(f"segments_{back}").max() - pl.col(f"data_segments_{back}").max()
    sums = {
        "data_packets": pl.lit(None, dtype=pl.Int64),
        "data_segments": pl.col(f"data_segments_{way}").max(),
        "data_bytes": pl.col("bytes_sent" if way == "out" else "bytes_received").max(),
        "retransmitted_packets": pl.lit(None, dtype=pl.Int64),
        "acks": pure,
    }
    return _by_connection(tcp_info, sums)


def _sum(column: str | None) -> pl.Expr:
    return pl.lit(None, dtype=pl.Int64) if column is None else pl.col(column).sum()


def _by_connection(table: pl.LazyFrame | pl.DataFrame, sums: Mapping[str, pl.Expr]) -> pl.DataFrame:
    columns = [expression.cast(pl.Int64).alias(name) for name, expression in sums.items()]
    return table.lazy().group_by("connection").agg(columns).collect(engine="streaming")
