"""Where an axis has its ticks, and what they say."""

import math
from collections.abc import Callable

from whyperf.report.layout import Axis
from whyperf.report.words import factor_unit, level_text

MOST = 8
"""Labels that fit a chart 340 pixels wide."""


def axis_ticks(axis: Axis) -> tuple[list[float], dict[float, str]]:
    """Positions and labels for a factor: its levels where they are few, round numbers otherwise."""
    values = axis.values()
    if not axis.numeric or axis.geometric or len(values) <= MOST:
        shown = set(axis.thinned(MOST)) if axis.numeric else set(axis.levels)
        pairs = [(value, level) for value, level in zip(values, axis.levels, strict=True) if level in shown]
        if axis.numeric:
            pairs = _apart(pairs, math.log if axis.geometric else float)
        return [value for value, _ in pairs], {value: short(axis.factor, level) for value, level in pairs}
    step = _step(max(values) - min(0.0, *values), binary=factor_unit(axis.factor) == "bytes")
    first = math.ceil(min(values) / step) * step
    count = int((max(values) - first) // step) + 1
    ticks = [first + index * step for index in range(count)]
    return ticks, {tick: short(axis.factor, int(tick) if tick.is_integer() else tick) for tick in ticks}


def short(factor: str, level: object) -> str:
    """A level as short as an axis needs it: 16384 bytes -> `16 Ki`, 52428 -> `52,428`."""
    if factor_unit(factor) == "bytes" and isinstance(level, int) and level >= 1024:
        for size, prefix in ((1 << 20, "Mi"), (1 << 10, "Ki")):
            if level % size == 0:
                return f"{level // size} {prefix}"
    return level_text(level)


def _step(span: float, *, binary: bool) -> float:
    """The smallest power of two, or 1, 2, 5 times a power of ten, that gives at most `MOST` ticks."""
    wanted = span / MOST
    if binary:
        return float(2 ** math.ceil(math.log2(wanted)))
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted)


def _apart(pairs: list[tuple[float, object]], place: Callable[[float], float]) -> list[tuple[float, object]]:
    """Leaves out labels that would touch the next one; the last is kept. `place` is where a value stands."""
    places = [place(value) for value, _ in pairs]
    least = (max(places) - min(places)) / MOST * 0.8
    kept = len(pairs) - 1
    chosen = pairs[-1:]
    for index in range(kept - 1, -1, -1):
        if places[kept] - places[index] >= least:
            chosen.insert(0, pairs[index])
            kept = index
    return chosen
