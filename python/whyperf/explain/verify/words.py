"""What stands in the way of a verification, and a change in words."""

from collections.abc import Mapping

from whyperf.profile import BY_NAME, Level


class Obstacle(Exception):  # noqa: N818 - a sentence for the user, not a failure of ours
    """Why a verdict cannot be tried from here, in one sentence with the way out."""


def change_words(change: Mapping[str, Level]) -> str:
    """`window_bytes = 262,144 bytes, no_delay = true`."""
    return ", ".join(f"{name} = {_level(name, level)}" for name, level in change.items())


def _level(name: str, level: Level) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    unit = BY_NAME[name].unit if name in BY_NAME else ""
    is_count = isinstance(level, int | float)
    return (f"{level:,}" if is_count else str(level)) + (f" {unit}" if unit and is_count and unit != name else "")
