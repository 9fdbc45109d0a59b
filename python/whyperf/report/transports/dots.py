"""Compares transports: a chart per indicator, a dot per transport, a color per setting of the path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whyperf.analyze.spread import Spread, interval_name
from whyperf.analyze.text import bit_rate, significant
from whyperf.analyze.transports.result import Transports
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import CATEGORIES, Paint, ordered
from whyperf.report.charts.metric import GOODPUT
from whyperf.report.charts.models import ColumnDataSource, DataRange1d, FixedTicker
from whyperf.report.charts.ticks import fit_in_a_row
from whyperf.report.transports.cells import Scheduled, ScheduledCells

ID = "transports-dots"
#: The dots of the settings cover this share of the distance between two transports.
SPREAD = 0.35
#: With more points, their labels would touch on a narrow screen; the tooltips have them.
MAX_LABELS = 6


@dataclass(frozen=True)
class Indicator:
    """An indicator to compare; `scale` is its divisor on the axis."""

    id: str
    title: str
    axis: str
    value: Callable[[Transports], Spread]
    text: Callable[[float], str]
    scale: float = 1.0


def _cpu(result: Transports) -> Spread:
    """Both hosts together; the interval of the sum is not known."""
    ends = (result.cpu_ghz_per_gbps.sender.median, result.cpu_ghz_per_gbps.receiver.median)
    known = [value for value in ends if value is not None]
    return Spread(median=sum(known)) if len(known) == len(ends) else Spread()


def indicators(cells: ScheduledCells) -> tuple[Indicator, ...]:
    """The indicators to compare."""
    unit = GOODPUT.unit([scheduled.cell for scheduled in cells.cells])
    return (
        Indicator(
            "goodput", "Goodput", f"Goodput ({unit.name})", lambda result: result.goodput_bps, bit_rate, unit.scale
        ),
        Indicator("stability", "Stability S", "S, 0 is steady", lambda result: result.stability, significant),
        Indicator("fairness", "Fairness F", "Lowest F, 1 is equal", lambda result: result.fairness_min, significant),
        Indicator(
            "rtt",
            "Round-trip time",
            "Mean divided by the minimum",
            lambda result: result.rtt.inflation_ratio,
            lambda value: f"{significant(value)} × the minimum",
        ),
        Indicator("cpu", "CPU, both hosts", "GHz per Gbit/s", _cpu, significant),
        Indicator(
            "retransmitted",
            "Retransmitted",
            "Share of the segments (%)",
            lambda result: result.retransmitted_ratio,
            lambda value: f"{significant(value * 100)} %",
            0.01,
        ),
    )


def dots_group(cells: ScheduledCells) -> Group | None:
    """The comparison; None for a single cell."""
    if len(cells.cells) < 2:
        return None
    charts = [chart for indicator in indicators(cells) if (chart := _chart(indicator, cells)) is not None]
    settings = list(cells.settings.values())
    keys = tuple(
        Key(where, paint, f"{ID}-{number}")
        for number, (where, paint) in enumerate(zip(settings, _paints(len(settings)), strict=True))
    )
    legend = Legend("", keys) if len(settings) > 1 else None
    name = interval_name(cell.cell.trials for cell in cells.cells)
    return Group("Compared", tuple(charts), f"Medians; a line is the {name}.", legend)


def _chart(indicator: Indicator, cells: ScheduledCells) -> Chart | None:
    known = [cell for cell in cells.cells if indicator.value(cell.result).median is not None]
    if not known:
        return None
    protocols = cells.protocols
    made = figures.chart("", indicator.axis, height=300)
    made.x_range = DataRange1d(start=-0.6, end=len(protocols) - 0.4)
    made.xaxis.ticker = FixedTicker(ticks=list(range(len(protocols))), minor_ticks=[])
    figures.label(made, {float(place): name for place, name in enumerate(protocols)})
    if not fit_in_a_row(protocols):
        made.xaxis.major_label_orientation = figures.ANGLE
    settings = list(cells.settings)
    has_labels = len(protocols) * len(settings) <= MAX_LABELS
    if has_labels and isinstance(made.y_range, DataRange1d):
        made.y_range.range_padding = figures.LABELED
    points = []
    for number, (setting, paint) in enumerate(zip(settings, _paints(len(settings)), strict=True)):
        offset = SPREAD * (number / (len(settings) - 1) - 0.5) if len(settings) > 1 else 0.0
        mine = [cell for cell in known if cell.setting == setting]
        source = ColumnDataSource(_columns(indicator, mine, protocols, offset))
        figures.add_whiskers(made, source, paint, f"{ID}-{number}")
        if has_labels:
            figures.add_values(made, source, f"{ID}-{number}")
        points.append(figures.add_points(made, source, paint, f"{ID}-{number}", size=8))
    figures.hover(made, points, {"Transport": "text", indicator.title: "shown"})
    return Chart(f"{ID}-{indicator.id}", indicator.title, made, f"{indicator.title} of each transport.")


def _columns(
    indicator: Indicator, cells: Sequence[Scheduled], protocols: Sequence[str], offset: float
) -> dict[str, list[object]]:
    spreads = [indicator.value(cell.result) for cell in cells]

    def scaled(value: float | None, spread: Spread) -> float:
        chosen = spread.median if value is None else value
        return (chosen or 0.0) / indicator.scale

    return {
        "x": [protocols.index(cell.result.protocol) + offset for cell in cells],
        "y": [scaled(spread.median, spread) for spread in spreads],
        "low": [scaled(spread.low, spread) for spread in spreads],
        "high": [scaled(spread.high, spread) for spread in spreads],
        "text": [cell.text for cell in cells],
        "value": [significant(scaled(spread.median, spread)) for spread in spreads],
        "shown": [indicator.text(spread.median or 0.0) for spread in spreads],
    }


def _paints(count: int) -> Sequence[Paint]:
    return ordered(count) if count > 2 else CATEGORIES[:count]
