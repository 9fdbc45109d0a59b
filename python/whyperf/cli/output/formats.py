"""The printing of a result on standard output: `--json`, `--format`, `--interval`, and the unit of rates."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from whyperf.cli.exits import UsageError

DEFAULT_INTERVAL_S = 1.0
#: The kernel counts CPU time of a host in ticks of 1/100 s (USER_HZ, proc_stat(5)), and updates that of a running
#: thread at its own ticks. In less time, a line has no CPU time, or that of many lines.
MIN_INTERVAL_S = 0.01
#: Of `--window-for`.
MAX_RATE_BPS = 100e12


class Format(StrEnum):
    """For whom the result is."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    UPERF = "uperf"


class RateUnit(StrEnum):
    """Unit of rates, as `-f` of iperf3: small count bits in powers of 1000, capital bytes in powers of 1024."""

    KBIT = "k"
    MBIT = "m"
    GBIT = "g"
    TBIT = "t"
    KBYTE = "K"
    MBYTE = "M"
    GBYTE = "G"
    TBYTE = "T"


@dataclass(frozen=True)
class OutputFormat:
    """The way that the result is printed."""

    format: Format = Format.TEXT
    #: Seconds between the lines of a single measurement, and of `uperf`; 0: no lines.
    interval_s: float = DEFAULT_INTERVAL_S
    #: Of rates in the text of a single measurement; None: the unit that suits each.
    rate_unit: RateUnit | None = None
    #: True where all warnings and notes are printed, not only the first of each.
    all_notes: bool = False
    #: Rate for which the needed window is asked, in bit/s.
    window_for_bps: float | None = None
    #: True where every connection has a line.
    per_stream: bool = False

    @property
    def rate(self) -> Callable[[float], str]:
        """Prints a rate in bit/s."""
        # Imported here, so that help and completion stay quick.
        from whyperf.analyze.text import bit_rate, bit_rate_in  # noqa: PLC0415

        return bit_rate if self.rate_unit is None else bit_rate_in(self.rate_unit)

    @property
    def is_for_programs(self) -> bool:
        """True where standard output holds nothing but the result."""
        return self.format is not Format.TEXT


def output_format(
    *,
    json: bool,
    format_: Format | None,
    interval: str | None,
    rate_unit: RateUnit | None = None,
    has_lines: bool = False,
    csv: bool = False,
) -> OutputFormat:
    """The meaning of the options together; `has_lines`: whether the command prints lines while it measures.

    Raises:
        UsageError: they contradict each other.
    """
    asked = [name for name, wanted in (("--json", json), ("--csv", csv)) if wanted]
    if format_ is not None and [f"--{format_}"] != asked:
        asked.append(f"--format {format_}")
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} are two formats; drop one")
    chosen = Format.JSON if json else Format.CSV if csv else format_ or Format.TEXT
    if interval is None:
        return OutputFormat(chosen, rate_unit=rate_unit)
    interval_s = _seconds(interval)
    if chosen is not Format.UPERF and not has_lines:
        raise UsageError("--interval is the distance of lines with --format uperf; add it, or set interval_ms instead")
    is_none = interval_s == 0 and chosen is not Format.UPERF
    if 0 < interval_s < MIN_INTERVAL_S:
        raise UsageError(
            f"--interval {interval_s:g}: give 0.01 s or more, because the kernel counts CPU time in ticks of 10 ms; "
            "--set interval_ms=1 samples more often, for the report"
        )
    if not (is_none or 0 < interval_s <= 86_400):
        raise UsageError(f"--interval {interval_s:g} is not from 0.01 to 86400 seconds")
    return OutputFormat(chosen, interval_s, rate_unit)


def window_rate(text: str | None) -> float | None:
    """The rate of `--window-for`, in bit/s.

    Raises:
        UsageError: it is none.
    """
    if text is None:
        return None
    # Imported here, so that help and completion stay quick.
    from whyperf.profile.units import with_unit  # noqa: PLC0415

    try:
        found = with_unit(text.strip(), "bit/s")
        rate = float(text) if found is None else float(found)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= MAX_RATE_BPS:
        raise UsageError(f"--window-for {text} is no rate; give bit/s such as 10G, up to 100T")
    return rate


def _seconds(text: str) -> float:
    """The number of seconds in `0.5`, `500ms` or `1.5s`.

    Raises:
        UsageError: none.
    """
    # Imported here, so that help and completion stay quick.
    from whyperf.profile.units import with_unit  # noqa: PLC0415

    try:
        found = with_unit(text.strip(), "s")
        return float(text) if found is None else float(found)
    except ValueError:
        raise UsageError(f"--interval {text} is no time; give seconds such as 0.5, or 500ms") from None
