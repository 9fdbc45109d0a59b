"""Sums of a log in steps of equal length."""

from collections.abc import Mapping

import polars as pl

from whyperf.record import RecordError

SECOND_NS = 1_000_000_000
MAX_STEPS = 10_000_000
"""An hour in steps of 0.36 ms: more rows than a chart or a table shows, and 80 MB for each sum."""


def sum_in_steps(log: pl.LazyFrame | pl.DataFrame, sums: Mapping[str, pl.Expr], step_ns: int) -> pl.DataFrame:
    """`sums` (aggregations by name) of each step of `step_ns` from the start of the load on.

    Ascending, `start_ns`, `end_ns` (Int64), then the sums as Int64. Steps without a row within the
    log are there with zeros; handshake and preamble, before the load, are left out.

    Raises:
        RecordError: there are more than `MAX_STEPS`.
    """
    step = (pl.col("time_ns") // step_ns).alias("step")
    made = (
        log.lazy()
        .filter(pl.col("time_ns") >= 0)
        .group_by(step)
        .agg(expression.alias(name) for name, expression in sums.items())
    )
    found = made.collect(engine="streaming").with_columns(pl.col(name).cast(pl.Int64) for name in sums)
    if found.is_empty():
        schema = dict.fromkeys(("start_ns", "end_ns", *sums), pl.Int64())
        return pl.DataFrame(schema=schema)
    first, last = found.select(pl.col("step").min().alias("first"), pl.col("step").max().alias("last")).row(0)
    if last - first >= MAX_STEPS:
        raise RecordError(
            f"the log lasts {last - first + 1:,} steps of {step_ns:,} ns, and at most {MAX_STEPS:,} can be added up; "
            "do not trust this result"
        )
    every = pl.DataFrame({"step": range(first, last + 1)}, schema={"step": pl.Int64()})
    whole = every.join(found, on="step", how="left", maintain_order="left").with_columns(pl.col(*sums).fill_null(0))
    start = pl.col("step") * step_ns
    return whole.select(start.alias("start_ns"), (start + step_ns).alias("end_ns"), *sums)


def divided(numerator: str, denominator: str, name: str) -> pl.Expr:
    """A quotient of two columns, null where there is nothing to divide by."""
    return pl.when(pl.col(denominator) > 0).then(pl.col(numerator) / pl.col(denominator)).alias(name)


def quotient(numerator: float | None, denominator: float | None) -> float | None:
    """A quotient of two numbers; None where one is not known or there is nothing to divide by."""
    return None if numerator is None or not denominator else numerator / denominator


def by_value(counts: pl.DataFrame, column: str, values: tuple[str, ...]) -> pl.DataFrame:
    """`counts` with a row for each of `values`, in their order, zeros where there was none."""
    every = pl.DataFrame({column: values}, schema={column: pl.String()})
    found = counts.with_columns(pl.col(column).cast(pl.String))
    return every.join(found, on=column, how="left", maintain_order="left").with_columns(pl.exclude(column).fill_null(0))


def share(column: str, name: str) -> pl.Expr:
    """Each row's part of the column's sum; null when the sum is 0."""
    total = pl.col(column).sum()
    return pl.when(total > 0).then(pl.col(column) / total).alias(name)
