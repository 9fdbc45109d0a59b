"""The sampled stacks as folded lines, which programs that draw flame graphs read: `frame;frame;… samples`."""

from collections.abc import Iterator

import polars as pl

from whyperf.analyze.cost.samples import named_stacks

_END = ("trial", "host")


def folded_lines(stacks: pl.DataFrame, functions: pl.DataFrame, ends: pl.DataFrame) -> Iterator[str]:
    """A line for each stack of each cell and side, the trials together, most frequent first.

    `stacks` and `functions` are the record's tables, `ends` has `trial`, `host` and `role`. Only what a cost budget is
    made of: the load's threads, and softirqs. The first two frames are the cell and the role.
    """
    samples, frames = named_stacks(stacks, functions)
    is_part = (pl.col("group") == "load") | (pl.col("context") == "softirq")
    names = frames.group_by("stack", maintain_order=True).agg(pl.col("name").str.replace_all(";", ":").str.join(";"))
    lines = (
        samples.filter(is_part)
        .join(ends.select(*_END, "role"), on=_END, how="inner")
        .join(names, on="stack", how="left")
        .with_columns(pl.col("name").fill_null("[not read]"))
        .group_by("cell", "role", "name")
        .agg(pl.col("samples_count").sum())
        .sort("cell", "role", "samples_count", "name", descending=[False, True, True, False])
    )
    for cell, role, name, count in lines.select("cell", "role", "name", "samples_count").iter_rows():
        yield f"{cell};{role};{name} {count}"
