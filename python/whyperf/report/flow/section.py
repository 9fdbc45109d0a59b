"""The segment flow in the report of an experiment: a line a log trial, and figures where there is one cell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.analyze.flow import Payloads, open_trial
from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import factor_title, level_text, percent, significant
from whyperf.explain.experiment import long_logs
from whyperf.record import Experiment, Manifest, RecordError
from whyperf.report.charts.layout import varied_axes
from whyperf.report.flow.about import step_words
from whyperf.report.flow.glance import Glance, glances, of_told
from whyperf.report.flow.rows import LEAST_RATIO, mean_words
from whyperf.report.flow.summary import Told, tell
from whyperf.report.flow.viewer import Viewer, blocks_json, data, scripts
from whyperf.report.flow.write import page_path, steps_of, write_drawn
from whyperf.report.table import Column, Entry, Table

MOST_TRIALS = 500
"""Log trials told in the table; it takes some 50 ms each to read them."""

FIGURE_BYTES = 2_000_000
"""Blocks of data that the report holds; its charts take as much."""

MOST_PAYLOADS = 3


@dataclass(frozen=True)
class FlowFigures:
    """The viewer with its data, and the page that goes further."""

    viewer: Viewer
    data: str
    blocks: str
    scripts: str
    trial: str
    page: str


@dataclass(frozen=True)
class FlowSection:
    """The section: a table of log trials, a remark, figures of one."""

    table: Table
    note: str
    figures: FlowFigures | None
    #: What the sender's payloads repeat as, in words, by cell.
    payloads: Mapping[str, str]
    #: Which of them waited for an ACK, in words, by cell.
    released: Mapping[str, str]


def flow_section(experiment: Experiment, summary: Summary) -> FlowSection | None:
    """The section for the experiment's log trials; None when there are none.

    Where the experiment has one cell, the page of its first log trial is written too, unless the log is long.

    What cannot be read, or a page that cannot be written, is told in the section.
    """
    trials = experiment.folder / "trials"
    logs = experiment.trials().logs
    names = [name for name in logs if any((trials / name).glob("segments.*.parquet"))]
    if not names:
        return None
    figures: FlowFigures | None = None
    known: list[Glance] = []
    notes = [_note(experiment, len(names))]
    long = long_logs(logs)
    short = [name for name in names if name not in long]
    if len(summary.cells) == 1 and short[:1] == names[:1]:
        try:
            first = tell(open_trial(trials / names[0]))
            figures, known = _figures(experiment, first), [of_told(first)]
        except RecordError as error:
            notes.append(f"The figures are left out: {error}")
    told = known + glances(trials / name for name in short[len(known) : MOST_TRIALS])
    told += [_too_long(long[name]) for name in names[:MOST_TRIALS] if name in long]
    pages = {name for name in names if page_path(experiment.folder, name).exists()}
    cells = {cell.id: cell for cell in summary.cells}
    payloads = {one.cell: pattern_words(one.pattern) for one in told if one.pattern is not None}
    released = {one.cell: _waited(one).text for one in told}
    return FlowSection(_table(told, cells, pages), " ".join(notes), figures, payloads, released)


def _too_long(log: Manifest) -> Glance:
    doubt = f"Not looked at here, because it has {log.logged_count:,} segments; the command above draws it."
    return Glance(log.trial, log.cell, doubt)


def _figures(experiment: Experiment, told: Told) -> FlowFigures:
    path, drawing = write_drawn(experiment.folder, experiment.name, told)
    blocks, whole = drawing.lone_blocks(FIGURE_BYTES)
    held = {block.track for block in blocks}
    tracks = [track for number, track in enumerate(drawing.tracks) if number in held]
    steps = steps_of(told.trial)
    viewer = Viewer(
        connections=list(dict.fromkeys(track["connection"] for track in tracks)),
        ends=list(dict.fromkeys((track["host"], track["role"]) for track in tracks)),
        ack_step=step_words(steps.ack_ns),
        super_step=step_words(steps.super_ns),
        closer="" if whole else "This report holds the overview. Every single segment is on the page",
        closer_page=path.name,
    )
    content = data(drawing.tracks, "", None, overview_only=not whole)
    return FlowFigures(viewer, content, blocks_json(blocks), scripts("page"), told.trial.trial, path.name)


def _note(experiment: Experiment, trials: int) -> str:
    more = f" The first {MOST_TRIALS:,} of {trials:,} are listed." if trials > MOST_TRIALS else ""
    return (
        "Trials that carried the segment log; no throughput is taken from them. Each over its whole life, as the "
        f"sender saw it; reasons of ACKs are the receiver's.{more} A trial's figures, down to single segments: "
        f"`whyperf flow {experiment.folder} TRIAL`."
    )


def _table(told: Sequence[Glance], cells: Mapping[str, CellResult], pages: set[str]) -> Table:
    axes = varied_axes([cells[one.cell] for one in told if one.cell in cells])
    columns: list[tuple[Column, Callable[[Glance], Entry]]] = [
        (Column("Log trial", number=False), lambda one: Entry(one.trial, one.trial, link=_link(one.trial, pages)))
    ]
    columns += [(Column(factor_title(axis.factor), number=axis.numeric), _factor(axis.factor, cells)) for axis in axes]
    columns += [
        (Column("Log", "Whether every segment is in it.", number=False), _log),
        (Column("Payload sequence", "What the sender's payloads repeat as.", number=False), _pattern),
        (
            Column(
                "Waited for an ACK",
                "Payloads, and the part of each that left in receive processing when an ACK arrived: at least so many "
                "had waited. An ACK that meets a busy socket is taken in by the process.",
                number=False,
            ),
            _waited,
        ),
        (Column("Segments"), lambda one: _number(one.segments, f"{one.segments or 0:,}")),
        (Column("Average super-segment (bytes)", "What left TCP at once."), lambda one: _mean(one.packet_bytes_mean)),
        (Column("Segments per ACK"), lambda one: _number(one.segments_per_ack, significant(one.segments_per_ack or 0))),
        (
            Column("Sent from", "The context that sent most, and its part.", number=False),
            lambda one: _most(one.context),
        ),
        (Column("ACKs because", "The commonest reason, and its part.", number=False), lambda one: _most(one.reason)),
        (Column("Sent again", "Packets."), lambda one: _number(one.again, f"{one.again or 0:,}")),
    ]
    return Table(tuple(column for column, _ in columns), tuple(tuple(make(one) for _, make in columns) for one in told))


def _link(trial: str, pages: set[str]) -> str:
    return page_path(Path(), trial).name if trial in pages else ""


def _factor(factor: str, cells: Mapping[str, CellResult]) -> Callable[[Glance], Entry]:
    def entry(one: Glance) -> Entry:
        level = cells[one.cell].factors.get(factor) if one.cell in cells else None
        return Entry("" if level is None else level_text(level), "" if level is None else str(level))

    return entry


def _log(one: Glance) -> Entry:
    return Entry("not complete", "1", one.doubt) if one.doubt else Entry("complete", "0")


def _pattern(one: Glance) -> Entry:
    found = one.pattern
    return Entry("") if found is None else Entry(_unbroken(pattern_words(found)), pattern_words(found), found.words)


def _waited(one: Glance) -> Entry:
    """The frequent payloads with the part of each that an ACK released; rare ones say nothing."""
    most = max((waited.sent for waited in one.waited), default=0)
    told = [waited for waited in one.waited if waited.sent >= LEAST_RATIO * most]
    text = "; ".join(f"{waited.payload_bytes} ({percent(waited.ratio)})" for waited in told[:MOST_PAYLOADS])
    return Entry(_unbroken(text), text)


def pattern_words(found: Payloads) -> str:
    """The payloads of a connection in a few words: its cycle, or its most frequent ones."""
    if found.cycle is not None:
        return f"{found.cycle.words} ({percent(found.cycle.segments_ratio)})"
    return "; ".join(
        f"{size} ({percent(ratio)})" for size, ratio in found.frequent[:MOST_PAYLOADS] if ratio >= LEAST_RATIO
    )


def _mean(value: float | None) -> Entry:
    return _number(value, "" if value is None else mean_words(value))


def _number(value: float | None, text: str) -> Entry:
    return Entry("") if value is None else Entry(text, str(value))


def _most(share: tuple[str, float] | None) -> Entry:
    return Entry("") if share is None else Entry(_unbroken(f"{share[0]} {percent(share[1])}"), share[0])


def _unbroken(text: str) -> str:
    """Keeps a number and its percent sign in one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")
