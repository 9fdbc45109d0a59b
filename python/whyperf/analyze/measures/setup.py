"""The start of a trial: how fast its connections were set up, and how closely together its agents started."""

import polars as pl

from whyperf.analyze.measures.transactions import IS_NEAR


def trial_setups(flows: pl.DataFrame) -> pl.DataFrame:
    """Set-up of each trial's connections by the near hosts, which open them.

    `flows` is on the controller's clock. From before the first connect call to the last welcome: handshake and the
    greeting that names the connection. One row a trial in which connections were open before the start:
    `trial`, `connections`, `seconds`.
    """
    opened = flows.filter(IS_NEAR).drop_nulls(["opening_mono_ns", "opened_mono_ns"])
    return (
        opened.group_by("trial")
        .agg(
            pl.len().alias("connections"),
            ((pl.col("opened_mono_ns").max() - pl.col("opening_mono_ns").min()) / 1e9).alias("seconds"),
        )
        .filter(pl.col("seconds") > 0)
    )


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
