"""What is known of a cell, figure by figure, and how it differs from that of its neighbors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import percent, significant
from whyperf.explain.model import CellExplanation, Evidence, Phase
from whyperf.explain.states import name_of

LEAST_RATIO = 0.15
"""A size or count must differ by so much, in either direction, to be told."""

LEAST_PART = 0.05
"""A part of something must differ by so much."""

LEAST_LOST = 0.005
"""Of what is sent again less tells already: each loss costs a timeout, or half the congestion window."""

MOST_TOLD = 6


@dataclass(frozen=True)
class Figure:
    """A figure of a cell, in words with a place for the value: `is_part` of something, or a size or count."""

    words: str
    table: str
    is_part: bool = False
    unit: str = ""


FIGURES: Mapping[str, Figure] = {
    "segment_bytes": Figure("a data segment carries {} bytes", "tcp_info", unit="bytes"),
    "retransmitted_ratio": Figure("{} of the data segments are sent again", "tcp_info", is_part=True),
    "window_bytes": Figure("{} bytes of window are announced", "tcp_info", unit="bytes"),
    "sender_busy": Figure("the sender's CPU is busy {} of the time", "cpu", is_part=True),
    "receiver_busy": Figure("the receiver's CPU is busy {} of the time", "cpu", is_part=True),
    "sender_softirq": Figure("softirqs take {} of the sender's CPU", "cpu", is_part=True),
    "receiver_softirq": Figure("softirqs take {} of the receiver's CPU", "cpu", is_part=True),
    "sender_cycles": Figure("a KByte costs the sender {} cycles", "cpu", unit="cycles"),
    "receiver_cycles": Figure("a KByte costs the receiver {} cycles", "cpu", unit="cycles"),
    "write_bytes": Figure("a write call moves {} bytes", "flows", unit="bytes"),
    "read_bytes": Figure("a read call moves {} bytes", "flows", unit="bytes"),
    "short_reads": Figure("{} of the read calls get less than they ask for", "flows", is_part=True),
    "packet_bytes": Figure("{} bytes leave TCP at once", "segments", unit="bytes"),
    "packets_per_mbyte": Figure("a MByte leaves in {} packets", "segments", unit="count"),
    "acks_per_mbyte": Figure("{} ACKs are sent for a MByte", "segments", unit="count"),
    "timer_acks": Figure("{} of the ACKs come from the delayed-ACK timer", "segments", is_part=True),
    "read_acks": Figure("{} of the ACKs come from read calls", "segments", is_part=True),
    "stop_and_go": Figure("{} of the ACKs leave nothing outstanding", "segments", is_part=True),
    "overlap": Figure("{} of the bytes leave while others are under way", "segments", is_part=True),
    "small_waits": Figure(
        "{} of the packets wait for an ACK because they are less than a segment", "segments", is_part=True
    ),
    "timeout_wait": Figure("{} of the time is silence until a retransmission timer runs out", "segments", is_part=True),
}
"""All figures, in the order they are told where they differ equally."""

STATES = Figure("{} of the {end}'s time is: {state}", "segments", is_part=True)

STATE_WORDS: Mapping[str, str] = {
    "sender:rto_wait": "the sender waits {} of the time for a retransmission timer",
    "sender:loss_recovery": "the sender is in loss recovery {} of the time",
    "sender:zero_window": "the sender waits {} of the time before a closed window",
    "sender:receive_window_reader": "the sender waits {} of the time for a window that the reader keeps full",
    "sender:receive_window_buffer": "the sender waits {} of the time for a window that the receive buffer bounds",
    "sender:slow_start": "the sender is in slow start {} of the time",
    "sender:congestion_window": "the congestion window holds the sender {} of the time",
    "sender:nagle": "Nagle's algorithm holds the sender {} of the time",
    "sender:pacing": "pacing holds the sender {} of the time",
    "sender:device": "device and queues hold the sender {} of the time",
    "sender:send_buffer": "the sender waits {} of the time for room in its send buffer",
    "sender:write_call": "the sender works in write calls {} of the time",
    "sender:waits_for_cpu": "the sender waits {} of the time for a CPU",
    "sender:not_writing": "the sending application does not write {} of the time",
    "sender:unknown": "what the sender waits for is not known {} of the time",
    "receiver:sequence_hole": "the receiver has a hole in its sequence {} of the time",
    "receiver:read_call": "the receiver works in read calls {} of the time",
    "receiver:softirq": "the receiver takes segments in (softirq) {} of the time",
    "receiver:waits_for_cpu": "the reader waits {} of the time for a CPU",
    "receiver:not_reading": "the receiving application does not read {} of the time",
    "receiver:delayed_ack": "the receiver holds an ACK back {} of the time",
    "receiver:waiting": "the receiver waits for payload {} of the time",
    "receiver:unknown": "what the receiver does is not known {} of the time",
}
"""States of the budgets in words."""

Known = Mapping[str, float]


def known_of(cell: CellResult, explained: CellExplanation | None) -> dict[str, float]:
    """All figures of a cell that are known, by name; shares of a budget are named `END:STATE`."""
    rate, segments = cell.goodput_bps.median, cell.data_segments_per_s
    found: dict[str, float | None] = {
        "segment_bytes": rate / 8 / segments if rate and segments else None,
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
    """A figure that is otherwise than at the neighbors: `words` with its value, `usual` with theirs."""

    name: str
    words: str
    usual: str
    value: float
    figure: Figure

    def evidence(self, label: str) -> Evidence:
        """The row of evidence; `label` names the neighbors."""
        said = f"{self.words[:1].upper()}{self.words[1:]}, {label} {self.usual}."
        return Evidence(words=said, table=self.figure.table, value=self.value, unit=self.figure.unit)


def differences(own: Known, others: Sequence[Known]) -> list[Difference]:
    """What is otherwise than at the neighbors, the largest difference first."""
    found: list[tuple[float, Difference]] = []
    for name, value in own.items():
        there = [other[name] for other in others if name in other]
        if not there:
            continue
        usual = sum(there) / len(there)
        figure = FIGURES.get(name, STATES)
        weight = _weight(name, value, usual, there, figure)
        if weight is not None:
            found.append((weight, _difference(name, value, usual, figure)))
    found.sort(key=lambda one: -one[0])
    return [one for _, one in found[:MOST_TOLD]]


def _weight(name: str, value: float, usual: float, there: Sequence[float], figure: Figure) -> float | None:
    """How much a figure differs, None if too little: by parts of the whole, or by ratio. It must leave their range."""
    if min(there) <= value <= max(there):
        return None
    # Softirqs do less where less arrives: only more of them says something.
    if name.endswith("softirq") and value < usual:
        return None
    if figure.is_part:
        least = LEAST_LOST if name == "retransmitted_ratio" else LEAST_PART
        return abs(value - usual) if abs(value - usual) >= least else None
    if usual <= 0 or value <= 0:
        return None
    ratio = max(value / usual, usual / value) - 1
    return min(1.0, ratio) if ratio >= LEAST_RATIO else None


def _difference(name: str, value: float, usual: float, figure: Figure) -> Difference:
    text = _part if figure.is_part else (lambda number: significant(number, 3))
    words = figure.words
    if ":" in name:
        end, _, state = name.partition(":")
        words = STATE_WORDS.get(name, words).replace("{end}", end).replace("{state}", f"«{name_of(state)}»")
    return Difference(name, words.format(text(value)), text(usual), value, figure)


def _part(ratio: float) -> str:
    """A part in percent; one that would be rounded to 0.0 is none."""
    return percent(ratio) if ratio >= 0.0005 else "0 %"
