"""Quantities in words: SI prefixes for rates, whole numbers for bytes."""

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def si(value: float, unit: str, digits: int = 3) -> str:
    """`value` with `digits` significant digits and the prefix that keeps it between 1 and 1000.

    >>> si(9.1416e9, "bit/s")
    '9.14 Gbit/s'
    """
    scale, prefix = next(((scale, prefix) for scale, prefix in _PREFIXES if abs(value) >= scale), (1.0, ""))
    return f"{significant(value / scale, digits)} {prefix}{unit}"


def significant(value: float, digits: int = 3) -> str:
    """`value` rounded to `digits` significant digits, never in exponent form.

    >>> significant(0.01234), significant(12345.6)
    ('0.0123', '12346')
    """
    if value == 0:
        return "0"
    exponent = len(str(int(abs(value)))) if abs(value) >= 1 else -_leading_zeros(abs(value))
    return f"{value:.{max(0, digits - exponent)}f}"


def bit_rate(bps: float) -> str:
    """A rate in bit/s."""
    return si(bps, "bit/s")


def octets(count: float) -> str:
    """A number of bytes, in full: sizes matter to the byte here."""
    return f"{count:,.0f} bytes"


def percent(ratio: float) -> str:
    """A ratio as a percentage: whole from 10 % on, one digit below.

    >>> percent(0.984), percent(0.0213)
    ('98 %', '2.1 %')
    """
    return f"{ratio * 100:.{0 if abs(ratio) >= 0.0995 else 1}f} %"


def seconds(ns: float) -> str:
    """A time given in ns, in the unit that suits it."""
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if abs(ns) >= scale), (1.0, "ns")
    )
    return f"{significant(ns / scale)} {unit}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: 1 trial, 2 trials."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _leading_zeros(value: float) -> int:
    """Zeros between the point and the first digit of `value`, 0 < value < 1."""
    zeros = 0
    while value < 0.1 and zeros < 12:
        value *= 10
        zeros += 1
    return zeros
