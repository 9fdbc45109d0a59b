"""Results with trials for stage times: synthetic trials and planted tables."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.stages.planted_stages import BLOCK_BYTES, EMPTY_PAIR_NS, Planted
from whyperf.record import Experiment

SIZES = (64, 1024, 4096)


def staged(
    folder: Path, planted: Sequence[Planted] = (), *, gaps: Mapping[str, int] | None = None, **report: object
) -> Experiment:
    """An experiment over write sizes, with a trial for stage times of each cell; `report` changes what hosts report."""
    cells = list(planted) or [Planted([size] * 400, jitter=0.1, seed=size) for size in SIZES]
    trials = [
        made.Trial(cell=f"c{number:04d}", write_size_bytes=cell.sizes[0], duration_s=1)
        for number, cell in enumerate(cells, start=1)
    ]
    made.write(folder, trials)
    for trial, cell in zip(trials, cells, strict=True):
        _add(folder, trial, cell, gaps or {}, report)
    return Experiment.open(folder)


def _add(
    folder: Path, trial: made.Trial, planted: Planted, gaps: Mapping[str, int], more: Mapping[str, object]
) -> None:
    home = folder / "trials" / f"stages01-{trial.cell}"
    home.mkdir()
    manifest = made.manifest(trial)
    manifest.update(trial=home.name, block=1)
    for (name, host), table in made.tables(trial).items():
        table.write_parquet(home / f"{name}.{host}.parquet")
    for host, end in manifest["hosts"].items():
        intervals = pl.read_parquet(home / f"intervals.{host}.parquet")
        measured = intervals.filter(pl.col("phase") == "measure")["start_mono_ns"].min()
        table = planted.table(end["role"]).with_columns(
            pl.col("start_mono_ns") - pl.lit(planted.clock_ns if end["role"] == "receiver" else 0) + measured,
            pl.lit(host).alias("host"),
            pl.lit(end["role"]).alias("role"),
        )
        numbers = [pl.col(name).cast(pl.UInt64) for name in ("start_mono_ns", "wall_ns", "cpu_ns")]
        table.with_columns(numbers).write_parquet(home / f"stages.{host}.parquet")
        counted = pl.DataFrame(
            {"reason": list(gaps), "gaps_count": list(gaps.values())},
            schema={"reason": pl.String, "gaps_count": pl.UInt64},
        )
        counted.with_columns(pl.lit(host).alias("host")).write_parquet(home / f"stage_gaps.{host}.parquet")
        report: dict[str, object] = {
            "reason": None,
            "missing": [],
            "block_bytes": BLOCK_BYTES,
            "empty_pair_ns": EMPTY_PAIR_NS,
        }
        end["evidence"] = {**end.get("evidence", {}), "stages": {**report, "rows_count": table.height, **more}}
    (home / "manifest.json").write_text(json.dumps(manifest))
