"""Who shows a running experiment: a live line on a terminal, plain lines elsewhere, intervals of a single cell."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress

from whyperf.cli.durations import duration
from whyperf.cli.exits import say
from whyperf.cli.live.intervals import IntervalLines, PrintedLine
from whyperf.cli.live.progress import Progress, cell_words, transaction_bytes
from whyperf.cli.output.console import Console
from whyperf.cli.output.formats import OutputFormat
from whyperf.cli.streams import fitting
from whyperf.plan import LOG_PREFIX, STAGES_PREFIX, Plan, PlannedTrial
from whyperf.record import INTERRUPTED
from whyperf.run import RunError
from whyperf.wire import ReplyProgress

#: Drawing takes CPU time from what is measured: twice a second is plenty.
REDRAW_S = 0.5
#: Where nobody watches live, a line at most this often.
LINE_S = 5.0
#: The phase in which the load goes on and nothing is measured any more (crates/schema/src/trial.rs).
COOL_DOWN = "cool-down"
#: Of several hosts on a side the first reports.
SIDES = ("near", "far")
#: The evidence that a trial carries that is not measured for its throughput.
EXTRA = {LOG_PREFIX: "the segment log", STAGES_PREFIX: "stage times"}


def watcher_for(
    plan: Plan,
    missing: Sequence[PlannedTrial],
    *,
    as_json: bool,
    output: OutputFormat | None = None,
    on_measured: Callable[[], None] = lambda: None,
) -> "Watcher":
    """The way to show this plan here: intervals for a single trial, with its log trial, otherwise the progress.

    `on_measured` is called when a single trial without a log trial has been measured.
    """
    progress = Progress(plan, missing)
    logs = sum(trial.is_log for trial in missing)
    staged = sum(trial.stages is not None for trial in missing)
    if max(logs, staged, len(missing) - logs - staged) <= 1 and "duration_s" in plan.cells[0].factors:
        called = on_measured if len(missing) == 1 else lambda: None
        return Intervals(progress, sys.stderr if as_json else sys.stdout, output, called)
    if sys.stderr.isatty():
        return LiveLine(progress)
    return PlainLines(progress)


class Watcher(AbstractContextManager["Watcher"]):
    """Keeps the progress and prints failures; subclasses show it."""

    def __init__(self, progress: Progress) -> None:
        """Shows nothing yet."""
        self.progress = progress
        #: Interval lines of the only trial, its log trial left out.
        self.measured: Sequence[PrintedLine] = ()

    def on_message(self, text: str) -> None:
        """A fact worth a line."""
        say(text)

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """A trial starts."""
        self.progress.on_trial_started(trial, cell, done, total)
        self.show()

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """An interval of one side."""
        self.progress.on_progress(host, progress)
        self.show()

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """A trial is recorded; one that did not complete gets a line."""
        self.progress.on_trial_finished(trial)
        if status not in {"complete", INTERRUPTED}:
            verb = {"failed": "failed", "void": "is void"}.get(status, "was cut")
            self.on_message(f"trial {trial} {verb}: {reason}")

    def show(self) -> None:
        """Shows where things are, not too often."""

    def __enter__(self) -> Self:
        """Starts showing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops showing."""


class PlainLines(Watcher):
    """A line every few seconds, for logs."""

    def __init__(self, progress: Progress) -> None:
        """The first line comes with the first trial."""
        super().__init__(progress)
        self._next = time.monotonic()

    def show(self) -> None:
        """A line, when the last is long enough ago."""
        running = self.progress.running
        if running is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LINE_S
        now = self.progress.rate_words()
        rate = f", {now}" if now else ""
        left = duration(self.progress.seconds_left())
        cell_text = cell_words(self.progress.plan, running.cell)
        say(f"trial {running.number} of {running.total}: {cell_text or running.cell}{rate}; about {left} left")


class LiveLine(Watcher):
    """One line that is drawn anew: bar, trial, cell, rate, time left."""

    def __init__(self, progress: Progress) -> None:
        """Draws on standard error, and only when asked to: no thread of its own."""
        super().__init__(progress)
        self._rich = RichProgress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[cell]}"),
            TextColumn("[bold]{task.fields[rate]}"),
            TextColumn("{task.fields[left]}", style="dim"),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._rich.add_task("", total=None, cell="", rate="", left="")
        self._next = 0.0

    def on_message(self, text: str) -> None:
        """A line above the live one."""
        console = self._rich.console
        console.print(fitting(text, console.file), highlight=False, markup=False, soft_wrap=True)

    def show(self) -> None:
        """Draws, when the last is long enough ago."""
        now = time.monotonic()
        running = self.progress.running
        if running is None or now < self._next:
            return
        self._next = now + REDRAW_S
        self._rich.update(
            self._task,
            completed=running.number - 1,
            total=running.total,
            cell=cell_words(self.progress.plan, running.cell) or running.cell,
            rate=self.progress.rate_words(),
            left=f"about {duration(self.progress.seconds_left())} left",
        )
        self._rich.refresh()

    def __enter__(self) -> Self:
        """Starts drawing."""
        self._rich.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the line away."""
        self._rich.stop()


