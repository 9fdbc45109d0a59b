"""The segment flow in the report of an experiment: a row per log trial, and figures where there is one cell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.analyze.flow import Payloads, open_trial
from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import factor_title, level_text, percent, significant
from whyperf.explain.log_trials import logged_count, long_logs
from whyperf.foreign import shell_line
from whyperf.plan import CONNECTION
from whyperf.record import Experiment, Manifest, RecordError, Trials
from whyperf.report.charts.layout import distinguishing_axes
from whyperf.report.flow.about import step_text
from whyperf.report.flow.rows import MIN_RATIO, mean_text
from whyperf.report.flow.summary import FlowSummary, summarize_flow
from whyperf.report.flow.trial_rows import TrialRow, row_of_summary, trial_rows
from whyperf.report.flow.viewer import Viewer, blocks_json, data, scripts
from whyperf.report.flow.write import page_path, steps_of, write_drawn
from whyperf.report.kept_parts import KeptParts
from whyperf.report.table import Column, Entry, Table

MAX_TRIALS = 500
"""The table lists at most this many log trials; reading takes about 50 ms each."""

MAX_FIGURE_BYTES = 2_000_000
"""Bytes of blocks in the report; its charts take as much."""

MAX_PAYLOADS = 3

NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class FlowFigures:
    """The viewer with its data, and the page with every segment."""

    viewer: Viewer
    data: str
    blocks: str
    scripts: str
    trial: str
    page: str


@dataclass(frozen=True)
class FlowSection:
    """The section: a table of log trials, a note, and the figures of one trial."""

    table: Table
    note: str
    figures: FlowFigures | None
    #: The repeated payloads of the sender as text, by cell.
    payloads: Mapping[str, str]
    #: The payloads that waited for an ACK as text, by cell.
    released: Mapping[str, str]


def flow_section(experiment: Experiment, summary: Summary, found: Trials, kept: KeptParts) -> FlowSection | None:
    """The section for the log trials of the experiment; None when there are none.

    If the experiment has one cell, the page of its first log trial is written too, unless the log is long.
    The section says which logs could not be read and which page could not be written. Rows that `kept` lacks are added
    to it.
    """
    trials = experiment.folder / "trials"
    logs = found.logs
    names = [name for name in logs if any((trials / name).glob("segments.*.parquet"))]
    if not names:
        return None
    figures: FlowFigures | None = None
    notes = [_note(experiment, len(names))]
    long = long_logs(experiment, logs)
    short = [name for name in names if name not in long]
    if len(summary.cells) == 1 and short[:1] == names[:1]:
        try:
            # Processing times are a section of their own in the report.
            first = summarize_flow(open_trial(trials / names[0]))
            figures = _figures(experiment, first)
            kept.add_rows([row_of_summary(first)])
        except RecordError as error:
            notes.append(f"No figures: {error}")
    listed = short[:MAX_TRIALS]
    kept.add_rows(trial_rows(trials / name for name in listed if name not in kept.rows))
    rows = [kept.rows[name] for name in listed]
    rows += [_too_long(experiment, long[name]) for name in names[:MAX_TRIALS] if name in long]
    pages = {name for name in names if page_path(experiment.folder, name).exists()}
    cells = {cell.id: cell for cell in summary.cells}
    payloads = {row.cell: pattern_text(row.pattern) for row in rows if row.pattern is not None}
    released = {row.cell: _waited(row).text for row in rows}
    return FlowSection(_table(rows, cells, pages), " ".join(notes), figures, payloads, released)


def _too_long(experiment: Experiment, log: Manifest) -> TrialRow:
    segments = logged_count(experiment, log.trial)
    warning = f"Not analyzed in this report: the log has {segments:,} segments. The command above draws it."
    return TrialRow(log.trial, log.cell, warning)


def _figures(experiment: Experiment, flow: FlowSummary) -> FlowFigures:
    path, drawing = write_drawn(experiment.folder, experiment.name, flow)
    blocks, whole = drawing.lone_blocks(MAX_FIGURE_BYTES)
    held = {block.track for block in blocks}
    tracks = [track for number, track in enumerate(drawing.tracks) if number in held]
    steps = steps_of(flow.trial)
    viewer = Viewer(
        connections=list(dict.fromkeys(track["connection"] for track in tracks)),
        hosts=list(dict.fromkeys((track["host"], track["role"]) for track in tracks)),
        ack_step=step_text(steps.ack_ns),
        super_step=step_text(steps.super_ns),
        closer="" if whole else "This report has the overview. The page with every single segment:",
        closer_page=path.name,
    )
    content = data(drawing.tracks, "", None, overview_only=not whole)
    return FlowFigures(viewer, content, blocks_json(blocks), scripts("page"), flow.trial.trial, path.name)


def _note(experiment: Experiment, trials: int) -> str:
    more = f" The first {MAX_TRIALS:,} of {trials:,} are listed." if trials > MAX_TRIALS else ""
    use = "Trials with a segment log; their throughput is not used. " if experiment.plan.watched is None else ""
    return (
        f"{use}Each row covers a whole trial as the sender "
        f"recorded it; ACK reasons are from the receiver.{more} To draw a trial down to single segments: "
        f"`{shell_line(['whyperf', 'show', '--view', 'flow', str(experiment.folder)])} TRIAL`."
    )


def _table(rows: Sequence[TrialRow], cells: Mapping[str, CellResult], pages: set[str]) -> Table:
    axes = distinguishing_axes([cells[row.cell] for row in rows if row.cell in cells])
    is_watched = any(cell.watched is not None for cell in cells.values())
    columns: list[tuple[Column, Callable[[TrialRow], Entry]]] = [
        (
            Column("Trial" if is_watched else "Log trial", number=False),
            lambda row: Entry(row.trial, row.trial, link=_link(row.trial, pages)),
        )
    ]
    columns += [(Column(factor_title(axis.factor), number=axis.numeric), _factor(axis.factor, cells)) for axis in axes]
    columns += [
        (Column("Log", "Whether the log has every segment.", number=False), _log),
        (Column("Payload sequence", "The repeated payloads of the sender.", number=False), _pattern),
        (
            Column(
                "Waited for an ACK",
                "Payload sizes, and the share of each that receive processing sent when an ACK arrived. This is a "
                "lower limit: if the socket is busy, the process handles the ACK.",
                number=False,
            ),
            _waited,
        ),
        (Column("Segments"), lambda row: _number(row.segments, f"{row.segments or 0:,}")),
        (Column("Average super-segment (bytes)", "Payload per packet sent."), lambda row: _mean(row.packet_bytes_mean)),
        (Column("Segments per ACK"), lambda row: _number(row.segments_per_ack, significant(row.segments_per_ack or 0))),
        (
            Column("Send context", "The most frequent send context, and its share.", number=False),
            lambda row: _share(row.context),
        ),
        (
            Column("ACK reason", "The most frequent reason, and its share.", number=False),
            lambda row: _share(row.reason),
        ),
        (
            Column("Retransmitted", "Retransmitted packets."),
            lambda row: _number(row.retransmitted, f"{row.retransmitted or 0:,}"),
        ),
    ]
    return Table(
        tuple(column for column, _ in columns), tuple(tuple(entry(row) for _, entry in columns) for row in rows)
    )


def _link(trial: str, pages: set[str]) -> str:
    return page_path(Path(), trial).name if trial in pages else ""


def _factor(factor: str, cells: Mapping[str, CellResult]) -> Callable[[TrialRow], Entry]:
    def entry(row: TrialRow) -> Entry:
        level = cells[row.cell].factors.get(factor) if row.cell in cells else None
        text = "" if level is None else level_text(level)
        # A connection is read on one line; the table scrolls.
        return Entry(text.replace(" ", NO_BREAK) if factor == CONNECTION else text, "" if level is None else str(level))

    return entry


def _log(row: TrialRow) -> Entry:
    return Entry("not complete", "1", row.warning) if row.warning else Entry("complete", "0")


def _pattern(row: TrialRow) -> Entry:
    found = row.pattern
    return Entry("") if found is None else Entry(_unbroken(pattern_text(found)), pattern_text(found), found.words)


def _waited(row: TrialRow) -> Entry:
    """The frequent payloads with the share of each that an ACK released; rare ones are left out."""
    most_sent = max((waited.sent for waited in row.waited), default=0)
    frequent = [waited for waited in row.waited if waited.sent >= MIN_RATIO * most_sent]
    text = "; ".join(f"{waited.payload_bytes} ({percent(waited.ratio)})" for waited in frequent[:MAX_PAYLOADS])
    return Entry(_unbroken(text), text)


def pattern_text(found: Payloads) -> str:
    """The payloads of a connection in short: its cycle, or its most frequent sizes."""
    if found.cycle is not None:
        return f"{found.cycle.text} ({percent(found.cycle.segments_ratio)})"
    return "; ".join(
        f"{size} ({percent(ratio)})" for size, ratio in found.frequent[:MAX_PAYLOADS] if ratio >= MIN_RATIO
    )


def _mean(value: float | None) -> Entry:
    return _number(value, "" if value is None else mean_text(value))


def _number(value: float | None, text: str) -> Entry:
    return Entry("") if value is None else Entry(text, str(value))


def _share(share: tuple[str, float] | None) -> Entry:
    return Entry("") if share is None else Entry(_unbroken(f"{share[0]} {percent(share[1])}"), share[0])


def _unbroken(text: str) -> str:
    """Keeps a number and its percent sign on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")
