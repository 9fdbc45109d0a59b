"""Facts that are drawn from seeds, and all that the rules make of them.

Each is a situation (`situations.py`) with parts of others, and with figures that are missing, 0, or somewhat or much
larger or smaller. `random_inputs` stores the outcomes.
"""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tests.unit.explain.situations import FACTS, SETUP, changed, outcome, rows
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts

Path = list[str | int]
PARTS = ("sender", "receiver", "windows", "segments", "asked", "own", "exchanges", "datagrams", "populations", "level")
KEPT = {
    *("trial", "host", "budgets", "missing", "gaps", "transport", "level", "name", "cost", "stages"),
    *("watched", "watched_sides", "conversation", "short_gap_ratio", "router_ratio"),
}
"""What is no figure that a rule compares; and what no situation has: costs (test_cost_rules.py), stages
(test_stage_rules.py), connections of other programs (test_one_sided_rules.py), and a path whose router shares the CPU
(test_processors.py)."""


@cache
def known() -> tuple[tuple[Facts, Setup], ...]:
    """The situations that are no changed ones."""
    return tuple(
        (FACTS.validate_python(row["facts"]), SETUP.validate_python(row["setup"])) for row in rows() if "of" not in row
    )


def leaves(document: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The figures of facts, each with its path."""
    if isinstance(document, dict):
        for name, part in document.items():
            if name not in KEPT:
                yield from leaves(part, [*path, name])
    elif document is None or isinstance(document, bool | int | float):
        yield path, document


def another(rng: Random, value: Any) -> Any:
    """A figure in place of another."""
    if isinstance(value, bool):
        return rng.choice((not value, None))
    if value is None:
        return rng.choice((0, 0.5, 1, 7, 1000, 10**6, 10**9, True))
    made = value * rng.choice((0, 0.5, 0.9, 0.99, 1.01, 1.1, 2, 10))
    return rng.choice((None, round(made) if isinstance(value, int) else made, 1, made + 1))


def facts(rng: Random) -> Any:
    """What the rules make of changed facts, and of a changed setup."""
    base, setup = rng.choice(known())
    document = FACTS.dump_python(base, mode="json")
    for part in PARTS:
        if rng.random() < 0.12:
            document[part] = FACTS.dump_python(rng.choice(known())[0], mode="json")[part]
    document = varied(rng, document, FACTS, rng.choice((0, 2, 5, 12)))
    known_setup = SETUP.dump_python(setup if rng.random() < 0.7 else rng.choice(known())[1], mode="json")
    return outcome(FACTS.validate_python(document), SETUP.validate_python(known_setup))


def varied(rng: Random, document: Any, kind: TypeAdapter[Any], count: int) -> Any:
    """A document with other figures in so many places, as far as its type allows them."""
    for _ in range(count):
        path, value = rng.choice(list(leaves(document, [])))
        tried = changed(document, path, another(rng, value))
        try:
            kind.validate_python(tried)
        except ValidationError:
            continue
        document = tried
    return document


#: What is drawn from each seed, and how many seeds.
DRAWN: dict[str, tuple[Callable[[Random], Any], int]] = {"facts": (facts, 900)}