class Intervals(Watcher):
    """A line a second, or as often as asked, of the only trial, and of its log trial, as in iperf3, with both sides."""

    def __init__(
        self,
        progress: Progress,
        stream: TextIO,
        output: OutputFormat | None = None,
        on_measured: Callable[[], None] = lambda: None,
    ) -> None:
        """Lines go to `stream`; `on_measured` is called once both sides have measured."""
        super().__init__(progress)
        self._on_measured = on_measured
        self._measured: set[str] = set()
        #: When the load started, by side.
        self._start_ns: dict[str, int] = {}
        self._output = output
        self._stream = stream
        self._lines: IntervalLines | None = None

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """The heading."""
        super().on_trial_started(trial, cell, done, total)
        extra = next((reason for prefix, reason in EXTRA.items() if trial.startswith(prefix)), None)
        if extra is not None:
            self._print(f"\nAgain, with {extra}; this rate is not the result:")
        each = transaction_bytes(self.progress.plan, cell)
        self._lines = IntervalLines(self.progress.plan.cell(cell).factors, self._print, each, self._output)
        if extra is None:
            self.measured = self._lines.measured

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """A line when both sides have reported a second."""
        super().on_progress(host, progress)
        if self._lines is not None:
            self._lines.on_progress(host, progress)
        if host not in self._measured and self._is_measured(host, progress):
            self._measured.add(host)
            if len(self._measured) == len(SIDES):
                self._on_measured()

    def _is_measured(self, host: str, progress: ReplyProgress) -> bool:
        """True where this is the last interval of the measurement, or one behind it."""
        start_ns = self._start_ns.setdefault(host, progress["start_mono_ns"])
        factors = self.progress.plan.cells[0].factors
        measured_ns = 1e9 * (float(factors["warmup_s"]) + float(factors["duration_s"]))
        return progress["phase"] == COOL_DOWN or progress["end_mono_ns"] - start_ns >= measured_ns

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """Shows what is left of the last second."""
        if self._lines is not None:
            self._lines.on_end()
        super().on_trial_finished(trial, status, reason)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Of a trial that a side or the user ended, the rate so far."""
        if self._lines is None or not isinstance(error, RunError | KeyboardInterrupt):
            return
        self._lines.on_end()
        if not self._lines.so_far:
            return
        if isinstance(error, RunError):
            self._print(f"\nProvisional     {self._lines.so_far} until then; not a result: the trial failed")
        else:
            name = "Goodput" if self._lines.counts_payload else "Transactions"
            self._print(f"\n{name:<16}{self._lines.so_far}, until it was stopped")

    def _print(self, line: str) -> None:
        print(fitting(line, self._stream), file=self._stream, flush=True)
