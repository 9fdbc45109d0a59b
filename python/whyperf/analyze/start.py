"""How well the ends of a trial began together, measured from what they did."""

import polars as pl


def start_skew(flows: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """The skew of each trial's start: from the first agent's first call to the last agent's first call, in ns.

    `flows` is on the controller's clock, so the skew holds within the clocks' uncertainty. Only the ends that begin
    count: those that write. One row a trial in which at least one did: `trial`, `agents`, `skew_ns` (between agents; 0
    with one), `spread_ns` (between all connections).
    """
    writing = ends.filter(pl.col("role") == "sender").select("trial", "host")
    calls = flows.join(writing, on=["trial", "host"], how="semi").drop_nulls("first_call_mono_ns")
    agents = calls.group_by("trial", "host").agg(
        pl.col("first_call_mono_ns").min().alias("first"), pl.col("first_call_mono_ns").max().alias("last")
    )
    return agents.group_by("trial").agg(
        pl.len().alias("agents"),
        (pl.col("first").max() - pl.col("first").min()).alias("skew_ns"),
        (pl.col("last").max() - pl.col("first").min()).alias("spread_ns"),
    )
