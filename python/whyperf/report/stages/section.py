"""The section on processing times: time against size, bars of stages, single messages, tables.

Processing times of a calibrated model, next to those measured: what its costs make of a packet of each size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean, median

from whyperf.analyze.stages import SizePoint, TrialStages
from whyperf.analyze.stages.experiment import CellStages, StageLine, lines_over, read_cells
from whyperf.analyze.stages.kinds import stage_of
from whyperf.analyze.stages.size_lines import size_lines
from whyperf.analyze.text import count, percent, seconds, setting
from whyperf.calibrate import CalibratedHost
from whyperf.plan import Plan
from whyperf.record import Experiment, Trials
from whyperf.report.explanation.styles import Look
from whyperf.report.stages.drawn import MIN_RATIO, MessageFall, StageBar, falls_of, stage_bars
from whyperf.report.stages.figure import ModelPoint, SizeFigure, size_figures
from whyperf.report.stages.stage_colors import all_stages, look_of
from whyperf.report.stages.texts import KBYTE, Block, blocks_of, limits_of, notes_of

US = 1000.0
FIXED: Mapping[str, tuple[str, ...]] = {
    "out": ("write_call_us", "copy_in_us", "new_buffer_us", "output_us", "transmit_us"),
    "in": ("softirq_us", "input_us", "wake_up_us", "switch_us", "read_call_us", "copy_out_us"),
}
"""Costs of the model for each packet that leaves and arrives, in an exchange of single packets. The entry of
a read call that sleeps has the switch of threads. Not the interrupt that a virtual device does not have, nor work for
ACKs."""
PER_BYTE: Mapping[str, tuple[str, ...]] = {
    "out": ("copy_in_ns_per_byte",),
    "in": ("softirq_ns_per_byte", "copy_out_ns_per_byte"),
}
DRIVER: Mapping[str, tuple[str, ...]] = {"out": ("transmit_us",), "in": ()}
"""The driver's part; of what arrives, the model has the driver, GRO and IP in one cost."""


HANDOVER = "handover_us"
"""The additional cost of a packet that leaves where the other host's CPU is not at work for it already."""
MIN_SEGMENTS = 2.0
"""From so many segments in a packet on its receiver sends an ACK at once (RFC 5681, 4.2), before it answers."""
Pair = tuple[SizePoint, ModelPoint]


def modeled(host: CalibratedHost, cells: Sequence[TrialStages]) -> list[Pair]:
    """Each point of these cells with the model's: medians over the ensemble of costs.

    A host that sends an ACK for what it received has interrupted the other one with it. So that ACK, and not the packet
    that follows, takes the time for handing over.
    """
    pairs = []
    for found in cells:
        at_once = {
            total.host: total.segments / total.packets >= MIN_SEGMENTS
            for total in found.totals
            if total.direction == "out"
        }
        for point in found.sizes:
            others = [sends_ack for name, sends_ack in at_once.items() if name != point.host]
            hands_over = point.direction == "out" and not any(others)
            times = [_time(costs, point.direction, point.packet_bytes, hands_over=hands_over) for costs in host.sets]
            cpu_ns, driver_ns = (median(time[part] for time in times) for part in (0, 1))
            pairs.append((point, ModelPoint(point.packet_bytes, cpu_ns, driver_ns)))
    return pairs


def lines(pairs: Sequence[Pair]) -> dict[str, list[ModelPoint]]:
    """The model's points by direction, those of one size together, in the order of sizes."""
    found: dict[str, list[ModelPoint]] = {}
    for (direction, size), group in groupby(sorted(pairs, key=_place), key=_place):
        alike = [point for _, point in group]
        times = [mean(getattr(point, name) for point in alike) for name in ("cpu_ns", "driver_ns")]
        found.setdefault(direction, []).append(ModelPoint(size, *times))
    return found


def _place(pair: Pair) -> tuple[str, int]:
    """Direction and size of a pair."""
    return pair[0].direction, round(pair[0].packet_bytes)


def differences(pairs: Sequence[Pair]) -> dict[str, tuple[float, float]]:
    """Differences of the model's times from the host's, by direction, as ratios: the median without signs, and the
    largest with its sign.
    """
    found = {}
    for direction in FIXED:
        apart = [
            own.cpu_ns / point.cpu_ns.value - 1
            for point, own in pairs
            if point.direction == direction and point.cpu_ns.value > 0
        ]
        if apart:
            found[direction] = median(abs(ratio) for ratio in apart), max(apart, key=abs)
    return found


