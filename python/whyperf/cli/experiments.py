"""Finds an experiment: a folder, a name under `results/`, or the latest."""

from difflib import get_close_matches
from pathlib import Path

from whyperf.cli.exits import UsageError
from whyperf.record import Experiment
from whyperf.record.naming import RESULTS


def find_experiment(argument: str | None, results: Path = RESULTS) -> Experiment:
    """The experiment that an argument names; the one started last without an argument.

    Raises:
        UsageError: there is none.
        RecordError: it cannot be read.
    """
    known = {path.parent.name: path for path in results.glob("*/plan.json")}
    if argument is None:
        if not known:
            raise UsageError(f"there are no results in {results}; `whyperf run` makes some")
        latest = max(known.values(), key=lambda path: path.stat().st_mtime)
        return Experiment.open(latest.parent)
    if (Path(argument) / "plan.json").exists():
        return Experiment.open(Path(argument))
    if argument in known:
        return Experiment.open(known[argument].parent)
    near = get_close_matches(argument, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known in {results}: {', '.join(sorted(known)) or 'none'}"
    raise UsageError(f"there is no experiment {argument}; {hint}")
