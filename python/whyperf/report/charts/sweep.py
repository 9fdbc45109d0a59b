"""The charts of one sweep, chosen by what varied."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

from whyperf.analyze.spread import interval_name
from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import factor_name, level_text, level_with_unit, significant, sweep_title
from whyperf.analyze.time_series import Course
from whyperf.report.charts import columns as data
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend, Section
from whyperf.report.charts.colors import CATEGORIES, ENDS, Paint, ordered
from whyperf.report.charts.cpu_split import split_group
from whyperf.report.charts.latency import Histograms, Place, latency_groups, transaction_cost_groups
from whyperf.report.charts.layout import CPU_FACTORS, MAX_LINES, Axis, Layout, choose
from whyperf.report.charts.levels_over_time import levels_over_time
from whyperf.report.charts.metric import metric_of
from whyperf.report.charts.models import ColumnDataSource, Plot, Range1d
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard, choice

DENSE = 12
"""With at least this many points, intervals are drawn as a band, otherwise as whiskers."""

SIDE_BY_SIDE = 0.6
"""Room for the points of all lines at a level that is not a number, as a ratio of the distance of levels."""

USUAL_SIZE = 8192
"""The user data size at which the ATM study compares windows."""

Get = Callable[[CellResult], float | None]
Text = Callable[[CellResult], str]


def sweep_section(
    name: str,
    cells: Sequence[CellResult],
    board: Switchboard,
    histograms: Histograms | None = None,
    marks: data.Marks | None = None,
    *,
    courses: Mapping[str, Course] | None = None,
) -> Section:
    """The section of sweep `name`, whose `cells` differ in at least one factor.

    `histograms` are of latency by cell; `marks` are the anomalies by cell; `courses` have a trial per cell over time.
    """
    layout = choose(cells)
    section = Section(f"sweep-{name}", sweep_title(name))
    if layout is None:
        section.left_out.append("No charts: nothing varies in this sweep. See the table.")
        return section
    if not any(metric_of(cells).median(cell) for cell in cells):
        section.left_out.append("No charts: no trial of this sweep has a result yet.")
        return section
    drawer = _Drawer(f"sweep-{name}", layout, cells, board, marks or {})
    section.choices = drawer.panels
    place = Place(drawer.id, layout, drawer.panels, board)
    section.groups.append(drawer.goodput())
    if any(cell.transactions is not None and cell.transactions.counted_as == "messages" for cell in cells):
        section.groups.append(drawer.packets())
    section.groups += latency_groups(place, cells, histograms)
    if courses and (group := levels_over_time(drawer.id, layout, courses, board)) is not None:
        section.groups.append(group)
    if drawer.knows_cpu:
        section.groups += drawer.cpu()
        split = split_group(drawer.id, layout, board, drawer.panels, drawer.at)
        if split:
            section.groups.append(split)
        else:
            section.left_out.append(
                "No CPU time by kind: both hosts share their CPUs, so only the time of whyperf's own threads is known."
            )
    else:
        section.left_out.append("No CPU charts: no trial recorded CPU time.")
    if all(cell.metric == "transactions" for cell in cells):
        section.groups += transaction_cost_groups(place, cells)
    elif any(data.cost(end)(cell) is not None for cell in cells for end in ENDS):
        section.groups.append(drawer.cost())
    else:
        section.left_out.append("No cycles per KByte: the hosts have neither a PMU nor a time stamp counter.")
    return section


class _Drawer:
    """Draws the charts of one sweep; they share axes, colors and choices."""

    def __init__(
        self,
        prefix: str,
        layout: Layout,
        cells: Sequence[CellResult],
        board: Switchboard,
        marks: data.Marks,
    ) -> None:
        self.id = prefix
        self._marks = {cell.id: marks[cell.id] for cell in cells if cell.id in marks}
        self._layout = layout
        self._board = board
        self._metric = metric_of(cells)
        self._unit = self._metric.unit(cells)
        self._cells = cells
        known = [cpu for cell in cells for cpu in (cell.cpu.sender, cell.cpu.receiver) if cpu]
        # All cells of a chart use the same measure, even if only some share their CPUs.
        alone = all(cpu.busy_ratio is not None for cpu in known)
        in_cpus = any(name in CPU_FACTORS for axis in _axes(layout) for name in (axis.factor, *axis.aliases))
        self._busy = data.Busy(threads_only=not alone, in_cpus=in_cpus)
        values = [value for cell in cells for end in ENDS if (value := self._busy.of(end)(cell)) is not None]
        self.knows_cpu = bool(values)
        self._highest_cpu = max(values, default=0.0)
        what, unit = ("CPUs", " in use") if in_cpus else ("CPU", " busy (%)")
        self._cpu_title = f"{what}{unit}" if alone else f"{what} of whyperf's own threads{'' if in_cpus else ' (%)'}"
        self._cpu_note = (CPU_NOTE if alone else SHARED_NOTE) + (IN_CPUS_NOTE if in_cpus else "")
        self.panels = tuple(
            choice(prefix, axis.factor, _label(axis), axis.levels, axis.levels[0]) for axis in layout.panels
        )
        lines = layout.lines
        self._levels: tuple[object, ...] = lines.thinned(MAX_LINES) if lines else (None,)
        self._paints = _paints(lines, len(self._levels))
        chosen = layout.x.levels[len(layout.x.levels) // 2]
        usual = USUAL_SIZE if USUAL_SIZE in layout.x.levels else chosen
        #: The level of x in the charts against the factor of the lines.
        self.at: Choice | None = None
        if lines and lines.numeric and len(lines.levels) >= 3 and layout.x.factor != "connections":
            self.at = choice(f"{prefix}-at", layout.x.factor, _label(layout.x), layout.x.levels, usual)

    def goodput(self) -> Group:
        """The metric against the x factor, a line per level of the second factor."""
        axis = self._layout.x
        made = self._empty(axis, self._metric.axis(self._unit), height=400)
        if self._unit.scale == 1:
            figures.full_numbers(made)
        points = []
        for index, level in enumerate(self._levels):
            source = self._source(
                level, lambda rows, line: data.medians(rows, axis.factor, self._metric, self._unit, line)
            )
            points.append(self._draw(made, source, axis, index, interval=True))
        self._mark(made)
        figures.hover(made, points, self._rows(axis, self._metric.title) | {"Trials": "trials"})
        heading = f"{self._metric.title} against {_names(axis)}"
        name = interval_name(cell.trials for cell in self._cells)
        description = f"{heading}, medians and {name}{self._lines_text()}."
        note = f"Median of the trials; {'band' if self._dense(axis) else 'whiskers'}: {name}."
        if any(cell.unsteady_trials for cell in self._cells):
            note += " A ring marks cells with trials that had no steady state."
        if self._marks:
            note += " Triangles mark peaks and drops, diamonds knees, bars plateaus (see Why)."
        if self._layout.lines and len(self._levels) < len(self._layout.lines.levels):
            note += f" {len(self._levels)} of {len(self._layout.lines.levels)} levels are drawn; the table has all."
        chart = Chart(f"{self.id}-goodput", "", made, description)
        return Group(heading, (chart,), note, self._legend())

    def _empty(self, axis: Axis, title: str, height: int = figures.HEIGHT) -> Plot:
        """An empty chart with a tick at the level of the fastest cell."""
        best = max(self._cells, key=lambda cell: self._metric.median(cell) or 0.0)
        return figures.factor_chart(axis, title, height, peak=best.factors.get(axis.factor))

    def packets(self) -> Group:
        """A chart of messages and a chart of packets."""
        axis = self._layout.x
        quantities: tuple[tuple[str, Get], ...] = (
            ("Messages", lambda cell: cell.transactions.per_s.median if cell.transactions is not None else None),
            ("Packets", lambda cell: cell.data_segments_per_s),
        )
        charts = []
        for name, value in quantities:
            made = self._empty(axis, f"{name} per second")
            figures.full_numbers(made)
            points = [
                self._draw(
                    made,
                    self._source(
                        level,
                        lambda rows, line, name=name, value=value: data.values(  # type: ignore[misc]
                            rows,
                            axis.factor,
                            line,
                            value,
                            lambda cell: f"{significant(value(cell) or 0.0, 4)} {name.lower()}/s",
                        ),
                    ),
                    axis,
                    index,
                    interval=False,
                )
                for index, level in enumerate(self._levels)
            ]
            figures.hover(made, points, self._rows(axis, name))
            description = f"{name} per second against {_names(axis)}{self._lines_text()}."
            charts.append(Chart(f"{self.id}-{name.lower()}", name, made, description))
        note = "Median of the trials, with retransmissions. Fewer packets than messages: a packet carries several."
        return Group(f"Messages and packets against {_names(axis)}", tuple(charts), note, self._legend())

    def cpu(self) -> list[Group]:
        """CPU against the factor of the lines at one level of x, next to goodput; otherwise against x."""
        lines = self._layout.lines
        if lines and self.at:
            goodput = self._against_lines(lines, self.at)
            heading = f"{self._metric.title} and CPU against {_names(lines)}"
            return [Group(heading, goodput, "", _ends_legend(f"{self.id}-end"), (self.at,))]
        if lines:
            charts = self._per_role("cpu", self._cpu_title, self._busy.of, self._busy.text)
            return [Group(f"CPU against {_names(self._layout.x)}", charts, self._cpu_note, self._legend())]
        chart = self._both_hosts(self._layout.x, (), {}, "")
        return [
            Group(f"CPU against {_names(self._layout.x)}", (chart,), self._cpu_note, _ends_legend(f"{self.id}-end"))
        ]

    def cost(self) -> Group:
        """Cycles per KByte against x."""
        unit = next((cell.cycles_per_kbyte.unit for cell in self._cells if cell.cycles_per_kbyte.unit), "cycles")
        charts = self._per_role("cost", f"{unit} per KByte", data.cost, data.cost_text)
        note = f"{unit} per 1,024 bytes of payload, median of the trials: the CPU cost of moving data."
        return Group("Cycles per KByte", charts, note, self._legend())

    def _against_lines(self, lines: Axis, at: Choice) -> tuple[Chart, ...]:
        """Goodput and the CPU of both hosts against the factor of the lines."""
        combos = self._at_combos()
        made = self._empty(lines, self._metric.axis(self._unit))
        if self._unit.scale == 1:
            figures.full_numbers(made)
        columns: dict[tuple[str, ...], Columns] = {}
        for key, (x, panel) in combos.items():
            rows = [(pos, level, self._layout.cell(x, level, panel)) for pos, level in _positions(lines)]
            columns[key] = data.labeled(data.medians(rows, lines.factor, self._metric, self._unit, ""), lines)
        source = self._board.source([*self.panels, at], columns)
        paint = CATEGORIES[2]
        figures.add_whiskers(made, source, paint)
        figures.add_trend(made, source, lines, paint)
        figures.hover(
            made, [figures.add_points(made, source, paint)], {_label(lines): "at", self._metric.title: "shown"}
        )
        description = f"{self._metric.title} against {_names(lines)} at one {factor_name(self._layout.x.factor)}."
        cpu = self._both_hosts(lines, (at,), combos, "CPU")
        return (Chart(f"{self.id}-lines-goodput", self._metric.title, made, description), cpu)

    def _both_hosts(
        self,
        axis: Axis,
        at: tuple[Choice, ...],
        combos: dict[tuple[str, ...], tuple[object, tuple[object, ...]]],
        head: str,
    ) -> Chart:
        """CPU of sender and receiver against `axis`."""
        made = self._empty(axis, self._cpu_title)
        self._full_cpu(made, axis)
        points = []
        for number, (end, paint) in enumerate(ENDS.items()):
            shift = _shift(axis, number, len(ENDS))
            columns: dict[tuple[str, ...], Columns] = {}
            if at:
                for key, (x, panel) in combos.items():
                    rows = [(pos + shift, level, self._layout.cell(x, level, panel)) for pos, level in _positions(axis)]
                    made_of = data.values(rows, axis.factor, end, self._busy.of(end), self._busy.text(end))
                    columns[key] = data.labeled(made_of, axis)
            else:
                for key, panel in self._panel_combos().items():
                    rows = [
                        (pos + shift, level, self._layout.cell(level, None, panel)) for pos, level in _positions(axis)
                    ]
                    made_of = data.values(rows, axis.factor, end, self._busy.of(end), self._busy.text(end))
                    columns[key] = data.labeled(made_of, axis)
            source = self._board.source([*self.panels, *at], columns)
            figures.add_trend(made, source, axis, paint, f"{self.id}-end-{end}")
            points.append(figures.add_points(made, source, paint, f"{self.id}-end-{end}"))
        figures.hover(made, points, {_label(axis): "at", "Role": "line", "CPU busy": "shown"})
        return Chart(f"{self.id}-cpu", head, made, f"CPU busy of sender and receiver against {_names(axis)}.")

    def _full_cpu(self, made: Plot, axis: Axis) -> None:
        """Sets the end of the y axis to 100 %, or to the highest number of CPUs in use."""
        # Points at the top have labels where no line joins them.
        room = 1.04 if axis.numeric else 1.12
        highest = max(1.0, math.ceil(self._highest_cpu)) if self._busy.in_cpus else max(100, self._highest_cpu)
        made.y_range = Range1d(start=0, end=highest * room)

    def _per_role(
        self, kind: str, title: str, value: Callable[[str], Get], text: Callable[[str], Text]
    ) -> tuple[Chart, ...]:
        """A value against x with a line per level, one chart per role."""
        axis = self._layout.x
        charts = []
        for end in ENDS:
            made = self._empty(axis, title)
            if kind == "cpu":
                self._full_cpu(made, axis)
            else:
                figures.full_numbers(made)
            points = []
            for index, level in enumerate(self._levels):
                source = self._source(
                    level,
                    lambda rows, line, end=end: data.values(rows, axis.factor, line, value(end), text(end)),  # type: ignore[misc]
                )
                points.append(self._draw(made, source, axis, index, interval=False))
            figures.hover(made, points, self._rows(axis, title.partition(" (")[0]))
            description = f"{title} of the {end} against {_names(axis)}{self._lines_text()}."
            charts.append(Chart(f"{self.id}-{kind}-{end}", end.capitalize(), made, description))
        return tuple(charts)

    def _source(
        self, level: object, make: Callable[[Sequence[data.Point], str], dict[str, list[object]]]
    ) -> ColumnDataSource:
        """The source of a line: its data for every combination of panels."""
        axis, lines = self._layout.x, self._layout.lines
        name = level_with_unit(lines.factor, level) if lines else ""
        shift = _shift(axis, self._levels.index(level), len(self._levels))
        columns: dict[tuple[str, ...], Columns] = {}
        for key, panel in self._panel_combos().items():
            rows = [(pos + shift, at, self._layout.cell(at, level, panel)) for pos, at in _positions(axis)]
            columns[key] = data.labeled(make(rows, name), axis)
        return self._board.source(self.panels, columns)

    def _draw(self, made: Plot, source: ColumnDataSource, axis: Axis, index: int, *, interval: bool) -> figures.Drawn:
        paint, line = self._paints[index], f"{self.id}-line-{index}"
        dense = self._dense(axis)
        if interval:
            (figures.add_band if dense else figures.add_whiskers)(made, source, paint, line)
        figures.add_trend(made, source, axis, paint, line)
        points = figures.add_points(made, source, paint, line, size=4 if dense else 7)
        if interval and any(cell.unsteady_trials for cell in self._cells):
            level = self._levels[index]
            figures.add_rings(
                made, self._source(level, lambda rows, _: data.unsteady(rows, self._metric, self._unit)), line
            )
        return points

    def _mark(self, made: Plot) -> None:
        """Marks anomalies, with their sentence as a tooltip."""
        if not self._marks:
            return
        marks = []
        for index, level in enumerate(self._levels):
            source = self._source(level, lambda rows, _: data.marked(rows, self._metric, self._unit, self._marks))
            marks.append(figures.add_marks(made, source, f"{self.id}-line-{index}"))
        figures.hover(made, marks, {"Anomaly": "text"})

    def _panel_combos(self) -> dict[tuple[str, ...], tuple[object, ...]]:
        combos = product(*(axis.levels for axis in self._layout.panels))
        return {tuple(level_text(level) for level in combo): combo for combo in combos}

    def _at_combos(self) -> dict[tuple[str, ...], tuple[object, tuple[object, ...]]]:
        """Choices' options -> level of x and levels of the panels."""
        return {
            (*key, level_text(level)): (level, panel)
            for key, panel in self._panel_combos().items()
            for level in self._layout.x.levels
        }

    def _legend(self) -> Legend | None:
        lines = self._layout.lines
        if lines is None:
            return None
        keys = [
            Key(level_text(level), paint, f"{self.id}-line-{index}")
            for index, (level, paint) in enumerate(zip(self._levels, self._paints, strict=True))
        ]
        return Legend(lines.title, tuple(keys))

    def _lines_text(self) -> str:
        lines = self._layout.lines
        return f", a line per {factor_name(lines.factor)}" if lines else ""

    def _rows(self, axis: Axis, what: str) -> dict[str, str]:
        lines = self._layout.lines
        return {_label(axis): "at", **({_label(lines): "line"} if lines else {}), what: "shown"}

    def _dense(self, axis: Axis) -> bool:
        return axis.numeric and len(axis.levels) >= DENSE


