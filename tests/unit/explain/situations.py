"""Facts of several hundred situations, and the whole outcome of the rules for each.

`situations.json.xz` has the facts of measured trials, with and without injected causes, at three levels of evidence. A
row with `of` is an earlier row with some values changed: most of these lie exactly at a limit of a rule, where
`<` and `<=` differ. `outcomes.json.xz` has what the rules made of them.

`python -m tests.unit.explain.situations` writes the outcomes again, and prints which verdicts changed.
"""

import json
import lzma
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from whyperf.analyze.spread import FrozenModel
from whyperf.explain.headline import cell_headline
from whyperf.explain.model import Verdict
from whyperf.explain.predicted import as_printed, change_label, command_label, gain_line, joint_as_printed
from whyperf.explain.rules.judge import judged
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts

ROWS = Path(__file__).with_name("situations.json.xz")
OUTCOMES = Path(__file__).with_name("outcomes.json.xz")
FACTS, SETUP = TypeAdapter(Facts), TypeAdapter(Setup)
DIGITS = 12
"""Figures are the same up to here, which is more than another order of sums changes."""


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """The rows of `situations.json.xz`."""
    return tuple(json.loads(lzma.decompress(ROWS.read_bytes())))


@cache
def outcomes() -> tuple[Any, ...]:
    """What was stored for each row."""
    return tuple(json.loads(lzma.decompress(OUTCOMES.read_bytes())))


def facts_of(row: Mapping[str, Any]) -> tuple[Facts, Setup]:
    """The facts and the setup of a row."""
    base = row if "of" not in row else rows()[row["of"]]
    facts = base["facts"]
    for path, value in row.get("set", ()):
        facts = changed(facts, path, value)
    return FACTS.validate_python(facts), SETUP.validate_python(base["setup"])


def changed(document: Any, path: list[str | int], value: object) -> Any:
    """A copy of the document with another value at the path."""
    if not path:
        return value
    name, *rest = path
    if isinstance(name, int):
        return [changed(part, rest, value) if place == name else part for place, part in enumerate(document)]
    return {**document, name: changed(document.get(name, {}), rest, value)}


def outcome(facts: Facts, setup: Setup) -> Any:
    """All that the rules find. Of the sentences only the diagnosis, the gains and the labels; other tests compare the
    others.
    """
    try:
        found = judged(facts, setup)
    except ArithmeticError as error:
        return type(error).__name__
    printed = [as_printed(verdict, facts.level) for verdict in found.verdicts]
    joint = joint_as_printed(found.joint)
    lines = [[gain_line(verdict), *_labels(verdict)] for verdict in printed]
    parts = (found.verdicts, found.joint, [row.causes for row in joint], lines)
    document = [*(_without(part) for part in parts), cell_headline(printed, facts.level, facts.transport)]
    return rounded(json.loads(json.dumps(document)))


def _labels(verdict: Verdict) -> list[str]:
    return [] if verdict.change is None else [change_label(verdict.change), command_label(verdict.change)]


SENTENCES = {"claim", "words", "refuted_by", "by_hand", "predicted_from", "unpredicted_because"}


def _without(part: Any) -> Any:
    """Models as JSON without sentences and without fields at their defaults."""
    if isinstance(part, list):
        return [_without(each) for each in part]
    return _cleared(part.model_dump(mode="json", exclude_defaults=True)) if isinstance(part, FrozenModel) else part


def _cleared(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {name: _cleared(value) for name, value in part.items() if name not in SENTENCES}
    return [_cleared(value) for value in part] if isinstance(part, list) else part


def rounded(part: Any) -> Any:
    """With as many digits as are compared."""
    if isinstance(part, Mapping):
        return {name: rounded(value) for name, value in part.items()}
    if isinstance(part, list):
        return [rounded(value) for value in part]
    return float(f"{part:.{DIGITS}g}") if isinstance(part, float) else part


def differences(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """Where two outcomes differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in [*before, *(name for name in now if name not in before)]:
            yield from differences(before.get(name), now.get(name), f"{where}/{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from differences(old, new, f"{where}/{place}")
    elif before != now:
        yield f"{where}: {_short(before)} → {_short(now)}"


def _short(part: Any) -> str:
    """A list of verdicts by their codes."""
    if isinstance(part, list) and all(isinstance(each, dict) and "code" in each for each in part):
        return str([each["code"] for each in part])
    return str(part)[:200]


def _write() -> None:
    now = [outcome(*facts_of(row)) for row in rows()]
    before = outcomes() if OUTCOMES.exists() else ()
    for row, old, new in zip(rows(), before, now, strict=False):
        for line in differences(old, new):
            print(row["name"], line)
    OUTCOMES.write_bytes(lzma.compress(json.dumps(now, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    _write()