def _time(costs: Mapping[str, float], direction: str, size: float, *, hands_over: bool) -> tuple[float, float]:
    """CPU time of a packet in ns, and the driver's part."""
    keys = (*FIXED[direction], HANDOVER) if hands_over else FIXED[direction]
    fixed = US * sum(costs.get(key, 0.0) for key in keys)
    per_byte = sum(costs.get(key, 0.0) for key in PER_BYTE[direction])
    return fixed + per_byte * size, US * sum(costs.get(key, 0.0) for key in DRIVER[direction])


MAX_CELLS = 60
"""At most this many cells are read."""
MAX_BARS = 12
"""Of these, so many have bars."""
MAX_DETAILS = 4
"""Of these, so many have their tables and single messages."""
SIZES = frozenset({
    *("write_size_bytes", "read_size_bytes", "request_size_bytes", "response_size_bytes"),
    *("reply_size_bytes", "message_size_bytes"),
})  # fmt: skip
"""Factors that change sizes alone: over their levels a stage has one line."""
ABOUT = (
    "Where the time of a packet goes in each host, from tracepoints of sampled segments. The bars are processing: time "
    "on the CPU, without what interrupted it. Waiting is apart. These trials are not used for any rate."
)


@dataclass(frozen=True)
class CellView:
    """A cell: its setting (empty where there is only one), bars, and for some cells messages and tables."""

    setting: str
    bars: Sequence[StageBar]
    falls: Sequence[MessageFall] = ()
    blocks: Sequence[Block] = ()


@dataclass(frozen=True)
class StagesSection:
    """All that the template draws."""

    about: str
    looks: Sequence[Look]
    figures: Sequence[SizeFigure]
    has_model: bool
    lines: Block | None
    cells: Sequence[CellView]
    notes: Sequence[str]


def read_staged(experiment: Experiment, trials: Trials) -> list[CellStages]:
    """The cells that the page shows, of those with trials for stage times; empty without any.

    Raises:
        RecordError: the record cannot be read.
    """
    shown = {cell.id for cell in experiment.plan.cells[:MAX_CELLS]}
    return read_cells(experiment, trials, shown) if trials.staged else []


def stages_section(plan: Plan, cells: Sequence[CellStages], host: CalibratedHost | None = None) -> StagesSection | None:
    """The section of cells that were read; None where there are none.

    `host` is a model of this host, whose times are drawn next to those measured.
    """
    if not cells:
        return None
    found = [(cell, cell.found) for cell in cells if cell.found is not None]
    names = {} if len(plan.cells) == 1 else {cell.id: _setting(plan, cell.id) for cell in plan.cells}
    views = [
        CellView(
            names.get(cell.cell, ""),
            stage_bars(stages) if at < MAX_BARS else (),
            falls_of(stages) if at < MAX_DETAILS else (),
            blocks_of(stages) if at < MAX_DETAILS else (),
        )
        for at, (cell, stages) in enumerate(found)
    ]
    groups = _by_other_factors(plan, [cell for cell, _ in found])
    points = {name: [point for cell in own if cell.found for point in cell.found.sizes] for name, own in groups.items()}
    pairs = (
        {}
        if host is None
        else {name: modeled(host, [cell.found for cell in own if cell.found]) for name, own in groups.items()}
    )
    figures = size_figures(points, {name: lines(own) for name, own in pairs.items()})
    notes = [text for cell in cells for text in cell.reasons]
    notes += _model_notes(differences([pair for own in pairs.values() for pair in own]))
    notes += [text for _, stages in found[:1] for text in notes_of(stages)]
    notes += [text for _, stages in found[1:] for text in limits_of(stages)]
    notes += _left_out(plan, cells)
    return StagesSection(
        about=ABOUT,
        looks=_looks([stages for _, stages in found]),
        figures=figures,
        has_model=host is not None and bool(figures),
        lines=_lines_block(groups, points) if len(found) > len(groups) else None,
        cells=views,
        notes=tuple(dict.fromkeys(notes)),
    )


def trial_section(found: TrialStages, about: str = ABOUT) -> StagesSection:
    """The section of a single trial."""
    return StagesSection(
        about=about,
        looks=_looks([found]),
        figures=size_figures({"": found.sizes}),
        has_model=False,
        lines=None,
        cells=(CellView("", stage_bars(found), falls_of(found), blocks_of(found)),),
        notes=tuple(notes_of(found)),
    )


