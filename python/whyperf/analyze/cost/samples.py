"""Sampled stacks as samples of classes and functions, from the record's tables `stacks` and `functions`.

All by polars: an experiment of a hundred cells has some million rows of functions on stacks.
"""

from collections.abc import Mapping

import polars as pl

from whyperf.analyze.cost.classes import (
    HELPER,
    NOT_ATTRIBUTED,
    OTHER_BPF,
    OWN_BPF,
    OWN_TRACING,
    SWITCHES_ON,
    TRACEPOINT,
    UNKNOWN,
    Function,
    base_name,
    claimed,
)

STACKS: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "cell": pl.String(),
    "host": pl.String(),
    "group": pl.String(),
    "program": pl.String(),
    "context": pl.String(),
    "vector": pl.String(),
    "functions": pl.String(),
    "samples_count": pl.UInt64(),
}
"""Columns of the table `stacks` that are used here."""

FUNCTIONS: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "host": pl.String(),
    "function": pl.UInt32(),
    "name": pl.String(),
    "object": pl.String(),
    "kind": pl.String(),
}
"""The same of `functions`."""

NAME = ("name", "kind", "object")
"""The columns that a function is known by."""

MAX_NAME_CHARACTERS = 500
"""Of the name of a function and of its object, which stand once for each stack that they are on."""

_END = ("trial", "host")


def named_stacks(stacks: pl.DataFrame, functions: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The stacks with a number each (`stack`), and the functions of each, a row each, the outermost first.

    Columns of the second: `stack`, `trial`, `host`, `function`, `name`, `kind`, `object`, `claim`, `tracing`.
    """
    numbered = _shaped(stacks, STACKS).with_row_index("stack")
    # A record that somebody changed may lack them.
    shaped = _shaped(functions, FUNCTIONS).with_columns(
        pl.col("name").fill_null(UNKNOWN), pl.col("kind", "object").fill_null("")
    )
    named = _with_claims(shaped.with_columns(pl.col(NAME).str.head(MAX_NAME_CHARACTERS)))
    frames = (
        numbered.select("stack", *_END, pl.col("functions").str.split(" ").alias("function"))
        .explode("function")
        .filter(pl.col("function") != "")
        .with_columns(pl.col("function").cast(pl.UInt32, strict=False))
        .join(named, on=[*_END, "function"], how="inner", maintain_order="left")
    )
    return numbered, frames


def classified(stacks: pl.DataFrame, functions: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The samples with the class of each stack and its innermost function, and the functions on each stack.

    The first frame has a row a stack: `stack` (its number), `trial`, `cell`, `host`, `group`, `context`,
    `samples_count`, `class`, and `name`, `kind`, `object` of the innermost function (null where the stack could not be
    read). The second a row for each function of each stack, the outermost first: `stack`, `name`, `kind`, `object`.
    """
    numbered, frames = named_stacks(stacks, functions)
    of_stacks = frames.group_by("stack").agg(
        pl.col("claim").drop_nulls().last(),
        pl.col("tracing").first(),
        (pl.col("kind") == OWN_BPF).any().alias("calls_own"),
        *(pl.col(name).last() for name in NAME),
    )
    # What programs call costs whose program it was.
    found = (
        pl.when(pl.col("claim") == HELPER)
        .then(pl.when("calls_own").then(pl.lit(OWN_TRACING)).otherwise(pl.lit(OTHER_BPF)))
        .when(pl.col("claim") == TRACEPOINT)
        .then(pl.col("tracing"))
        .otherwise(pl.col("claim"))
        .fill_null(NOT_ATTRIBUTED)
    )
    # A kernel function without a name says nothing of its class, even where its callers have one.
    is_unnamed = (pl.col("name") == UNKNOWN) & (pl.col("kind") == "kernel")
    samples = (
        numbered.drop("functions")
        .join(of_stacks, on="stack", how="left")
        .with_columns(
            pl.when(is_unnamed & (pl.col("claim").is_null() | ~pl.col("claim").is_in([OWN_TRACING, OTHER_BPF])))
            .then(pl.lit(NOT_ATTRIBUTED))
            .otherwise(found)
            .alias("class")
        )
    )
    return samples.drop("claim", "tracing", "calls_own"), frames.select("stack", *NAME)


def _shaped(table: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The columns; one that a damaged record lacks, or values of another type, are null."""
    return table.select(
        (pl.col(name) if name in table.columns else pl.lit(None)).cast(kind, strict=False).alias(name)
        for name, kind in columns.items()
    )


def is_late(functions: pl.Series) -> pl.Series:
    """True for the names of kernel functions in which a timer takes the samples of code that ran before them."""
    names = [
        name for name in functions.unique().to_list() if name is not None and SWITCHES_ON.fullmatch(base_name(name))
    ]
    return functions.is_in(names)


def _with_claims(functions: pl.DataFrame) -> pl.DataFrame:
    """The functions with the class that claims each, and with the class of what calls programs on tracepoints."""
    names = functions.select(NAME).unique()
    claims = [claimed(Function(*row)) for row in names.iter_rows()]
    own = functions.group_by(_END).agg((pl.col("kind") == OWN_BPF).any().alias("has_own"))
    tracing = pl.when("has_own").then(pl.lit(OWN_TRACING)).otherwise(pl.lit(OTHER_BPF)).alias("tracing")
    return (
        functions.join(names.with_columns(pl.Series("claim", claims, dtype=pl.String)), on=NAME, how="left")
        .join(own, on=_END, how="left")
        .with_columns(tracing)
        .drop("has_own")
    )
