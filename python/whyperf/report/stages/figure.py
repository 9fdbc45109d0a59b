"""Processing time against the size of packets, as HTML and SVG: all stages, and the driver's alone.

It is the figure of the study of TCP over ATM by Moldeklev, Klovning and Kure, for this host. Axes are logarithmic, so
that the fixed cost of small packets and the bytes of large ones both show.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product

from whyperf.analyze.stages import Amount, SizePoint
from whyperf.analyze.text import count, octets, seconds

MAX_TICKS = 7
ROOM = 1.15
"""The axes reach this factor beyond the points."""
TOTAL, DRIVER, MODEL = "total", "driver", "model"


@dataclass(frozen=True)
class Mark:
    """A point at `left` and `bottom` with its interval, all in percent of the drawing, and its text."""

    kind: str
    left: float
    bottom: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Tick:
    """A tick in percent of its axis."""

    place: float
    text: str


@dataclass(frozen=True)
class SizeFigure:
    """A drawing: points, the lines through those of one kind as SVG points, ticks, and the same for screen readers."""

    title: str
    marks: Sequence[Mark]
    paths: Sequence[tuple[str, str]]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    description: str


@dataclass(frozen=True)
class ModelPoint:
    """The model's times for packets of a size, in ns."""

    packet_bytes: float
    cpu_ns: float
    driver_ns: float


def size_figures(
    groups: Mapping[str, Sequence[SizePoint]], model: Mapping[str, Mapping[str, Sequence[ModelPoint]]] | None = None
) -> list[SizeFigure]:
    """Of each group the drawing for sending and that for receiving, all on the same axes.

    None are drawn without at least two sizes. `groups` are by what the title says of them, empty for nothing. `model`
    has points of the model next to those of the host, by group and direction.
    """
    points = [point for own in groups.values() for point in own]
    if len({round(point.packet_bytes) for point in points}) < 2:
        return []
    modeled = [point for of_group in (model or {}).values() for own in of_group.values() for point in own]
    sizes = [*(point.packet_bytes for point in points), *(point.packet_bytes for point in modeled)]
    times = [time for point in points for time in (point.cpu_ns.value, point.driver_ns.value) if time > 0]
    times += [time for own in modeled for time in (own.cpu_ns, own.driver_ns) if time > 0]
    x, y = _LogAxis(min(sizes), max(sizes)), _LogAxis(min(times), max(times))
    x_ticks, y_ticks = tuple(x.ticks(2, _size_text)), tuple(y.ticks(10, seconds))
    figures = []
    for name, (direction, verb) in product(groups, (("out", "Sending"), ("in", "Receiving"))):
        own = _together([point for point in groups[name] if point.direction == direction])
        if not own:
            continue
        title = f"{verb}, {name}" if name else verb
        marks = [mark for point in own for mark in _marks(point, x, y)]
        paths = [(kind, _path(list(of_kind))) for kind, of_kind in groupby(sorted(marks, key=_kind), _kind)]
        for line_name, of_point in (("model total", "cpu_ns"), ("model driver", "driver_ns")):
            known = (model or {}).get(name, {}).get(direction, ())
            line = [(x.place(p.packet_bytes), 100 - y.place(getattr(p, of_point))) for p in known]
            if any(getattr(p, of_point) > 0 for p in known):
                paths.append((line_name, " ".join(f"{left:g},{top:g}" for left, top in line)))
        figures.append(SizeFigure(title, marks, paths, x_ticks, y_ticks, _description(title, own)))
    return figures


def _together(points: Sequence[SizePoint]) -> list[SizePoint]:
    """The points in the order of their sizes; those of one size, as of the same answers in several cells, are one:
    means weighted by packets.
    """
    found = []
    ordered = sorted(points, key=lambda point: round(point.packet_bytes))
    for _, group in groupby(ordered, key=lambda point: round(point.packet_bytes)):
        alike = list(group)
        packets = sum(point.packets for point in alike)
        cpu, driver = (
            _mean([getattr(point, name) for point in alike], [point.packets / packets for point in alike])
            for name in ("cpu_ns", "driver_ns")
        )
        size = sum(point.packet_bytes * point.packets for point in alike) / packets
        found.append(SizePoint(alike[0].host, alike[0].direction, size, packets, cpu, driver))
    return found


def _mean(amounts: Sequence[Amount], weights: Sequence[float]) -> Amount:
    """A weighted mean; its interval is that of the weighted ends, which is no narrower than that of the mean."""

    def of(parts: Sequence[float | None]) -> float | None:
        known = [part * weight for part, weight in zip(parts, weights, strict=True) if part is not None]
        return sum(known) if len(known) == len(parts) else None

    value, low, high = (of(parts) for parts in zip(*amounts, strict=True))
    return Amount(value or 0.0, low, high)


def _kind(mark: Mark) -> str:
    return mark.kind


def _marks(point: SizePoint, x: "_LogAxis", y: "_LogAxis") -> Iterator[Mark]:
    for kind, name, time in ((TOTAL, "all stages", point.cpu_ns), (DRIVER, "driver", point.driver_ns)):
        if time.value <= 0:
            continue
        low, high = time.low or time.value, time.high or time.value
        interval = "" if time.low is None else f" ({seconds(low)} to {seconds(high)})"
        text = (
            f"{octets(point.packet_bytes)}, {name}: {seconds(time.value)}{interval}, {count(point.packets, 'packet')}"
        )
        yield Mark(kind, x.place(point.packet_bytes), y.place(time.value), y.place(low), y.place(high), text)


def _path(marks: Sequence[Mark]) -> str:
    """Points of a line in the drawing, whose vertical axis goes down."""
    return " ".join(f"{mark.left:g},{100 - mark.bottom:g}" for mark in sorted(marks, key=lambda mark: mark.left))


def _description(title: str, points: Sequence[SizePoint]) -> str:
    parts = [
        f"{octets(point.packet_bytes)} {seconds(point.cpu_ns.value)}, driver {seconds(point.driver_ns.value)}"
        for point in points
    ]
    return f"{title}, CPU time of a packet against its size: {'; '.join(parts)}."


class _LogAxis:
    """A logarithmic axis with some room on both sides."""

    def __init__(self, low: float, high: float) -> None:
        self._low = math.log(max(low, 1e-9) / ROOM)
        self._high = math.log(max(high, low, 1e-9) * ROOM)

    def place(self, value: float) -> float:
        """In percent."""
        part = (math.log(max(value, 1e-9)) - self._low) / (self._high - self._low)
        return round(100 * min(max(part, 0.0), 1.0), 2)

    def ticks(self, base: int, text: Callable[[float], str]) -> Iterator[Tick]:
        """Powers of a base, also 2 and 5 times those of 10, as many as there is room for."""
        steps = (1, 2, 5) if base == 10 else (1,)
        low, high = (math.floor(self._low / math.log(base)), math.ceil(self._high / math.log(base)))
        values = [step * float(base) ** power for power in range(low, high + 1) for step in steps]
        inside = [value for value in values if self._low <= math.log(value) <= self._high]
        if len(inside) > MAX_TICKS and base == 10:
            inside = [value for value in inside if f"{value:e}"[0] == "1"] or inside
        every = -(-len(inside) // MAX_TICKS)
        for value in inside[::every]:
            yield Tick(self.place(value), text(value))


def _size_text(size: float) -> str:
    for scale, prefix in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if size >= scale:
            return f"{size / scale:g} {prefix}"
    return f"{size:g}"
