"""Puts the explanation of an experiment together for its page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import count, factor_title, level_text, percent, setting, sweep_title
from whyperf.explain.causes import Cause
from whyperf.explain.model import Anomaly, CellExplanation, Evidence, Explanation, Verification
from whyperf.report.charts.layout import varied_axes
from whyperf.report.charts.metric import metric_of
from whyperf.report.explanation.anomalies import MOST_FOLDED, MOST_SHOWN, Standing, marks_of, standing_of
from whyperf.report.explanation.bars import Bars, bars_of
from whyperf.report.explanation.cards import Card, LinkOf, badges_of, cards_of, cause_title
from whyperf.report.explanation.map import Map, maps_of
from whyperf.report.explanation.over_time import Course, courses_of
from whyperf.report.explanation.strip import Strip, strips_of
from whyperf.report.explanation.styles import look_of
from whyperf.report.table import Column, Entry, Table

MOST_DRAWN = 10
"""Cells of a sweep that are drawn in full; the others are in the table and in explain.json."""


@dataclass(frozen=True)
class Explained:
    """What there is to show: the explanation, the spans of its trials (`TrialBudgets.spans`) by name.

    `pages` are the flow pages beside the report, by trial; `folder` is the experiment's as a command names it.
    """

    explanation: Explanation
    spans: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


@dataclass(frozen=True)
class CellView:
    """A cell in full."""

    id: str
    trial: str
    setting: str
    headline: str
    missing: tuple[str, ...]
    cards: tuple[Card, ...]
    bars: Bars
    courses: tuple[Course, ...]
    strips: tuple[Strip, ...]
    is_only: bool


@dataclass(frozen=True)
class ExplanationSection:
    """The section."""

    headline: str
    missing: tuple[str, ...]
    maps: tuple[Map, ...]
    anomalies: tuple[Standing, ...]
    more_anomalies: tuple[Standing, ...]
    left_anomalies: int
    cells: tuple[CellView, ...]
    drawn: frozenset[str]
    note: str
    table: Table | None
    marks: Mapping[str, tuple[str, str]]
    """What the charts of sweeps mark: a marker and words by cell."""


def explanation_section(explained: Explained, summary: Summary) -> ExplanationSection:
    """The section for an experiment; of a sweep only some cells are drawn in full."""
    explanation = explained.explanation
    results = {cell.id: cell for cell in summary.cells}
    drawn = chosen(explanation)
    place_of = places(summary.cells)
    only = len(explanation.cells) == 1
    cells = tuple(_view(cell, place_of.get(cell.cell, ""), explained, only=only) for cell in drawn)
    by_cell = {cell.cell: cell for cell in explanation.cells}
    shown = frozenset(cell.cell for cell in drawn)
    told = explanation.anomalies[: MOST_SHOWN + MOST_FOLDED]
    listed = tuple(standing_of(one, place_of.get(one.cell, one.cell), shown) for one in told)
    return ExplanationSection(
        headline=explanation.headline,
        missing=tuple(dict.fromkeys(explanation.missing)),
        maps=tuple(maps_of(summary.cells, by_cell, set(_standing(explanation.anomalies)))),
        anomalies=listed[:MOST_SHOWN],
        more_anomalies=listed[MOST_SHOWN:],
        left_anomalies=len(explanation.anomalies) - len(listed),
        cells=cells,
        drawn=shown,
        note=_note(explanation.cells, drawn),
        marks=marks_of(explanation.anomalies),
        table=None if only else _table(explanation, results, shown),
    )


def chosen(explanation: Explanation) -> list[CellExplanation]:
    """The cells to draw, in the order of the plan: of each cause the costliest, those that stand out, the extremes."""
    if len(explanation.cells) <= MOST_DRAWN:
        return list(explanation.cells)
    # A page of cells of which nothing is known would hide the others.
    cells = [cell for cell in explanation.cells if _is_known(cell)] or explanation.cells[:1]
    costly: dict[str, tuple[float, str]] = {}
    for cell in cells:
        if cell.verdicts:
            first = cell.verdicts[0]
            cost = first.lost_ratio or 0.0
            if cost > costly.get(first.cause, (-1.0, ""))[0]:
                costly[first.cause] = (cost, cell.cell)
    causes = [cell for _, cell in sorted(costly.values(), reverse=True)]
    known = {cell.cell for cell in cells}
    standing = [one.cell for one in explanation.anomalies if one.cell in known]
    tried = [cell.cell for cell in cells if any(one.verification is not None for one in cell.verdicts)]
    by_rate = [cell.cell for cell in sorted(cells, key=lambda one: one.rate_bps or 0.0)]
    # Causes before the rest: an anomaly more of the same kind tells less than a cause that nothing else shows.
    kept = set(list(dict.fromkeys([*tried, *causes, *standing, by_rate[-1], by_rate[0]]))[:MOST_DRAWN])
    return [cell for cell in cells if cell.cell in kept]


def _is_known(cell: CellExplanation) -> bool:
    return bool(cell.budgets) or any(one.cause is not Cause.NOT_KNOWN for one in cell.verdicts)


def _note(cells: Sequence[CellExplanation], drawn: Sequence[CellExplanation]) -> str:
    left = len(cells) - len(drawn)
    if not left:
        return ""
    unknown = sum(not _is_known(cell) for cell in cells)
    of_those = f", and of {unknown:,} of them nothing is known" if unknown > 1 else ""
    return (
        f"Shown in full {'is' if len(drawn) == 1 else 'are'} {count(len(drawn), 'cell')}: of each cause the one that "
        "costs most, those that stand out or were tried, the fastest and the slowest. "
        f"The other {left:,} are in the table{of_those}; `whyperf explain` tells each."
    )


def places(cells: Sequence[CellResult]) -> dict[str, str]:
    """Where each cell is, by its name: its sweep if there are several, and what varies in that."""
    sweeps = dict.fromkeys(cell.sweep for cell in cells)
    told = {}
    for sweep in sweeps:
        own = [cell for cell in cells if cell.sweep == sweep]
        names = [axis.factor for axis in varied_axes(own)]
        for cell in own:
            parts = [sweep_title(sweep)] if len(sweeps) > 1 else []
            parts += [setting(dict(cell.factors), names)] if names else []
            told[cell.id] = ": ".join(parts)
    return told


def _view(cell: CellExplanation, place: str, explained: Explained, *, only: bool) -> CellView:
    trial = cell.trial or ""
    verify = f"whyperf explain {explained.folder}{f' {trial}' if trial and not only else ''} --verify"
    spans = explained.spans.get(trial)
    return CellView(
        id=cell.cell,
        trial=trial,
        setting=place,
        headline=cell.headline,
        missing=tuple(dict.fromkeys((*cell.missing, *cell.gaps))),
        cards=tuple(cards_of(cell.verdicts, _linker(trial, explained), verify)),
        bars=bars_of(cell.budgets),
        courses=tuple(courses_of(spans)) if spans is not None else (),
        strips=tuple(strips_of(cell.patterns, cell.budgets)),
        is_only=only,
    )


def _linker(trial: str, explained: Explained) -> LinkOf:
    """Where rows of the segment log can be seen: on the trial's flow page, at their time."""
    page = explained.pages.get(trial)

    def link_of(evidence: Evidence) -> str:
        if page is None or evidence.table != "segments":
            return ""
        parts = [f"connection={evidence.connection}"] if evidence.connection is not None else []
        parts += [f"host={evidence.host}"] if evidence.host else []
        if evidence.from_ns is not None and evidence.to_ns is not None:
            parts.append(f"from={evidence.from_ns}&to={evidence.to_ns}")
        return f"{page}#{'&'.join(parts)}" if parts else page

    return link_of


