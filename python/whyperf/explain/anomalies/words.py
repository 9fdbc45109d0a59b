"""An anomaly in words: where it is, how far it goes, and what makes it."""

from collections.abc import Sequence

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import (
    count,
    factor_name,
    factor_unit,
    level_text,
    level_with_unit,
    octets,
    percent,
    significant,
)
from whyperf.explain.anomalies.bends import Bend
from whyperf.explain.anomalies.curves import Curve
from whyperf.explain.anomalies.evidence import Difference
from whyperf.explain.anomalies.standing_out import Candidate
from whyperf.explain.anomalies.together import Group
from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Phase

MOST_NAMED = 6
"""Levels that are told one by one."""

MOST_SAID = 3
"""Differences in the sentence of the cause; the others are evidence."""

MOST_PACKETS = 6
"""A longer turn is told by the number of its packets."""

SPEAKS: dict[Cause, tuple[str, ...]] = {
    Cause.WRITE_WINDOW_MISMATCH: ("small_waits", "overlap", "acks_per_mbyte", "packets_per_mbyte"),
    Cause.NAGLE_DELAYED_ACK: ("small_waits", "receiver:delayed_ack", "timer_acks"),
    Cause.DELAYED_ACK: ("timer_acks", "receiver:delayed_ack", "receiver_busy"),
    Cause.RECEIVER_LOSS: ("retransmitted_ratio", "timeout_wait", "receiver_busy"),
    Cause.CAPACITY: ("sender_busy", "receiver_busy", "acks_per_mbyte", "packets_per_mbyte"),
}
"""What speaks first for a cause; the others, largest difference first, come after it."""


def where(curve: Curve, own: CellResult) -> str:
    """The point by its factors, the one of the axis first: `Write size 7,168 bytes, window 8,192 bytes`."""
    told = [_setting(name, own.factors[name]) for name in (curve.factor, *curve.others)]
    text = ", ".join(told)
    return text[:1].upper() + text[1:]


def _setting(name: str, level: object) -> str:
    return f"{factor_name(name)} {level_with_unit(name, level)}"


def levels(curve: Curve, at: Sequence[int]) -> str:
    """Levels of the axis: `6,144 and 8,192 bytes`."""
    return _listed(curve.factor, [curve.cells[one].factors[curve.factor] for one in at])


def span(curve: Curve, first: int, last: int) -> str:
    """Levels of the axis from one to another: `6,656 to 7,680 bytes`."""
    begin, end = (curve.cells[at].factors[curve.factor] for at in (first, last))
    return f"{level_text(begin)} to {level_with_unit(curve.factor, end)}"


def _listed(factor: str, found: Sequence[object]) -> str:
    unit = factor_unit(factor)
    texts = [level_text(level) for level in found]
    if len(texts) > MOST_NAMED:
        text = f"{texts[0]} to {texts[-1]}"
    else:
        text = " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
    is_number = isinstance(found[0], int | float) and not isinstance(found[0], bool)
    return f"{text} {unit}" if unit and is_number else text


def extent(group: Group[Candidate] | Group[Bend]) -> str:
    """Where else it is: `; the same in 3 more cells, with window 8,192 to 24,576 bytes`."""
    if not group.others:
        return ""
    curve, at = group.first.found.curve, group.first.found.at
    told = []
    for name in (curve.factor, *curve.others):
        levels_of = {one.found.curve.cells[one.found.at].factors[name] for one in group.others}
        if levels_of != {curve.cells[at].factors[name]}:
            told.append(f"{factor_name(name)} {_listed(name, sorted(levels_of, key=_order))}")
            if name == curve.factor and group.apart is not None:
                told[-1] += f" (every {level_with_unit(name, round(group.apart))})"
    return f"; the same in {count(len(group.others), 'more cell')}, with {', '.join(told)}"


def _order(level: object) -> tuple[str, float]:
    return ("", float(level)) if isinstance(level, int | float) else (str(level), 0.0)


def because(cause: Cause, found: Sequence[Difference], label: str) -> str:
    """The difference of the evidence in a sentence; "" where nothing differs."""
    first = SPEAKS.get(cause, ())
    # What was sent again explains all else that differs.
    order = ("retransmitted_ratio", "timeout_wait", *first)
    ranked = sorted(found, key=lambda one: order.index(one.name) if one.name in order else len(order))
    said = [f"{one.words} ({one.usual})" for one in ranked[:MOST_SAID]]
    if not said:
        return ""
    text = " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
    return f"Here {text}; in brackets what it is {label}."


def flow(own: CellExplanation | None, near: Sequence[tuple[str, CellExplanation | None]]) -> str:
    """The turns of the segments here and at the neighbors, where logs tell them."""
    here = _turn(own)
    there = [(place, text) for place, cell in near if (text := _turn(cell))]
    if not here:
        return ""
    beside = "".join(f"; at {place} {text}" for place, text in there)
    return f"The segments here: {here}{beside}."


def _turn(cell: CellExplanation | None) -> str:
    """The turn that takes most of the first connection's time."""
    phases = cell.patterns[0].phases if cell is not None and cell.patterns else []
    return turn(max(phases, key=lambda phase: phase.ratio)) if phases else ""


def turn(phase: Phase) -> str:
    """A turn in few words: its sizes, or how many packets it has."""
    packets = sum(times for _, times in phase.payloads)
    sizes = [size for size, _ in phase.payloads]
    if len(sizes) > MOST_PACKETS:
        whole = sum(size * times for size, times in phase.payloads)
        text = f"{packets} packets of {min(sizes):,} to {octets(max(sizes))}, {octets(whole)} together"
    else:
        text = " + ".join(f"{size:,}" if times == 1 else f"{size:,} × {times}" for size, times in phase.payloads)
    acks = phase.acks_per_turn
    if not acks or (packets == 1 and round(acks, 1) == 1):
        return text
    whole = abs(acks - round(acks)) < 0.05
    return f"{text} with {count(round(acks), 'ACK') if whole else significant(acks, 2) + ' ACKs'} a turn"


def far(ratio: float) -> str:
    """How far from 1: in percent, or by a factor where that is more."""
    return percent(abs(ratio - 1)) if 0.1 <= ratio < 2 else f"a factor of {significant(max(ratio, 1 / ratio), 2)}"
