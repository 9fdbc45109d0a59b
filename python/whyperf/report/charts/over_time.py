"""Charts of the trials of a cell over time: goodput, windows, round-trip time, CPU."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from whyperf.analyze.text import bit_rate, octets, percent, seconds
from whyperf.analyze.time_series import Course
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend, Section
from whyperf.report.charts.colors import CATEGORIES, ENDS, Paint
from whyperf.report.charts.metric import GOODPUT, per_second
from whyperf.report.charts.models import Plot
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard

MIN_INTERVALS = 5
"""A chart over time needs at least this many intervals."""

LEAD_HEIGHT = 230
"""Of the chart of the rate: with the sentence above it and the figures below, it fits a screen."""

ABOVE = 1.02
"""A rate of an interval is above that of the path from this ratio on: its edges are those of the clock."""

MIN_SAMPLES = 2
"""A line of windows or round-trip times needs at least this many samples."""

NO_CWND = "No congestion window is drawn: the record has none in bytes."

BYTE_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"))


def add_time_charts(
    section: Section,
    courses: Sequence[Course],
    board: Switchboard,
    counted_as: str | None = None,
    *,
    is_own: bool = True,
    path_bps: float | None = None,
) -> None:
    """Adds charts over time to `section`, with a list of trials where there are several; that of the rate leads.

    `counted_as` is the name of the executions of the workload; without a name they are not drawn. `is_own`: the load
    was whyperf's. `path_bps` is the rate of an emulated path.
    """
    drawable = [series for series in courses if series.counted_rates.height >= MIN_INTERVALS]
    if not drawable:
        section.left_out.append(
            f"No charts over time: the trials have fewer than {MIN_INTERVALS} intervals. "
            "Lower interval_ms or measure for longer."
            if is_own
            else f"No charts over time: the connection was sampled fewer than {MIN_INTERVALS + 1} times."
        )
        return
    trials = tuple(series.trial for series in drawable)
    choices = (Choice("course-trial", "Trial", trials, trials[0]),) if len(trials) > 1 else ()
    by_key: dict[tuple[str, ...], Course] = {(series.trial,) if choices else (): series for series in drawable}
    drawer = _Drawer(board, choices, by_key, counted_as)
    charts = drawer.charts()
    if not is_own:
        for chart in charts:
            figures.rename_time(chart.figure, figures.TIME_WATCHED)
    lead, *others = charts
    lead.figure.height = LEAD_HEIGHT
    legend = _legend("course", ENDS)
    note = " ".join(filter(None, (drawer.note(), drawer.above(path_bps))))
    section.lead = Group(f"{lead.heading} over time", (replace(lead, heading=""),), note, legend, choices)
    if others:
        note = "The trial is chosen in the chart of the rate above." if choices else ""
        section.groups.append(Group("Over time", tuple(others), note, legend))


class _Drawer:
    """Draws the charts; they exchange their data when another trial is selected."""

    def __init__(
        self,
        board: Switchboard,
        choices: tuple[Choice, ...],
        courses: dict[tuple[str, ...], Course],
        counted_as: str | None,
    ) -> None:
        self._counted_as = counted_as
        self._board = board
        self._choices = choices
        self._courses = courses
        self._first = next(iter(courses.values()))

    def note(self) -> str:
        """The meaning of the shading, and what is not drawn; empty if there is nothing to say."""
        phases = set(self._first.phases["phase"].to_list()) - {"measure"}
        shaded = f"Shaded: {' and '.join(sorted(phases, reverse=True))}, outside the measurement." if phases else ""
        lacks = "" if self._has("cwnd_bytes") or not self._has("window_bytes") else NO_CWND
        return f"{shaded} {lacks}".strip()

    def above(self, path_bps: float | None) -> str:
        """Why a rate is above that of the path; empty where none is."""
        highest = max(float(series.rates["bps"].max() or 0) for series in self._courses.values())  # type: ignore[arg-type]
        if path_bps is None or highest <= ABOVE * path_bps:
            return ""
        return (
            f"Rates above the {bit_rate(path_bps)} of the path are those of the programs: the sender's fills its send "
            "buffer, and the receiver's reads what waited in queues or behind a lost segment."
        )

    def _has(self, column: str) -> bool:
        """True where a course has enough samples of `column` of `Course.transport` for a line."""
        return any(series.transport.drop_nulls(column).height >= MIN_SAMPLES for series in self._courses.values())

    def charts(self) -> tuple[Chart, ...]:
        """The charts that have data."""
        made = [self._rates()]
        if self._counted_as is not None and any(
            series.transactions.height >= MIN_INTERVALS for series in self._courses.values()
        ):
            made.insert(0, self._transactions())
        if any(series.cpu.height >= 2 for series in self._courses.values()):
            made.append(self._cpu())
        if self._has("cwnd_bytes") or self._has("window_bytes"):
            made.append(self._windows())
        if self._has("rtt_ms"):
            made.append(self._rtt())
        return tuple(made)

    def _rates(self) -> Chart:
        is_both_ways = all(not series.arrived.is_empty() for series in self._courses.values())
        rates = {key: series.arrived if is_both_ways else series.rates for key, series in self._courses.items()}
        unit = GOODPUT.unit_for(max(float(frame["bps"].max() or 0) for frame in rates.values()))  # type: ignore[arg-type]
        made = figures.time_chart(f"Goodput ({unit.name})")
        frames = {
            key: frame.select(
                "role",
                x=pl.col("at_s"),
                y=pl.col("bps") / unit.scale,
                shown=pl.col("bps").map_elements(bit_rate, return_dtype=pl.String),
            )
            for key, frame in rates.items()
        }
        if is_both_ways:
            self._ends(made, frames, "Goodput to {}")
            heading = "Goodput of each direction, by the side at which it arrives"
            return self._finish(made, "goodput", heading, "Goodput of each direction over time.")
        self._ends(made, frames, "Goodput of {}")
        return self._finish(made, "goodput", "Goodput", "Goodput at both hosts over time.")

    def _transactions(self) -> Chart:
        title = (self._counted_as or "").capitalize()
        made = figures.time_chart(f"{title} per second")
        figures.full_numbers(made)
        frames = {
            key: series.transactions.select(
                x=pl.col("at_s"),
                y=pl.col("per_s"),
                shown=pl.col("per_s").map_elements(partial(per_second, what=title.lower()), return_dtype=pl.String),
            )
            for key, series in self._courses.items()
        }
        self._line(made, frames, CATEGORIES[2], title, "")
        return self._finish(made, "transactions", title, f"Completed {title.lower()} over time.")

    def _cpu(self) -> Chart:
        made = figures.time_chart("CPU busy (%)")
        highest = max(float(series.cpu["busy_ratio"].max() or 0) for series in self._courses.values())  # type: ignore[arg-type]
        figures.full_percent(made, 100 * highest)
        frames = {
            key: series.cpu.select(
                "role",
                x=pl.col("at_s"),
                y=pl.col("busy_ratio") * 100,
                shown=pl.col("busy_ratio").map_elements(percent, return_dtype=pl.String),
            )
            for key, series in self._courses.items()
        }
        self._ends(made, frames, "CPU busy of {}")
        return self._finish(made, "cpu", "CPU", "CPU busy at both hosts over time.")

    def _windows(self) -> Chart:
        columns = {
            column: found
            for column, found in {
                "cwnd_bytes": ("Congestion window", "sender"),
                "window_bytes": ("Advertised window", "receiver"),
            }.items()
            if self._has(column)
        }
        highest = max(
            float(series.transport[column].max() or 0)  # type: ignore[arg-type]
            for series in self._courses.values()
            for column in columns
        )
        size, unit = next(((size, unit) for size, unit in BYTE_UNITS if highest >= 4 * size), (1, "bytes"))
        made = figures.time_chart(f"All connections together ({unit})")
        for column, (title, end) in columns.items():
            frames = {key: _transport(series, column, octets, 1 / size) for key, series in self._courses.items()}
            self._line(made, frames, ENDS[end], title, f"course-{end}")
        figures.full_numbers(made)
        heading = " and ".join(f"{title.lower()} ({end})" for title, end in columns.values()).capitalize()
        return self._finish(made, "windows", heading, f"{heading} over time.")

    def _rtt(self) -> Chart:
        highest = max(float(series.transport["rtt_ms"].max() or 0) for series in self._courses.values())  # type: ignore[arg-type]
        scale, unit = (1.0, "ms") if highest >= 1 else (1000.0, "µs")
        made = figures.time_chart(f"Smoothed round-trip time ({unit})")
        frames = {
            key: _transport(series, "rtt_ms", lambda number: seconds(number * 1e6), scale)
            for key, series in self._courses.items()
        }
        self._line(made, frames, CATEGORIES[2], "Round-trip time", "")
        return self._finish(made, "rtt", "Round-trip time", "Smoothed round-trip time over time.")

    def _ends(self, made: Plot, frames: dict[tuple[str, ...], pl.DataFrame], title: str) -> None:
        for end, paint in ENDS.items():
            of_role = {key: frame.filter(pl.col("role") == end).drop("role") for key, frame in frames.items()}
            self._line(made, of_role, paint, title.format(end), f"course-{end}")

    def _line(
        self,
        made: Plot,
        frames: dict[tuple[str, ...], pl.DataFrame],
        paint: Paint,
        title: str,
        line: str,
    ) -> None:
        columns = {key: _columns(frame) for key, frame in frames.items()}
        source = self._board.source(self._choices, columns)
        figures.add_line(made, source, paint, line)
        points = figures.add_points(made, source, paint, line, size=3)
        figures.hover(made, [points], {"Time": "at", title: "shown"})

    def _finish(self, made: Plot, name: str, heading: str, description: str) -> Chart:
        """Shades the phases outside the measurement; all trials of a cell have the same phases."""
        for phase, start, end in self._first.phases.iter_rows():
            if phase != "measure":
                figures.add_shade(made, start, end)
        return Chart(f"course-{name}", heading, made, description)


def _transport(series: Course, column: str, text: Callable[[float], str], scale: float) -> pl.DataFrame:
    """A column of the samples of the sender: x, y times `scale`, and its text."""
    rows = series.transport.filter(pl.col("role") == "sender").drop_nulls(column)
    value = pl.col(column).cast(pl.Float64)
    return rows.select(x=pl.col("at_s"), y=value * scale, shown=value.map_elements(text, return_dtype=pl.String))


def _columns(frame: pl.DataFrame) -> Columns:
    return {
        "x": [round(value, 4) for value in frame["x"]],
        "y": [float(f"{value:.5g}") for value in frame["y"]],
        "at": [f"{value:.2f} s" for value in frame["x"]],
        "shown": frame["shown"].to_list(),
    }


def _legend(prefix: str, paints: dict[str, Paint]) -> Legend:
    return Legend("", tuple(Key(end.capitalize(), paint, f"{prefix}-{end}") for end, paint in paints.items()))
