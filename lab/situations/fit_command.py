"""`whyperf-lab fit`: fits the weights of the decision on judged sets, and judges them on others."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lab.situations.judge import OUTCOMES
from lab.tables import console_of_tables, plain_table
from whyperf.cli.exits import DONE, UsageError, say

if TYPE_CHECKING:
    from lab.situations.evidence import Weighed
    from whyperf.explain.calibration.tables import Weights

NAME = "fit"
EXAMPLE = "Examples: whyperf-lab fit results/situations-4711 · whyperf-lab fit SET OTHER-SET --stored --write"
BARS = (0.5, 0.6, 0.7, 0.8)
"""Probabilities from which on a verdict is named, to choose from."""


def command(
    sets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FOLDER|FILE]…",
            help="Results of situations or truth --watch, or files of keep; all that are kept if none is given.",
        ),
    ] = None,
    check: Annotated[
        list[Path] | None,
        typer.Option(
            "--check", metavar="FOLDER|FILE", help="Judge the weights on this set, which is not fitted on. Repeatable."
        ),
    ] = None,
    is_with_stored: Annotated[
        bool, typer.Option("--stored", help="Fit on the situations that are stored with the tests, too.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the weights that explain uses.")] = False,
) -> None:
    """Fit how much the figures of each limit say for its cause, and say how right the decision then is."""
    # Imported here: scipy loads for a second.
    from lab.situations.evidence import JUDGED, SETS, SUFFIX, WATCHED, stored, weighed_in  # noqa: PLC0415
    from lab.situations.fitting import FOLDS, fit, left_out, predicted  # noqa: PLC0415

    if write and not sets:
        raise UsageError(
            "--write needs the sets by name: weights of fewer sets than today's are worse; list all of them"
        )
    sets = sets or sorted(SETS.glob(f"*{SUFFIX}"))
    for source in (*sets, *(check or ())):
        if not source.is_file() and not any((source / name).is_file() for name in (JUDGED, WATCHED)):
            raise UsageError(
                f"{source} is no set; name a result of whyperf-lab situations or of whyperf-lab truth --watch, or a "
                f"file of whyperf-lab keep"
            )
    say(f"Reading {', '.join(map(str, sets))}")
    rows = [row for folder in sets for row in weighed_in(folder)]
    if (known := len({row.situation for row in rows})) < FOLDS:
        raise UsageError(f"{known} judged situations are too few to leave some out; give sets with {FOLDS} or more")
    kept = list(stored()) if is_with_stored else []
    probable = left_out(rows + kept)
    print_weighed("Situations left out of the fit", rows, probable[: len(rows)])
    if kept:
        print_weighed("Stored situations left out of the fit", kept, probable[len(rows) :])
    fitted = fit(rows + kept)
    for source in check or ():
        if not (others := list(weighed_in(source))):
            raise UsageError(f"--check {source} has no judged situation")
        if fitted_on := sorted({row.situation for row in others} & {row.situation for row in rows}):
            raise UsageError(f"--check {source} has {fitted_on[0]}, which the weights are fitted on; name another set")
        print_weighed(str(source), others, [predicted(row, fitted) for row in others])
    if write:
        drawn, injected = (len({row.situation for row in found}) for found in (rows, kept))
        names = ", ".join(folder.name.removesuffix(SUFFIX) for folder in sets)
        _write(fitted, f"{drawn} drawn situations of {names}" + (f" and {injected} stored ones" if injected else ""))
    raise typer.Exit(DONE)


def print_weighed(title: str, rows: "Sequence[Weighed]", probable: Sequence[Mapping[str, float]]) -> None:
    """Prints how right judged verdicts and the decision at each bar are, and how right what is called probable is."""
    from lab.situations.fitting import log_likelihood, outcome  # noqa: PLC0415 - as above

    shown = plain_table("Level", "Bar", *(name.replace("_", " ") for name in OUTCOMES))
    for view in dict.fromkeys(row.view for row in rows):
        own = [number for number, row in enumerate(rows) if row.view == view]
        judged = Counter(rows[number].today for number in own if rows[number].today)
        kinds = {"today": judged} if judged else {}
        kinds |= {str(bar): Counter(outcome(rows[number], probable[number], bar) for number in own) for bar in BARS}
        for name, counted in kinds.items():
            shown.add_row(view, name, *(f"{counted[kind] / len(own):.0%}" for kind in OUTCOMES))
    console = console_of_tables()
    console.print(f"{title}: {len({row.situation for row in rows})} situations")
    console.print(shown)
    bins: dict[int, list[bool]] = defaultdict(list)
    for row, found in zip(rows, probable, strict=True):
        first = max(found, key=lambda name: found[name])
        bins[min(9, int(10 * found[first]))].append(first in row.right)
    said = ", ".join(
        f"{10 * tenth}-{10 * tenth + 10} %: {sum(own)} of {len(own)}" for tenth, own in sorted(bins.items())
    )
    console.print(f"Right of what is said with a probability of {said}", soft_wrap=True)
    console.print(f"Mean log likelihood: {log_likelihood(rows, probable):.3f}\n")


MIN_WEIGHT = 0.02
"""Smaller weights are left out: of a value of 1 one moves a likelihood by 2 %."""


def _write(weights: "Weights", source: str) -> None:
    from whyperf.explain.calibration.tables import WEIGHTS  # noqa: PLC0415 - as above

    document = {
        "source": source,
        "date": f"{datetime.now():%Y-%m-%d}",
        "features": _rounded(weights.features),
        "own": {name: _rounded(of) for name, of in weights.own.items()},
        "levels": {name: _rounded(of) for name, of in weights.levels.items()},
    }
    # A value a line, so that a change can be read.
    WEIGHTS.write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    say(f"Wrote {WEIGHTS}. Now run make accuracy")


def _rounded(of: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in of.items() if abs(value) >= MIN_WEIGHT}
