"""Judged situations on a terminal: the outcomes of each level, then by cause and by load, then what was wrong."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import typer

from lab.situations.figures import Shares, classes, gains, median_rows, shares, stated, weighed_shares
from lab.situations.judge import OUTCOMES, Judged
from lab.tables import console_of_tables, plain_table
from lab.truth.levels import View
from whyperf.cli.exits import UsageError

NOT_CLASSED = frozenset({View.SENDER_SEGMENTS, View.RECEIVER_SEGMENTS, View.RUN})
"""The levels whose classes are not printed: they are parts of others."""
WORTH: tuple[str, ...] = OUTCOMES
WORDS = tuple(outcome.replace("_", " ") for outcome in OUTCOMES)


def print_judged(found: Sequence[Judged], void: Mapping[str, str], drawn: int, counting: int) -> None:
    """All figures of a set."""
    typer.echo(f"{drawn} situations drawn, {len(void)} void, {counting} with a cause that counts")
    for name, reason in void.items():
        typer.echo(f"void: {name}: {reason}")
    _print_levels(found)
    _print_classes("Cause", found, lambda row: row.main)
    _print_classes("Load", found, lambda row: row.group)
    for row in (row for view in shares(found) if view not in NOT_CLASSED for row in median_rows(found, view)):
        if row.outcome == "wrong":
            right = ", ".join(row.accepted)
            typer.echo(f"wrong: {row.situation} {row.view}: {row.found[0]} ({row.confidence}); right: {right}")


def _print_levels(found: Sequence[Judged]) -> None:
    outcomes = plain_table("Level", *WORDS, 'right where "high"')
    changes = plain_table(
        *("Changes", "gain in its interval", "median error", "of all together", "of no use", "that lower the rate")
    )
    by_weight = weighed_shares(found)
    for view, of_view in shares(found).items():
        rows = median_rows(found, view)
        high = stated(rows).get("high")
        outcomes.add_row(str(view), *map(str, of_view.values()), "-" if high is None else str(high))
        if (of_weighed := by_weight.get(view)) is not None:
            outcomes.add_row(f"by probability, of {of_weighed['right'].of}", *map(str, of_weighed.values()), "")
        single, joint = gains(row.single for row in rows), gains(row.joint for row in rows)
        error = "-" if single.median_error_ratio is None else f"{single.median_error_ratio:.0%}"
        inside, *counted = (
            f"{share.number} of {share.of}" for share in (single.inside, joint.inside, single.useless, single.harmful)
        )
        changes.add_row(str(view), inside, error, *counted)
    console_of_tables().print(outcomes, changes)


def _print_classes(title: str, found: Sequence[Judged], kind: Callable[[Judged], str]) -> None:
    by_level = {view: classes(median_rows(found, view), kind) for view in shares(found) if view not in NOT_CLASSED}
    typer.echo(f"{'/'.join(WORDS)}, and the interval of the share that is right")
    table = plain_table(title, "of", *map(str, by_level))
    for name in sorted({name for of_level in by_level.values() for name in of_level}):
        own = [of_level.get(name) for of_level in by_level.values()]
        known = [shares_of for shares_of in own if shares_of is not None]
        table.add_row(name, str(max(of["right"].of for of in known)), *map(_counts, own))
    console_of_tables().print(table)


def _counts(of: Shares | None) -> str:
    if of is None:
        return "-"
    low, high = of["right"].interval
    return f"{'/'.join(str(share.number) for share in of.values())} ({low:.0%}-{high:.0%})"


@dataclass(frozen=True)
class Earlier:
    """The compared part of a judged set: the situation, what it is listed under, the level, and the outcome."""

    situation: str
    main: str
    view: str
    outcome: str


def read_judged(file: Path) -> list[Earlier]:
    """The rows of another set.

    Raises:
        UsageError: the file is no list of judged situations.
    """
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))["judged"]
        return [Earlier(*(str(row[field.name]) for field in fields(Earlier))) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--against: {file} is no list of judged situations ({error}); name a folder of one") from None


def print_differences(found: Sequence[Judged], others: Sequence[Earlier], where: str) -> None:
    """The causes that are named right more often in one of two sets, of the situations that both have.

    A situation is listed under the cause that counts in `found`.
    """
    of_trials: dict[tuple[str, str], list[str]] = {}
    for earlier in others:
        of_trials.setdefault((earlier.situation, earlier.view), []).append(earlier.outcome)
    there = {name: sorted(own, key=WORTH.index)[len(own) // 2] for name, own in of_trials.items()}
    counts: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for view in shares(found):
        for row in median_rows(found, view):
            if (outcome := there.get((row.situation, str(view)))) is not None:
                counts.setdefault((row.main, str(view)), []).append((row.outcome == "right", outcome == "right"))
    table = plain_table("Cause", "Level", "of", "right here", f"right in {where}")
    for (main, level), pairs in sorted(counts.items()):
        here, other = (sum(pair[side] for pair in pairs) for side in (0, 1))
        if here != other:
            table.add_row(main, level, str(len(pairs)), str(here), str(other))
    console_of_tables().print(table)
