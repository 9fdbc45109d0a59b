"""Which stretches of a connection repeat which cycle, in order of time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.flow import Runs
from whyperf.analyze.flow.cycle import find_cycles
from whyperf.analyze.flow.repeats import Repeat

Ints = NDArray[np.int64]

GAP_REPETITIONS = 4
GAP_RATIO = 0.1
"""Two stretches of one cycle are one if between them are at most so many repetitions, or this part of both together."""

MAX_PHASES = 12
"""A connection that changes more often goes back and forth: each of its cycles is reported once."""


@dataclass(frozen=True)
class Stretch:
    """Entries `start` to `stop` (exclusive) of a sequence; the spans in `inner` repeat a cycle of `period` entries.

    `returns` is how often the cycle began, 1 unless a connection goes back and forth.
    """

    start: int
    stop: int
    period: int
    inner: tuple[tuple[int, int], ...]
    returns: int = 1

    @property
    def covered(self) -> int:
        """Entries in the spans."""
        return sum(stop - start for start, stop in self.inner)


def find_stretches(runs: Runs) -> list[Stretch]:
    """The phases of a sequence, by where they begin. Entries of a phase that break its cycle are in no span of it."""
    before = np.append(0, np.cumsum(runs.repeats))
    spans: list[tuple[int, int, int, Repeat]] = []
    taken = np.zeros(runs.size.size, dtype=np.bool_)
    for number, repeat in enumerate(find_cycles(runs)):
        for start, stop in zip(repeat.starts.tolist(), repeat.stops.tolist(), strict=True):
            if not taken[start:stop].any():
                spans.append((int(before[start]), int(before[stop]), number, repeat))
        taken[repeat.runs()] = True
    spans.sort(key=lambda span: span[0])
    found = _joined(spans)
    return found if len(found) <= MAX_PHASES else _by_cycle(spans)


def _joined(spans: list[tuple[int, int, int, Repeat]]) -> list[Stretch]:
    """Neighbors of one cycle as one, if little lies between."""
    groups: list[tuple[int, int, list[tuple[int, int]]]] = []
    for start, stop, number, repeat in spans:
        if groups and groups[-1][0] == number:
            inner = groups[-1][2]
            gap, both = start - inner[-1][1], stop - start + inner[-1][1] - inner[0][0]
            if gap <= max(GAP_REPETITIONS * repeat.period_segments, GAP_RATIO * both):
                inner.append((start, stop))
                continue
        groups.append((number, repeat.period_segments, [(start, stop)]))
    return [Stretch(inner[0][0], inner[-1][1], period, tuple(inner)) for _, period, inner in groups]


def _by_cycle(spans: list[tuple[int, int, int, Repeat]]) -> list[Stretch]:
    """Each cycle once, from its first repetition to its last."""
    inner: dict[int, list[tuple[int, int]]] = {}
    periods: dict[int, int] = {}
    for start, stop, number, repeat in spans:
        inner.setdefault(number, []).append((start, stop))
        periods[number] = repeat.period_segments
    return [Stretch(own[0][0], own[-1][1], periods[number], tuple(own), len(own)) for number, own in inner.items()]
