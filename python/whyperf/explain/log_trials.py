"""Which trials are explained, by how long their logs are; loads nothing that reads logs."""

from collections.abc import Mapping
from contextlib import suppress

from whyperf.explain.wording.catalog import render
from whyperf.foreign import shell_line
from whyperf.plan import LOG_PREFIX, STAGES_PREFIX
from whyperf.record import LOST, Experiment, Manifest

MAX_LOGGED_AFTER_RUN = 500_000
"""Segments, of both hosts together, of a log that is read without being asked to; each takes about 400 bytes of
memory. `whyperf explain` reads any log."""


def long_logs(
    experiment: Experiment, manifests: Mapping[str, Manifest], max_logged: int = MAX_LOGGED_AFTER_RUN
) -> dict[str, Manifest]:
    """The trials whose logs have more segments than are looked at without being asked to."""
    return {name: trial for name, trial in manifests.items() if logged_count(experiment, name) > max_logged}


def logged_count(experiment: Experiment, trial: str) -> int:
    """Segments in the logs of all hosts of a trial, by their tables: its manifest may have any number.

    A table that cannot be read counts as empty; who reads it reports why.
    """
    found = 0
    for path in (experiment.folder / "trials" / trial).glob("segments.*.parquet"):
        from whyperf.record.parquet import rows_count  # noqa: PLC0415 - few trials have a log

        with suppress(OSError, ValueError):
            found += rows_count(path)
    return found


def not_read(trial: Manifest, experiment: Experiment) -> str:
    """That a log was too long, and the command that reads it."""
    segments, command = logged_count(experiment, trial.trial), ["whyperf", "explain", str(experiment.folder)]
    return render(
        "missing",
        "long_log",
        {"trial": trial.trial, "logged_segments": segments, "command": shell_line(command)},
    )


def place_of(trial: str, cell: str, manifests: Mapping[str, Manifest]) -> str:
    """`trial 001-c0001 (1 of 3)`: which trial of a cell the evidence is from; its name alone if there is no other.

    Trials for stage times are not counted.
    """
    names = [name for name, found in manifests.items() if found.cell == cell and not name.startswith(STAGES_PREFIX)]
    place = f" ({names.index(trial) + 1} of {len(names)})" if len(names) > 1 and trial in names else ""
    return f"trial {trial}{place}"


def best_trials(manifests: Mapping[str, Manifest]) -> dict[str, str]:
    """The trial of each cell with the most evidence: one with a log, then one that was measured, then any.

    None is one that was made for stage times.
    """
    chosen: dict[str, tuple[int, str]] = {}
    for name, manifest in manifests.items():
        if name.startswith(STAGES_PREFIX):
            continue
        is_whole = manifest.status not in LOST
        worth = 2 * is_whole + (name.startswith(LOG_PREFIX) and not manifest.lacks_log)
        if manifest.cell not in chosen or worth > chosen[manifest.cell][0]:
            chosen[manifest.cell] = (worth, name)
    return {cell: name for cell, (_, name) in chosen.items()}
