"""What experiments showed of a result: `why.json` in their folder, next to it, and where that folder is.

It counts only if this user's whyperf on this host wrote it for this result: anybody can put a folder next to one.
"""

import glob
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from whyperf.explain.experiments.answer import Why
from whyperf.plan import Plan
from whyperf.record import Experiment, RecordError
from whyperf.record.errors import as_record_error
from whyperf.record.kept import read_kept, write_kept

FILE = "why.json"


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
        write_kept(path, made_of(experiment, made), found.model_dump(mode="json"))


def made_of(experiment: Experiment, made: Experiment) -> str:
    """What a file about trials with a result is signed with: the plans and profiles of both."""
    return repr((experiment.sealed, made.sealed))


def latest(experiment: Experiment) -> Why | None:
    """What the last experiments with a result showed; None where there are none that were made here for it."""
    folder = experiment.folder.absolute()
    paths = [path for path in folder.parent.glob(f"{glob.escape(folder.name)}-*/{FILE}") if path.is_file()]
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        with suppress(RecordError, ValidationError, OSError):
            document = read_kept(path, made_of(experiment, Experiment.open(path.parent)))
            if document is not None:
                return Why.model_validate(document)
    return None
