"""Describes a segment-flow pattern: its cycles, what changed them, and the losses."""

from collections.abc import Mapping, Sequence

from whyperf.analyze.text import percent, seconds, significant
from whyperf.explain.explanation import CyclePlace, Losses, Pattern, Phase
from whyperf.explain.wording.catalog import capitalized, render, templates

STOP_AND_GO = 0.8
"""Share of the ACKs that must leave nothing in flight for sender and receiver to work alternately."""

PARALLEL = 0.3
"""Share of the data that must be sent while other data is in flight for both to work at the same time."""

SILENT_RATIO = 0.2
"""Timeouts that took so much of a connection are reported first."""

MAX_PLACES = 6
"""Places of a cycle that are listed one by one."""

MAX_ACKS_PER_WINDOW = 8
"""Of a larger window the number per cycle says more."""

_TIMES = ("", "", " twice", *(f" {word} times" for word in ("three", "four", "five", "six", "seven", "eight", "nine")))


def with_text(pattern: Pattern, otherwise: str, life_ns: int) -> Pattern:
    """The pattern with its text; `otherwise` describes a connection without a cycle."""
    described = [
        phase.model_copy(
            update={
                "words": phase_text(phase),
                "waits": waits_text(phase),
                "changed_by": ""
                if phase.change is None
                else render("flow_change", phase.change.code, phase.change.values),
            }
        )
        for phase in pattern.phases
    ]
    text = pattern_text(described, otherwise, pattern.losses, life_ns)
    return pattern.model_copy(update={"phases": described, "words": text})


def size_text(octets: int) -> str:
    """`7,616 B`."""
    return f"{octets:,} B"


def sends(payloads: Sequence[tuple[int, int]]) -> str:
    """Payloads one after the other: `send 1,024 B, send 6,144 B five times`."""
    return ", ".join(
        f"send {size_text(size)}{_TIMES[times] if times < len(_TIMES) else f' {times:,} times'}"
        for size, times in payloads
    )


def is_stop_and_go(phase: Phase) -> bool:
    """True where both work alternately: a cycle starts with nothing in flight, and little overlaps within it."""
    return (phase.stop_and_go_ratio or 0.0) >= STOP_AND_GO and (phase.overlap_ratio or 0.0) < PARALLEL


def _packets(phase: Phase) -> str:
    """Packets of a cycle, with the ACKs within that release its parts: `send 4,096 B, wait for an ACK, send 512 B`."""
    groups: list[list[tuple[int, int]]] = []
    for place in phase.turn:
        if not groups or place.released_by in {"ack", "woken"}:
            groups.append([])
        groups[-1].append((place.payload_bytes, place.times))
    if len(phase.payloads) > MAX_PLACES:
        sizes = [size for size, _ in phase.payloads]
        count = sum(times for _, times in phase.payloads)
        span = {"min_size": size_text(min(sizes)), "max_size": size_text(max(sizes))}
        return render("cycle", "many", {"packets": count, **span})
    if len(groups) < 2 or len(phase.turn) > MAX_PLACES:
        return sends(phase.payloads)
    return ", wait for an ACK, ".join(sends(group) for group in groups)


def _cycle(phase: Phase) -> str:
    """The cycle without its share: `send 1,024 B, send 6,144 B, wait for the ACK (stop-and-go)`."""
    cycle = _packets(phase)
    if phase.packet_bytes and phase.packet_bytes > max((size for size, _ in phase.payloads), default=0):
        cycle = render("cycle", "in_packets", {"cycle": cycle, "packet_bytes": phase.packet_bytes})
    code, acks = "always", None
    if phase.stop_and_go_ratio is None or phase.acks_per_turn is None:
        code = "open"
    elif is_stop_and_go(phase):
        code = "stop_and_go"
    elif phase.stop_and_go_ratio >= STOP_AND_GO:
        code, acks = "overlapping", max(1, round(phase.acks_per_turn))
    return render("cycle", code, {"cycle": cycle, "acks": acks})


def phase_text(phase: Phase) -> str:
    """One phase: its cycle, and its share of the connection."""
    return f"Repeats: {_with_share(phase)}"


def _with_share(phase: Phase) -> str:
    stretches = f" in {phase.stretches} stretches" if phase.stretches > 1 else ""
    return f"{_cycle(phase)}; {percent(phase.ratio)} of the connection{stretches}"


