"""Number of connections that the program of a watched connection served meanwhile."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.explain.gather.table import first, read_columns
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.trial_facts import Facts
from whyperf.record import Experiment


def with_program(facts: Facts, experiment: Experiment, trial: FlowTrial) -> Facts:
    """The facts with how many connections of the same process moved payload, on each host that was watched.

    Raises:
        RecordError: a table cannot be read.
    """
    trials = experiment.folder / "trials"
    folders = tuple(folder for planned in experiment.plan.trials() if (folder := trials / planned.id).exists())

    def counted(end: HostFacts) -> HostFacts:
        if end.watched is None or (process := _process(trial, end.host)) is None:
            return end
        return replace(end, watched=replace(end.watched, program_connections=_counts(folders, end.host)[process]))

    return replace(facts, sender=counted(facts.sender), receiver=counted(facts.receiver))


@lru_cache(maxsize=4)
def _counts(folders: tuple[Path, ...], host: str) -> Counter[int]:
    """Connections that moved payload, by process."""
    found: Counter[int] = Counter()
    for folder in folders:
        trial = FlowTrial(folder, "", "", "", ends={}, zero_mono_ns=0, window_ns=None)
        moved = first(read_columns(trial, "flows", host, ("payload_bytes",)), pl.col("payload_bytes").sum())
        process = _process(trial, host) if moved else None
        if process is not None:
            found[process] += 1
    return found


def _process(trial: FlowTrial, host: str) -> int | None:
    """The one process that holds a trial's connections; None where it is not known."""
    known = read_columns(trial, "watched", host, ("process",))
    process = first(known, pl.when(pl.col("process").n_unique() == 1).then(pl.col("process").first()))
    return None if process is None else int(process)
