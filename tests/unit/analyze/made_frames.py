"""Counts what an analysis makes of a table: of a forged one it could be any number of rows or frames."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest


def rows_of_joins(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each frame that is made by a join from now on."""
    heights: list[int] = []

    def counting(join: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
        def counted(*given: Any, **named: Any) -> pl.DataFrame:
            found = join(*given, **named)
            heights.append(found.height)
            return found

        return counted

    for name in ("join", "join_asof"):
        monkeypatch.setattr(pl.DataFrame, name, counting(getattr(pl.DataFrame, name)))
    return heights


def frames_of_partitions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many frames each partition from now on has."""
    counts: list[int] = []
    partition_by = pl.DataFrame.partition_by

    def counted(frame: pl.DataFrame, *given: Any, **named: Any) -> Any:
        found = partition_by(frame, *given, **named)
        counts.append(len(found))
        return found

    monkeypatch.setattr(pl.DataFrame, "partition_by", counted)
    return counts
