"""Copies that no hook ends: the last one of a write call before a transmission is in the rows of `tcp_out`.

What a copied byte takes is known from the copies without a transmission (`copy_in`). Where there are none, it is the
time of `tcp_out` against what was copied in it, which needs rows with different amounts. It is taken out of the rows of
`tcp_out` and put into rows of `copy_in`, so that both stages have what is theirs.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

import polars as pl

from whyperf.analyze.stages.fits import MIN_ROWS, fit_of
from whyperf.analyze.stages.intervals import Amount, batches_of, ratios, sums_by_batch
from whyperf.analyze.stages.kinds import OUT
from whyperf.analyze.stages.of_host import HostStages

HOLDS_COPY: Final = "tcp_out"
COPY: Final = "copy_in"


@dataclass(frozen=True)
class CopyCost:
    """Time for a copied byte, the stage whose rows show it, and how many rows these are."""

    ns_per_byte: Amount
    shown_by: Literal["copy_in", "tcp_out"]
    rows: int


def copy_cost(frame: pl.DataFrame) -> CopyCost | None:
    """The time that a copied byte takes at a host that writes; None where nothing shows it."""
    rows = frame.filter((pl.col("direction") == OUT) & ~pl.col("is_again"))
    copies = rows.filter((pl.col("stage") == COPY) & (pl.col("copied_bytes") > 0))
    if copies.height >= MIN_ROWS:
        copies = copies.with_columns(pl.col("copied_bytes").alias("payload_bytes"))
        line = fit_of(copies)
        if line is not None and line.ns_per_byte.value > 0:
            return CopyCost(line.ns_per_byte, COPY, copies.height)
        return CopyCost(_per_byte(copies), COPY, copies.height)
    sent = rows.filter((pl.col("stage") == HOLDS_COPY) & (pl.col("copied_bytes") > 0))
    line = fit_of(sent.with_columns(pl.col("copied_bytes").alias("payload_bytes")))
    return None if line is None or line.ns_per_byte.value <= 0 else CopyCost(line.ns_per_byte, HOLDS_COPY, sent.height)


def _per_byte(copies: pl.DataFrame) -> Amount:
    """Time over bytes, where all copies are of about one size."""
    batch = batches_of(copies["order"].to_numpy())
    batches = int(batch.max()) + 1
    cpu, octets = (
        sums_by_batch(copies[name].cast(pl.Float64).to_numpy(), batch, batches).reshape(1, -1)
        for name in ("cpu_ns", "copied_bytes")
    )
    return ratios(cpu, octets)[0]


def with_copies_apart(host: HostStages, cost: CopyCost | None = None) -> HostStages:
    """The same with the copies that were in `tcp_out` as rows of `copy_in`; as it is where their time is not known.

    `cost` is that of a host whose own rows do not show it, such as with messages of one size.
    """
    cost = copy_cost(host.frame) or cost
    if cost is None:
        return host
    # A row is never shorter than nothing: a copy may have been cheaper than most.
    holds = (pl.col("stage") == HOLDS_COPY) & (pl.col("direction") == OUT) & (pl.col("copied_bytes") > 0)
    taken = pl.min_horizontal(pl.col("copied_bytes") * cost.ns_per_byte.value, pl.col("cpu_ns").clip(0))
    rows = host.frame.with_columns(pl.when(holds).then(taken).otherwise(0.0).alias("taken"))
    copies = rows.filter(holds).with_columns(
        pl.lit(COPY).alias("stage"),
        pl.col("copied_from").alias("sequence"),
        pl.col("copied_bytes").alias("payload_bytes"),
        pl.lit(0, dtype=pl.Int64).alias("wire_segments"),
        pl.col("taken").alias("wall_ns"),
        pl.col("taken").alias("cpu_ns"),
    )
    rest = rows.with_columns(
        (pl.col("time_ns") + pl.col("taken").cast(pl.Int64)).alias("time_ns"),
        pl.col("wall_ns", "cpu_ns") - pl.col("taken"),
        pl.when(holds).then(0).otherwise(pl.col("copied_bytes")).alias("copied_bytes"),
    )
    frame = pl.concat([rest, copies]).drop("taken", "row").sort("time_ns", maintain_order=True)
    return replace(host, frame=frame.with_row_index("row"), copies=cost)
