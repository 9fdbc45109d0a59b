"""Where a sequence of runs repeats itself.

A sequence has period p where it equals itself p runs later. Stretches of one period are separated
by what they repeat, whatever they begin with: by the sum over one cycle of a hash of each pair of
neighbors, which no rotation changes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.flow.payloads import Runs

LONGEST_PERIOD = 64
"""Runs of a cycle."""

MIN_REPETITIONS = 3
"""Of a stretch."""

MIN_RATIO = 0.05
"""Part of the segments that a cycle must cover to be found."""

ENOUGH_RATIO = 0.99
"""A cycle that covers so much ends the search: no longer one could cover more."""

SAMPLES = 32
SAMPLE_RUNS = 4096
"""Of a long sequence so many samples, spread evenly, show which periods are worth a search of all of it."""

PROMISING_RATIO = 0.5
"""Part of a sample that must equal itself a period later."""

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Repeat:
    """A cycle of `period_runs`, and the stretches of runs, from `starts` to `stops` (exclusive), that repeat it.

    Stretches are ascending and do not overlap; `covered` are the segments of each.
    """

    period_runs: int
    period_segments: int
    starts: Ints
    stops: Ints
    covered: Ints

    @property
    def segments_count(self) -> int:
        """Segments covered."""
        return int(self.covered.sum())

    def runs(self) -> Ints:
        """Numbers of the runs covered, ascending."""
        lengths = self.stops - self.starts
        offsets = np.cumsum(lengths) - lengths
        numbers: Ints = np.arange(lengths.sum()) + np.repeat(self.starts - offsets, lengths)
        return numbers

    def long_ones(self, cycles: int, segments: float) -> "Repeat":
        """Only the stretches of at least so many repetitions and segments."""
        kept = self.covered >= max(cycles * self.period_segments, segments)
        return Repeat(self.period_runs, self.period_segments, self.starts[kept], self.stops[kept], self.covered[kept])


def find_repeats(runs: Runs) -> list[Repeat]:
    """All cycles with stretches of 3 repetitions or more that cover 5 % of the segments or more, shorter cycles first.

    A single payload that repeats is a cycle of one run, whose repetitions are its segments.
    """
    before = np.append(0, np.cumsum(runs.repeats))
    segments = int(before[-1])
    least = MIN_RATIO * segments
    found = [repeat for repeat in _constant(runs) if repeat.segments_count >= least]
    keys = _mixed(runs.size.astype(np.uint64) << np.uint64(40) | runs.repeats.astype(np.uint64))
    pairs = np.cumsum(_mixed(keys[:-1] ^ (keys[1:] << np.uint64(1))), dtype=np.uint64)
    for period in _promising(keys):
        candidates = _repeats(keys, pairs, before, period, least)
        enough = [repeat for repeat in candidates if repeat.segments_count >= least]
        found += enough
        if any(repeat.segments_count >= ENOUGH_RATIO * segments for repeat in enough):
            break
    return found


def _constant(runs: Runs) -> Iterator[Repeat]:
    """Payloads that come several times in a row."""
    several = np.flatnonzero(runs.repeats >= MIN_REPETITIONS)
    for size in np.unique(runs.size[several]):
        at = several[runs.size[several] == size]
        yield Repeat(1, 1, at, at + 1, runs.repeats[at])


def _promising(keys: Hashes) -> Iterator[int]:
    """Periods for which some sample of the sequence repeats itself."""
    longest = min(LONGEST_PERIOD, keys.size // MIN_REPETITIONS)
    samples: Sequence[Hashes] = [keys]
    if keys.size > SAMPLES * SAMPLE_RUNS:
        starts = np.linspace(0, keys.size - SAMPLE_RUNS, SAMPLES).astype(np.int64)
        samples = [keys[start : start + SAMPLE_RUNS] for start in starts]
    for period in range(2, longest + 1):
        if len(samples) == 1 or any((part[period:] == part[:-period]).mean() >= PROMISING_RATIO for part in samples):
            yield period


def _repeats(keys: Hashes, pairs: Hashes, before: Ints, period: int, least: float) -> Iterator[Repeat]:
    """The cycles of one period that may cover `least` segments."""
    equal = np.zeros(keys.size - period + 2, dtype=np.int8)
    equal[1:-1] = keys[period:] == keys[:-period]
    edges = np.diff(equal)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    is_long = ends - starts >= (MIN_REPETITIONS - 1) * period
    starts, ends = starts[is_long], ends[is_long]
    cycles = pairs[starts + period - 1] - np.where(starts > 0, pairs[np.maximum(starts, 1) - 1], np.uint64(0))
    same, index = np.unique(cycles, return_inverse=True)
    lengths = before[ends + period] - before[starts]
    enough = np.bincount(index, weights=lengths, minlength=same.size) >= least
    for cycle in np.flatnonzero(enough):
        own = index == cycle
        first, last = starts[own], ends[own] + period
        # A stretch may begin where the one before still ends its last repetition.
        first[1:] = np.maximum(first[1:], last[:-1])
        yield Repeat(
            period_runs=period,
            period_segments=int(before[first[0] + period] - before[first[0]]),
            starts=first,
            stops=last,
            covered=before[last] - before[first],
        )


def _mixed(hashes: Hashes) -> Hashes:
    """A hash of each word (the finalizer of SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    mixed = hashes + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
