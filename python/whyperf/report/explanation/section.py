"""Builds the explanation section of the page of an experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import count, factor_title, level_text, percent, setting, sweep_title
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.answer import Why
from whyperf.explain.explanation import Anomaly, CellExplanation, Evidence, Explanation
from whyperf.explain.headline import confidence_text
from whyperf.foreign import shell_line
from whyperf.plan import CONNECTION
from whyperf.profile import Level
from whyperf.record import Experiment
from whyperf.report.charts.layout import distinguishing_axes, sweeps_of, varied_axes
from whyperf.report.charts.metric import metric_of
from whyperf.report.explanation.anomalies import MAX_FOLDED, MAX_SHOWN, AnomalyView, anomaly_view, marks_of
from whyperf.report.explanation.answer import Answer, answer_by_experiments, answer_of
from whyperf.report.explanation.bars import Bars, bars_of
from whyperf.report.explanation.cards import Card, LinkOf, cards_of, cause_title
from whyperf.report.explanation.experiments import Experiments, experiments_view
from whyperf.report.explanation.map import Map, maps_of
from whyperf.report.explanation.over_time import TimeChart
from whyperf.report.explanation.strip import Strip, strips_of
from whyperf.report.explanation.styles import look_of
from whyperf.report.repeat import change_command
from whyperf.report.table import Column, Entry, Table

MAX_DRAWN = 10
"""The page shows details of at most this many cells of a sweep; the table and explain.json have all."""


@dataclass(frozen=True)
class Explained:
    """The data of the section: the explanation, and the time charts of its trials by name.

    `pages` are the flow pages next to the report, by trial; `experiment` is what commands are about.
    `places` say by trial which one it is of its cell (`log_trials.place_of`). `why` is of the last experiments, and
    `earlier` says by cell what was verified before there were any.
    """

    explanation: Explanation
    charts: Mapping[str, Sequence[TimeChart]] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)
    experiment: Experiment | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    why: Why | None = None
    earlier: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class CellView:
    """A cell with its details."""

    id: str
    source: str
    """The trial that the evidence is from; "" without any."""
    setting: str
    headline: str
    earlier: tuple[str, ...]
    missing: tuple[str, ...]
    cards: tuple[Card, ...]
    bars: Bars
    charts: tuple[TimeChart, ...]
    strips: tuple[Strip, ...]
    is_only: bool


@dataclass(frozen=True)
class ExplanationSection:
    """The section."""

    headline: str
    missing: tuple[str, ...]
    maps: tuple[Map, ...]
    anomalies: tuple[AnomalyView, ...]
    more_anomalies: tuple[AnomalyView, ...]
    left_anomalies: int
    cells: tuple[CellView, ...]
    drawn: frozenset[str]
    note: str
    noun: str
    table: Table | None
    marks: Mapping[str, tuple[str, str]]
    """The marks of the charts of sweeps: a marker and a text by cell."""
    answer: Answer | None = None
    """That of the only cell."""
    experiments: Experiments | None = None


def explanation_section(explained: Explained, summary: Summary) -> ExplanationSection:
    """The section for an experiment; of a sweep only some cells have details."""
    explanation = explained.explanation
    results = {cell.id: cell for cell in summary.cells}
    drawn = chosen(explanation)
    place_of = places(summary.cells)
    only = len(explanation.cells) == 1
    noun = "connection" if any(cell.watched is not None for cell in summary.cells) else "cell"
    cells = tuple(_view(cell, place_of.get(cell.cell, ""), explained, only=only) for cell in drawn)
    by_cell = {cell.cell: cell for cell in explanation.cells}
    shown = frozenset(cell.cell for cell in drawn)
    top = explanation.anomalies[: MAX_SHOWN + MAX_FOLDED]
    listed = tuple(anomaly_view(anomaly, place_of.get(anomaly.cell, anomaly.cell), shown) for anomaly in top)
    why = explained.why
    return ExplanationSection(
        headline=explanation.headline,
        missing=tuple(dict.fromkeys(explanation.missing)),
        maps=_maps(explanation, summary.cells, by_cell),
        anomalies=listed[:MAX_SHOWN],
        more_anomalies=listed[MAX_SHOWN:],
        left_anomalies=len(explanation.anomalies) - len(listed),
        cells=cells,
        drawn=shown,
        note=_note(explanation.cells, drawn, noun),
        noun=noun,
        marks=marks_of(explanation.anomalies),
        table=None if only else _table(explanation, results, shown),
        answer=_answer(drawn[0], cells[0].cards, why) if only else None,
        experiments=None if why is None else experiments_view(why, "" if only else place_of.get(why.cell) or why.cell),
    )


def _answer(cell: CellExplanation, cards: Sequence[Card], why: Why | None) -> Answer | None:
    if why is not None and why.cell == cell.cell:
        return answer_by_experiments(why, cell.verdicts, cards)
    return answer_of(cell.verdicts, cards)


def _maps(
    explanation: Explanation, cells: Sequence[CellResult], by_cell: Mapping[str, CellExplanation]
) -> tuple[Map, ...]:
    """The maps; none of watched connections, which have no order."""
    if any(cell.watched is not None for cell in cells):
        return ()
    return tuple(maps_of(cells, by_cell, set(_by_cell(explanation.anomalies))))


def chosen(explanation: Explanation) -> list[CellExplanation]:
    """The cells with details: the costliest of each cause, anomalies, the fastest and the slowest."""
    if len(explanation.cells) <= MAX_DRAWN:
        return list(explanation.cells)
    # Cells without a diagnosis would hide the others.
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
    anomalies = [anomaly.cell for anomaly in explanation.anomalies if anomaly.cell in known]
    by_rate = [cell.cell for cell in sorted(cells, key=lambda cell: cell.rate_bps or 0.0)]
    # Causes come before anomalies: a further anomaly of the same kind shows less than another cause.
    kept = set(list(dict.fromkeys([*causes, *anomalies, by_rate[-1], by_rate[0]]))[:MAX_DRAWN])
    return [cell for cell in cells if cell.cell in kept]


def _is_known(cell: CellExplanation) -> bool:
    return bool(cell.budgets) or any(verdict.cause is not Cause.NOT_KNOWN for verdict in cell.verdicts)


def _note(cells: Sequence[CellExplanation], drawn: Sequence[CellExplanation], noun: str) -> str:
    left = len(cells) - len(drawn)
    if not left:
        return ""
    unknown = sum(not _is_known(cell) for cell in cells)
    of_those = f" ({unknown:,} of them without a diagnosis)" if unknown > 1 else ""
    # Nothing stands out among connections of other programs.
    special = "anomalies, " if noun == "cell" else ""
    return (
        f"Details of {count(len(drawn), noun)}: the costliest of each cause, {special}the fastest "
        f"and the slowest. The other {left:,} are in the table{of_those}; `whyperf explain` prints each."
    )


def places(cells: Sequence[CellResult]) -> dict[str, str]:
    """The place of each cell, by its name: its sweep if there are several, and its varied levels, or its connection."""
    sweeps = sweeps_of(cells)
    found = {}
    for sweep, own in sweeps.items():
        names = [axis.factor for axis in varied_axes(own)]
        for cell in own:
            if cell.watched is not None:
                found[cell.id] = str(cell.factors.get(CONNECTION, ""))
                continue
            parts = [sweep_title(sweep)] if len(sweeps) > 1 else []
            parts += [setting(dict(cell.factors), names)] if names else []
            found[cell.id] = ": ".join(parts)
    return found


def _view(cell: CellExplanation, place: str, explained: Explained, *, only: bool) -> CellView:
    trial, experiment = cell.trial or "", explained.experiment
    named = [] if experiment is None else [str(experiment.folder)]
    trying = shell_line(["whyperf", "explain", *named, *([trial] if trial and not only else []), "--try"])

    def run_of(factors: Mapping[str, Level]) -> str:
        return "" if experiment is None else change_command(experiment, cell.cell, factors)

    return CellView(
        id=cell.cell,
        source=explained.places.get(trial, ""),
        setting=place,
        headline=cell.headline,
        earlier=tuple(sentence for of, sentence in explained.earlier if of == cell.cell),
        missing=tuple(dict.fromkeys((*cell.missing, *cell.gaps))),
        cards=tuple(cards_of(cell.verdicts, _linker(trial, explained), trying, run_of)),
        bars=bars_of(cell.budgets),
        charts=tuple(explained.charts.get(trial, ())),
        strips=tuple(strips_of(cell.patterns, cell.budgets)),
        is_only=only,
    )


def _linker(trial: str, explained: Explained) -> LinkOf:
    """Links rows of the segment log to the flow page of the trial, at their time."""
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
    axes = distinguishing_axes([result for _, result in cells])
    metric = metric_of([result for _, result in cells])
    anomalies = _by_cell(explanation.anomalies)
    columns = [Column("Cell", number=False), *(Column(factor_title(axis.factor), number=axis.numeric) for axis in axes)]
    columns += [
        Column("Rate"),
        Column(
            "Largest state of the sender", "The limit state with the largest share of the sender's time.", number=False
        ),
        Column("First verdict", "The strongest verdict; the others are in explain.json.", number=False),
        Column("Lost", "Share of the time or rate that it costs."),
        Column("Confidence", number=False),
        Column("Anomaly", number=False),
    ]
    rows = []
    for cell, result in cells:
        rate = metric.median(result)
        first = cell.verdicts[0] if cell.verdicts else None
        lost = first.lost_ratio if first is not None else None
        entries = [Entry(cell.cell, cell.cell, link=f"#why-{cell.cell}" if cell.cell in drawn else "")]
        entries += [_level(result.factors.get(axis.factor)) for axis in axes]
        entries += [
            Entry(metric.text(rate), str(rate)) if rate is not None else Entry(""),
            Entry(look_of(cell.dominant_state).name, cell.dominant_state) if cell.dominant_state else Entry(""),
            Entry(cause_title(first.cause), first.cause.value, title=first.claim) if first else Entry(""),
            Entry(percent(lost), str(lost)) if lost is not None else Entry(""),
            Entry(confidence_text(first), str(first.right_ratio)) if first else Entry(""),
            _anomalies(anomalies.get(cell.cell, [])),
        ]
        rows.append(tuple(entries))
    used = [at for at in range(len(columns)) if columns[at].number or any(row[at].text for row in rows)]
    return Table(tuple(columns[at] for at in used), tuple(tuple(row[at] for at in used) for row in rows))


def _by_cell(anomalies: Sequence[Anomaly]) -> dict[str, list[Anomaly]]:
    """The anomalies by cell, including the further cells of an anomaly."""
    found: dict[str, list[Anomaly]] = {}
    for anomaly in anomalies:
        for cell in (anomaly.cell, *anomaly.others):
            found.setdefault(cell, []).append(anomaly)
    return found


def _anomalies(anomalies: Sequence[Anomaly]) -> Entry:
    kinds = ", ".join(dict.fromkeys(anomaly.kind for anomaly in anomalies))
    texts = (anomaly.words.removesuffix(anomaly.because).strip() for anomaly in anomalies)
    return Entry(kinds, kinds, title=" ".join(texts))


def _level(level: object) -> Entry:
    number = isinstance(level, int | float) and not isinstance(level, bool)
    return Entry(level_text(level), str(level) if number else level_text(level))
