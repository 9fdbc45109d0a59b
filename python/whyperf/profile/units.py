"""Numbers with a unit, as people write levels: `64K`, `200M`, `1.5Gbit/s`, `20ms`, `0.1%`."""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

#: Unit of a factor that is a ratio, for this table; factors have no name for it.
RATIO = "ratio"
#: A number and what somebody took for its unit.
WITH_UNIT = re.compile(r"[0-9.]+ ?[A-Za-zµ%][A-Za-z/]*")

_NUMBER = r"(?P<number>\d{1,15}(?:\.\d{1,15})?) ?"
_PREFIXES = "KMGT"


class Units(NamedTuple):
    """The units that may stand behind the number of a level."""

    pattern: re.Pattern[str]
    #: By what the pattern finds in its group `unit`, in small letters: how many of the factor's own unit it is.
    scales: Mapping[str, Fraction]
    #: For who wrote another unit.
    hint: str
    #: Levels that people write, the most usual first.
    examples: tuple[str, ...]


def _of_prefixes(base: int, units: str, *examples: str) -> Units:
    scales = {prefix.lower(): Fraction(base) ** power for power, prefix in enumerate(_PREFIXES, start=1)}
    return Units(
        re.compile(rf"{_NUMBER}(?P<unit>[{_PREFIXES}{_PREFIXES.lower()}]?){units}"),
        {"": Fraction(1)} | scales,
        f"; K, M and G are powers of {base}",
        examples,
    )


_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}


def _of_times(own: str, *examples: str) -> Units:
    scales = {unit: length / _SECONDS[own] for unit, length in _SECONDS.items()}
    return Units(
        re.compile(rf"{_NUMBER}(?P<unit>{'|'.join(scales)})"),
        scales,
        "; ns, us, ms, s, min and h may follow the number",
        examples,
    )


UNITS: Mapping[str, Units] = {
    "bytes": _of_prefixes(1024, r"(?:i?[Bb])?", "64K", "1400"),
    "bit/s": _of_prefixes(1000, r"(?:bps|b/s|bits?(?:/s)?)?", "100M"),
    "transactions/s": _of_prefixes(1000, r"(?:/s)?", "10K"),
    RATIO: Units(re.compile(rf"{_NUMBER}(?P<unit>%)"), {"%": Fraction(1, 100)}, "", ("0.1%",)),
    "s": _of_times("s", "10s"),
    "ms": _of_times("ms", "20ms"),
    "us": _of_times("us", "50us"),
}
"""By the unit of a factor: sizes in powers of 1024, rates in powers of 1000."""


def with_unit(text: str, unit: str) -> Fraction | None:
    """The number in the factor's own `unit`; None where the text is no number with a unit that fits.

    >>> with_unit("20ms", "us"), with_unit("1.5G", "bit/s"), with_unit("20", "ms"), with_unit("20ms", "bytes")
    (Fraction(20000, 1), Fraction(1500000000, 1), None, None)
    """
    units = UNITS.get(unit)
    found = None if units is None else units.pattern.fullmatch(text)
    if units is None or found is None or text[-1].isdecimal():
        return None
    return Fraction(found["number"]) * units.scales[found["unit"].lower()]


def hint_for(text: object, unit: str) -> str:
    """The units that may stand behind the number, for who wrote a number with another unit; empty for all else."""
    is_number = unit in UNITS and isinstance(text, str) and WITH_UNIT.fullmatch(text)
    return UNITS[unit].hint if is_number else ""


def examples_of(unit: str) -> tuple[str, ...]:
    """Levels with this unit, as people write them; none where nobody writes it."""
    return UNITS[unit].examples if unit in UNITS else ()


def bounds(low: float, high: float | None, unit: str) -> str:
    """`from 1 kbit/s to 100 Gbit/s`; `high` is None where nobody reaches it.

    >>> bounds(0, 60000, "ms"), bounds(1, None, "bytes"), bounds(1, 1 << 30, "bytes"), bounds(0, 63, "")
    ('from 0 to 60000 ms', 'from 1 byte on', 'from 1 byte to 1 GiB', 'from 0 to 63')
    """
    most = None if high is None else _with_prefix(high, unit)
    if most is not None and most == f"{high:.12g} {unit}".strip():
        return f"from {low:.12g} to {most}"
    least = _with_prefix(low, unit)
    return f"from {least} on" if most is None else f"from {least} to {most}"


def _with_prefix(number: float, unit: str) -> str:
    """A rate or a size in the largest unit in which it is whole; others as they are."""
    prefixes = {"bit/s": (1000, "kMGT", "bit/s"), "bytes": (1024, "KMGT", "iB")}
    base, letters, name = prefixes.get(unit, (0, "", ""))
    power = max((power for power in range(1, len(letters) + 1) if number and number % base**power == 0), default=0)
    if power:
        return f"{number / base**power:.12g} {letters[power - 1]}{name}"
    return f"{number:.12g} {'byte' if unit == 'bytes' and number == 1 else unit}".strip()
