"""Quantities in words: SI prefixes for rates, whole numbers for bytes."""

import math

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def si(value: float, unit: str, digits: int = 3) -> str:
    """`value` with `digits` significant digits and the prefix that keeps it between 1 and 1000.

    >>> si(9.1416e9, "bit/s"), si(999.96e6, "bit/s")
    ('9.14 Gbit/s', '1.00 Gbit/s')
    """
    rounded = _rounded(value, digits)
    scale, prefix = next(((scale, prefix) for scale, prefix in _PREFIXES if abs(rounded) >= scale), (1.0, ""))
    return f"{significant(value / scale, digits)} {prefix}{unit}"


def significant(value: float, digits: int = 3) -> str:
    """`value` rounded to `digits` significant digits, never in exponent form; whole numbers stay whole.

    >>> significant(0.01234), significant(9.996), significant(12345.6)
    ('0.0123', '10.0', '12,346')
    """
    if value == 0:
        return "0"
    rounded = _rounded(value, digits)
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded if decimals > 0 else value:,.{max(0, decimals)}f}"


def bit_rate(bps: float) -> str:
    """A rate in bit/s."""
    return si(bps, "bit/s")


def octets(count: float) -> str:
    """A number of bytes, in full: sizes matter to the byte here."""
    return "1 byte" if count == 1 else f"{count:,.0f} bytes"


def percent(ratio: float) -> str:
    """A ratio as a percentage: whole from 10 % on, one digit below.

    >>> percent(0.984), percent(0.0213)
    ('98 %', '2.1 %')
    """
    return f"{ratio * 100:.{0 if abs(ratio) >= 0.0995 else 1}f} %"


def seconds(ns: float) -> str:
    """A time given in ns, in the unit that suits it."""
    units = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
    scale, unit = next(((scale, unit) for scale, unit in units if abs(_rounded(ns, 3)) >= scale), (1.0, "ns"))
    return f"{significant(ns / scale)} {unit}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: 1 trial, 2 trials."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")
