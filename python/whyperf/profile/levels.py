"""From what a profile writes for a factor to its levels: single values, lists, ranges, references."""

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.factors import BY_NAME, LISTED_BY, Factor, Level

#: More levels than this in one range is taken for a mistake in its step.
MAX_LEVELS = 10_000

LINEAR = {"from", "to", "step"}
GEOMETRIC = {"from", "to", "times"}


def is_reference(level: object) -> bool:
    """True where a level takes another factor's value: `=write_size_bytes`."""
    return isinstance(level, str) and level.startswith("=")


def as_set(levels: Mapping[str, Level]) -> list[str]:
    """Levels as `--set` takes them: `no_delay=true`."""
    return [f"{name}={as_list([level])}" for name, level in levels.items()]


def as_list(levels: Iterable[Level]) -> str:
    """Levels with commas between them: `true,false`."""
    return ",".join(str(level).lower() if isinstance(level, bool) else str(level) for level in levels)


def levels_of_text(factor: Factor, text: str) -> Level | tuple[Level, ...]:
    """Reads what an option gives: a level, or several with commas between them.

    Raises:
        ProfileError: as `all_levels`.
    """
    levels = factor.parse_all(text)
    return levels[0] if len(levels) == 1 else all_levels(factor, levels)


def one_level(factor: Factor, written: object) -> Level:
    """A single level or a reference.

    Raises:
        ProfileError: with the factor as key.
    """
    if isinstance(written, str) and is_reference(written):
        other = written.removeprefix("=")
        if other not in BY_NAME:
            raise ProfileError(
                "", factor.name, f'"{written}" names no factor{suggestion(other, BY_NAME, listed_by=LISTED_BY)}'
            )
        if other == factor.name:
            raise ProfileError("", factor.name, f'"{written}" refers to itself; name another factor')
        return written
    if isinstance(written, list | dict):
        raise ProfileError("", factor.name, "one level belongs here; lists and ranges belong in a sweep's factors")
    return factor.check(written)


def all_levels(factor: Factor, written: object) -> tuple[Level, ...]:
    """The levels of a varied factor, in the order written.

    Raises:
        ProfileError: with the factor as key: no level, one twice, a range that cannot be.
    """
    if isinstance(written, Mapping):
        levels = [factor.check(level) for level in _range(factor, written)]
    elif isinstance(written, list):
        levels = [one_level(factor, level) for level in written]
    else:
        levels = [one_level(factor, written)]
    if not levels:
        raise ProfileError("", factor.name, "the list of levels is empty; give at least one level or drop the factor")
    seen: set[tuple[type, Level]] = set()
    for level in levels:
        if (type(level), level) in seen:
            raise ProfileError("", factor.name, f"level {level} is there twice; drop one")
        seen.add((type(level), level))
    return tuple(levels)


def _range(factor: Factor, written: Mapping[str, object]) -> Iterator[int | float]:
    keys = set(written)
    if keys not in (LINEAR, GEOMETRIC):
        raise ProfileError(
            "", factor.name, f"a range is {{from, to, step}} or {{from, to, times}}, not {{{', '.join(sorted(keys))}}}"
        )
    if not factor.is_number:
        raise ProfileError(
            "", factor.name, f"a range needs a factor that is a number; list the levels ({factor.allowed()})"
        )
    numbers = {key: _number(factor, key, value) for key, value in written.items()}
    first, last = numbers["from"], numbers["to"]
    if last < first:
        raise ProfileError("", factor.name, f'"to" {last} is below "from" {first}; swap them')
    if "step" in numbers:
        exact = _linear(factor, first, last, numbers["step"])
    else:
        exact = _geometric(factor, first, last, numbers["times"])
    whole = factor.kind == "int"
    levels = [round(level) if whole else float(level) for level in exact]
    if any(level == next_one for level, next_one in pairwise(levels)):
        raise ProfileError("", factor.name, "levels of the range fall together when rounded; use larger steps")
    return iter(levels)


def _linear(factor: Factor, first: Fraction, last: Fraction, step: Fraction) -> list[Fraction]:
    """from, from + step, … up to and with `to` where a step reaches it exactly."""
    if step <= 0:
        raise ProfileError("", factor.name, f'"step" {step} must be above 0')
    count = (last - first) // step + 1
    _check_count(factor, count)
    return [first + index * step for index in range(count)]


def _geometric(factor: Factor, first: Fraction, last: Fraction, times: Fraction) -> list[Fraction]:
    """from, from · times, from · times² … up to and with `to` where a power reaches it exactly."""
    if times <= 1:
        raise ProfileError("", factor.name, f'"times" {times} must be above 1')
    if first <= 0:
        raise ProfileError("", factor.name, '"from" of a range with "times" must be above 0')
    levels = []
    level = first
    while level <= last:
        levels.append(level)
        _check_count(factor, len(levels))
        # Factors near 1 would let the exact fractions grow without bound; 64 digits are plenty.
        level = (level * times).limit_denominator(10**64)
    return levels


def _check_count(factor: Factor, count: int) -> None:
    if count > MAX_LEVELS:
        raise ProfileError("", factor.name, f"the range has over {MAX_LEVELS} levels; use larger steps")


def _number(factor: Factor, key: str, value: object) -> Fraction:
    """Exact, so that 0.1, 0.2, 0.3 come out as written and the last step is not lost to rounding."""
    if isinstance(value, str) and key != "times":
        value = factor.number_with_unit(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProfileError("", factor.name, f'"{key}" of the range must be a number')
    return Fraction(str(value))
