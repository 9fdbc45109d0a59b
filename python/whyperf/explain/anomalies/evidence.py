"""The evidence on a cell, figure by figure, and how it differs from that of its neighbors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.summary import CellResult
from whyperf.explain.explanation import CellExplanation, Phase

MIN_RATIO = 0.15
"""A size or count must differ by so much, in either direction, to be listed."""

MIN_PART = 0.05
"""A part of something must differ by so much."""

MIN_LOST = 0.005
"""Of the retransmitted segments: each loss costs a timeout, or half the congestion window."""

MAX_LISTED = 6


@dataclass(frozen=True)
class Figure:
    """Where a figure of a cell comes from: `is_part` of something, or a size or count."""

    table: str
    is_part: bool = False
    unit: str = ""


FIGURES: Mapping[str, Figure] = {
    "segment_bytes": Figure("tcp_info", unit="bytes"),
    "retransmitted_ratio": Figure("tcp_info", is_part=True),
    "window_bytes": Figure("tcp_info", unit="bytes"),
    "sender_busy": Figure("cpu", is_part=True),
    "receiver_busy": Figure("cpu", is_part=True),
    "sender_softirq": Figure("cpu", is_part=True),
    "receiver_softirq": Figure("cpu", is_part=True),
    "sender_cycles": Figure("cpu", unit="cycles"),
    "receiver_cycles": Figure("cpu", unit="cycles"),
    "write_bytes": Figure("flows", unit="bytes"),
    "read_bytes": Figure("flows", unit="bytes"),
    "short_reads": Figure("flows", is_part=True),
    "packet_bytes": Figure("segments", unit="bytes"),
    "packets_per_mbyte": Figure("segments", unit="count"),
    "acks_per_mbyte": Figure("segments", unit="count"),
    "timer_acks": Figure("segments", is_part=True),
    "read_acks": Figure("segments", is_part=True),
    "stop_and_go": Figure("segments", is_part=True),
    "overlap": Figure("segments", is_part=True),
    "small_waits": Figure("segments", is_part=True),
    "timeout_wait": Figure("segments", is_part=True),
}
"""All figures but the states of budgets, in the order in which they are listed where they differ equally."""

STATES = Figure("segments", is_part=True)

Known = Mapping[str, float]


def known_of(cell: CellResult, explained: CellExplanation | None) -> dict[str, float]:
    """All figures of a cell that are known, by name; shares of a budget are named `END:STATE`."""
    rate, segments = cell.goodput_bps.median, cell.data_segments_per_s
    # Goodput counts both directions, and segments are the sender's.
    is_one_way = cell.transactions is None or cell.transactions.counted_as == "messages"
    found: dict[str, float | None] = {
        "segment_bytes": rate / 8 / segments if rate and segments and is_one_way else None,
        "retransmitted_ratio": cell.retransmitted_segments.ratio,
        "window_bytes": cell.window.announced_bytes.median if cell.window.announced_bytes else None,
        "sender_cycles": cell.cycles_per_kbyte.sender,
        "receiver_cycles": cell.cycles_per_kbyte.receiver,
    }
    for end in ("sender", "receiver"):
        cpu, calls = getattr(cell.cpu, end), getattr(cell.calls, end)
        if cpu is not None:
            found |= {f"{end}_busy": cpu.busy_ratio, f"{end}_softirq": cpu.softirq_ratio}
        if calls is not None:
            found["write_bytes" if end == "sender" else "read_bytes"] = calls.mean_size_bytes
            if end == "receiver":
                found["short_reads"] = calls.short_ratio
    if explained is not None:
        found |= _of_log(explained)
    return {name: float(value) for name, value in found.items() if value is not None}


def _of_log(explained: CellExplanation) -> dict[str, float | None]:
    """Of the first connection: one is like the other, and it is there in every cell."""
    found: dict[str, float | None] = {}
    for budget in explained.budgets:
        if budget.connection == explained.budgets[0].connection:
            found |= {f"{budget.role}:{share.state}": share.ratio for share in budget.shares}
    pattern = next(iter(explained.patterns), None)
    if pattern is None or not pattern.phases:
        return found
    phases = pattern.phases
    whole = sum(phase.ratio for phase in phases) or 1.0
    found |= {
        "packet_bytes": _weighted(phases, [phase.packet_bytes for phase in phases]),
        "stop_and_go": _weighted(phases, [phase.stop_and_go_ratio for phase in phases]),
        "overlap": _weighted(phases, [phase.overlap_ratio for phase in phases]),
        "small_waits": sum(phase.ratio * _small(phase) for phase in phases) / whole,
    }
    acks = sum(phase.turns * (phase.acks_per_turn or 0.0) for phase in phases)
    sent = sum(phase.turns * sum(size * times for size, times in phase.payloads) for phase in phases)
    if acks and sent:
        packets = sum(phase.turns * sum(times for _, times in phase.payloads) for phase in phases)
        found |= {"acks_per_mbyte": acks / sent * 2**20, "packets_per_mbyte": packets / sent * 2**20}
        for name, reason in (("timer_acks", "delayed_timer"), ("read_acks", "read_call")):
            found[name] = sum(phase.turns * phase.ack_reasons.get(reason, 0.0) for phase in phases) / acks
    if pattern.losses is not None and explained.budgets:
        found["timeout_wait"] = pattern.losses.timeout_wait_ns / max(1, explained.budgets[0].life_ns)
    return found


def _weighted(phases: Sequence[Phase], values: Sequence[float | None]) -> float | None:
    known = [(phase.ratio, value) for phase, value in zip(phases, values, strict=True) if value is not None]
    weight = sum(ratio for ratio, _ in known)
    return sum(ratio * value for ratio, value in known) / weight if weight else None


def _small(phase: Phase) -> float:
    packets = sum(place.times for place in phase.turn)
    return sum(place.times for place in phase.turn if place.held_by == "small") / packets if packets else 0.0


@dataclass(frozen=True)
class Difference:
    """A figure that differs from the neighbors': its value, and theirs."""

    name: str
    value: float
    usual: float
    figure: Figure


def differences(own: Known, others: Sequence[Known]) -> list[Difference]:
    """The differences from the neighbors, the largest first."""
    found: list[tuple[float, Difference]] = []
    for name, value in own.items():
        there = [other[name] for other in others if name in other]
        if not there:
            continue
        usual = sum(there) / len(there)
        figure = FIGURES.get(name, STATES)
        weight = _weight(name, value, usual, there, figure)
        if weight is not None:
            found.append((weight, Difference(name, value, usual, figure)))
    found.sort(key=lambda weighted: -weighted[0])
    return [difference for _, difference in found[:MAX_LISTED]]


def _weight(name: str, value: float, usual: float, there: Sequence[float], figure: Figure) -> float | None:
    """The difference of a figure, None if too little: by parts of the whole, or by ratio. It must leave their range."""
    if min(there) <= value <= max(there):
        return None
    # Softirqs do less where less arrives: only more of them says something.
    if name.endswith("softirq") and value < usual:
        return None
    if figure.is_part:
        least = MIN_LOST if name == "retransmitted_ratio" else MIN_PART
        return abs(value - usual) if abs(value - usual) >= least else None
    if usual <= 0 or value <= 0:
        return None
    ratio = max(value / usual, usual / value) - 1
    return min(1.0, ratio) if ratio >= MIN_RATIO else None
