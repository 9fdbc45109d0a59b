"""How evenly connections share."""

import polars as pl


def jain(column: str) -> pl.Expr:
    """Jain's index of the values of `column` in a group: 1 when all are equal, 1/n when one has all.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource
    allocation in shared computer systems", DEC TR-301 (1984).
    """
    values = pl.col(column)
    squares = (values * values).sum() * values.count()
    return pl.when(squares > 0).then(values.sum() ** 2 / squares).otherwise(None)
