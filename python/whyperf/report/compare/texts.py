"""Figures of a comparison as text, and what a test says in words."""

from dataclasses import dataclass

from whyperf.analyze.cost.classes import BPF, OWN_BPF
from whyperf.analyze.cost.text import cycles, name_text
from whyperf.analyze.text import bit_rate, percent, seconds, si, significant
from whyperf.compare.comparison import Better, DifferenceTest, FunctionDifference

NONE = "\N{EM DASH}"
MINUS = "\N{MINUS SIGN}"
MANY = 1000
"""Ratios from here on, and below its inverse, are printed as such."""


@dataclass(frozen=True)
class Mark:
    """The result of a test: a sign for small places (empty where nothing is significant), words, and a style.

    `style` is better, worse or changed, empty where nothing is significant.
    """

    sign: str
    text: str
    style: str


def mark_of(test: DifferenceTest, better: Better) -> Mark:
    """The mark of a difference."""
    if test.p_value is None:
        return Mark("", "not tested", "")
    if not test.is_significant:
        return Mark("", "not significant", "")
    if test.difference == 0:
        return Mark("*", "significant", "changed")
    direction = "higher" if test.difference > 0 else "lower"
    if better == "neither":
        return Mark("*", f"{direction} *", "changed")
    style = "better" if direction == better else "worse"
    return Mark("*", f"{direction}, {style} *", style)


def ratio_text(ratio: float | None) -> str:
    """A ratio of B to A.

    >>> ratio_text(1.2345), ratio_text(None), ratio_text(123456.0)
    ('1.23 ×', '—', '> 1,000 ×')
    """
    if ratio is None:
        return NONE
    if ratio >= MANY:
        return f"> {MANY:,} ×"
    return f"< {1 / MANY:g} ×" if 0 < ratio < 1 / MANY else f"{significant(ratio)} ×"


def range_text(low: float | None, high: float | None) -> str:
    """An interval of ratios."""
    if low is None or high is None:
        return NONE
    first, last = (ratio_text(value).removesuffix(" ×") for value in (low, high))
    return f"{first} – {last}"


def value_text(unit: str, value: float) -> str:
    """A figure in its unit."""
    match unit:
        case "bit/s":
            return bit_rate(value)
        case "ns":
            return seconds(value)
        case "ratio":
            return percent(value) if value >= 0.0005 or value == 0 else f"{significant(value * 1e6, 2)} ppm"
        case "1/s":
            return si(value, "/s")
        case "cycles/KByte" | "cycles/transaction":
            return cycles(value)
    return significant(value)


def signed(value: float, text: str) -> str:
    """The text of |value| with the sign of the value."""
    return f"{'+' if value > 0 else MINUS if value < 0 else ''}{text}"


def signed_cycles(value: float) -> str:
    """A difference of cycles.

    >>> signed_cycles(1234.5), signed_cycles(0.0)
    ('+1,234', '0')
    """
    # Of rounding, no digits are shown.
    return "0" if abs(value) < 1e-6 else signed(value, cycles(abs(value)))


def signed_value(unit: str, value: float) -> str:
    """A difference of figures in their unit."""
    return signed(value, value_text(unit, abs(value)))


def cycles_range(test: DifferenceTest) -> str:
    """The interval of a difference of cycles."""
    if test.low is None or test.high is None:
        return NONE
    return f"{signed_cycles(test.low)} to {signed_cycles(test.high)}"


def function_text(function: FunctionDifference) -> str:
    """The name of a function of both cells; that of a BPF program has no tag any more."""
    name, kind = function.name or "", function.kind or ""
    return f"{name} (BPF)" if kind in {BPF, OWN_BPF} else name_text(name, kind, function.object or "")
