"""How a result is printed on standard output: `--json`, `--format`, `--interval`."""

from dataclasses import dataclass
from enum import StrEnum

from whyperf.cli.exits import UsageError

DEFAULT_INTERVAL_S = 1.0


class Format(StrEnum):
    """For whom the result is."""

    TEXT = "text"
    JSON = "json"
    UPERF = "uperf"


@dataclass(frozen=True)
class OutputFormat:
    """How the result is printed."""

    format: Format = Format.TEXT
    #: Seconds between the lines of `uperf`.
    interval_s: float = DEFAULT_INTERVAL_S

    @property
    def is_for_programs(self) -> bool:
        """Whether standard output holds nothing but the result."""
        return self.format is not Format.TEXT


def output_format(*, json: bool, format_: Format | None, interval_s: float | None) -> OutputFormat:
    """What the options say together.

    Raises:
        UsageError: they contradict each other.
    """
    if json and format_ not in {None, Format.JSON}:
        raise UsageError(f"--json and --format {format_} are two formats; drop one")
    chosen = Format.JSON if json else format_ or Format.TEXT
    if interval_s is None:
        return OutputFormat(chosen)
    if chosen is not Format.UPERF:
        raise UsageError("--interval is the distance of lines with --format uperf; add it, or set interval_ms instead")
    if not 0.001 <= interval_s <= 86_400:
        raise UsageError(f"--interval {interval_s:g} is not from 0.001 to 86400 seconds")
    return OutputFormat(chosen, interval_s)
