"""Writes the page of a trial's segment flow."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whyperf.analyze.flow import FlowEnd, FlowTrial, scan_log
from whyperf.analyze.text import count
from whyperf.record.durable import write_file
from whyperf.record.errors import as_record_error as told_errors
from whyperf.report.flow.about import Steps, frame, of_log, of_track, steps_for
from whyperf.report.flow.connections import connections
from whyperf.report.flow.drawing import About, Drawing, draw
from whyperf.report.flow.page import End, Page, render
from whyperf.report.flow.read import read_tracks
from whyperf.report.flow.rows import end_rows
from whyperf.report.flow.summary import Told
from whyperf.report.flow.terms import TERMS
from whyperf.report.flow.track import Track

MOST_DRAWN = 64
"""Connections that a page draws; more can be had one by one."""

SECOND_NS = 1_000_000_000


def write(folder: Path, experiment: str, told: Told) -> Path:
    """Writes `flow-<trial>.html`, and the folder `flow-<trial>` if the page cannot hold every row; returns the page.

    Raises:
        RecordError: the log cannot be read, or the page cannot be written.
    """
    return write_drawn(folder, experiment, told)[0]


def write_drawn(folder: Path, experiment: str, told: Told) -> tuple[Path, Drawing]:
    """The same; returns also what the page draws."""
    drawing = _drawing(folder, told)
    path = page_path(folder, told.trial.trial)
    text = render(_page(experiment, told), drawing)
    with told_errors("write", path):
        write_file(path, text.encode())
    return path, drawing


def page_path(folder: Path, trial: str) -> Path:
    """Where the page of a trial is."""
    return folder / f"flow-{trial}.html"


def _drawing(folder: Path, told: Told) -> Drawing:
    """Everything that the page of `told` draws."""
    numbers = drawn(told)
    steps = steps_of(told.trial)
    return draw(
        _tracks(told, numbers, steps), _rows(told, numbers), page_path(folder, told.trial.trial).with_suffix("")
    )


def drawn(told: Told) -> list[int]:
    """Numbers of the connections that are drawn."""
    return told.numbers[:MOST_DRAWN] if told.connection is None else [told.connection]


def steps_of(trial: FlowTrial) -> Steps:
    """Steps of the strips over time."""
    start, end = trial.window_ns or (0, SECOND_NS)
    return steps_for(max(1, end - start))


def _tracks(told: Told, numbers: Sequence[int], steps: Steps) -> Iterator[tuple[Track, About]]:
    """The tracks, sender's first, each with what else is known of it; one end is in memory at a time."""
    for one in told.ends:
        if one.log is not None:
            yield from _read(told, one.end, numbers, steps)


def _read(told: Told, end: FlowEnd, numbers: Sequence[int], steps: Steps) -> Iterator[tuple[Track, About]]:
    """The tracks of one end."""
    # Where there is one connection the file is read once more rather than the track copied for it.
    log = scan_log(told.trial, end.host) if len(told.numbers) == 1 else None
    with ThreadPoolExecutor(1) as thread:
        summing = None if log is None else thread.submit(of_log, log, end.role, steps)
        tracks = deque(read_tracks(told.trial, end.host, numbers))
        alone = None if summing is None else summing.result()
    while tracks:
        track = tracks.popleft()
        known = alone if alone is not None else of_log(frame(track).lazy(), end.role, steps)
        yield track, {**known, **of_track(track)}


def _rows(told: Told, numbers: Sequence[int]) -> int:
    if len(numbers) == len(told.numbers):
        return sum(log.rows_count for log in told.logs)
    scans = [scan_log(told.trial, end.end.host, numbers) for end in told.ends]
    return sum(int(scan.select("connection").collect().height) for scan in scans if scan is not None)


def _page(experiment: str, told: Told) -> Page:
    return Page(
        experiment=experiment,
        trial=told.trial.trial,
        headline=headline(told),
        notes=_notes(told),
        doubts=doubts(told),
        ends=[End(f"{one.end.role.capitalize()} ({one.end.host} end)", end_rows(one)) for one in told.ends],
        connections=connections(told),
        steps=steps_of(told.trial),
        terms=TERMS,
    )


def headline(told: Told) -> str:
    """What the page is about, in a sentence."""
    which = count(len(told.numbers), "connection")
    if told.connection is not None:
        which = f"Connection {told.connection} of {len(told.numbers):,}"
    if not told.logs:
        return f"{which}, without a segment log."
    if told.connection is not None:
        return f"{which}, logged at {count(len(told.logs), 'end')}."
    rows = sum(log.rows_count for log in told.logs)
    return f"{which}, {count(rows, 'row')} logged at {count(len(told.logs), 'end')}."


def pattern(told: Told) -> str:
    """What the sender sent again and again; empty where that is not known."""
    found = [one.payloads.words for one in told.ends if one.payloads is not None and one.end.role == "sender"]
    return "".join(found[:1])


def gaps(told: Told, *, nearly_complete: bool) -> list[str]:
    """What the logs lack that are nearly complete, or that are not."""
    return [
        f"The log of the {log.host} end is {log.words}. {log.reason}"
        for log in told.logs
        if not log.complete and log.is_nearly_complete is nearly_complete
    ]


def doubts(told: Told) -> list[str]:
    """Why the logs cannot be believed as a whole."""
    found = gaps(told, nearly_complete=False)
    for one in told.ends:
        if one.log is None:
            why = one.end.evidence.reason or "None was made."
            found.append(f"The {one.end.host} end ({one.end.role}) has no log. {why}")
    return found


def _notes(told: Told) -> list[str]:
    notes = [*([pattern(told)] if pattern(told) else []), *gaps(told, nearly_complete=True)]
    notes.append("The throughput of a trial that carried the log is never used: writing the log costs some.")
    if len(told.numbers) > MOST_DRAWN and told.connection is None:
        notes.append(
            f"The first {MOST_DRAWN} of {len(told.numbers):,} connections are drawn; "
            "--connection makes the page of another."
        )
    return notes
