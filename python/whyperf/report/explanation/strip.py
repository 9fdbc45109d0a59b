"""The send pattern: the segments of one cycle, and the phases over the duration of the connection."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whyperf.analyze.text import count, percent, seconds, significant
from whyperf.explain.explanation import Budget, CyclePlace, Pattern, Phase
from whyperf.explain.wording.catalog import render

MAX_PLACES = 16
"""At most this many segments of a cycle are drawn."""
MAX_PATTERNS = 4
"""The patterns of at most this many connections are drawn."""
MIN_WIDTH = 2.2
MAX_WIDTH = 11.0
"""Widths of a payload's box in em: the smallest and the largest payload of the cycle."""


@dataclass(frozen=True)
class Place:
    """A segment of a cycle: its box, the wait before it, and what released it."""

    payload: str
    times: str
    width: str
    wait: str
    held: str
    released: str
    by_ack: bool


@dataclass(frozen=True)
class PhaseView:
    """A phase: its position in the connection (in percent), its cycle, and its text."""

    number: int
    left: str
    width: str
    time: str
    text: str
    changed_by: str
    places: tuple[Place, ...]
    more_places: int
    cycles: str
    facts: tuple[str, ...]
    is_main: bool = False


@dataclass(frozen=True)
class Strip:
    """The pattern of one connection."""

    title: str
    text: str
    phases: tuple[PhaseView, ...]
    missing: tuple[str, ...]


def strips_of(patterns: Sequence[Pattern], budgets: Sequence[Budget]) -> list[Strip]:
    """The patterns of the first connections of a trial."""
    several = len(patterns) > 1
    return [_strip(pattern, budgets, several=several) for pattern in patterns[:MAX_PATTERNS]]


def _strip(pattern: Pattern, budgets: Sequence[Budget], *, several: bool) -> Strip:
    start, end = _duration(pattern, budgets)
    longest = max((phase.ratio for phase in pattern.phases), default=0.0)
    views = [(phase, _phase(number, phase, start, end)) for number, phase in enumerate(pattern.phases, 1)]
    phases = tuple(replace(view, is_main=phase.ratio == longest) for phase, view in views)
    title = f"Connection {pattern.connection}" if several else ""
    return Strip(title, pattern.words, phases, tuple(pattern.missing))


def _duration(pattern: Pattern, budgets: Sequence[Budget]) -> tuple[int, int]:
    own = [budget for budget in budgets if budget.connection == pattern.connection]
    spans = [(part.begin_ns, part.end_ns) for part in own] + [(part.begin_ns, part.end_ns) for part in pattern.phases]
    return min((first for first, _ in spans), default=0), max((last for _, last in spans), default=1)


def _phase(number: int, phase: Phase, start: int, end: int) -> PhaseView:
    length = max(1, end - start)
    cycle = phase.turn or [CyclePlace(payload_bytes=size, times=times) for size, times in phase.payloads]
    largest = max((place.payload_bytes for place in cycle), default=1)
    cycles = count(phase.turns, "cycle") if phase.turns else ""
    if cycles and phase.turn_ns:
        cycles += f" of {seconds(phase.turn_ns)}"
    return PhaseView(
        number=number,
        left=f"{100 * (phase.begin_ns - start) / length:.2f}",
        width=f"{100 * (phase.end_ns - phase.begin_ns) / length:.2f}",
        time=f"{seconds(phase.begin_ns)} to {seconds(phase.end_ns)}, {percent(phase.ratio)} of the connection",
        text=phase.words,
        changed_by=phase.changed_by,
        places=tuple(_place(place, largest) for place in cycle[:MAX_PLACES]),
        more_places=max(0, len(cycle) - MAX_PLACES),
        cycles=cycles,
        facts=tuple(_facts(phase)),
    )


def _place(place: CyclePlace, largest: int) -> Place:
    share = (place.payload_bytes / largest) ** 0.5 if largest else 0
    released = render("released", place.released_by, {})
    if released and 0 < place.ratio < 0.995:
        released += f" in {percent(place.ratio)} of the cycles"
    if place.ack_reason and place.released_by in {"ack", "woken"}:
        released += f" (ACK: {place.ack_reason.replace('_', ' ')})"
    return Place(
        payload=f"{place.payload_bytes:,}",
        times=f"× {place.times}" if place.times > 1 else "",
        width=f"{MIN_WIDTH + (MAX_WIDTH - MIN_WIDTH) * share:.1f}",
        wait=f"{seconds(place.wait_ns)} later" if place.wait_ns else "",
        held=render("held", place.held_by, {}) if place.held_by else "",
        released=released,
        by_ack=place.released_by in {"ack", "woken"},
    )


def _facts(phase: Phase) -> list[str]:
    facts = [render("phase", "who_waits", {"waits": phase.waits})] if phase.waits else []
    if phase.acks_per_turn is not None:
        reasons = ", ".join(
            f"{reason.replace('_', ' ')} {significant(many, 2)}" for reason, many in phase.ack_reasons.items()
        )
        facts.append(render("phase", "acks", {"acks_per_cycle": phase.acks_per_turn, "reasons": reasons or None}))
    if phase.stop_and_go_ratio is not None:
        facts.append(render("phase", "stop_and_go", {"stop_and_go_ratio": phase.stop_and_go_ratio}))
    if phase.outstanding_bytes is not None and phase.window_bytes is not None:
        sizes = {"flight_bytes": phase.outstanding_bytes, "window_bytes": phase.window_bytes}
        facts.append(render("phase", "in_flight", sizes))
    return facts
