"""Factors and levels in words."""

from whyperf.analyze.quantity import significant
from whyperf.profile.factors import BY_NAME

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
        "RTT",
        "TCP",
        "TSO",
        "UDP",
    )
}

_OWN_NAMES = {"rtt_probe": "RTT probe's carrier"}
"""Factors that would have the name of another without its unit."""

_UNITS = ("_bytes", "_bps", "_ms", "_us", "_per_s", "_s")


def factor_name(factor: str) -> str:
    """`write_size_bytes` -> `write size`; units are told with the levels."""
    if factor in _OWN_NAMES:
        return _OWN_NAMES[factor]
    unit = next((unit for unit in _UNITS if factor.endswith(unit)), "")
    name = factor.removesuffix(unit).replace("_", " ")
    return " ".join(CAPITALS.get(word, word) for word in name.split())


def sweep_title(name: str) -> str:
    """A sweep's name as a heading: `cpu-cost` -> `CPU cost`."""
    words = [CAPITALS.get(word, word) for word in name.split("-")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def factor_unit(factor: str) -> str:
    """The unit of a factor's levels, empty for none and for plain counts."""
    known = BY_NAME.get(factor)
    unit = known.unit if known else ""
    return "" if unit == "connections" else unit


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
