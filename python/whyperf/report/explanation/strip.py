"""The pattern as a strip: one turn place by place, and the phases over the connection's life."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whyperf.analyze.text import octets, percent, seconds, significant
from whyperf.explain.model import Budget, Pattern, Phase, TurnSegment

MAX_PLACES = 16
"""Places of a turn that are drawn."""
MAX_PATTERNS = 4
"""Connections whose pattern is drawn."""
LEAST_WIDTH = 2.2
MOST_WIDTH = 11.0
"""Widths of a payload's box in em: the smallest and the largest payload of the turn."""

RELEASED = {
    "ack": "sent as an acknowledgment came in",
    "woken": "written when an acknowledgment had made room",
    "write": "written, and nothing held it",
    "pacing": "let go by the pacing timer",
    "timer": "sent by a timer",
    "worker": "sent by the kernel's own worker",
    "unknown": "",
}
HELD = {
    "window": "waited for the window",
    "congestion_window": "waited for the congestion window",
    "small": "small, waited for an ACK (Nagle)",
    "": "",
}


@dataclass(frozen=True)
class Place:
    """A place of a turn: its box, what comes before it, and what let it go."""

    payload: str
    times: str
    width: str
    wait: str
    held: str
    released: str
    by_ack: bool


@dataclass(frozen=True)
class PhaseView:
    """A phase: where it lies in the life (in per cent), its turn, and its words."""

    number: int
    left: str
    width: str
    time: str
    words: str
    changed_by: str
    places: tuple[Place, ...]
    more_places: int
    turns: str
    facts: tuple[str, ...]
    is_main: bool = False


@dataclass(frozen=True)
class Strip:
    """The pattern of one connection."""

    title: str
    words: str
    phases: tuple[PhaseView, ...]
    missing: tuple[str, ...]
    losses: str


def strips_of(patterns: Sequence[Pattern], budgets: Sequence[Budget]) -> list[Strip]:
    """The strips of a trial's first connections."""
    several = len(patterns) > 1
    return [_strip(pattern, budgets, several=several) for pattern in patterns[:MAX_PATTERNS]]


def _strip(pattern: Pattern, budgets: Sequence[Budget], *, several: bool) -> Strip:
    begin, end = _life(pattern, budgets)
    most = max((phase.ratio for phase in pattern.phases), default=0.0)
    views = [(phase, _phase(number, phase, begin, end)) for number, phase in enumerate(pattern.phases, 1)]
    phases = tuple(replace(view, is_main=phase.ratio == most) for phase, view in views)
    title = f"Connection {pattern.connection}" if several else ""
    return Strip(title, pattern.words, phases, tuple(pattern.missing), _losses(pattern))


def _life(pattern: Pattern, budgets: Sequence[Budget]) -> tuple[int, int]:
    own = [one for one in budgets if one.connection == pattern.connection]
    begins = [*(one.begin_ns for one in own), *(phase.begin_ns for phase in pattern.phases)]
    ends = [*(one.end_ns for one in own), *(phase.end_ns for phase in pattern.phases)]
    return min(begins, default=0), max(ends, default=1)


def _phase(number: int, phase: Phase, begin: int, end: int) -> PhaseView:
    length = max(1, end - begin)
    turn = phase.turn or [TurnSegment(payload_bytes=size, times=times) for size, times in phase.payloads]
    largest = max((one.payload_bytes for one in turn), default=1)
    turns = f"{phase.turns:,} turns" if phase.turns else ""
    if turns and phase.turn_ns:
        turns += f" of {seconds(phase.turn_ns)}"
    return PhaseView(
        number=number,
        left=f"{100 * (phase.begin_ns - begin) / length:.2f}",
        width=f"{100 * (phase.end_ns - phase.begin_ns) / length:.2f}",
        time=f"{seconds(phase.begin_ns)} to {seconds(phase.end_ns)}, {percent(phase.ratio)} of the connection",
        words=phase.words,
        changed_by=phase.changed_by,
        places=tuple(_place(one, largest) for one in turn[:MAX_PLACES]),
        more_places=max(0, len(turn) - MAX_PLACES),
        turns=turns,
        facts=tuple(_facts(phase)),
    )


def _place(one: TurnSegment, largest: int) -> Place:
    share = (one.payload_bytes / largest) ** 0.5 if largest else 0
    released = RELEASED[one.released_by]
    if released and 0 < one.ratio < 0.995:
        released += f" in {percent(one.ratio)} of the turns"
    if one.ack_reason and one.released_by in {"ack", "woken"}:
        released += f" (ACK: {one.ack_reason.replace('_', ' ')})"
    return Place(
        payload=f"{one.payload_bytes:,}",
        times=f"× {one.times}" if one.times > 1 else "",
        width=f"{LEAST_WIDTH + (MOST_WIDTH - LEAST_WIDTH) * share:.1f}",
        wait=f"{seconds(one.wait_ns)} later" if one.wait_ns else "",
        held=HELD[one.held_by],
        released=released,
        by_ack=one.released_by in {"ack", "woken"},
    )


def _facts(phase: Phase) -> list[str]:
    facts = [f"Who waits: {phase.waits}"] if phase.waits else []
    if phase.acks_per_turn is not None:
        reasons = ", ".join(
            f"{reason.replace('_', ' ')} {significant(many, 2)}" for reason, many in phase.ack_reasons.items()
        )
        facts.append(f"ACKs a turn: {significant(phase.acks_per_turn, 2)}" + (f" ({reasons})" if reasons else ""))
    if phase.stop_and_go_ratio is not None:
        facts.append(f"By turns, nothing outstanding at an ACK: {percent(phase.stop_and_go_ratio)}")
    if phase.outstanding_bytes is not None and phase.window_bytes is not None:
        facts.append(
            f"Outstanding at an ACK: {octets(phase.outstanding_bytes)} of a window of {octets(phase.window_bytes)}"
        )
    return facts


def _losses(pattern: Pattern) -> str:
    if pattern.losses is None or not pattern.losses.kinds:
        return ""
    kinds = ", ".join(f"{many:,} {kind}" for kind, many in pattern.losses.kinds.items())
    text = f"Sent again: {kinds}."
    if pattern.losses.timeout_wait_ns:
        text += f" Timers ended {seconds(pattern.losses.timeout_wait_ns)} of silence."
    if pattern.losses.lost_in_receiver is not None and pattern.losses.lost_on_path is not None:
        text += (
            f" Lost in the receiving host: {pattern.losses.lost_in_receiver:,}; "
            f"on the path: {pattern.losses.lost_on_path:,}."
        )
    return text
