"""Writes the page of the segment flow of a trial.

Renders the page of the segment flow of a trial.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
from markupsafe import Markup

from whyperf import __version__
from whyperf.analyze.flow import FlowEnd, FlowTrial, scan_log
from whyperf.analyze.text import count
from whyperf.plan import STAGES_PREFIX
from whyperf.record.durable import write_file
from whyperf.record.errors import as_record_error
from whyperf.report.assets import asset as report_asset
from whyperf.report.assets import prose, together
from whyperf.report.flow.about import Steps, frame, of_log, of_track, step_text, steps_for
from whyperf.report.flow.connections import Connections, connections
from whyperf.report.flow.drawing import About, Drawing, draw
from whyperf.report.flow.log_tracks import read_tracks
from whyperf.report.flow.rows import host_rows
from whyperf.report.flow.summary import FlowSummary
from whyperf.report.flow.terms import TERMS
from whyperf.report.flow.track import Track
from whyperf.report.flow.viewer import Viewer, asset, blocks_json, data, scripts
from whyperf.report.stages import StagesSection
from whyperf.report.stages.stage_colors import stage_styles

STAGES = "stages.html.j2"


@dataclass(frozen=True)
class HostFacts:
    """One host: a heading, and facts by name."""

    title: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """The texts and tables of the page."""

    experiment: str
    trial: str
    headline: str
    hosts: Sequence[HostFacts]
    steps: Steps
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    connections: Connections | None = None
    stages: StagesSection | None = None
    terms: Sequence[tuple[str, str]] = field(default_factory=tuple)


def render(page: Page, drawing: Drawing) -> str:
    """The page as HTML."""
    stages = jinja2.DictLoader({STAGES: report_asset(f"stages/{STAGES}")})
    loader = jinja2.ChoiceLoader([stages, jinja2.FunctionLoader(asset)])
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, loader=loader)
    environment.filters |= {"together": together, "prose": prose}
    styles = [report_asset("page.css"), asset("flow.css")]
    if page.stages is not None:
        styles += [report_asset("explanation/explanation.css"), report_asset("stages/stages.css"), stage_styles()]
    drawn = list(dict.fromkeys(about["connection"] for about in drawing.tracks))
    hosts = list(dict.fromkeys((about["host"], about["role"]) for about in drawing.tracks))
    table = page.connections
    known: dict[str, object] | None = (
        {"connections": table.rows, "columns": [column.kind for column in table.columns], "drawn": drawn}
        if table is not None
        else None
    )
    outside = drawing.outside.name if drawing.outside is not None else ""
    return environment.get_template("page.html.j2").render(
        **vars(page),
        version=__version__,
        viewer=Viewer(drawn, hosts, step_text(page.steps.ack_ns), step_text(page.steps.super_ns)),
        css=Markup("".join(styles)),
        js=scripts("theme", "page") if drawing.tracks else asset("js/theme.js"),
        outside=outside,
        data=data(drawing.tracks, outside, known),
        blocks=blocks_json(drawing.first_blocks()),
    )


MAX_DRAWN = 64
"""A page draws at most this many connections; `--connection` draws any other."""

SECOND_NS = 1_000_000_000


def write(folder: Path, experiment: str, summary: FlowSummary, stages: StagesSection | None = None) -> Path:
    """Writes `flow-<trial>.html`, and the folder `flow-<trial>` if the page cannot hold every row; returns the page.

    `stages` are the processing times of the trial, or of another one of its cell.

    Raises:
        RecordError: the log cannot be read, or the page cannot be written.
    """
    return write_drawn(folder, experiment, summary, stages)[0]


def write_drawn(
    folder: Path, experiment: str, summary: FlowSummary, stages: StagesSection | None = None
) -> tuple[Path, Drawing]:
    """Like `write`; also returns the drawing of the page."""
    drawing = _drawing(folder, summary)
    path = page_path(folder, summary.trial.trial)
    text = render(_page(experiment, summary, stages), drawing)
    with as_record_error("write", path):
        write_file(path, text.encode(), is_page=True, in_result=True)
    return path, drawing


def page_path(folder: Path, trial: str) -> Path:
    """The path of the page of a trial."""
    return folder / f"flow-{trial}.html"


def _drawing(folder: Path, summary: FlowSummary) -> Drawing:
    """The drawing of the page."""
    numbers = drawn(summary)
    steps = steps_of(summary.trial)
    return draw(
        _tracks(summary, numbers, steps),
        _rows(summary, numbers),
        page_path(folder, summary.trial.trial).with_suffix(""),
    )


def drawn(summary: FlowSummary) -> list[int]:
    """The numbers of the connections that are drawn."""
    return summary.numbers[:MAX_DRAWN] if summary.connection is None else [summary.connection]


def steps_of(trial: FlowTrial) -> Steps:
    """The steps of the charts over time."""
    start, end = trial.window_ns or (0, SECOND_NS)
    return steps_for(max(1, end - start))


def _tracks(summary: FlowSummary, numbers: Sequence[int], steps: Steps) -> Iterator[tuple[Track, About]]:
    """The tracks, those of the sender first, each with its further data; one host is in memory at a time."""
    for flow in summary.hosts:
        if flow.log is not None:
            yield from _read(summary, flow.end, numbers, steps)


def _read(summary: FlowSummary, end: FlowEnd, numbers: Sequence[int], steps: Steps) -> Iterator[tuple[Track, About]]:
    """The tracks of one host."""
    # With one connection the file is read a second time, which takes less memory than a copy of the track.
    log = scan_log(summary.trial, end.host) if len(summary.numbers) == 1 else None
    with ThreadPoolExecutor(1) as thread:
        summing = None if log is None else thread.submit(of_log, log, end.role, steps)
        tracks = deque(read_tracks(summary.trial, end.host, numbers))
        alone = None if summing is None else summing.result()
    while tracks:
        track = tracks.popleft()
        known = alone if alone is not None else of_log(frame(track).lazy(), end.role, steps)
        yield track, {**known, **of_track(track)}


def _rows(summary: FlowSummary, numbers: Sequence[int]) -> int:
    if len(numbers) == len(summary.numbers):
        return sum(log.rows_count for log in summary.logs)
    scans = [scan_log(summary.trial, flow.end.host, numbers) for flow in summary.hosts]
    return sum(int(scan.select("connection").collect().height) for scan in scans if scan is not None)


def _page(experiment: str, summary: FlowSummary, stages: StagesSection | None) -> Page:
    return Page(
        experiment=experiment,
        trial=summary.trial.trial,
        headline=headline(summary),
        notes=_notes(summary),
        warnings=warnings(summary),
        hosts=[
            HostFacts(f"{flow.end.role.capitalize()} ({flow.end.host} side)", host_rows(flow)) for flow in summary.hosts
        ],
        # The script of the viewer fills the table.
        connections=connections(summary) if summary.logs else None,
        stages=stages,
        steps=steps_of(summary.trial),
        terms=TERMS,
    )


def headline(summary: FlowSummary) -> str:
    """Says what the page shows, in a sentence."""
    which = count(len(summary.numbers), "connection")
    if summary.connection is not None:
        which = f"Connection {summary.connection} of {len(summary.numbers):,}"
    if not summary.logs:
        return f"{which}, without a segment log."
    if summary.connection is not None:
        return f"{which}, logged at {count(len(summary.logs), 'host')}."
    rows = sum(log.rows_count for log in summary.logs)
    return f"{which}, {count(rows, 'row')} logged at {count(len(summary.logs), 'host')}."


def pattern(summary: FlowSummary) -> str:
    """The repeated payloads of the sender; empty where they are not known."""
    found = [flow.payloads.words for flow in summary.hosts if flow.payloads is not None and flow.end.role == "sender"]
    return "".join(found[:1])


def gaps(summary: FlowSummary, *, nearly_complete: bool) -> list[str]:
    """The gaps of the incomplete logs: of the nearly complete ones, or of the others."""
    return [
        f"The log of the {log.host} side is {log.summary}. {log.reason}"
        for log in summary.logs
        if not log.complete and log.is_nearly_complete is nearly_complete
    ]


def warnings(summary: FlowSummary) -> list[str]:
    """Missing logs, and logs that are far from complete."""
    found = gaps(summary, nearly_complete=False)
    if summary.trial.trial.startswith(STAGES_PREFIX):
        # It was made without one.
        return found
    for flow in summary.hosts:
        if flow.log is None:
            why = flow.end.evidence.reason or "None was requested."
            found.append(f"The {flow.end.host} side ({flow.end.role}) has no log. {why}")
    return found


def _notes(summary: FlowSummary) -> list[str]:
    notes = [*([pattern(summary)] if pattern(summary) else []), *gaps(summary, nearly_complete=True)]
    if summary.trial.trial.startswith(STAGES_PREFIX):
        notes.append("The throughput of a trial with stage times is never used: taking them lowers it.")
    elif summary.trial.is_watched:
        notes.append("Writing the log lowers the throughput of the connection.")
    else:
        notes.append("The throughput of a trial with a segment log is never used: writing the log lowers it.")
    if len(summary.numbers) > MAX_DRAWN and summary.connection is None:
        notes.append(
            f"The first {MAX_DRAWN} of {len(summary.numbers):,} connections are drawn; "
            "--connection N draws another one."
        )
    return notes
