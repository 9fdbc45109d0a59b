"""A pattern as a person would say it."""

from collections.abc import Mapping, Sequence

from whyperf.analyze.text import count, percent, seconds, significant
from whyperf.explain.model import Losses, Phase, TurnSegment

STOP_AND_GO = 0.8
"""So often an acknowledgment must leave nothing outstanding for sender and receiver to work by turns."""

PARALLEL = 0.3
"""So much of what is sent must find something under way for both to work at the same time within a window."""

SILENT_RATIO = 0.2
"""Timeouts that took so much of a connection are told first."""

MOST_TOLD = 6
"""Places of a turn that are told one by one."""

ACKED_BY = {
    "delayed_timer": "the delayed-ACK timer",
    "read_call": "read calls",
    "second_segment": "every second segment",
    "quick": "quick ACKs",
    "out_of_order": "data out of order",
    "window_probe": "window probes",
}


def turn_words(payloads: Sequence[tuple[int, int]]) -> str:
    """Payloads one after the other: "1,024 + 6,144", "4,096 × 2 + 512"."""
    return " + ".join(f"{size:,}" if times == 1 else f"{size:,} × {times:,}" for size, times in payloads)


def is_stop_and_go(phase: Phase) -> bool:
    """Whether both work by turns: a turn begins with nothing outstanding, and little is sent beside it."""
    return (phase.stop_and_go_ratio or 0.0) >= STOP_AND_GO and (phase.overlap_ratio or 0.0) < PARALLEL


def _cycle(phase: Phase) -> str:
    """The turn, with the acknowledgments within that let its parts go: "4,096, ACK, 512 + 4,096"."""
    groups: list[list[tuple[int, int]]] = []
    for place in phase.turn:
        if not groups or place.released_by in {"ack", "woken"}:
            groups.append([])
        groups[-1].append((place.payload_bytes, place.times))
    if len(phase.payloads) > MOST_TOLD:
        sizes = [size for size, _ in phase.payloads]
        packets = sum(times for _, times in phase.payloads)
        return f"{packets:,} packets of {min(sizes):,} to {max(sizes):,} bytes in turn"
    if len(groups) < 2 or len(phase.turn) > MOST_TOLD:
        return turn_words(phase.payloads)
    return ", ACK, ".join(turn_words(group) for group in groups)


def waits_words(phase: Phase) -> str:
    """Who waits for whom in a turn."""
    reasons = phase.ack_reasons
    clauses = [_clause(place) for place in phase.turn[:MOST_TOLD]]
    told = "; ".join(dict.fromkeys(clause for clause in clauses if clause))
    sentences = [told[:1].upper() + told[1:] + "."] if told else []
    sentences += [_together(phase, phase.stop_and_go_ratio)] if phase.stop_and_go_ratio is not None else []
    if reasons:
        sentences.append(_acks(reasons))
    return " ".join(sentence for sentence in sentences if sentence)


def _acks(reasons: dict[str, float]) -> str:
    """Why the receiver sent its ACKs: how many a turn, or which part of them where a turn has hardly one."""
    total = sum(reasons.values())
    often = {ACKED_BY.get(reason, reason): number for reason, number in reasons.items() if number >= 0.05 * total}
    if total < 0.5:
        return f"ACKs: {', '.join(f'{percent(number / total)} by {reason}' for reason, number in often.items())}."
    return f"ACKs a turn: {', '.join(f'{significant(number, 2)} by {reason}' for reason, number in often.items())}."


def _clause(place: TurnSegment) -> str:
    size = f"{place.payload_bytes:,}"
    if place.held_by == "window":
        return f"{size} waits until an ACK opens the window"
    if place.held_by == "congestion_window":
        return f"{size} waits until an ACK makes room in the congestion window"
    if place.held_by == "small":
        return f"{size} is less than a segment and waits for the ACK of what is outstanding, though the window has room"
    return {
        "write": f"{size} leaves in the write call",
        "pacing": f"{size} waits for the pacing timer",
        "worker": f"{size} waits for the device",
        "timer": f"{size} is let go by a timer",
        "ack": f"{size} leaves when an ACK arrives",
        "woken": f"{size} leaves when an ACK wakes the writer",
    }.get(place.released_by, "")


def _together(phase: Phase, stop_and_go: float) -> str:
    if stop_and_go < STOP_AND_GO:
        return "Something is always under way: sender and receiver work at the same time."
    if is_stop_and_go(phase):
        return "Each turn begins with nothing outstanding: sender and receiver work by turns (stop-and-go)."
    size = f"the first {phase.turn[0].payload_bytes:,}" if phase.turn else "the first of it"
    return (
        "What is outstanding is acknowledged before the next turn, but within one the sender sends while the receiver "
        f"takes in {size}: both work at the same time."
    )


