"""Differences of a point that stands out from its neighbors, and the cause that explains them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.summary import CellResult
from whyperf.explain.causes import LOSS_KINDS, Cause
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


MORE_PART = 0.05
"""By so much a part must be larger than at the neighbors to be a cause."""

LOST_RATIO = 0.005
"""Of the segments, what must be sent again beyond the neighbors'."""

BUSY_RATIO = 0.95
"""A CPU that is busy so much of the time is at its limit."""

Explained = Mapping[str, CellExplanation]


def point_cause(kind: str, own: CellResult, near: Sequence[CellResult], explained: Explained) -> Cause:
    """The cause of a drop, or what makes the neighbors of a peak slower: what is there and not on the other side.

    Losses come first: a sender that waits for a timer waits for nothing else. Then what the log says of single
    packets, then a verdict that is another one than the neighbors'.
    """
    slow, fast = ([own], list(near)) if kind == "drop" else (list(near), [own])
    known_slow = [known_of(cell, explained.get(cell.id)) for cell in slow]
    known_fast = [known_of(cell, explained.get(cell.id)) for cell in fast]

    def more(name: str) -> float:
        low = [known[name] for known in known_slow if name in known]
        high = [known[name] for known in known_fast if name in known]
        return sum(low) / len(low) - sum(high) / len(high) if low and high else 0.0

    if more("retransmitted_ratio") >= LOST_RATIO or more("timeout_wait") >= MORE_PART:
        return _loss(slow, explained)
    if more("small_waits") >= MORE_PART:
        return Cause.NAGLE_DELAYED_ACK if _waits_for_timer(slow, explained) else Cause.WRITE_WINDOW_MISMATCH
    if more("timer_acks") >= MORE_PART:
        return Cause.DELAYED_ACK
    theirs = {_first(cell, explained) for cell in fast}
    return next((cause for cell in slow if (cause := _first(cell, explained)) not in theirs), Cause.NOT_KNOWN)


def _loss(cells: Sequence[CellResult], explained: Explained) -> Cause:
    """Where segments were lost: in the receiving host if the logs say so, else what the verdict says."""
    for cell in cells:
        for pattern in explained[cell.id].patterns if cell.id in explained else ():
            losses = pattern.losses
            if losses is not None and (losses.lost_in_receiver or 0) > (losses.lost_on_path or 0):
                return Cause.RECEIVER_LOSS
    losses_of_path = LOSS_KINDS | {Cause.PATH_LOSS, Cause.BOTTLENECK, Cause.REORDERING}
    found = [_first(cell, explained) for cell in cells]
    return next((cause for cause in found if cause in losses_of_path), Cause.NOT_KNOWN)


def _waits_for_timer(cells: Sequence[CellResult], explained: Explained) -> bool:
    """True where small packets wait for ACKs of the delayed-ACK timer."""
    places = [
        place
        for cell in cells
        if cell.id in explained
        for pattern in explained[cell.id].patterns
        for phase in pattern.phases
        for place in phase.turn
        if place.held_by == "small"
    ]
    return any(place.ack_reason == "delayed_timer" for place in places)


def bend_cause(behind: Sequence[CellResult], explained: Explained) -> Cause:
    """The limit of the cells behind a bend: what most of their first verdicts say, or a CPU that has no time left."""
    verdicts = Counter(cause for cell in behind if (cause := _first(cell, explained)) is not Cause.NOT_KNOWN)
    if verdicts:
        return verdicts.most_common(1)[0][0]
    busy = [known_of(cell, None) for cell in behind]
    full = sum(max(known.get("sender_busy", 0.0), known.get("receiver_busy", 0.0)) >= BUSY_RATIO for known in busy)
    return Cause.CAPACITY if full > len(behind) / 2 else Cause.NOT_KNOWN


def _first(cell: CellResult, explained: Explained) -> Cause:
    """The first verdict of a cell."""
    verdicts = explained[cell.id].verdicts if cell.id in explained else []
    return verdicts[0].cause if verdicts else Cause.NOT_KNOWN
