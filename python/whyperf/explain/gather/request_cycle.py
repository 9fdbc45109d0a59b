"""Where data goes in both directions: how long requests and their answers take, and what lies between."""

import polars as pl

from whyperf.explain.gather.table import first
from whyperf.explain.path_facts import RequestCycle


def request_cycle(sent: pl.DataFrame) -> RequestCycle:
    """Lengths of requests and answers by the sender's log; `sent` has time_ns, connection, direction, payload_bytes."""
    data = sent.filter((pl.col("payload_bytes") > 0) & (pl.col("time_ns") >= 0))
    both = data.select("time_ns", "connection", pl.col("direction").cast(pl.String))
    if both.filter(pl.col("direction") == "in").is_empty():
        return RequestCycle()
    span = both.group_by("connection").agg(pl.col("time_ns").max() - pl.col("time_ns").min())
    life = int(span["time_ns"].sum())
    if life <= 0:
        return RequestCycle()
    steps = both.with_columns(
        pl.col("direction").shift(1).over("connection").alias("before"),
        pl.col("time_ns").diff().over("connection").alias("gap_ns"),
    )
    answers = steps.filter((pl.col("before") == "out") & (pl.col("direction") == "in"))
    thinks = steps.filter((pl.col("before") == "in") & (pl.col("direction") == "out"))
    starts = pl.when((pl.col("direction") == "out") & (pl.col("before") != "out").fill_null(value=True)).then("time_ns")
    exchanges = steps.with_columns(starts.forward_fill().over("connection").alias("begin_ns"))
    exchanges = exchanges.filter((pl.col("before") == "out") & (pl.col("direction") == "in"))
    return RequestCycle(
        answer_ratio=float(answers["gap_ns"].sum()) / life,
        think_ratio=float(thinks["gap_ns"].sum()) / life,
        cycle_ns=life / thinks.height if thinks.height else None,
        exchange_ns=first(exchanges, (pl.col("time_ns") - pl.col("begin_ns")).median()),
        answer_ns=first(answers, pl.col("gap_ns").median()),
        think_ns=first(thinks, pl.col("gap_ns").median()),
    )
