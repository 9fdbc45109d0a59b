"""Facts of 249 measured trials, with and without injected causes, at one of three levels of evidence each.

`situations.json.xz` has them as data: `name` is the experiment in a truth catalog and the level. They are never
changed; `tests/accuracy.txt` has what the limits make of them.
"""

import json
import lzma
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from lab.truth.levels import View
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts

FACTS = TypeAdapter(Facts)


@dataclass(frozen=True)
class Situation:
    """What was seen of a trial at a level; `experiment` is its name in a truth catalog."""

    experiment: str
    view: View
    facts: Facts
    setup: Setup


@cache
def situations() -> tuple[Situation, ...]:
    """All that is stored."""
    rows = json.loads(lzma.decompress(Path(__file__).with_name("situations.json.xz").read_bytes()))
    setups = TypeAdapter(Setup)
    return tuple(_situation(row, setups) for row in rows)


def _situation(row: dict[str, object], setups: TypeAdapter[Setup]) -> Situation:
    experiment, _, view = str(row["name"]).rpartition(" ")
    return Situation(experiment, View(view), FACTS.validate_python(row["facts"]), setups.validate_python(row["setup"]))
