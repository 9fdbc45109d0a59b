"""Renders a code and its values with the templates of `catalog.toml`.

A value's name ends in its unit (`window_bytes`, `rtt_ns_median`), which decides how it is printed. In a template
`{name}` is a value, `{name:2}` one with two significant digits, `{name:loss|losses}` a number with its noun. A part in
[brackets] is left out where one of its values is not known. A sentence (it ends with a period) begins with a capital.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from whyperf.analyze.text import bit_rate, count, octets, percent, seconds, significant
from whyperf.explain.explanation import Statement, Value
from whyperf.explain.states import OF_PATH, SenderState, name_of
from whyperf.profile import BY_NAME, Level

FILE = Path(__file__).with_name("catalog.toml")
Values = Mapping[str, Value | None]

_VALUE = re.compile(r"\{(\w+)(?::([^}]*))?\}")
_OPTIONAL = re.compile(r"\[([^]]*)\]")


def _cycles(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else significant(value, 3)


_UNITS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("cycles_per_kbyte", "cycles/KByte", _cycles),
    ("cycles_per_transaction", "cycles/transaction", _cycles),
    ("cycles", "cycles", _cycles),
    ("per_s", "1/s", significant),
    ("per", "ratio", significant),
    ("times", "ratio", significant),
    ("ratio", "ratio", percent),
    ("bytes", "bytes", octets),
    ("bps", "bit/s", bit_rate),
    ("ns", "ns", seconds),
    ("packets", "packets", lambda value: f"{value:,.0f}"),
    ("segments", "segments", lambda value: f"{value:,.0f}"),
    ("count", "count", lambda value: f"{value:,.0f}"),
)
"""Parts of a value's name, the unit in JSON, and how it is printed; the first that fits counts."""


@cache
def templates() -> Mapping[str, Mapping[str, str]]:
    """All templates by kind and code."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def known(values: Values) -> dict[str, Value]:
    """The values without those that are not known."""
    return {name: value for name, value in values.items() if value is not None}


def statement(code: str, **values: Value | None) -> Statement:
    """A code with the values that are known."""
    return Statement(code=code, values=known(values))


def unit_of(name: str) -> str:
    """The unit that a value's name states; "" for a plain number or text."""
    return next((unit for part, unit, _ in _UNITS if _has(name, part)), "")


def render(kind: str, code: str, values: Values) -> str:
    """The text of a code.

    Raises:
        KeyError: the catalog has no such code, or a value outside brackets is not known.
    """
    have = known(values)

    def optional(part: re.Match[str]) -> str:
        names = {name for name, _ in _VALUE.findall(part[1])}
        return part[1] if names <= have.keys() else ""

    text = _OPTIONAL.sub(optional, template(kind, code))
    text = _VALUE.sub(lambda found: _printed(found[1], have[found[1]], found[2] or ""), text)
    return capitalized(text) if text.endswith(".") else text


def template(kind: str, code: str) -> str:
    """The template of a code, or of the code before its last period."""
    own, general = templates()[kind], code
    while general not in own and "." in general:
        general = general.rpartition(".")[0]
    return own[general]


def capitalized(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def uncapitalized(name: str) -> str:
    """A state's name within a sentence."""
    return name if name.startswith("Nagle") else name[:1].lower() + name[1:]


def listed(parts: list[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _printed(name: str, value: Value, spec: str) -> str:
    if isinstance(value, list):
        return _list(name, value)
    if isinstance(value, str):
        return value
    if "|" in spec:
        return count(round(value), *spec.split("|"))
    if spec:
        return significant(value, int(spec))
    printer = next((printer for part, _, printer in _UNITS if _has(name, part)), None)
    return f"{value:,}" if printer is None else printer(value)


def _list(name: str, values: list[str]) -> str:
    if name == "states":
        return listed(list(dict.fromkeys(uncapitalized(state) for state in _states(values))), "or")
    if name == "causes":
        return listed([template("limit", cause) for cause in values], "or")
    return listed(values)


def _states(values: list[str]) -> list[str]:
    """The names of states; those of a path in one, whichever it was."""
    if not set(OF_PATH) <= set(values):
        return [name_of(state) for state in values]
    others = [name_of(state) for state in values if state not in {*OF_PATH, SenderState.UNKNOWN}]
    is_guess = SenderState.UNKNOWN in values
    return ["held by the path" + (", as far as this evidence shows" if is_guess else ""), *others]


def _has(name: str, part: str) -> bool:
    return f"_{part}_" in f"_{name}_"


def interval_text(low: float | None, high: float | None, digits: int = 3) -> str | None:
    """`2.80–3.40`; None where an end is not known."""
    return None if low is None or high is None else f"{significant(low, digits)}–{significant(high, digits)}"


def change_text(change: Mapping[str, Level]) -> str:
    """`window_bytes = 262,144 bytes, no_delay = true`."""
    return ", ".join(f"{name} = {_level(name, level)}" for name, level in change.items())


def _level(name: str, level: Level) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    unit = BY_NAME[name].unit if name in BY_NAME else ""
    is_count = isinstance(level, int | float)
    return (f"{level:,}" if is_count else str(level)) + (f" {unit}" if unit and is_count and unit != name else "")