def _table(explanation: Explanation, results: Mapping[str, CellResult], drawn: frozenset[str]) -> Table:
    cells = [(cell, results[cell.cell]) for cell in explanation.cells if cell.cell in results]
    axes = varied_axes([result for _, result in cells])
    metric = metric_of([result for _, result in cells])
    standing = _standing(explanation.anomalies)
    columns = [Column("Cell", number=False), *(Column(factor_title(axis.factor), number=axis.numeric) for axis in axes)]
    columns += [
        Column("Rate"),
        Column("Most of the sender's time", "The limit state with the largest part.", number=False),
        Column("First verdict", "The strongest; the others are in explain.json.", number=False),
        Column("Lost", "Share of the time or rate that it takes."),
        Column("Confidence", number=False),
        Column("Stands out", number=False),
        Column("Tried", "What came of making the change.", number=False),
    ]
    rows = []
    for cell, result in cells:
        rate = metric.median(result)
        first = cell.verdicts[0] if cell.verdicts else None
        lost = first.lost_ratio if first is not None else None
        tried = next((one.verification for one in cell.verdicts if one.verification is not None), None)
        entries = [Entry(cell.cell, cell.cell, link=f"#why-{cell.cell}" if cell.cell in drawn else "")]
        entries += [_level(result.factors.get(axis.factor)) for axis in axes]
        entries += [
            Entry(metric.told(rate), str(rate)) if rate is not None else Entry(""),
            Entry(look_of(cell.dominant_state).name, cell.dominant_state) if cell.dominant_state else Entry(""),
            Entry(cause_title(first.cause), first.cause.value, title=first.claim) if first else Entry(""),
            Entry(percent(lost), str(lost)) if lost is not None else Entry(""),
            Entry(first.confidence, first.confidence) if first else Entry(""),
            _stands_out(standing.get(cell.cell, [])),
            _tried(tried) if tried else Entry(""),
        ]
        rows.append(tuple(entries))
    used = [at for at in range(len(columns)) if columns[at].number or any(row[at].text for row in rows)]
    return Table(tuple(columns[at] for at in used), tuple(tuple(row[at] for at in used) for row in rows))


def _tried(found: Verification) -> Entry:
    said = ", ".join(f"{badge.sign} {badge.words}" for badge in badges_of(found))
    return Entry(said, found.outcome, title=found.words)


def _standing(anomalies: Sequence[Anomaly]) -> dict[str, list[Anomaly]]:
    """What stands out by cell, those that share in it included."""
    standing: dict[str, list[Anomaly]] = {}
    for one in anomalies:
        for cell in (one.cell, *one.others):
            standing.setdefault(cell, []).append(one)
    return standing


def _stands_out(anomalies: Sequence[Anomaly]) -> Entry:
    kinds = ", ".join(dict.fromkeys(one.kind for one in anomalies))
    return Entry(kinds, kinds, title=" ".join(one.words.removesuffix(one.because).strip() for one in anomalies))


def _level(level: object) -> Entry:
    number = isinstance(level, int | float) and not isinstance(level, bool)
    return Entry(level_text(level), str(level) if number else level_text(level))
