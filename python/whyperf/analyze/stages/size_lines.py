"""Lines through the processing times of packets of several sizes: a time for each packet, and one for each byte."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whyperf.analyze.stages.kinds import BY_DIRECTION
from whyperf.analyze.stages.sizes import SizePoint


@dataclass(frozen=True)
class SizeLine:
    """A line of all stages (`total`) or of the driver alone, in ns; `misfit_ratio` is the largest distance of a size
    from it, as part of the size's time.
    """

    direction: str
    kind: Literal["total", "driver"]
    fixed_ns: float
    ns_per_byte: float
    misfit_ratio: float


def size_lines(points: Sequence[SizePoint]) -> list[SizeLine]:
    """The lines of both directions, by least squares of relative distances; none of a single size, or of no time.

    Distances are relative because times of the largest packets are tens of times those of the smallest.
    """
    kinds: tuple[Literal["total", "driver"], ...] = ("total", "driver")
    found = [
        _line(direction, kind, [point for point in points if point.direction == direction])
        for direction in BY_DIRECTION
        for kind in kinds
    ]
    return [line for line in found if line is not None]


def _line(direction: str, kind: Literal["total", "driver"], points: Sequence[SizePoint]) -> SizeLine | None:
    sizes = np.array([point.packet_bytes for point in points])
    times = np.array([(point.cpu_ns if kind == "total" else point.driver_ns).value for point in points])
    if np.unique(np.round(sizes)).size < 2 or not (times > 0).all():
        return None
    design = np.stack([1 / times, sizes / times], axis=1)
    fixed, per_byte = np.linalg.lstsq(design, np.ones(times.size), rcond=None)[0]
    misfit = float(np.max(np.abs((fixed + per_byte * sizes) / times - 1)))
    return SizeLine(direction, kind, float(fixed), float(per_byte), misfit)
