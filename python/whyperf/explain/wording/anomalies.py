"""Describes an anomaly: where it is, how far it extends, and what causes it."""

from collections.abc import Sequence

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import count, factor_name, factor_unit, level_text, level_with_unit, percent, significant
from whyperf.explain.anomalies.curves import Bend, Curve
from whyperf.explain.anomalies.evidence import Difference
from whyperf.explain.anomalies.grouped import FindingGroup
from whyperf.explain.anomalies.standing_out import Candidate
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, Evidence, Phase
from whyperf.explain.wording.catalog import listed, render
from whyperf.explain.wording.patterns import sends, size_text

MAX_LEVELS = 6
"""Levels that are listed one by one."""

MAX_IN_SENTENCE = 3
"""Differences in the sentence of the cause; the others are evidence."""

MAX_PACKETS = 6
"""Of a longer cycle the number of packets is printed."""

FIRST: dict[Cause, tuple[str, ...]] = {
    Cause.WRITE_WINDOW_MISMATCH: ("small_waits", "overlap", "acks_per_mbyte", "packets_per_mbyte"),
    Cause.NAGLE_DELAYED_ACK: ("small_waits", "receiver:delayed_ack", "timer_acks"),
    Cause.DELAYED_ACK: ("timer_acks", "receiver:delayed_ack", "receiver_busy"),
    Cause.RECEIVER_LOSS: ("retransmitted_ratio", "timeout_wait", "receiver_busy"),
    Cause.CAPACITY: ("sender_busy", "receiver_busy", "acks_per_mbyte", "packets_per_mbyte"),
}
"""Differences that are named first for a cause; the others follow, the largest first."""


def place(curve: Curve, own: CellResult) -> str:
    """The point by its factors, the one of the axis first: `write size 7,168 bytes, window 8,192 bytes`."""
    return ", ".join(_setting(name, own.factors[name]) for name in (curve.factor, *curve.others))


def _setting(name: str, level: object) -> str:
    return f"{factor_name(name)} {level_with_unit(name, level)}"


def levels(curve: Curve, at: Sequence[int]) -> str:
    """Levels of the axis: `6,144 and 8,192 bytes`."""
    return _levels(curve.factor, [curve.cells[point].factors[curve.factor] for point in at])


def span(curve: Curve, first: int, last: int) -> str:
    """Levels of the axis from one to another: `6,656 to 7,680 bytes`."""
    first_level, last_level = (curve.cells[at].factors[curve.factor] for at in (first, last))
    return f"{level_text(first_level)} to {level_with_unit(curve.factor, last_level)}"


def _levels(factor: str, found: Sequence[object]) -> str:
    unit = factor_unit(factor)
    texts = [level_text(level) for level in found]
    text = f"{texts[0]} to {texts[-1]}" if len(texts) > MAX_LEVELS else listed(texts)
    is_number = isinstance(found[0], int | float) and not isinstance(found[0], bool)
    return f"{text} {unit}" if unit and is_number else text


def other_levels(group: FindingGroup[Candidate] | FindingGroup[Bend]) -> str | None:
    """Where else it is: `window 8,192 to 24,576 bytes`; None where nowhere."""
    if not group.others:
        return None
    curve, at = group.first.found.curve, group.first.found.at
    named = []
    for name in (curve.factor, *curve.others):
        levels_of = {member.found.curve.cells[member.found.at].factors[name] for member in group.others}
        if levels_of != {curve.cells[at].factors[name]}:
            named.append(f"{factor_name(name)} {_levels(name, sorted(levels_of, key=_order))}")
            if name == curve.factor and group.apart is not None:
                named[-1] += f" (every {level_with_unit(name, round(group.apart))})"
    return ", ".join(named)


def _order(level: object) -> tuple[str, float]:
    return ("", float(level)) if isinstance(level, int | float) else (str(level), 0.0)


def difference_text(found: Difference) -> str:
    """A figure with its value."""
    return render("difference", found.name, {"value": _value(found, found.value)})


def evidence_of(found: Difference, neighbors: str) -> Evidence:
    """The row of evidence."""
    text = render(
        "anomaly",
        "compared",
        {"difference": difference_text(found), "neighbors": neighbors, "usual": _value(found, found.usual)},
    )
    unit = "_ratio" if found.figure.is_part else ""
    return Evidence(
        code=found.name,
        values={f"value{unit}": found.value, f"usual{unit}": found.usual, "neighbors": neighbors},
        words=text,
        table=found.figure.table,
        value=found.value,
        unit=found.figure.unit,
    )


def _value(found: Difference, value: float) -> str:
    """A part in percent; one that would be rounded to 0.0 is none."""
    if not found.figure.is_part:
        return significant(value, 3)
    return percent(value) if value >= 0.0005 else "0 %"


def because(cause: Cause, found: Sequence[Difference], neighbors: str) -> str:
    """The differences of the evidence in a sentence; "" where nothing differs."""
    # Retransmissions explain all else that differs.
    order = ("retransmitted_ratio", "timeout_wait", *FIRST.get(cause, ()))
    ranked = sorted(found, key=lambda figure: order.index(figure.name) if figure.name in order else len(order))
    named = [f"{difference_text(figure)} ({_value(figure, figure.usual)})" for figure in ranked[:MAX_IN_SENTENCE]]
    return render("anomaly", "because", {"differences": listed(named), "neighbors": neighbors}) if named else ""


def cycles(own: CellExplanation | None, near: Sequence[tuple[str, CellExplanation | None]]) -> str:
    """The cycles here and at the neighbors, where there are logs."""
    here = _cycle(own)
    if not here:
        return ""
    there = [f"at {place}: {text}" for place, cell in near if (text := _cycle(cell))]
    return render("anomaly", "cycles", {"cycle": here, "others": "; ".join(there) or None})


def _cycle(own: CellExplanation | None) -> str:
    """The cycle that takes most of the first connection's time."""
    phases = own.patterns[0].phases if own is not None and own.patterns else []
    return cycle(max(phases, key=lambda phase: phase.ratio)) if phases else ""


def cycle(phase: Phase) -> str:
    """A cycle in few words: its sizes, or how many packets it has."""
    packets = sum(times for _, times in phase.payloads)
    sizes = [size for size, _ in phase.payloads]
    if len(sizes) > MAX_PACKETS:
        whole = sum(size * times for size, times in phase.payloads)
        text = (
            f"send {packets} packets of {size_text(min(sizes))} to {size_text(max(sizes))}, {size_text(whole)} in total"
        )
    else:
        text = sends(phase.payloads)
    acks = phase.acks_per_turn
    if not acks or (packets == 1 and round(acks, 1) == 1):
        return text
    whole_acks = abs(acks - round(acks)) < 0.05
    return f"{text}, {count(round(acks), 'ACK') if whole_acks else significant(acks, 2) + ' ACKs'} per cycle"


def off(ratio: float) -> str:
    """Distance of a ratio from 1: in percent, or as a factor where that is more."""
    return percent(abs(ratio - 1)) if 0.1 <= ratio < 2 else f"a factor of {significant(max(ratio, 1 / ratio), 2)}"
