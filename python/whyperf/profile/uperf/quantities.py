"""Numbers and times as uperf reads them (uperf 1.0.8, src/numbers.c)."""

import re
from fractions import Fraction

#: Powers of 1024; the first letter counts, so that `64KB` is 64 K.
SUFFIXES = "bkmgtpez"
#: The largest number that fits into a C int.
LARGEST_INTEGER = 2**31 - 1
#: Nanoseconds of a unit. `m` is a millisecond, whatever follows: `2min` are 2 ms.
UNITS_NS = {"": 10**9, "s": 10**9, "m": 10**6, "u": 10**3, "n": 1}
#: A hundred years: longer is taken for a mistake.
LONGEST_NS = 100 * 366 * 86_400 * 10**9

NUMBER = re.compile(r"(?P<number>[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?P<suffix>.*)", re.DOTALL)
WHOLE = re.compile(r"[ \t]*(?P<number>[+-]?[0-9]+)")


def integer(text: str) -> int:
    """A whole number with an optional suffix: `8192`, `8k`, `1.5K`.

    Raises:
        ValueError: with what is wrong and the remedy, to follow the text itself.
    """
    number, suffix = _parts(text, "write digits and a suffix such as K or M")
    shift = 10 * SUFFIXES.find(suffix[:1].lower()) if suffix else 0
    if shift < 0:
        raise ValueError(f'has the unknown suffix "{suffix}"; there are B, K, M and G')
    value = int(number * 2**shift)
    if value > LARGEST_INTEGER:
        raise ValueError(f"is too large; uperf's numbers end at {LARGEST_INTEGER}")
    return value


def time_ns(text: str) -> int:
    """A time in ns: `20`, `20s`, `20ms`, `1.5s`.

    Raises:
        ValueError: as `integer`.
    """
    number, suffix = _parts(text, "write digits and s, ms, us or ns")
    unit_ns = UNITS_NS.get(suffix[:1].lower())
    if unit_ns is None:
        raise ValueError(f'has the unknown unit "{suffix}"; there are s, ms, us and ns')
    value_ns = int(number * unit_ns)
    if value_ns == 0:
        raise ValueError("is no time; give one above 0")
    if value_ns > LONGEST_NS:
        raise ValueError("is over a hundred years; give a shorter time")
    return value_ns


def is_perhaps_minutes(text: str) -> bool:
    """True where a time in milliseconds looks as if minutes were meant: `2m`, `2min`."""
    found = NUMBER.fullmatch(text)
    suffix = found["suffix"].lower() if found else ""
    return suffix.startswith("m") and not suffix.startswith(("ms", "mil"))


def leading_integer(text: str) -> int:
    """Reads it as atoi(3) does: the digits at the beginning, 0 without any.

    Raises:
        ValueError: as `integer`.
    """
    found = WHOLE.match(text)
    value = int(found["number"]) if found else 0
    if abs(value) > LARGEST_INTEGER:
        raise ValueError(f"is too large; uperf's numbers end at {LARGEST_INTEGER}")
    return value


def _parts(text: str, remedy: str) -> tuple[Fraction, str]:
    found = NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"is not a number; {remedy}")
    if len(found["number"]) > 100:
        raise ValueError("has too many digits; write fewer")
    return Fraction(found["number"].removesuffix(".")), found["suffix"]