IN_CPUS_NOTE = " In CPUs: the share times the number of CPUs that the host may use."
SHARED_NOTE = (
    "Time of whyperf's own threads as a share of wall time. Both hosts share their CPUs: what neither's threads used "
    "is in the table of all cells."
)
CPU_NOTE = "User, system and interrupt time of the host's own CPUs as a share of wall time."


def _axes(layout: Layout) -> list[Axis]:
    return [layout.x, *([] if layout.lines is None else [layout.lines]), *layout.panels]


def _ends_legend(prefix: str) -> Legend:
    keys = tuple(Key(end.capitalize(), paint, f"{prefix}-{end}") for end, paint in ENDS.items())
    return Legend("CPU of", keys)


def _paints(lines: Axis | None, count: int) -> Sequence[Paint]:
    if lines is None:
        return (CATEGORIES[0],)
    return ordered(count) if lines.numeric and count > 2 else CATEGORIES[:count]


def _positions(axis: Axis) -> list[tuple[float, object]]:
    return list(zip(axis.values(), axis.levels, strict=True))


def _shift(axis: Axis, number: int, count: int) -> float:
    """Distance of the points of one of `count` lines from the level, so that equal values do not hide each other."""
    return 0.0 if axis.numeric else (number - (count - 1) / 2) * SIDE_BY_SIDE / count


def _label(axis: Axis) -> str:
    name = factor_name(axis.factor)
    return name[:1].upper() + name[1:]


def _names(axis: Axis) -> str:
    return " and ".join(factor_name(name) for name in (axis.factor, *axis.aliases))
