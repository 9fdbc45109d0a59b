"""Which data waited for an ACK: what the sender's kernel sent while it took in a segment that arrived.

Data that may go at once is sent by the write call, in the context of the process. What Nagle's
algorithm (RFC 896), the window or the congestion window held back goes when an ACK allows it, in
receive processing. It is a lower bound: an ACK that arrives while the process holds the socket waits
in its backlog, and the process itself sends what it releases.
"""

from typing import NamedTuple

import polars as pl

RECEIVE = "net_rx"


class Waited(NamedTuple):
    """Segments of one payload: how many were sent, and which part of them when an ACK arrived."""

    payload_bytes: int
    sent: int
    ratio: float


def waited_for_ack(log: pl.LazyFrame, most: int = 4) -> list[Waited]:
    """The `most` frequent payloads that left TCP, by frequency, each with the part that waited for an ACK.

    `log` is of `scan_log` at the sender. A super-segment counts once, with all it holds; what was sent
    again is left out.
    """
    is_new = (pl.col("direction") == "out") & (pl.col("payload_bytes") > 0) & pl.col("retransmission").is_null()
    found = (
        log.filter(is_new)
        .group_by(pl.col("payload_bytes").cast(pl.Int64))
        .agg(pl.len().cast(pl.Int64).alias("sent"), (pl.col("context") == RECEIVE).mean().alias("ratio"))
        .sort(["sent", "payload_bytes"], descending=[True, False])
        .head(most)
        .collect(engine="streaming")
    )
    return [Waited(*row) for row in found.select("payload_bytes", "sent", "ratio").iter_rows()]
