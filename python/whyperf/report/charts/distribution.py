"""Distributions of latencies: the share of the values up to each latency, and box plots, one per run or setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.text import percent, seconds, significant
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import CATEGORIES, FAINT, Paint
from whyperf.report.charts.models import ColumnDataSource, DataRange1d, Range1d
from whyperf.report.charts.switchboard import Columns

Floats = NDArray[np.float64]

IDLE = "idle"
MAX_PARTS = len(CATEGORIES)
"""Distributions of one chart, in addition to the idle one."""

SHARES = np.unique(np.concatenate([np.linspace(0, 1, 101), [0.995, 0.999, 0.9999]]))
WIDE = 10
"""The axis of the latency is logarithmic from this ratio of the largest to the smallest value."""

BOX_PARTS = np.array([0.01, 0.25, 0.5, 0.75, 0.99, 1.0])
BOX_NOTE = (
    "Box: from 25 % to 75 %, with a mark at the median. Whiskers: from 1 % to 99 %. Dot: the largest value. "
    "Number: the median."
)
NOTE = f"Distribution: the share of the values that were at most this long. {BOX_NOTE}"


def distribution_group(prefix: str, heading: str, what: str, parts: Mapping[str, Floats], note: str = "") -> Group:
    """Two charts of `parts`: values in ns by name, at least one of each; a part named `IDLE` is gray.

    `what` names the quantity, such as `Round-trip time`.
    """
    scale, unit = _unit(max(float(values.max()) for values in parts.values()))
    loaded = [name for name in parts if name != IDLE]
    paints = {IDLE: FAINT, **dict(zip(loaded, CATEGORIES, strict=False))}
    drawn = [
        _Part(name, values, paints[name], f"{prefix}-part-{number}")
        for number, (name, values) in enumerate(parts.items())
    ]
    keys = tuple(Key(part.name, part.paint, part.line) for part in drawn)
    title = f"{what} ({unit})"
    charts = (_shares(prefix, title, drawn, scale), _boxes(prefix, title, drawn, scale))
    return Group(heading, charts, f"{NOTE} {note}".strip(), Legend("", keys))


@dataclass(frozen=True)
class _Part:
    """One distribution as it is drawn: its values in ns."""

    name: str
    values: Floats
    paint: Paint
    line: str


def box_columns(place: float, name: str, values: Floats, scale: float, counts: Floats | None = None) -> Columns:
    """One box of `figures.add_boxes` at `place`; `values` are ascending if each stands for `counts` of them."""
    if counts is None:
        low, quarter, median, three_quarters, high, top = np.quantile(values, BOX_PARTS)
    else:
        reached = np.cumsum(counts) / counts.sum()
        places = np.minimum(np.searchsorted(reached, BOX_PARTS), values.size - 1)
        low, quarter, median, three_quarters, high, top = values[places]
    texts = {"50 %": median, "99 %": high, "largest": top}
    return {
        "x": [place],
        **{
            column: [_short(number / scale)]
            for column, number in (
                ("low", low),
                ("quarter", quarter),
                ("y", median),
                ("three_quarters", three_quarters),
                ("high", high),
                ("top", top),
            )
        },
        "value": [significant(median / scale)],
        "at": [name],
        "shown": [", ".join(f"{share} {seconds(float(number))}" for share, number in texts.items())],
        "count": [f"{values.size if counts is None else int(counts.sum()):,}"],
    }


def _shares(prefix: str, title: str, parts: Sequence[_Part], scale: float) -> Chart:
    smallest = min(float(part.values.min()) for part in parts)
    is_wide = smallest > 0 and max(float(part.values.max()) for part in parts) >= WIDE * smallest
    made = figures.chart(title, "Values up to this (%)", log_x=is_wide)
    made.y_range = Range1d(start=0, end=102)
    if not is_wide:
        made.x_range = DataRange1d(start=0, range_padding=0.02)
    points = []
    for part in parts:
        reached = np.quantile(part.values, SHARES)
        columns = {
            "x": [_short(number / scale) for number in reached],
            "y": [_short(share * 100) for share in SHARES],
            "line": [part.name] * len(SHARES),
            "shown": [seconds(float(number)) for number in reached],
            "share": [percent(float(share)) for share in SHARES],
        }
        source = ColumnDataSource(columns)
        figures.add_line(made, source, part.paint, part.line)
        points.append(figures.add_points(made, source, part.paint, part.line, size=3))
    figures.hover(made, points, {"Of": "line", "Up to": "shown", "Share": "share"})
    return Chart(f"{prefix}-shares", "Distribution", made, f"{title} by the share of the values up to it.")


def _boxes(prefix: str, title: str, parts: Sequence[_Part], scale: float) -> Chart:
    made = figures.named_chart(_without_shared_start([part.name for part in parts]), title)
    boxes = []
    for place, part in enumerate(parts):
        source = ColumnDataSource(dict(box_columns(place, part.name, part.values, scale)))
        boxes.append(figures.add_boxes(made, source, part.paint, part.line))
    figures.hover(made, boxes, {"Of": "at", "Values": "count", "Time": "shown"})
    return Chart(f"{prefix}-boxes", "Box plots", made, f"Box plots of the {title}.")


def _without_shared_start(names: Sequence[str]) -> list[str]:
    """The names without the words that all begin with, other than `IDLE`: the legend has them."""
    parts = [name.split(" ") for name in names if name != IDLE]
    shared = takewhile(lambda at: len(set(at)) == 1, zip(*(own[:-1] for own in parts), strict=False))
    left_out = len(list(shared)) if len(parts) > 1 else 0
    return [name if name == IDLE else " ".join(name.split(" ")[left_out:]) for name in names]


def _unit(longest_ns: float) -> tuple[float, str]:
    return (1e6, "ms") if longest_ns >= 1e6 else (1e3, "µs")


def _short(number: float) -> float:
    return float(f"{number:.5g}")
