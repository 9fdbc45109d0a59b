"""The findings of experiments on a result: `why.json` in their folder, next to it, and where that folder is.

It counts only if this user's whyperf on this host wrote it for this result: anybody can put a folder next to one.

Before there were experiments, `explain --verify` measured a change in pairs with the original. A folder
`RESULT-verify-…` next to the result has the trials, and in `verifies.json` the change. It counts only if this user's
whyperf on this host wrote it for this result, as `why.json` does.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from heapq import nlargest
from pathlib import Path

from pydantic import BaseModel, ValidationError

from whyperf.analyze.text import count, significant
from whyperf.explain.experiments.answer import Why
from whyperf.explain.experiments.ladder import ORIGINAL
from whyperf.explain.experiments.outcomes import gains_of
from whyperf.explain.explanation import Level
from whyperf.explain.wording.catalog import change_text, interval_text, render
from whyperf.foreign import is_own
from whyperf.plan import Plan
from whyperf.record import Experiment, RecordError
from whyperf.record.errors import as_record_error
from whyperf.record.kept import read_kept, write_kept

FILE = "why.json"
MAX_BYTES = 1 << 20
"""An experiment takes some 500 bytes of the file, and a ladder has fewer than 100."""
MAX_LOOKED_AT = 100
"""Neighbors of a result, the newest first: nobody looks that often for its limit."""


def folder_of(experiment: Experiment, plan: Plan) -> Path:
    """A folder for these experiments next to the result; another one where they were made before."""
    parent, stem = experiment.folder.absolute().parent, f"{experiment.name}-{plan.profile}"
    numbers = (number for number in range(1, _MOST) if not (parent / f"{stem}-{number}").exists())
    return parent / f"{stem}-{next(numbers, _MOST)}"


_MOST = 10_000
"""Ladders of a result: a second look at the same minute is another one."""


def keep(experiment: Experiment, made: Experiment, found: Why) -> None:
    """Writes what the experiments `made` show of `experiment`.

    Raises:
        RecordError: the disk refuses.
    """
    path = made.folder / FILE
    with as_record_error("write", path):
        write_kept(path, _signed(experiment), found.model_dump(mode="json"))


def made_of(experiment: Experiment, made: Experiment) -> str:
    """The text that signs a file about trials with a result: the plans and profiles of both."""
    return repr((experiment.sealed, made.sealed))


def latest(experiment: Experiment) -> Why | None:
    """The findings of the last experiments with a result; None where there are none that were made here for it.

    Whoever writes next to the result can put any folders there: the signature decides before anything is parsed.
    """
    with suppress(RecordError):
        signed = _signed(experiment)
        for path in newest(experiment, FILE):
            with suppress(ValidationError):
                document = read_kept(path, signed, MAX_BYTES)
                if document is not None:
                    return Why.model_validate(document)
    return None


def _signed(experiment: Experiment) -> str:
    """The text that signs an answer: the plan and the profile of the result that it is about."""
    return repr((FILE, experiment.sealed))


def newest(experiment: Experiment, name: str) -> list[Path]:
    """The files of that name in this user's own folders next to a result, the newest first."""
    folder = experiment.folder.absolute()
    found: list[tuple[int, str]] = []
    with suppress(OSError), os.scandir(folder.parent) as entries:
        for entry in entries:
            if not entry.name.startswith(f"{folder.name}-"):
                continue
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False) and is_own(entry.stat(follow_symlinks=False)):
                    path = f"{entry.path}/{name}"
                    found.append((os.lstat(path).st_mtime_ns, path))
    return [Path(path) for _, path in nlargest(MAX_LOOKED_AT, found)]


VERIFIED = "verifies.json"
CHANGED = "changed"


class _Kept(BaseModel):
    """The needed part of the file."""

    cell: str
    factors: dict[str, Level]


def verified_earlier(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Of each folder the cell and a sentence; what cannot be read is left out."""
    for path in sorted(newest(experiment, VERIFIED)):
        with suppress(RecordError, ValidationError, OSError):
            made = Experiment.open(path.parent)
            kept = _Kept.model_validate(read_kept(path, made_of(experiment, made), MAX_BYTES))
            if sentence := _sentence(made, kept):
                yield kept.cell, sentence


def _sentence(made: Experiment, kept: _Kept) -> str:
    from whyperf.explain.experiments.answer import outcome_of  # noqa: PLC0415 - few results have any

    gains = gains_of(_rates(made), ORIGINAL).get(CHANGED)
    if gains is None:
        return ""
    values = {
        "change": change_text(kept.factors),
        "times": significant(gains.gain),
        "interval": interval_text(gains.low, gains.high),
        "pairs": count(gains.pairs, "pair"),
        "outcome": render("earlier", outcome_of(gains), {}),
    }
    return render("earlier", "verified", values)


def _rates(made: Experiment) -> dict[str, list[float]]:
    """The rates of the original and of the changed cell, in what the workload is measured in."""
    import polars as pl  # noqa: PLC0415 - as above

    from whyperf.analyze import read_inputs  # noqa: PLC0415
    from whyperf.analyze.trials import measure_trials  # noqa: PLC0415

    plan, measured = made.plan, measure_trials(read_inputs(made))
    trials, rate = measured.trials, "goodput_bps"
    workloads = [plan.workload(cell.id) for cell in plan.cells]
    if all(workload is not None and workload.metric == "transactions" for workload in workloads):
        trials, rate = trials.join(measured.transactions, on="trial"), "transactions_per_s"
    return {
        cell.sweep: trials.filter((pl.col("cell") == cell.id) & (pl.col(rate) > 0))[rate].to_list()
        for cell in plan.cells
    }
