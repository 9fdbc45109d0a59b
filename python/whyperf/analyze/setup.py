"""How fast a trial's connections were set up, before its load began."""

import polars as pl

from whyperf.analyze.transactions import IS_NEAR


def trial_setups(flows: pl.DataFrame) -> pl.DataFrame:
    """Set-up of each trial's connections by the near ends, which open them.

    `flows` is on the controller's clock. From before the first connect call to the last welcome: handshake and the
    greeting that tells whose connection it is. One row a trial in which connections were open before the start:
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
