"""Data sent again, and where it had been lost: on the path, or in the receiving host."""

import polars as pl

from whyperf.analyze.flow.acks import IS_PURE_ACK
from whyperf.explain.explanation import Losses
from whyperf.explain.segment_log import LoggedConnection


def find_losses(sender: LoggedConnection | None, receiver: LoggedConnection | None) -> Losses | None:
    """The losses of one connection from both logs; None without the sender's or without any.

    A retransmission of the octet that the receiver said was missing shows where the copy before it was lost: had one
    been seen to arrive at the receiving host's device before the receiver asked for it again, the host lost it.
    """
    if sender is None:
        return None
    again = sender.rows.filter((pl.col("direction") == "out") & pl.col("retransmission").is_not_null())
    if again.is_empty():
        return None
    kinds = again.group_by(pl.col("retransmission").cast(pl.String)).len().sort("retransmission")
    places = (None, None) if receiver is None else _places(again, receiver.rows)
    return Losses(
        kinds={str(kind): int(number) for kind, number in kinds.iter_rows()},
        timeout_wait_ns=_silence(sender.rows),
        lost_in_receiver=places[0],
        lost_on_path=places[1],
    )


def _silence(sender: pl.DataFrame) -> int:
    """From the last segment of either direction to each retransmission that a timer made."""
    time = pl.col("time_ns")
    waited = sender.lazy().with_columns((time - time.shift(1)).alias("gap"))
    found = waited.filter(pl.col("retransmission") == "timeout").select(pl.col("gap").sum()).collect().item()
    return int(found or 0)


def _places(again: pl.DataFrame, receiver: pl.DataFrame) -> tuple[int, int]:
    """(lost in the receiving host, lost on the path): by what the receiver had seen and asked for before."""
    asked = (
        receiver.filter((pl.col("direction") == "out") & IS_PURE_ACK)
        .select(
            pl.col("time_ns").alias("asked_ns"),
            pl.col("time_ns").alias("time_ns"),
            pl.col("acknowledgment").cum_max().alias("missing"),
        )
        .sort("time_ns")
    )
    wanted = again.select("time_ns", "sequence").sort("time_ns").join_asof(asked, on="time_ns")
    wanted = wanted.filter(pl.col("sequence") == pl.col("missing"))
    arrived = (
        receiver.filter((pl.col("direction") == "in") & (pl.col("payload_bytes") > 0))
        .group_by("sequence")
        .agg(pl.col("time_ns").min().alias("arrived_ns"), pl.col("payload_bytes").max())
        .sort("sequence")
        .with_columns(pl.col("sequence").alias("first"))
    )
    seen = wanted.sort("sequence").join_asof(arrived, on="sequence")
    had = (
        (pl.col("sequence") < pl.col("first") + pl.col("payload_bytes")) & (pl.col("arrived_ns") < pl.col("asked_ns"))
    ).fill_null(value=False)
    inside = int(seen.select(had.sum()).item())
    return inside, seen.height - inside
