"""Prints what experiments show: the answer, how it is known, what was tried, and what to change."""

import textwrap
from pathlib import Path
from shlex import quote
from typing import TextIO

from whyperf.analyze.text import count
from whyperf.cli.durations import duration
from whyperf.cli.exits import DONE, DOUBTFUL
from whyperf.cli.output.console import Console, result_console
from whyperf.cli.streams import print_json
from whyperf.explain.experiments.answer import Tried, Why
from whyperf.explain.headline import command_label
from whyperf.explain.wording.experiments import (
    ENDED,
    goal_words,
    headline_of,
    not_reproduced_words,
    outcome_words,
    shows_words,
    spared_words,
    try_words,
)

MAX_EVIDENCE = 3
"""Facts that showed the cause before it was tried; `whyperf explain` has all."""
MAX_TRIED = 12
"""Lines of experiments; `--json` has all."""
INDENT = "  "


def print_why(why: Why, folder: Path, *, as_json: bool = False, stream: TextIO | None = None) -> int:
    """Prints it, on standard output or a stream; returns the exit code: 3 where the limit is not known, or the load
    could not be repeated.
    """
    if as_json:
        print_json(why.model_dump(mode="json"))
    else:
        _print(why, folder, result_console(stream))
    return DONE if why.is_reproduced and why.answer.known not in {"not_known", "nothing_raises"} else DOUBTFUL


def _print(why: Why, folder: Path, console: Console) -> None:
    answer = why.answer
    _paragraph(console, headline_of(why), "")
    if warning := not_reproduced_words(why):
        _paragraph(console, warning)
    if answer.known != "proved" and (goal := goal_words(why)):
        _paragraph(console, goal, f"{INDENT}{'Goal:':13}")
    for number, evidence in enumerate(answer.evidence[:MAX_EVIDENCE]):
        _paragraph(console, evidence.words, f"{INDENT}{'Seen before:' if number == 0 else '':13}")
    shown = [tried for tried in why.tried if len(tried.parts) == 0 or tried.outcome == "raises"][:MAX_TRIED]
    width = max((len(try_words(tried.name)) for tried in shown), default=0)
    for number, tried in enumerate(shown):
        head = f"{INDENT}{'Tried:' if number == 0 else '':13}{try_words(tried.name):{width}}  "
        _paragraph(console, f"{outcome_words(tried)}{_shown(tried, why)}", head)
    if len(shown) < len(why.tried):
        _paragraph(console, f"and {count(len(why.tried) - len(shown), 'other')}: --json has all", f"{INDENT}{'':13}")
    if left_out := spared_words(why):
        _paragraph(console, left_out, f"{INDENT}{'Left out:':13}")
    if answer.change is not None and answer.known in {"proved", "seen", "likely"}:
        _paragraph(console, answer.change.by_hand, f"{INDENT}{'Change:':13}")
        if answer.change.command:
            _paragraph(console, f"{command_label(answer.change)}:")
            console.print(f"{2 * INDENT}{answer.change.command}", soft_wrap=True)
    ended = f"; {ENDED[why.ended]}" if ENDED[why.ended] else ""
    made = f"{count(why.trials, 'trial')} in {duration(why.seconds)}{ended}"
    _paragraph(console, f"{made}.")
    # Commands are copied: each is in a line.
    for command in ("explain", "report"):
        console.print(f"{INDENT}whyperf {command} {quote(str(folder))}", soft_wrap=True)


def _shown(tried: Tried, why: Why) -> str:
    shown = shows_words(tried, why)
    of_path = " (of the emulated path)" if tried.is_of_path else ""
    return f"{of_path} → {shown}" if shown else of_path


def _paragraph(console: Console, text: str, head: str = INDENT) -> None:
    indent = " " * min(len(head), 2 * len(INDENT) + 11)
    console.print(
        textwrap.fill(text, console.width, initial_indent=head, subsequent_indent=indent, break_long_words=False)
    )
