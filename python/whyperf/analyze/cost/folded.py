"""The sampled stacks as folded lines, which programs that draw flame graphs read: `frame;frame;… samples`."""

from collections.abc import Iterator

import polars as pl

from whyperf.analyze.cost.budget import WeighedStacks
from whyperf.foreign import visible


def folded_lines(weighed: WeighedStacks) -> Iterator[str]:
    """A line for each stack of each cell and side, the trials together, most frequent first.

    They hold the samples that the cost budget is made of. The first two frames are the cell and the role. A line is one
    line whatever its names hold, and can be shown on a terminal.
    """
    names = weighed.frames.group_by("stack", maintain_order=True).agg(
        pl.col("name").str.replace_all(";", ":").str.join(";")
    )
    lines = (
        weighed.stacks.join(names, on="stack", how="left", suffix="_all")
        .with_columns(pl.col("name_all").fill_null("[not read]"))
        .group_by("cell", "role", "name_all")
        .agg(pl.col("samples_count").sum())
        .sort("cell", "role", "samples_count", "name_all", descending=[False, True, True, False])
    )
    for cell, role, name, count in lines.select("cell", "role", "name_all", "samples_count").iter_rows():
        yield visible(f"{cell};{role};{name} {count}")
