"""The drawings of the section on processing times: bars of stages, and single messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.analyze.stages import DirectionTotals, HostStages, TrialStages, Waterfall
from whyperf.analyze.text import octets, percent, seconds
from whyperf.report.explanation.styles import Look
from whyperf.report.stages.stage_colors import look_of
from whyperf.report.stages.texts import direction_text

NAMED_RATIO = 0.13
"""A part with at least this share of the widest bar has room for its name on a wide screen."""
MIN_RATIO = 0.001
TICKS = 4


@dataclass(frozen=True)
class StagePart:
    """A stage in a bar: its part of the bar, whether there is room for its name, and its texts."""

    look: Look
    ratio: float
    is_named: bool
    share: str
    time: str


@dataclass(frozen=True)
class StageBar:
    """The CPU time of a packet by stage, and its waiting as text; `width` is its part of the widest bar."""

    title: str
    total: str
    width: float
    parts: Sequence[StagePart]

    @property
    def description(self) -> str:
        """The same for screen readers."""
        return f"{self.title}, {self.total}: " + ", ".join(f"{part.look.name} {part.time}" for part in self.parts)


@dataclass(frozen=True)
class Row:
    """A stage of a message: where it is in percent of the time of all, how much of it is processing, and its texts."""

    look: Look
    side: str
    left: float
    width: float
    cpu_ratio: float
    time: str
    text: str


@dataclass(frozen=True)
class MessageFall:
    """A message from its write call to its reader, with ticks of its time."""

    title: str
    rows: Sequence[Row]
    ticks: Sequence[str]


def stage_bars(found: TrialStages) -> list[StageBar]:
    """A bar for each direction at each host, on one scale."""
    widest = max((total.cpu_ns.value for total in found.totals), default=0.0)
    return [_bar(found.host(total.host), total, widest) for total in found.totals]


def _bar(host: HostStages, total: DirectionTotals, widest: float) -> StageBar:
    whole = total.cpu_ns.value or 1.0
    parts = [
        StagePart(
            look=look_of(stage.stage.name),
            ratio=stage.cpu_ns.value / whole,
            is_named=stage.cpu_ns.value / (widest or 1.0) >= NAMED_RATIO,
            share=percent(stage.cpu_ns.value / whole),
            time=seconds(stage.cpu_ns.value),
        )
        for stage in total.stages
        if not stage.stage.is_wait and stage.stage.layer != "acks" and stage.cpu_ns.value / whole >= MIN_RATIO
    ]
    waits = f", waiting {seconds(total.waiting_ns.value)}" if total.waiting_ns.value >= 1 else ""
    text = f"{seconds(total.cpu_ns.value)} per packet of {octets(total.packet_bytes)}{waits}"
    return StageBar(direction_text(host, total), text, total.cpu_ns.value / (widest or 1.0), parts)


def falls_of(found: TrialStages) -> list[MessageFall]:
    """The single messages that are drawn, each on its own scale."""
    falls = []
    for messages, of_direction in zip(found.messages, found.waterfalls, strict=True):
        writer, reader = found.host(messages.lives.writer), found.host(messages.lives.reader)
        which = {"median": "with the median latency", "slow": "at the start of the slowest 1 %"}
        falls += [
            _fall(fall, f"A message from the {writer.role} to the {reader.role} {which[fall.which]}", (writer, reader))
            for fall in of_direction
        ]
    return falls


def _fall(fall: Waterfall, title: str, hosts: tuple[HostStages, HostStages]) -> MessageFall:
    end = max((span.end_ns for span in fall.spans), default=0.0) or 1.0
    start = min((span.start_ns for span in fall.spans), default=0.0)
    length = end - min(start, 0.0)
    sides = {"writer": hosts[0].role, "reader": hosts[1].role, "path": ""}
    rows = []
    for span in fall.spans:
        took = max(0.0, span.end_ns - span.start_ns)
        cpu = min(1.0, span.cpu_ns / took) if took and not span.stage.is_wait else 0.0
        size = f", {octets(span.bytes)}" if span.bytes not in {0, fall.message_bytes} else ""
        processed = "" if span.stage.is_wait else f", {seconds(max(0.0, span.cpu_ns))} of it on the CPU"
        rows.append(
            Row(
                look=look_of(span.stage.name),
                side=sides[span.side],
                left=round(100 * (span.start_ns - min(start, 0.0)) / length, 2),
                width=round(100 * took / length, 2),
                cpu_ratio=round(cpu, 3),
                time=seconds(took),
                text=f"{span.stage.title}: from {seconds(span.start_ns)} on, {seconds(took)}{processed}{size}",
            )
        )
    text = f"{title}: {octets(fall.message_bytes)} in {seconds(fall.latency_ns)}"
    ticks = tuple(seconds(length * tick / TICKS) if tick else "0" for tick in range(TICKS + 1))
    return MessageFall(text, rows, ticks)
