"""Cells of the tests in this folder, written as on a command line."""

import pytest

from whyperf.profile import Factors, ProfileError, factor_named, resolve


def levels(text: str) -> Factors:
    """`workload=rr think_us=2ms` as levels by factor."""
    pairs = (word.partition("=") for word in text.split())
    return {name: factor_named(name).parse(level) for name, _, level in pairs}


def cell(text: str, place: str = "testbed") -> Factors:
    """The whole cell of these levels, on the `testbed`, on the `model`, or over a `network`."""
    return resolve(levels(text), testbed=place == "testbed", model=place == "model")


def check_refused(case: str, place: str = "testbed") -> None:
    """Checks a case `levels | factor at fault | sentence`: the sentence begins like that, or has `…` in it."""
    text, key, says = (part.strip() for part in case.split("|"))
    with pytest.raises(ProfileError) as caught:
        cell(text, place)
    assert caught.value.key == key
    first, _, rest = says.partition("…")
    assert caught.value.problem.startswith(first)
    assert rest in caught.value.problem


def parts(table: str) -> list[tuple[str, ...]]:
    """The lines of a table, cut at `|`."""
    return [tuple(map(str.strip, line.split("|"))) for line in table.strip().splitlines()]
