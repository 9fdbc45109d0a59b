"""`--only factor=level,level`: which cells of a plan to keep."""

from collections.abc import Iterable, Sequence

from whyperf.plan.plan_document import Cell
from whyperf.profile import Level, ProfileError, factor_named

OPTION = "--only"
SWEEP = "sweep"


def kept(cells: Sequence[Cell], filters: Iterable[str]) -> tuple[Cell, ...]:
    """The cells that every filter keeps; levels of the same factor add up.

    Raises:
        ProfileError: an unknown factor, a level no cell has (with those there are), nothing left.
    """
    wanted: dict[str, set[tuple[type, Level]]] = {}
    for text in filters:
        name, levels = _parsed(text, cells)
        wanted.setdefault(name, set()).update((type(level), level) for level in levels)
    chosen = tuple(cell for cell in cells if all(_key(_value(cell, name)) in wanted[name] for name in wanted))
    if not chosen:
        raise ProfileError(OPTION, " ".join(filters), "no cell has all of these levels together")
    return chosen


def _parsed(text: str, cells: Sequence[Cell]) -> tuple[str, list[Level]]:
    name, equals, listed = text.partition("=")
    name = name.strip()
    entries = [word.strip() for word in listed.split(",") if word.strip()]
    if not equals or not entries:
        raise ProfileError(OPTION, text, "write factor=level,level, for example window_bytes=4096,8192")
    if name != SWEEP:
        try:
            factor = factor_named(name)
        except ProfileError as error:
            raise error.at(OPTION) from None
    there = dict.fromkeys(value for cell in cells if (value := _value(cell, name)) is not None)
    levels: list[Level] = []
    try:
        asked: Sequence[Level] = entries if name == SWEEP else factor.parse_all(",".join(entries))
    except ProfileError as error:
        raise error.at(OPTION) from None
    for level in asked:
        if _key(level) not in {_key(value) for value in there}:
            listing = ", ".join(_shown(value) for value in there) or "none, the factor has no part in this plan"
            raise ProfileError(OPTION, name, f"no cell has {_shown(level)}; there are: {listing}")
        levels.append(level)
    return name, levels


def _value(cell: Cell, name: str) -> Level | None:
    return cell.sweep if name == SWEEP else cell.factors.get(name)


def _key(level: Level | None) -> tuple[type, Level | None]:
    """Keeps 1 and true, 4 and 4.0 apart."""
    return (type(level), level)


def _shown(level: Level) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)
