"""The cost of watching: trials with evidence against trials without, in pairs of one block."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from pydantic import ValidationError

from whyperf.analyze.bootstrap import median_intervals
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.spread import FrozenModel
from whyperf.analyze.text import count
from whyperf.analyze.trials import measure_trials

BASELINE = "user"
PROFILE = "profile"
"""The level of trials with stack samples and no other evidence."""
ENOUGH_PAIRS = 6
"""From here on an interval of the median can reach 95 %; fewer are not quoted."""


class Ratio(FrozenModel):
    """A median over pairs, with its 95 % interval (see `intervals`): 0.97 is 3 % less than without evidence."""

    median: float | None = None
    low: float | None = None
    high: float | None = None


class LevelCost(FrozenModel):
    """One level in one condition, against level user.

    `goodput_ratio` and `cycles_ratio` (cycles per KByte, both sides together) are medians over `pairs` pairs;
    `lost_events` are segments that the log lost, over all its trials.
    """

    condition: str
    level: str
    pairs: int
    baseline_bps: float | None
    goodput_ratio: Ratio
    cycles_ratio: Ratio
    logged_events: int
    lost_events: int


class ProbeCost(FrozenModel):
    """The cost of evidence on a host, and the time at which it was measured."""

    hostname: str
    kernel: str
    measured_realtime: str
    levels: list[LevelCost]


def level_costs(inputs: Inputs, conditions: Mapping[str, str], seed: int) -> list[LevelCost]:
    """The cost of every level in every condition; `conditions` names them by cell."""
    measured = measure_trials(inputs)
    cycles = measured.cycles.group_by("trial").agg(pl.col("cycles_per_kbyte").sum().alias("cycles"))
    asked = (
        inputs.evidence.group_by("trial")
        .agg(
            pl.col("asked").first(),
            pl.col("got").first(),
            pl.col("logged").sum(),
            (pl.col("lost") + pl.col("missed")).sum(),
            pl.col("sampled_hz").max(),
            pl.col("unsampled").is_not_null().any().alias("is_unsampled"),
        )
        .with_columns(_named("asked", pl.col("sampled_hz").is_not_null()))
        .with_columns(_named("got", pl.col("sampled_hz").is_not_null() & ~pl.col("is_unsampled")))
    )
    trials = (
        measured.trials.select("trial", "cell", "block", "goodput_bps")
        .join(asked, on="trial")
        .join(cycles, on="trial", how="left")
        .filter(pl.col("goodput_bps").is_not_null())
    )
    baseline = trials.filter(pl.col("asked") == BASELINE).select(
        "cell", "block", pl.col("goodput_bps").alias("base_bps"), pl.col("cycles").alias("base_cycles")
    )
    watched = trials.filter((pl.col("asked") != BASELINE) & (pl.col("asked") == pl.col("got")))
    pairs = watched.join(baseline, on=["cell", "block"]).sort("block")
    return [
        _cost(group, conditions[str(cell)], str(level), seed)
        for (cell, level), group in sorted(pairs.group_by("cell", "asked"), key=lambda entry: str(entry[0]))
    ]


def _named(column: str, is_sampled: pl.Expr) -> pl.Expr:
    """The level with the name of stack samples where there are any in addition to the level without evidence."""
    return pl.when(is_sampled & (pl.col(column) == BASELINE)).then(pl.lit(PROFILE)).otherwise(column).alias(column)


def _cost(pairs: pl.DataFrame, condition: str, level: str, seed: int) -> LevelCost:
    return LevelCost(
        condition=condition,
        level=level,
        pairs=len(pairs),
        baseline_bps=_median(pairs["base_bps"].to_list()),
        goodput_ratio=_ratio((pairs["goodput_bps"] / pairs["base_bps"]).to_list(), seed),
        cycles_ratio=_ratio((pairs["cycles"] / pairs["base_cycles"]).drop_nulls().to_list(), seed),
        logged_events=int(pairs["logged"].sum()),
        lost_events=int(pairs["lost"].sum()),
    )


def _ratio(values: Sequence[float], seed: int) -> Ratio:
    ((low, high),) = median_intervals([values], seed)
    return Ratio(median=_median(values), low=low, high=high)


def _median(values: Sequence[float]) -> float | None:
    median = pl.Series(values, dtype=pl.Float64).median()
    return float(median) if isinstance(median, float) else None


def replaces(cost: ProbeCost, kept: Mapping[str, Any] | None) -> bool:
    """True if a cost takes the place of the one that is kept: one of too few pairs never replaces one of enough."""
    try:
        known = ProbeCost.model_validate(kept)
    except ValidationError:
        return True
    return _pairs(known) < ENOUGH_PAIRS or _pairs(cost) >= ENOUGH_PAIRS


def _pairs(cost: ProbeCost) -> int:
    return min((row.pairs for row in cost.levels), default=0)


def cost_text(cost: ProbeCost | None, levels: Sequence[str]) -> str:
    """Says what these levels cost here, in a sentence."""
    rows = [row for row in cost.levels if row.level in levels] if cost is not None else []
    if cost is None or not rows:
        return "Tracing overhead unknown; measure it with whyperf doctor --probe-cost."
    if rows[0].pairs < ENOUGH_PAIRS:
        return (
            f"Tracing overhead unknown: {count(rows[0].pairs, 'pair')} measured, {ENOUGH_PAIRS} needed; "
            f"measure it with whyperf doctor --probe-cost --pairs {ENOUGH_PAIRS}."
        )
    parts = [f"{row.level} {change_text(row.goodput_ratio)} goodput {row.condition}" for row in rows]
    pairs = count(rows[0].pairs, "interleaved pair")
    day = cost.measured_realtime.partition("T")[0]
    return f"Tracing overhead, from {pairs} on {day}: {'; '.join(parts)}."


def change_text(ratio: Ratio) -> str:
    """A ratio as a change with its interval: 0.97 as -3.0 %."""
    if ratio.median is None:
        return ""
    # Adding 0 makes a rounded -0.0 a 0.0.
    values = (round((value - 1) * 100, 1) + 0.0 for value in (ratio.median, ratio.low or 0, ratio.high or 0))
    median, low, high = (f"{value:+.1f}" for value in values)
    return f"{median} %" + (f" ({low} to {high})" if ratio.low is not None else "")
