"""Finds an experiment: a name under `results/`, a folder, or the latest."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.exits import UsageError, say
from whyperf.cli.inputs import say_what_is_taken
from whyperf.foreign.other_tools import not_opened_yet
from whyperf.record.naming import RESULTS

if TYPE_CHECKING:
    from whyperf.record import Experiment

#: Experiments that an error names.
SHOWN = 3


def find_experiment(argument: str | None, results: Path = RESULTS) -> "Experiment":
    """The experiment that an argument names, as `find_folder`.

    Raises:
        UsageError: there is none.
        RecordError: it cannot be read.
    """
    from whyperf.record import Experiment  # noqa: PLC0415 - a stored result needs no plan

    return Experiment.open(find_folder(argument, results))


def is_result(name: str, results: Path = RESULTS) -> bool:
    """True where there is a file or folder of this name, here or under `results`."""
    return Path(name).exists() or (results / name).exists()


def note_origin(folder: Path, *, is_made_here: bool) -> None:
    """Says that a result is somebody else's, or was changed: anybody can write anything into it."""
    if not is_made_here:
        say(
            f"Note: {folder} was not made by you on this host, or its plan or profile was changed since. Check its "
            "figures and commands before you rely on them."
        )


def find_folder(argument: str | None, results: Path = RESULTS) -> Path:
    """The folder of the experiment that an argument names, first of all under `results`; of the one started last
    without an argument.

    Raises:
        UsageError: there is none.
    """
    known = {path.parent.name: path for path in results.glob("*/plan.json")}
    if argument == "":
        raise UsageError(f'"" names no experiment; {_known(known, results)}')
    if argument is None:
        if not known:
            raise UsageError(f"there are no results in {results}; `whyperf run` makes some")
        asked = [path for name, path in known.items() if _tried_of(name) not in known]
        latest = max(asked, key=lambda path: path.lstat().st_mtime)
        return latest.parent
    if argument in known:
        if (Path(argument) / "plan.json").exists():
            say_what_is_taken(argument, f"the result {known[argument].parent}")
        return known[argument].parent
    if (Path(argument) / "plan.json").exists():
        return Path(argument)
    if (sentence := not_opened_yet(Path(argument))) is not None:
        raise UsageError(sentence)
    if Path(argument).is_file():
        raise UsageError(f"{argument} is a file; a result is a folder with plan.json; {_known(known, results)}")
    if Path(argument).exists():
        raise UsageError(f"there is no experiment {argument}: it has no plan.json; {_known(known, results)}")
    near = get_close_matches(argument, known, n=1)
    raise UsageError(
        f"there is no experiment {argument}; " + (f"did you mean {near[0]}?" if near else _known(known, results))
    )


def _tried_of(name: str) -> str | None:
    """The result whose limit the experiments of this name looked for (`whyperf why`); None of any other name."""
    found = re.fullmatch(r"(.+)-why-\d+", name)
    return None if found is None else found[1]


def _known(plans: Mapping[str, Path], results: Path) -> str:
    """The experiments started last, by name, or that there are none."""
    if not plans:
        return f"there are none in {results} either"
    latest = sorted(plans, key=lambda name: plans[name].lstat().st_mtime, reverse=True)
    more = f", and {len(latest) - SHOWN} more" if len(latest) > SHOWN else ""
    return f"the latest in {results}: {', '.join(latest[:SHOWN])}{more}"
