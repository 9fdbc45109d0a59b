"""Results with log trials, made up."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from lab.bench.synthetic_log import Shape
from lab.bench.synthetic_log import write as write_log
from tests.unit.analyze import synthetic as made
from whyperf.record import Experiment

ROWS = 3000


def experiment(folder: Path, *, connections: int = 1, cells: int = 1, rows: int = ROWS, gso: bool = True) -> Experiment:
    """An experiment with a throughput trial and a log trial for each cell, logged on both sides."""
    trials = [
        made.Trial(cell=f"c{number:04d}", connections=connections, window_bytes=4096 * number, duration_s=1)
        for number in range(1, cells + 1)
    ]
    made.write(folder, trials)
    for number, trial in enumerate(trials, start=1):
        log = folder / "trials" / f"log01-{trial.cell}"
        write_log(log, Shape(rows, connections, gso, ("near", "far"), seed=number))
        _make_whole(log, trial)
    return Experiment.open(folder)


def change_evidence(folder: Path, host: str, **changed: Any) -> None:
    """Makes the manifest of a trial say something else of its evidence."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["hosts"][host]["evidence"].update(changed)
    path.write_text(json.dumps(manifest))


def drop_rows(folder: Path, host: str, rows: int) -> None:
    """Takes the last rows out of a log, without anyone having counted them."""
    path = folder / f"segments.{host}.parquet"
    log = pl.read_parquet(path)
    log.head(log.height - rows).write_parquet(path)


def _make_whole(folder: Path, trial: made.Trial) -> None:
    """Gives a made-up log's manifest what every manifest has."""
    path = folder / "manifest.json"
    short = json.loads(path.read_text())
    whole = made.manifest(trial)
    whole.update(trial=folder.name, block=1)
    for host, end in short["hosts"].items():
        whole["hosts"][host].update(clock=end["clock"], evidence=end["evidence"], role=end["role"])
    path.write_text(json.dumps(whole))
