"""A sweep as a map: each cell has the color and the letters of its dominant limit."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import factor_title, level_text, level_with_unit, sweep_title
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.states import SenderState
from whyperf.report.charts.layout import Axis, Layout, choose
from whyperf.report.charts.metric import metric_of
from whyperf.report.explanation.cards import cause_title
from whyperf.report.explanation.styles import Look, look_of

UNKNOWN = SenderState.UNKNOWN.value
MAX_PANELS = 6
"""At most this many maps of a sweep with more than two factors."""
MAX_FLAT_COLUMNS, MAX_FLAT_LETTERS = 12, 7
"""With at most so many columns and letters per heading, the headings are horizontal."""


@dataclass(frozen=True)
class Spot:
    """A cell of the map."""

    look: Look
    title: str
    cell: str
    is_anomaly: bool = False


@dataclass(frozen=True)
class Row:
    """A level of the second factor, and its cells in the order of the first; None where there is no cell."""

    level: str
    spots: tuple[Spot | None, ...]


@dataclass(frozen=True)
class Map:
    """A map: its axes, its rows from the highest level down, and the legend."""

    title: str
    across: str
    down: str
    levels: tuple[str, ...]
    rows: tuple[Row, ...]
    looks: tuple[tuple[Look, str], ...]

    @property
    def is_known(self) -> bool:
        """True where the dominant limit of any cell is known."""
        return any(look.state != UNKNOWN for look, _ in self.looks)

    @property
    def is_flat(self) -> bool:
        """True where the headings of its columns fit horizontally."""
        return len(self.levels) <= MAX_FLAT_COLUMNS and all(len(level) <= MAX_FLAT_LETTERS for level in self.levels)

    @property
    def has_anomaly(self) -> bool:
        """True where any of its cells is an anomaly."""
        return any(spot is not None and spot.is_anomaly for row in self.rows for spot in row.spots)


def maps_of(
    cells: Sequence[CellResult], explained: Mapping[str, CellExplanation], anomalies: AbstractSet[str] = frozenset()
) -> list[Map]:
    """The maps of all sweeps with varied factors, without empty ones.

    `anomalies` are the cells with an anomaly.
    """
    maps = []
    for name in dict.fromkeys(cell.sweep for cell in cells):
        own = [cell for cell in cells if cell.sweep == name]
        layout = choose(own)
        if layout is not None and len(own) > 1:
            maps += _maps(sweep_title(name), own, layout, explained)
    framed = [_framed(plain, anomalies) for plain in maps]
    return [found for found in framed if found.is_known or found.has_anomaly]


def _framed(plain: Map, anomalies: AbstractSet[str]) -> Map:
    rows = [
        replace(row, spots=tuple(spot and replace(spot, is_anomaly=spot.cell in anomalies) for spot in row.spots))
        for row in plain.rows
    ]
    return replace(plain, rows=tuple(rows))


def _maps(
    title: str, cells: Sequence[CellResult], layout: Layout, explained: Mapping[str, CellExplanation]
) -> list[Map]:
    panels = list(dict.fromkeys(tuple(cell.factors.get(axis.factor) for axis in layout.panels) for cell in cells))
    maps = []
    for panel in panels[:MAX_PANELS]:
        levels = ", ".join(
            level_with_unit(axis.factor, level) for axis, level in zip(layout.panels, panel, strict=True)
        )
        maps.append(_map(f"{title}: {levels}" if levels else title, cells, layout, panel, explained))
    return maps


def _map(
    title: str,
    cells: Sequence[CellResult],
    layout: Layout,
    panel: Sequence[object],
    explained: Mapping[str, CellExplanation],
) -> Map:
    metric = metric_of(cells)
    axis, lines = layout.x, layout.lines
    rows = []
    counted: dict[str, int] = {}
    for line in reversed(lines.levels if lines else (None,)):
        spots: list[Spot | None] = []
        for level in axis.levels:
            cell = layout.cell(level, line, panel)
            found = explained.get(cell.id) if cell is not None else None
            if cell is None or found is None:
                spots.append(None)
                continue
            look = look_of(found.dominant_state or UNKNOWN)
            counted[look.state] = counted.get(look.state, 0) + 1
            rate = metric.median(cell)
            facts = [_place(axis, level), _place(lines, line), metric.text(rate) if rate is not None else ""]
            facts += [look.name, cause_title(found.verdicts[0].cause) if found.verdicts else ""]
            spots.append(Spot(look, ", ".join(fact for fact in facts if fact), cell.id))
        rows.append(Row(level_text(line) if lines else "", tuple(spots)))
    looks = tuple((look_of(state), f"{many:,}") for state, many in sorted(counted.items(), key=lambda entry: -entry[1]))
    return Map(
        title=title,
        across=factor_title(axis.factor),
        down=factor_title(lines.factor) if lines else "",
        levels=tuple(level_text(level) for level in axis.levels),
        rows=tuple(rows),
        looks=looks,
    )


def _place(axis: Axis | None, level: object) -> str:
    return "" if axis is None else level_with_unit(axis.factor, level)
