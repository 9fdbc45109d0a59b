"""Positions and labels of the ticks of an axis."""

import math
from collections.abc import Callable, Sequence

from whyperf.analyze.text import factor_unit, level_text
from whyperf.profile.factor import cpus_of_list
from whyperf.report.charts.layout import Axis

MAX_TICKS = 8
"""Short labels that fit a chart on a narrow screen."""

NARROWEST, CHARACTER, GAP = 250, 6.6, 8
"""In pixels: the axis of a chart on a screen of 400, a character of a label, and the gap between two labels."""


def axis_ticks(axis: Axis) -> tuple[list[float], dict[float, str]]:
    """Positions and labels for a factor: its levels where they are few, round numbers otherwise."""
    values = axis.values()
    if not axis.numeric or axis.geometric or len(values) <= MAX_TICKS:
        shown = set(axis.thinned(MAX_TICKS)) if axis.numeric else set(axis.levels)
        pairs = [(value, level) for value, level in zip(values, axis.levels, strict=True) if level in shown]
        if axis.numeric:
            texts = _texts(axis, [level for _, level in pairs])
            labels = [(value, text) for (value, _), text in zip(pairs, texts, strict=True)]
            labels = _apart(labels, math.log if axis.geometric else float)
            return [value for value, _ in labels], dict(labels)
        return [value for value, _ in pairs], {value: short(axis.factor, level) for value, level in pairs}
    step = _step(max(values) - min(0.0, *values), binary=factor_unit(axis.factor) == "bytes")
    first = math.ceil(min(values) / step) * step
    count = int((max(values) - first) // step) + 1
    ticks = [first + index * step for index in range(count)]
    return ticks, {tick: short(axis.factor, int(tick) if tick.is_integer() else tick) for tick in ticks}


def short(factor: str, level: object) -> str:
    """A level as a short label: 16384 bytes -> `16 Ki`, 52428 -> `52,428`."""
    if factor_unit(factor) == "bytes" and isinstance(level, int) and level >= 1024:
        for size, prefix in ((1 << 20, "Mi"), (1 << 10, "Ki")):
            if level % size == 0:
                return f"{level // size} {prefix}"
    return level_text(level)


def _step(span: float, *, binary: bool) -> float:
    """The smallest power of two, or 1, 2, 5 times a power of ten, that gives at most `MAX_TICKS` ticks."""
    wanted = span / MAX_TICKS
    if binary:
        return float(2 ** math.ceil(math.log2(wanted)))
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted)


def bar_labels(axis: Axis, levels: Sequence[object]) -> list[str]:
    """The labels of bars, one per level."""
    return _texts(axis, levels)


def _texts(axis: Axis, levels: Sequence[object]) -> list[str]:
    """Short texts of levels in one notation: with Ki and Mi only if all large levels are multiples."""
    if axis.counts_cpus:
        return [str(len(cpus_of_list(str(level)))) for level in levels]
    large = [level for level in levels if isinstance(level, int) and level >= 1024]
    is_binary = all(level % 1024 == 0 for level in large)
    return [short(axis.factor, level) if is_binary else level_text(level) for level in levels]


def fit_in_a_row(names: Sequence[str]) -> bool:
    """Whether names at equal distances do not touch on the narrowest screen."""
    return max(map(len, names), default=0) * CHARACTER * len(names) <= NARROWEST


def _apart(pairs: list[tuple[float, str]], place: Callable[[float], float]) -> list[tuple[float, str]]:
    """Leaves out labels that would touch the next one; the last is kept. `place` returns the position of a value."""
    places = [place(value) for value, _ in pairs]
    span = max(places) - min(places)
    kept = len(pairs) - 1
    chosen = pairs[-1:]
    for index in range(kept - 1, -1, -1):
        needed = (len(pairs[index][1]) + len(pairs[kept][1])) / 2 * CHARACTER + GAP
        if (places[kept] - places[index]) * NARROWEST >= needed * span:
            chosen.insert(0, pairs[index])
            kept = index
    return chosen
