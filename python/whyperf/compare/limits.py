"""Conditions of `--fail-if`, such as `goodput<0.97` or `copy.sender>1.1`: a row, a sign, and a ratio of B to A."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from whyperf.analyze.cost.classes import classes
from whyperf.compare.comparison import CellPair, Exceeded
from whyperf.compare.costs import ROLES
from whyperf.compare.quantities import QUANTITIES

_CONDITION = re.compile(
    r"\s*(?P<row>[a-z0-9_.]+)\s*(?P<sign><=?|>=?)\s*(?P<limit>[0-9.]+(?:e[+-]?[0-9]+)?)\s*(?P<percent>%?)\s*"
)
EXAMPLE = "goodput<0.97"


class LimitError(ValueError):
    """A condition that cannot be read, in a sentence."""


@dataclass(frozen=True)
class Limit:
    """A condition: it holds where the ratio of a row is beyond `ratio` and the difference is significant."""

    text: str
    row: str
    sign: str
    ratio: float

    def holds(self, ratio: float) -> bool:
        """True where a ratio is beyond the limit."""
        match self.sign:
            case "<":
                return ratio < self.ratio
            case "<=":
                return ratio <= self.ratio
            case ">":
                return ratio > self.ratio
        return ratio >= self.ratio


def rows() -> dict[str, str]:
    """The rows that a condition may name, and what they are."""
    named = {name: quantity.title for name, quantity in QUANTITIES.items()}
    costs = {f"{entry.name}.{role}": f"{entry.title}, {role}" for role in ROLES for entry in classes()}
    return named | {f"cost.{role}": f"Cost of all classes, {role}" for role in ROLES} | costs


def limit_of(text: str) -> Limit:
    """Reads a condition.

    Raises:
        LimitError: it is none, or names no row.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise LimitError(
            f'"{text}" is no condition; write a row, < or >, and a ratio of B to A: {EXAMPLE} for 3 % less than in A'
        )
    known = rows()
    row = found["row"]
    if row not in known:
        longer = [name for name in known if name.startswith((f"{row}_", f"{row}."))]
        near = longer[:3] or get_close_matches(row, known, n=3)
        hint = (
            f"did you mean {' or '.join(near)}?"
            if near
            else f"it takes {', '.join(list(known)[:4])}, … (docs/how-to/compare.md)"
        )
        raise LimitError(f'"{text}": there is no row {row}; {hint}')
    try:
        ratio = float(found["limit"]) / (100 if found["percent"] else 1)
    except ValueError:
        raise LimitError(f'"{text}": {found["limit"]} is no number; write a ratio such as 0.97') from None
    if not 0 < ratio <= 1000:
        raise LimitError(f'"{text}": a ratio of B to A lies above 0 and up to 1000, such as 0.97')
    return Limit(text.strip(), row, found["sign"], ratio)


def exceeded(limits: Sequence[Limit], pairs: Sequence[CellPair]) -> tuple[Exceeded, ...]:
    """The conditions that hold, pair by pair."""
    return tuple(
        Exceeded(condition=limit.text, a=pair.a, b=pair.b, row=limit.row, value=ratio)
        for pair in pairs
        for limit in limits
        for ratio, is_sure in ratios_of(pair, limit.row)
        if is_sure and limit.holds(ratio)
    )


def without_row(limits: Sequence[Limit], pairs: Sequence[CellPair]) -> list[Limit]:
    """The conditions whose row no pair has."""
    return [limit for limit in limits if not any(True for pair in pairs for _ in ratios_of(pair, limit.row))]


def ratios_of(pair: CellPair, row: str) -> Iterator[tuple[float, bool]]:
    """The ratio of a row, if the pair has it, and whether it counts: one trial each leaves nothing to test."""
    for quantity in pair.quantities:
        if quantity.name == row and quantity.ratio is not None:
            yield quantity.ratio, quantity.test.is_significant or quantity.test.p_value is None
    name, _, role = row.partition(".")
    for side in pair.sides:
        if side.role != role or side.refused is not None:
            continue
        if name == "cost" and side.ratio is not None:
            yield side.ratio, side.test.is_significant or side.test.p_value is None
        for entry in side.classes:
            if entry.name == name and entry.ratio is not None:
                yield entry.ratio, entry.test.is_significant or entry.test.p_value is None
