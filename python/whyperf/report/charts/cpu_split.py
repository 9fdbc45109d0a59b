"""Stacked bars of the kinds of CPU time, one chart per role."""

from collections.abc import Iterable, Sequence
from itertools import product

from whyperf.analyze.measures.cpu import TRACEPOINTS
from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import factor_name, factor_title, level_text, level_with_unit, percent
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import ENDS, KINDS, tag
from whyperf.report.charts.layout import Axis, Layout
from whyperf.report.charts.models import ColumnDataSource, Field, FixedTicker, NoOverlap, Plot, Range1d, Value, VBar
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard
from whyperf.report.charts.ticks import bar_labels

MAX_BARS = 10

Bars = Sequence[tuple[str, CellResult | None]]
"""Label and cell of each bar."""

TICKS = (
    "Share of the wall time of the host's own CPUs. The kernel counts in ticks, so the kinds do not add up exactly to "
    "the wall time: a bar may end below 100 %. If they add up to more, all kinds are scaled down equally."
)
MODELED = "Share of the wall time of the host's own CPUs, which the model counts in nanoseconds."
SHARED = "There is no bar where both hosts share their CPUs, because their times cannot be separated."
TRACED = (
    "Share of the wall time of the host's own CPUs. Soft interrupt time is from tracepoints. The kernel counts user, "
    "interrupt, stolen and idle time in ticks; system time is the rest."
)


def split_group(
    prefix: str, layout: Layout, board: Switchboard, panels: tuple[Choice, ...], at: Choice | None
) -> Group | None:
    """The bars by the factor of the lines at the selected level of x, or by x; None without CPU times."""
    if not any(_known(cell) for cell in layout.cells.values()):
        return None
    axis = layout.lines if layout.lines and at else layout.x
    levels = axis.thinned(MAX_BARS)
    lines = layout.lines if layout.lines and not at else None
    line = lines.levels[-1] if lines else None
    bars: dict[tuple[str, ...], Bars] = {}
    for panel in product(*(factor.levels for factor in layout.panels)):
        key = tuple(level_text(level) for level in panel)
        if at:
            for x in layout.x.levels:
                bars[*key, level_text(x)] = [_bar(axis, level, layout.cell(x, level, panel)) for level in levels]
        else:
            bars[key] = [_bar(axis, level, layout.cell(level, line, panel)) for level in levels]
    choices = (*panels, *((at,) if at else ()))
    charts = []
    for end in ENDS:
        made = _empty(axis.title, bar_labels(axis, levels), _highest(layout.cells.values()))
        columns = {key: _columns(row, [end] * len(row)) for key, row in bars.items()}
        _draw(made, board.source(choices, columns), factor_title(axis.factor).partition(" (")[0])
        description = f"CPU time of the {end} by kind, by {factor_name(axis.factor)}."
        charts.append(Chart(f"{prefix}-split-{end}", end.capitalize(), made, description))
    note = split_note(layout.cells.values())
    if at:
        note = f"At the {factor_name(layout.x.factor)} selected above. {note}"
    elif lines:
        note = f"With {factor_name(lines.factor)} {level_with_unit(lines.factor, line)}. {note}"
    return Group(f"CPU time by kind, by {factor_name(axis.factor)}", tuple(charts), note, kinds_legend())


def kinds_legend() -> Legend:
    """The colors of the kinds."""
    names = {"irq": "hardware interrupts", "softirq": "soft interrupts", "steal": "stolen by the hypervisor"}
    return Legend("", tuple(Key(names.get(kind, kind), paint) for kind, paint in KINDS.items()))


def single_split(cell: CellResult, board: Switchboard) -> Chart | None:
    """One chart with a bar per role, for a result of one cell; None without CPU times."""
    if not _known(cell):
        return None
    made = _empty("Role", [end.capitalize() for end in ENDS], _highest([cell]))
    columns = _columns([(end.capitalize(), cell) for end in ENDS], list(ENDS))
    _draw(made, board.source((), {(): columns}), "Role")
    return Chart("split", "", made, "CPU time by kind at both hosts.")


def split_note(cells: Iterable[CellResult]) -> str:
    """The source of the times; tracepoints are named if all bars have them."""
    cells = list(cells)
    ends = [cpu for cell in cells for cpu in (cell.cpu.sender, cell.cpu.receiver) if cpu is not None]
    sources = {cpu.softirq_source for cpu in ends} - {None}
    # Only simulated cells have the factor `hosts`.
    is_model = bool(cells) and all("hosts" in cell.factors for cell in cells)
    note = MODELED if is_model else TRACED if sources == {TRACEPOINTS} else TICKS
    return f"{note} {SHARED}" if any(cpu.busy_ratio is None and not cpu.exclusive for cpu in ends) else note


def _known(cell: CellResult) -> bool:
    return any(getattr(cell.cpu, end) is not None and getattr(cell.cpu, end).busy_ratio is not None for end in ENDS)


def _highest(cells: Iterable[CellResult]) -> float:
    """The highest bar in percent."""
    ends = [cpu for cell in cells for cpu in (cell.cpu.sender, cell.cpu.receiver) if cpu is not None]
    sums = ((cpu.busy_ratio or 0.0) + (cpu.steal_ratio or 0.0) + (cpu.idle_ratio or 0.0) for cpu in ends)
    return max((total * 100 for total in sums), default=0.0)


def _bar(axis: Axis, level: object, cell: CellResult | None) -> tuple[str, CellResult | None]:
    return level_with_unit(axis.factor, level), cell


def _empty(title: str, labels: list[str], highest: float) -> Plot:
    made = figures.chart(title, "CPU time (% of wall)", height=320)
    made.xaxis.ticker = FixedTicker(ticks=list(range(len(labels))), minor_ticks=[])
    figures.label(made, dict(enumerate(labels)))
    # On a narrow screen, labels that would touch are left out; the tooltip has them.
    made.xaxis.major_label_policy = NoOverlap(min_distance=6)
    figures.full_percent(made, highest)
    made.x_range = Range1d(start=-0.6, end=len(labels) - 0.4)
    return made


def _columns(bars: Bars, ends: Sequence[str]) -> Columns:
    """Bottom and top of every kind, and the text of the tooltip."""
    columns: dict[str, list[object]] = {"x": list(range(len(bars))), "at": [label for label, _ in bars]}
    floors = [0.0] * len(bars)
    for kind in KINDS:
        ratios = []
        for (_, cell), end in zip(bars, ends, strict=True):
            cpu = getattr(cell.cpu, end) if cell is not None else None
            ratios.append((getattr(cpu, f"{kind}_ratio") or 0.0) if cpu is not None else 0.0)
        columns[f"{kind}_from"] = [round(floor, 3) for floor in floors]
        floors = [floor + ratio * 100 for floor, ratio in zip(floors, ratios, strict=True)]
        columns[f"{kind}_to"] = [round(floor, 3) for floor in floors]
        columns[kind] = [percent(ratio) for ratio in ratios]
    return columns


def _draw(made: Plot, source: ColumnDataSource, label: str) -> None:
    drawn = []
    for kind, paint in KINDS.items():
        glyph = VBar(
            x=Field("x"),
            bottom=Field(f"{kind}_from"),
            top=Field(f"{kind}_to"),
            width=Value(0.66),
            fill_color=Value(paint[0]),
            line_color=Value(None),
        )
        drawn.append(made.draw(source, glyph, tags=[tag(paint)]))
    figures.hover(made, drawn, {label: "at", **{kind.capitalize(): kind for kind in KINDS}})
