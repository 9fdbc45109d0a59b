"""Payload of a command's connections in one run, and its rate: the figure that its runs are compared by."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from whyperf.analyze.read.watched import RECEIVED_PAYLOAD, SENT_PAYLOAD
from whyperf.watch.session import address_of
from whyperf.watch.sockets import endpoint

SHORTEST_S = 0.5
"""Ten samples: the first and the last byte are known to one of them, and a rate to 20 %."""
NS_PER_S = 1_000_000_000
MUCH = 0.5
"""Of what the busiest direction or connection moved."""


@dataclass(frozen=True)
class RunPayload:
    """A run as one side saw it.

    Attributes:
        rate_bps: payload in the busier direction over the time from its first to its last byte, all connections
            together; None where that is shorter than `SHORTEST_S`.
        sends: whether the watched side sent much of it; `receives` likewise.
        sets_send_buffer: whether the program set this buffer of a busy connection; None where nobody knows.
        sets_receive_buffer: likewise.
        peers: addresses of the other ends of busy connections.
        interrupted_cpu: the CPU of the host with most time of softirqs; None where none has any.
    """

    rate_bps: float | None = None
    sends: bool = False
    receives: bool = False
    sets_send_buffer: bool | None = None
    sets_receive_buffer: bool | None = None
    peers: tuple[str, ...] = ()
    interrupted_cpu: int | None = None


def payload_of(tables: Mapping[str, Path]) -> RunPayload:
    """That of one side's tables of a watch, each of which may be missing."""
    if not {"tcp_info", "watched"} <= tables.keys():
        return RunPayload()
    at = pl.col("sample_mono_ns").cast(pl.Int64)
    columns = {"at": at, "sent": SENT_PAYLOAD, "received": RECEIVED_PAYLOAD}
    samples = pl.read_parquet(tables["tcp_info"]).select("connection", **columns).sort("connection", "at")
    grown = samples.select(
        "connection",
        "at",
        pl.col("at").shift().over("connection").alias("before"),
        *(pl.col(name).diff().over("connection") for name in ("sent", "received")),
    ).filter((pl.col("sent") > 0) | (pl.col("received") > 0))
    if grown.is_empty():
        return RunPayload()
    sent, received = (int(grown[name].sum()) for name in ("sent", "received"))
    first_ns, last_ns = grown.select(first=pl.col("before").min(), last=pl.col("at").max()).row(0)
    most, active_s = max(sent, received), (last_ns - first_ns) / NS_PER_S
    by_connection = grown.group_by("connection").agg((pl.col("sent") + pl.col("received")).sum().alias("moved"))
    busy = by_connection.filter(pl.col("moved") >= MUCH * pl.col("moved").max())
    ends = pl.read_parquet(tables["watched"]).join(busy, on="connection", how="semi")
    return RunPayload(
        rate_bps=8 * most / active_s if active_s >= SHORTEST_S else None,
        sends=sent >= MUCH * most,
        receives=received >= MUCH * most,
        sets_send_buffer=_any(ends["send_buffer_fixed"]),
        sets_receive_buffer=_any(ends["receive_buffer_fixed"]),
        peers=tuple(sorted({address_of(endpoint(text)) for text in ends["remote_address"]})),
        interrupted_cpu=_interrupted_cpu(tables.get("cpu")),
    )


def _interrupted_cpu(path: Path | None) -> int | None:
    if path is None:
        return None
    sums = pl.read_parquet(path).group_by("cpu").agg(pl.col("softirq_ns").sum()).filter(pl.col("softirq_ns") > 0)
    most_first = sums.sort("softirq_ns", "cpu", descending=[True, False])["cpu"]
    return int(most_first[0]) if sums.height else None


def _any(flags: pl.Series) -> bool | None:
    """True where one is set; None where none is, and one is not known."""
    return flags.any(ignore_nulls=False)