def phase_words(phase: Phase) -> str:
    """One phase: sizes, what ends a turn, share of the connection."""
    text = _cycle(phase)
    if phase.packet_bytes and phase.packet_bytes > max((size for size, _ in phase.payloads), default=0):
        text += "-byte segments" if len(phase.payloads) == 1 else ""
        text += f" in packets of {phase.packet_bytes:,} bytes (median)"
    elif phase.changed_by and len(phase.payloads) == 2 and all(times == 1 for _, times in phase.payloads):
        text = " and ".join(f"{size:,}" for size, _ in phase.payloads) + " alternate"
    share = f"{percent(phase.ratio)} of the connection"
    if phase.stop_and_go_ratio is None or phase.acks_per_turn is None:
        return f"{text} bytes at a time: {share}" if text.replace(",", "").isdigit() else f"{text}: {share}"
    if is_stop_and_go(phase):
        return f"{text}, then waits for the ACK (stop-and-go): {share}"
    if phase.stop_and_go_ratio >= STOP_AND_GO:
        acks = count(max(1, round(phase.acks_per_turn)), "ACK")
        return f"{text} with {acks} a turn, sent while the receiver reads: {share}"
    return f"{text}, with something always under way: {share}"


def pattern_words(phases: Sequence[Phase], otherwise: str, losses: Losses | None, life_ns: int) -> str:
    """All of it: the phases one after the other, with what changed them, and the losses; first what took longer."""
    parts = []
    for number, phase in enumerate(_told_once(phases)):
        if number == 0:
            parts.append(phase.words)
        elif phase.changed_by:
            parts.append(f"{phase.changed_by}; from then on {phase.words}")
        else:
            parts.append(f"from {seconds(phase.begin_ns)} on {phase.words}")
    text = ". ".join(part[:1].upper() + part[1:] for part in parts) if parts else otherwise.rstrip(".")
    if losses is None:
        return f"{text}."
    lost = losses_words(losses)
    if losses.timeout_wait_ns >= SILENT_RATIO * life_ns:
        return f"{lost} In between: {text}."
    return f"{text}. {lost}"


def _told_once(phases: Sequence[Phase]) -> list[Phase]:
    """Phases of the same turn one after the other as one: what came between them changed nothing that is seen."""
    told: list[list[Phase]] = []
    for phase in phases:
        if told and _same_turn(told[-1][0], phase):
            told[-1].append(phase)
        else:
            told.append([phase])
    return [own[0] if len(own) == 1 else _joined(own) for own in told]


def _joined(own: Sequence[Phase]) -> Phase:
    whole = max(own, key=lambda phase: phase.ratio)
    joined = whole.model_copy(
        update={
            "ratio": sum(phase.ratio for phase in own),
            "changed_by": own[0].changed_by,
            "begin_ns": own[0].begin_ns,
        }
    )
    return joined.model_copy(update={"words": f"{phase_words(joined)}, in {len(own)} stretches"})


def _same_turn(one: Phase, other: Phase) -> bool:
    """Whether two turns are of the same sizes in the same order, wherever they begin."""
    first, second = one.payloads, other.payloads
    return len(first) == len(second) and any([*second[at:], *second[:at]] == first for at in range(len(second)))


def losses_words(losses: Losses) -> str:
    """What was sent again, why, and where it had been lost."""
    kinds = {"timeout": "timeouts", "fast": "fast retransmission", "probe": "tail loss probes", "other": "other ways"}
    total = sum(losses.kinds.values())
    text = f"{count(total, 'segment')} {'was' if total == 1 else 'were'} sent again {_how(losses.kinds, kinds)}"
    if losses.timeout_wait_ns:
        text += f", after {seconds(losses.timeout_wait_ns)} of silence until timers ran out"
    inside, path = losses.lost_in_receiver, losses.lost_on_path
    if inside is None or path is None or inside + path == 0:
        return f"{text}."
    asked = inside + path
    if total == 1:
        return (
            f"{text}. It had {'arrived before: the receiving host' if inside else 'never arrived: the path'} lost it."
        )
    of = f"Of {'these' if asked == total else f'the {asked:,} that the receiver had asked for'}"
    if inside >= path:
        had = "all" if inside == asked else f"{inside:,}"
        return f"{text}. {of} {had} had arrived at the receiving host before: it lost them."
    never = "none had" if path == asked else f"{path:,} had never"
    return f"{text}. {of} {never} arrived at the receiving host: the path lost them."


def _how(kinds: Mapping[str, int], names: Mapping[str, str]) -> str:
    """By what segments were sent again: `by timeouts`, `(5 by timeouts, 2 by fast retransmission)`."""
    if sum(kinds.values()) == 1:
        return {"timeout": "after a timeout", "fast": "by fast retransmission", "probe": "as a tail loss probe"}.get(
            next(iter(kinds)), "in another way"
        )
    if len(kinds) == 1:
        return f"by {names.get(next(iter(kinds)), next(iter(kinds)))}"
    return f"({', '.join(f'{number:,} by {names.get(kind, kind)}' for kind, number in kinds.items())})"
