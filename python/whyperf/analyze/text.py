"""Quantities, factors and levels as text: SI prefixes for rates, whole numbers for bytes.

Tables in Markdown.
"""

import math
from collections.abc import Callable, Sequence

from whyperf.profile.factors import BY_NAME


def table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table; bars in its cells are escaped."""
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


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


def bit_rate_in(letter: str) -> Callable[[float], str]:
    """Format of rates by `-f` of iperf3: k, m, g, t in bit/s, powers of 1000; K, M, G, T in bytes/s, powers of 1024.

    >>> bit_rate_in("m")(9.1416e9), bit_rate_in("M")(8 * 2**21)
    ('9,142 Mbit/s', '2.00 MiB/s')
    """
    power = "KMGT".index(letter.upper()) + 1
    scale, unit = (8 * 1024**power, f"{letter}iB/s") if letter.isupper() else (1000**power, _unit_of_bits(letter))
    return lambda bps: f"{significant(bps / scale)} {unit}"


def _unit_of_bits(letter: str) -> str:
    return f"{letter if letter == 'k' else letter.upper()}bit/s"


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


ENDS = ("sender", "receiver")

CAPITALS = {
    word.lower(): word
    for word in (
        "ACK",
        "CPU",
        "CPUs",
        "DSCP",
        "ECN",
        "GRO",
        "GSO",
        "IO",
        "IP",
        "MSS",
        "MTU",
        "NAPI",
        "RPS",
        "RTT",
        "TCP",
        "TSO",
        "UDP",
    )
}

_OWN_NAMES = {"rtt_probe": "RTT probe's transport"}
"""Factors that would have the name of another without its unit."""

_UNITS = ("_bytes", "_bps", "_ms", "_us", "_per_s", "_s")


def factor_name(factor: str) -> str:
    """`write_size_bytes` -> `write size`; units are printed with the levels."""
    if factor in _OWN_NAMES:
        return _OWN_NAMES[factor]
    unit = next((unit for unit in _UNITS if factor.endswith(unit)), "")
    name = factor.removesuffix(unit).replace("_", " ")
    return " ".join(CAPITALS.get(word, word) for word in name.split())


def sweep_title(name: str) -> str:
    """A sweep's name as a heading: `cpu-cost` -> `CPU cost`."""
    parts = [CAPITALS.get(word, word) for word in name.split("-")]
    return " ".join([parts[0][:1].upper() + parts[0][1:], *parts[1:]])


def factor_unit(factor: str) -> str:
    """The unit of a factor's levels, empty for none and for plain counts."""
    known = BY_NAME.get(factor)
    unit = known.unit if known else ""
    return "" if unit in {"connections", "rules"} else unit


def factor_title(factor: str) -> str:
    """A factor as an axis label: `Write size (bytes)`."""
    unit = factor_unit(factor)
    name = factor_name(factor)
    return f"{name[:1].upper()}{name[1:]}" + (f" ({unit})" if unit else "")


def level_text(level: object) -> str:
    """A level as it is read: numbers with separators, switches as on and off."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, int):
        return f"{level:,}"
    if isinstance(level, float):
        return f"{int(level):,}" if level.is_integer() else significant(level)
    return str(level)


def level_with_unit(factor: str, level: object) -> str:
    """A level with its unit: `8,192 bytes`, `on`."""
    unit = factor_unit(factor)
    number = isinstance(level, int | float) and not isinstance(level, bool)
    return f"{level_text(level)} {unit}" if unit and number else level_text(level)


def setting(factors: dict[str, object], names: list[str]) -> str:
    """Some factors of a cell in a phrase: `window 8,192 bytes, write size 512 bytes`."""
    # A factor without a level has no meaning in this cell, as a congestion control over a transport without.
    given = [name for name in names if factors.get(name) is not None]
    return ", ".join(f"{factor_name(name)} {level_with_unit(name, factors[name])}" for name in given)
