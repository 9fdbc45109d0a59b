"""Positions and labels of the ticks of an axis."""

import math
from collections.abc import Callable, Sequence

from whyperf.analyze.text import factor_unit, level_text
from whyperf.profile.factor import cpus_of_list
from whyperf.report.charts.layout import Axis, Level

MAX_TICKS = 8
"""Short labels that fit a chart on a narrow screen."""

NARROWEST, CHARACTER, GAP = 250, 6.6, 8
"""In pixels: the axis of a chart on a screen of 400, a character of a label, and the gap between two labels."""


def axis_ticks(axis: Axis, peak: Level = None) -> tuple[list[float], dict[float, str]]:
    """Positions and labels for a factor: its levels where they are few, round numbers otherwise.

    The level `peak` has a tick in any case.
    """
    values = axis.values()
    if not axis.numeric:
        return values, {value: short(axis.factor, level) for value, level in zip(values, axis.levels, strict=True)}
    at_peak = [value for value, level in zip(values, axis.levels, strict=True) if level == peak]
    place = math.log if axis.geometric else float
    if axis.geometric or len(values) <= MAX_TICKS:
        shown = {*axis.thinned(MAX_TICKS), peak}
        pairs = [(value, level) for value, level in zip(values, axis.levels, strict=True) if level in shown]
        texts = _texts(axis, [level for _, level in pairs])
        labels = _apart([(value, text) for (value, _), text in zip(pairs, texts, strict=True)], place, at_peak)
        return [value for value, _ in labels], dict(labels)
    step = _step(max(values) - min(0.0, *values), binary=factor_unit(axis.factor) == "bytes")
    first = math.ceil(min(values) / step) * step
    count = int((max(values) - first) // step) + 1
    ticks = sorted({*(first + index * step for index in range(count)), *at_peak})
    labels = [(tick, short(axis.factor, int(tick) if tick.is_integer() else tick)) for tick in ticks]
    labels = _apart(labels, place, at_peak) if at_peak else labels
    return [value for value, _ in labels], dict(labels)


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
    """True where names at equal distances do not touch on the narrowest screen."""
    return max(map(len, names), default=0) * CHARACTER * len(names) <= NARROWEST


def _apart(
    pairs: list[tuple[float, str]], place: Callable[[float], float], wanted: Sequence[float]
) -> list[tuple[float, str]]:
    """Leaves out labels that would touch another one. The `wanted` are kept, then the last, then those before it.

    `place` returns the position of a value.
    """
    span = place(pairs[-1][0]) - place(pairs[0][0])

    def touch(pair: tuple[float, str], other: tuple[float, str]) -> bool:
        needed = (len(pair[1]) + len(other[1])) / 2 * CHARACTER + GAP
        return abs(place(pair[0]) - place(other[0])) * NARROWEST < needed * span

    chosen = [pair for pair in pairs if pair[0] in wanted]
    for pair in reversed(pairs):
        if pair not in chosen and not any(touch(pair, other) for other in chosen):
            chosen.append(pair)
    return sorted(chosen)
