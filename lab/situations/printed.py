"""Judged situations on a terminal: the outcomes of each level, then by cause and by load, then what was wrong."""

from collections.abc import Callable, Mapping, Sequence

import typer

from lab.situations.figures import Shares, classes, firsts, gains, shares, stated
from lab.situations.judge import OUTCOMES, Judged
from lab.tables import console_of_tables, plain_table
from lab.truth.levels import View

NOT_CLASSED = frozenset({View.SENDER_SEGMENTS, View.RECEIVER_SEGMENTS, View.RUN})
"""The levels whose classes are not printed: they are parts of others."""
WORDS = tuple(outcome.replace("_", " ") for outcome in OUTCOMES)


def print_judged(found: Sequence[Judged], void: Mapping[str, str], drawn: int, counting: int) -> None:
    """All figures of a set."""
    typer.echo(f"{drawn} situations drawn, {len(void)} void, {counting} with a cause that counts")
    for name, reason in void.items():
        typer.echo(f"void: {name}: {reason}")
    _print_levels(found)
    _print_classes("Cause", found, lambda row: row.main)
    _print_classes("Load", found, lambda row: row.group)
    for row in found:
        if row.outcome == "wrong" and row.view not in NOT_CLASSED:
            right = ", ".join(row.accepted)
            typer.echo(f"wrong: {row.situation} {row.view}: {row.found[0]} ({row.confidence}); right: {right}")


def _print_levels(found: Sequence[Judged]) -> None:
    outcomes = plain_table("Level", *WORDS, 'right where "high"')
    changes = plain_table("Changes", "gain in its interval", "of all together", "of no use", "that lower the rate")
    for view, of_view in shares(found).items():
        rows = firsts(found, view)
        high = stated(rows).get("high")
        outcomes.add_row(str(view), *map(str, of_view.values()), "-" if high is None else str(high))
        single, joint = gains(row.single for row in rows), gains(row.joint for row in rows)
        counted = (single.inside, joint.inside, single.useless, single.harmful)
        changes.add_row(str(view), *(f"{share.number} of {share.of}" for share in counted))
    console_of_tables().print(outcomes, changes)


def _print_classes(title: str, found: Sequence[Judged], kind: Callable[[Judged], str]) -> None:
    by_level = {view: classes(firsts(found, view), kind) for view in shares(found) if view not in NOT_CLASSED}
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