def _setting(plan: Plan, cell: str) -> str:
    return setting(dict(plan.cell(cell).factors), list(plan.differing)) or cell


def _model_notes(apart: Mapping[str, tuple[float, float]]) -> list[str]:
    """The distance of the model from the host."""
    verbs = {"out": "sending", "in": "receiving"}
    return [
        f"Model, {verbs[direction]}: {percent(middle)} from the host in the median of all sizes, at most "
        f"{percent(abs(most))} {'above' if most > 0 else 'below'} it."
        for direction, (middle, most) in apart.items()
    ]


def _looks(found: Sequence[TrialStages]) -> Sequence[Look]:
    """Stages that bars have a visible part of, or that messages spend time in, in their order."""
    names = {
        total.stage.name
        for stages in found
        for direction in stages.totals
        for total in direction.stages
        if total.stage.layer != "acks"
        and direction.cpu_ns.value
        and total.cpu_ns.value / direction.cpu_ns.value >= MIN_RATIO
    }
    names |= {
        span.stage.name for stages in found for falls in stages.waterfalls for fall in falls for span in fall.spans
    }
    return tuple(look_of(stage.name) for stage in all_stages() if stage.name in names)


def _by_other_factors(plan: Plan, cells: Sequence[CellStages]) -> dict[str, list[CellStages]]:
    """The cells that differ in sizes alone, by the setting of what else differs; empty where nothing does."""
    others = [name for name in plan.differing if name not in SIZES]
    groups: dict[str, list[CellStages]] = {}
    for cell in cells:
        groups.setdefault(setting(dict(plan.cell(cell.cell).factors), others) if others else "", []).append(cell)
    return groups


def _lines_block(groups: Mapping[str, Sequence[CellStages]], points: Mapping[str, Sequence[SizePoint]]) -> Block | None:
    """Lines through the times of all sizes: of all stages, of the driver, and of each stage."""
    rows = []
    for name, cells in groups.items():
        prefix = f"{name}: " if name else ""
        rows += [(f"{prefix}{row[0]}", *row[1:]) for row in (*_sum_rows(points[name]), *_stage_rows(lines_over(cells)))]
    if not rows:
        return None
    note = (
        "Lines through the mean times of all sizes, of both hosts together. Each time is once for each run of a stage, "
        "which several packets may share. Farthest size is the largest distance of a size from the line. "
        "An interval below 0 means that bytes cost too little to be seen."
    )
    columns = ("Stage", "Each time", "95 % interval", "Per KByte", "95 % interval", "Farthest size")
    return Block("Time against size", columns, rows, [note])


def _sum_rows(points: Sequence[SizePoint]) -> list[tuple[str, ...]]:
    return [
        (
            f"{title}, {'sending' if line.direction == 'out' else 'receiving'}",
            seconds(line.fixed_ns),
            "",
            seconds(line.ns_per_byte * KBYTE),
            "",
            percent(line.misfit_ratio),
        )
        for line in size_lines(points)
        for title in ({"total": "All stages", "driver": "Driver"}[line.kind],)
    ]


def _stage_rows(lines: Sequence[StageLine]) -> list[tuple[str, ...]]:
    return [
        (
            f"{stage.title}, {'sending' if line.direction == 'out' else 'receiving'}",
            seconds(line.fit.fixed_ns.value),
            _ends(line.fit.fixed_ns.low, line.fit.fixed_ns.high),
            seconds(line.fit.ns_per_byte.value * KBYTE),
            _ends(*(None if end is None else end * KBYTE for end in line.fit.ns_per_byte[1:])),
            percent(line.fit.misfit_ratio),
        )
        for line in lines
        if (stage := stage_of(line.direction, line.stage)) is not None
    ]


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{seconds(low)} to {seconds(high)}"


def _left_out(plan: Plan, cells: Sequence[CellStages]) -> list[str]:
    texts = []
    if len(plan.cells) > MAX_CELLS:
        texts.append(f"The first {MAX_CELLS} of {count(len(plan.cells), 'cell')} are read.")
    if sum(cell.found is not None for cell in cells) > MAX_BARS:
        texts.append(f"Bars of the first {MAX_BARS} cells.")
    if sum(cell.found is not None for cell in cells) > MAX_DETAILS:
        texts.append(
            f"Tables and single messages of the first {MAX_DETAILS} cells. `whyperf show --view flow RESULT TRIAL` has "
            "those of "
            "any trial."
        )
    return texts