def waits_text(phase: Phase) -> str:
    """Who waits for whom in a cycle."""
    clauses = dict.fromkeys(_wait(place) for place in phase.turn[:MAX_PLACES])
    waits = "; ".join(clause for clause in clauses if clause)
    sentences = [f"{capitalized(waits)}."] if waits else []
    if phase.stop_and_go_ratio is not None:
        sentences.append(_overlap(phase, phase.stop_and_go_ratio))
    if phase.ack_reasons:
        sentences.append(_acks(phase.ack_reasons))
    if (acks := acks_per_window(phase)) is not None and phase.window_bytes is not None and acks <= MAX_ACKS_PER_WINDOW:
        sentences.append(render("cycle", "acks_per_window", {"acks_per": acks, "window_bytes": phase.window_bytes}))
    return " ".join(sentences)


def acks_per_window(phase: Phase) -> float | None:
    """Pure ACKs per window of payload; None where that is not known."""
    payload = sum(size * times for size, times in phase.payloads)
    if phase.acks_per_turn is None or not phase.window_bytes or not payload:
        return None
    return phase.acks_per_turn * phase.window_bytes / payload


def _acks(reasons: Mapping[str, float]) -> str:
    """Why the receiver sent its ACKs: how many per cycle, or their shares where a cycle has hardly one."""
    total = sum(reasons.values())
    names = templates()["ack_reason"]
    often = {names.get(reason, reason): number for reason, number in reasons.items() if number >= 0.05 * total}
    if total < 0.5:
        return f"ACKs: {', '.join(f'{percent(number / total)} by {name}' for name, number in often.items())}."
    return f"ACKs per cycle: {', '.join(f'{significant(number, 2)} by {name}' for name, number in often.items())}."


def _wait(place: CyclePlace) -> str:
    return render("wait", place.held_by or place.released_by, {"size": size_text(place.payload_bytes)})


def _overlap(phase: Phase, stop_and_go: float) -> str:
    if stop_and_go < STOP_AND_GO:
        return render("overlap", "always", {})
    if is_stop_and_go(phase):
        return render("overlap", "stop_and_go", {})
    return render("overlap", "within_cycle", {"size": size_text(phase.turn[0].payload_bytes) if phase.turn else None})


def pattern_text(phases: Sequence[Phase], otherwise: str, losses: Losses | None, life_ns: int) -> str:
    """All of it: the cycles in order of time, with what changed them, and the losses; first what took longer."""
    parts = []
    for number, phase in enumerate(_merged(phases)):
        if number == 0:
            parts.append(phase_text(phase))
        elif phase.changed_by:
            parts.append(f"{capitalized(phase.changed_by)}. From then on: {_with_share(phase)}")
        else:
            parts.append(f"From {seconds(phase.begin_ns)} on: {_with_share(phase)}")
    text = ". ".join(parts) if parts else otherwise.rstrip(".")
    if losses is None:
        return f"{text}."
    lost = losses_text(losses)
    return f"{lost} {text}." if losses.timeout_wait_ns >= SILENT_RATIO * life_ns else f"{text}. {lost}"


def _merged(phases: Sequence[Phase]) -> list[Phase]:
    """Consecutive phases of the same cycle as one: what came between them changed nothing visible."""
    groups: list[list[Phase]] = []
    for phase in phases:
        if groups and _is_same_cycle(groups[-1][0], phase):
            groups[-1].append(phase)
        else:
            groups.append([phase])
    return [own[0] if len(own) == 1 else _joined(own) for own in groups]


def _joined(own: Sequence[Phase]) -> Phase:
    first = own[0]
    return max(own, key=lambda phase: phase.ratio).model_copy(
        update={
            "ratio": sum(phase.ratio for phase in own),
            "changed_by": first.changed_by,
            "begin_ns": first.begin_ns,
            "stretches": len(own),
        }
    )


def _is_same_cycle(phase: Phase, other: Phase) -> bool:
    """True where two cycles have the same sizes in the same order, wherever they start."""
    first, second = phase.payloads, other.payloads
    return len(first) == len(second) and any([*second[at:], *second[:at]] == first for at in range(len(second)))


def losses_text(losses: Losses) -> str:
    """Says what was retransmitted, why, and where it was lost."""
    total = sum(losses.kinds.values())
    names = templates()["retransmission"]
    kinds = ", ".join(f"{number:,} by {names.get(kind, kind)}" for kind, number in losses.kinds.items())
    text = render(
        "losses", "retransmitted", {"again": total, "kinds": kinds, "silent_ns": losses.timeout_wait_ns or None}
    )
    inside, path = losses.lost_in_receiver, losses.lost_on_path
    if not inside and not path:
        return text
    code = "in_receiver" if (inside or 0) >= (path or 0) else "on_path"
    values = {"asked_count": (inside or 0) + (path or 0), "found_count": max(inside or 0, path or 0)}
    return f"{text} {render('losses', f'one_{code}' if total == 1 else code, values)}"
