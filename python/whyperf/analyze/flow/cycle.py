"""The repetition of a sequence of payloads: "100, 1400, 100, 1400 ..."."""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.flow.payloads import Runs
from whyperf.analyze.flow.repeats import Repeat, find_repeats
from whyperf.analyze.text import count, percent

COVERED_RATIO = 0.9
"""The part that a cycle must cover to be the pattern of the connection."""

PART_RATIO = 0.05
"""The part that a cycle must cover to be reported at all."""

PART_REPETITIONS = 8
LONG_RATIO = 0.01
"""Of a part, what each stretch must have: so many repetitions, and this part of all segments."""

FEWEST_SEGMENTS = 6
FREQUENT = 10


@dataclass(frozen=True)
class Cycle:
    """A repeating cycle. `payloads` are one repetition as (bytes, how often in a row), beginning as the
    first repetition did; `period_segments` its length; `repeats` the repetitions; the ratios what they cover of
    all segments and of all bytes; `first_segment`, `last_segment` where it is first and last seen.
    """

    payloads: tuple[tuple[int, int], ...]
    period_segments: int
    repeats: int
    segments_ratio: float
    bytes_ratio: float
    first_segment: int
    last_segment: int

    @property
    def text(self) -> str:
        """One cycle as text: "100, 1400" or "1448 × 44, 1000"."""
        return ", ".join(f"{size}" if times == 1 else f"{size} × {times}" for size, times in self.payloads)


@dataclass(frozen=True)
class Payloads:
    """The shape of a connection's payloads.

    `cycle` is the one that covers at least 90 % of the segments, None when none does. `parts` are
    the cycles that cover at least 5 %, by where they begin: phases of a connection that changes.
    `frequent` are the most frequent payloads as (bytes, part of all segments), at most ten.
    `words` says it in a sentence.
    """

    cycle: Cycle | None
    parts: tuple[Cycle, ...]
    frequent: tuple[tuple[int, float], ...]
    segments_count: int
    words: str


def find_payloads(payloads: Runs) -> Payloads:
    """The pattern of `payloads`, as of `payload_sequence`.

    A cycle is sought in the runs of equal payloads, so that its length in segments does not matter:
    up to 64 runs a cycle. Of several that cover enough, it is the shortest, unless a longer one
    leaves out less than half of what the shorter does. A part is made of stretches of at least 8
    cycles and 1 % of the connection: a random mixture has short repetitions as well.
    """
    segments = payloads.segments_count
    frequent = _frequent(payloads)
    if segments < FEWEST_SEGMENTS:
        return Payloads(None, (), frequent, segments, f"{count(segments, 'segment')} only, too few for a cycle.")
    repeats = find_repeats(payloads)
    main = _main(repeats, segments)
    parts = _parts([repeat.long_ones(PART_REPETITIONS, LONG_RATIO * segments) for repeat in repeats], payloads, main)
    cycle = None if main is None else _cycle(main, payloads)
    reported = tuple(sorted((_cycle(part, payloads) for part in parts), key=lambda part: part.first_segment))
    return Payloads(cycle, reported, frequent, segments, _in_text(cycle, reported, frequent, segments))


def find_cycles(payloads: Runs) -> list[Repeat]:
    """The cycles of `find_payloads`, with where they repeat; the pattern of all, if there is one, is first."""
    segments = payloads.segments_count
    if segments < FEWEST_SEGMENTS:
        return []
    repeats = find_repeats(payloads)
    long = [repeat.long_ones(PART_REPETITIONS, LONG_RATIO * segments) for repeat in repeats]
    return _parts(long, payloads, _main(repeats, segments))


def _main(repeats: list[Repeat], segments: int) -> Repeat | None:
    """The cycle of the connection, if it has one."""
    found: Repeat | None = None
    for repeat in sorted(repeats, key=lambda repeat: repeat.period_segments):
        if repeat.segments_count < COVERED_RATIO * segments:
            continue
        if found is None or segments - repeat.segments_count < (segments - found.segments_count) / 2:
            found = repeat
    return found


def _parts(repeats: list[Repeat], payloads: Runs, main: Repeat | None) -> list[Repeat]:
    """The main cycle, then others, each covering at least a part that those before it do not."""
    found: list[Repeat] = []
    taken = np.zeros(payloads.size.size, dtype=np.bool_)
    candidates = sorted(repeats, key=lambda repeat: (-repeat.segments_count, repeat.period_segments))
    for repeat in [main, *candidates] if main else candidates:
        if repeat.segments_count < PART_RATIO * payloads.segments_count:
            continue
        own = repeat.runs()
        own = own[~taken[own]]
        if int(payloads.repeats[own].sum()) >= PART_RATIO * payloads.segments_count:
            found.append(repeat)
            taken[own] = True
    return found


def _cycle(repeat: Repeat, payloads: Runs) -> Cycle:
    runs = repeat.runs()
    cycle = slice(runs[0], runs[0] + repeat.period_runs)
    sizes = payloads.size[cycle].tolist()
    times = [1] if repeat.period_segments == 1 else payloads.repeats[cycle].tolist()
    octets = payloads.size * payloads.repeats
    return Cycle(
        payloads=tuple(zip(sizes, times, strict=True)),
        period_segments=repeat.period_segments,
        repeats=repeat.segments_count // repeat.period_segments,
        segments_ratio=repeat.segments_count / payloads.segments_count,
        bytes_ratio=float(octets[runs].sum() / octets.sum()),
        first_segment=int(payloads.repeats[: runs[0]].sum()),
        last_segment=int(payloads.repeats[: runs[-1] + 1].sum()) - 1,
    )


def _frequent(payloads: Runs) -> tuple[tuple[int, float], ...]:
    """The most frequent payloads with their parts of all segments; of equal ones the smaller first."""
    sizes, index = np.unique(payloads.size, return_inverse=True)
    counts = np.bincount(index, weights=payloads.repeats, minlength=sizes.size)
    first = np.lexsort((sizes, -counts))[:FREQUENT]
    return tuple((int(sizes[at]), float(counts[at] / payloads.segments_count)) for at in first)


def _in_text(
    cycle: Cycle | None, parts: tuple[Cycle, ...], frequent: tuple[tuple[int, float], ...], segments: int
) -> str:
    if cycle is not None:
        covered = f"{percent(cycle.segments_ratio)} of {count(segments, 'segment')}"
        if cycle.period_segments == 1:
            return f"The payload stays at {cycle.text} bytes: {covered}."
        return f"The payloads repeat as {cycle.text}: {covered}."
    most = ", ".join(f"{size} ({percent(ratio)})" for size, ratio in frequent[:5])
    text = f"No repeating cycle in {count(segments, 'segment')}. Most frequent: {most}."
    if parts:
        phases = ", then ".join(f"{part.text} ({percent(part.segments_ratio)})" for part in parts)
        text += f" In parts it repeats: {phases}."
    return text
