"""Describes changes: levels of factors, and intervals of gains."""

from collections.abc import Mapping

from whyperf.analyze.text import significant
from whyperf.profile import BY_NAME, Level


def interval_text(low: float | None, high: float | None, digits: int = 3) -> str | None:
    """`2.80–3.40`; None where an end is not known."""
    return None if low is None or high is None else f"{significant(low, digits)}–{significant(high, digits)}"


def change_text(change: Mapping[str, Level]) -> str:
    """`window_bytes = 262,144 bytes, no_delay = true`."""
    return ", ".join(f"{name} = {_level(name, level)}" for name, level in change.items())


def _level(name: str, level: Level) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    unit = BY_NAME[name].unit if name in BY_NAME else ""
    is_count = isinstance(level, int | float)
    return (f"{level:,}" if is_count else str(level)) + (f" {unit}" if unit and is_count and unit != name else "")
