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
    """What may stand behind the number of a level."""

    pattern: re.Pattern[str]
    #: By what the pattern finds in its group `unit`, in small letters: how many of the factor's own unit it is.
    scales: Mapping[str, Fraction]
    #: For who wrote another unit.
    hint: str


def _of_prefixes(base: int, units: str, hint: str) -> Units:
    scales = {prefix.lower(): Fraction(base) ** power for power, prefix in enumerate(_PREFIXES, start=1)}
    return Units(
        re.compile(rf"{_NUMBER}(?P<unit>[{_PREFIXES}{_PREFIXES.lower()}]?){units}"), {"": Fraction(1)} | scales, hint
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


def _of_times(own: str) -> Units:
    scales = {unit: length / _SECONDS[own] for unit, length in _SECONDS.items()}
    return Units(
        re.compile(rf"{_NUMBER}(?P<unit>{'|'.join(scales)})"),
        scales,
        f", in {own}; ns, us, ms, s, min and h may follow the number",
    )


UNITS: Mapping[str, Units] = {
    "bytes": _of_prefixes(1024, r"(?:i?[Bb])?", ", in bytes; K, M and G are powers of 1024"),
    "bit/s": _of_prefixes(1000, r"(?:bps|b/s|bits?(?:/s)?)?", ", in bit/s; K, M and G are powers of 1000"),
    "transactions/s": _of_prefixes(1000, r"(?:/s)?", ", in transactions/s; K, M and G are powers of 1000"),
    RATIO: Units(re.compile(rf"{_NUMBER}(?P<unit>%)"), {"%": Fraction(1, 100)}, ", or in percent such as 0.1%"),
    **{own: _of_times(own) for own in ("s", "ms", "us")},
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
    """In what a number counts, for who wrote a number with another unit; empty for all else."""
    if not unit or not isinstance(text, str) or not WITH_UNIT.fullmatch(text):
        return ""
    return UNITS[unit].hint if unit in UNITS else f", in {unit}"
