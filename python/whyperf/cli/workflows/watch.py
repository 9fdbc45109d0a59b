"""A watch, step by step: start the agents, show what they report, keep the tables, explain them, print."""

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from whyperf.cli.exits import DONE, DOUBTFUL, FAILED, CommandStatus, UsageError, say
from whyperf.cli.exits import explain as explain_error
from whyperf.cli.inputs.evidence import AskedEvidence
from whyperf.cli.inputs.watched import BUSIEST, MAX_PORT, Watched
from whyperf.cli.live import interrupts
from whyperf.cli.live.connecting import said_to_connect
from whyperf.cli.live.watched_lines import Announced, JsonLines, PlainLines, Silence, View, others_there
from whyperf.cli.live.wrapped import CommandError, WrappedCommand, refuse_missing
from whyperf.cli.streams import drop_output
from whyperf.disturb.namespace import entering
from whyperf.plan import Level
from whyperf.record import RecordError, watch_folder
from whyperf.record.errors import refuse_exchangeable
from whyperf.run import AgentError, RunError
from whyperf.watch.request import WatchedSide, WatchQuestion
from whyperf.watch.session import WatchedPlace, WatchOrder, WatchSession
from whyperf.watch.tracker import Side, Tracker
from whyperf.wire import ReplyWatched

if TYPE_CHECKING:
    from whyperf.cli.live.watch_app import WatchApp
    from whyperf.record import Experiment
    from whyperf.watch.metrics import WatchMetrics
    from whyperf.watch.payload import RunPayload

#: The level that is asked for where the user names none; the agent takes a lower one where the host refuses it.
USUAL_LEVEL: Level = "counters"
#: The word that stands in a result for the arguments of a program.
LEFT_OUT = "ARGUMENTS"


@dataclass(frozen=True)
class WatchQuery:
    """Everything the command line asked of `whyperf watch`."""

    watched: Watched
    #: The path of a network namespace.
    namespace: str | None
    far: str | None
    evidence: AskedEvidence
    interval_s: float
    duration_s: float | None
    connections_most: int
    #: The words behind `--`; empty: nothing is started.
    command: tuple[str, ...]
    as_json: bool
    #: True where a terminal gets lines, too.
    as_lines: bool
    metrics: tuple[str, int] | None
    out: Path | None
    report: bool
    #: Seconds for running the command again in changed environments; None: it is not.
    budget_s: float | None = None

    @property
    def name(self) -> str:
        """The subject of the watch, in a few words."""
        return "this host" if self.watched.name == BUSIEST and self.watched.host is None else self.watched.name

    def order(self, pid: int | None = None) -> WatchOrder:
        """The request to the agents; `pid` is the process that becomes the command."""
        selection = self.watched.selection
        if pid is not None:
            selection = {**selection, "processes": [pid]}
        return WatchOrder(
            selection=selection,
            evidence=self.evidence.level or USUAL_LEVEL,
            profile_hz=self.evidence.profile_hz or None,
            interval_s=self.interval_s,
            duration_s=self.duration_s,
            connections_most=self.connections_most,
            ends_with_process=pid,
        )


def watch(query: WatchQuery) -> int:
    """Does what was asked; returns the exit code, which is the command's where one was started.

    Raises:
        UsageError: the folder cannot take a result.
        RunError: an agent cannot watch, or is gone.
        RecordError: nothing was watched, or the result cannot be kept.
    """
    folder = query.out or watch_folder(datetime.now())
    _refuse_used(folder)
    if query.command:
        return _watch_command(query, folder)
    with interrupts.handled() as stops, _Watch(query, folder) as running:
        running.until_over(query.order())
        return running.finish(stops)


def _watch_command(query: WatchQuery, folder: Path) -> int:
    """The watch of a command, which starts when the agents watch. What it ends with counts, whatever happens here."""
    try:
        refuse_missing([*entering(query.namespace), *query.command])
        refuse_missing(query.command)
    except CommandError as error:
        say(f"whyperf: {error}")
        return CommandStatus(error.status)
    with ExitStack() as closing:
        command = closing.enter_context(WrappedCommand([*entering(query.namespace), *query.command]))
        running = closing.enter_context(_Watch(query, folder))
        status: int | None = None
        seconds = 0.0

        def run(_over: Event) -> None:
            nonlocal status, seconds
            since_s = time.monotonic()
            command.release()
            status = command.wait()
            seconds = time.monotonic() - since_s

        try:
            running.until_over(query.order(command.pid), run)
            # From before signals are taken again: one that ended the command may come twice.
            with interrupts.handled(command.came_s) as stops:
                command.close()
                moved = None if query.budget_s is None or command.came_s else running.moved()
                running.finish(stops)
            if moved is not None and status:
                say(f"The command ended with {status}, so it is not run again")
            elif moved is not None and status == 0:
                from whyperf.cli.workflows.repeat import show_why_of_command  # noqa: PLC0415 - only --repeat needs it

                show_why_of_command(query, folder, moved, seconds)
        except CommandError as error:
            say(f"whyperf: {error}")
            return CommandStatus(error.status)
        except KeyboardInterrupt:
            say("whyperf: stopped; the command has ended before")
        except Exception as error:
            if status is None:
                raise
            say(f"whyperf: {explain_error(error)[1]}")
        if status is None:
            say("whyperf: the watch ended before the command could start")
            return FAILED
        return CommandStatus(status)


def run_again(query: WatchQuery, folder: Path, before: Sequence[str], within_s: float) -> "RunPayload":
    """Measures what the command moves when it runs again behind the words `before`, watched without BPF.

    Raises:
        CommandError: it cannot be started, ends with an error, or takes longer than `within_s`.
        KeyboardInterrupt: somebody ended it.
        RunError: the agent is gone.
    """
    quiet = replace(query, evidence=AskedEvidence("user", 0), far=None, metrics=None)
    changed = [*entering(query.namespace), *before, *query.command]
    with WrappedCommand(changed, is_repeat=True) as command, _Watch(quiet, folder) as running:
        status = 0

        def run(_over: Event) -> None:
            nonlocal status
            command.release()
            status = command.wait(within_s)

        running.until_over(quiet.order(command.pid), run)
        if command.came_s:
            raise KeyboardInterrupt
        if command.is_late:
            raise CommandError("the time was over before it had ended", status)
        if status:
            raise CommandError(f"the command ended with {status}", status)
        return running.moved()


class _Watch:
    """The agents of a watch, and who is shown what they report."""

    def __init__(self, query: WatchQuery, folder: Path) -> None:
        """Starts the agents."""
        self._query, self._folder = query, folder
        self._started = datetime.now(UTC)
        self._tracker = Tracker()
        self._announced: Announced | None = Announced(query.name, sees_all=query.watched.host is None and _sees_all())
        self._metrics = _served(query)
        self._app: WatchApp | None = None
        self._view = self._chosen_view()
        #: True where standard output takes what is shown.
        self._is_read = True
        place = WatchedPlace(query.watched.host, query.namespace)
        far = None if query.far is None else WatchedPlace(query.far)
        with _named_once(query), said_to_connect((place.host, query.far)):
            self._session = WatchSession(place, far, folder)

    def until_over(self, order: WatchOrder, while_watching: Callable[[Event], None] | None = None) -> None:
        """Watches until the time is up, the user ends it or `while_watching` returns."""
        if self._app is not None:
            while_watching = self._app.show_until
        since_s = time.monotonic()
        try:
            with _named_once(self._query):
                self._session.watch(order, self._on_watched, while_watching)
        except KeyboardInterrupt:
            if self._query.command:
                raise
        is_early = order.duration_s is None or time.monotonic() - since_s < order.duration_s
        if self._session.has_ended_itself and is_early and not self._query.command:
            say(f"Process {self._query.name} and all that it has started have ended")

    def finish(self, stops: interrupts.Stops) -> int:
        """Keeps what was watched, explains and prints it; returns the exit code.

        Raises:
            RecordError: there was no connection, or the result cannot be kept.
        """
        with stops.keeping():
            experiment = self._kept()
        with experiment:
            self._session.close()
            # Imported here: it loads what judges a result, for a second.
            from whyperf.cli.output.watched import print_watched  # noqa: PLC0415

            code = print_watched(
                experiment,
                as_json=self._query.as_json and self._is_read,
                report=self._query.report,
                on_error=bool(self._query.command) or not self._is_read,
            )
        is_less = self._session.far_lost is not None or self._session.late is not None or self._lacks_level()
        return DOUBTFUL if code == DONE and is_less else code

    def moved(self) -> "RunPayload":
        """The payload that the connections of the near side moved."""
        from whyperf.watch.payload import RunPayload, payload_of  # noqa: PLC0415 - loads polars, which takes 0.2 s

        sides = self._session.results()
        return payload_of(sides[0].tables) if sides else RunPayload()

    def _kept(self) -> "Experiment":
        from whyperf.watch.record import keep_watched  # noqa: PLC0415 - loads polars, which takes 0.2 s

        sides = self._session.results()
        self._session.hang_up()
        if (lost := self._session.far_lost) is not None:
            say(f"The far side is not in the result: {lost}")
        if (late := self._session.late) is not None:
            say(f"The watch ended early, and what was seen is kept: {late}")
        for side in sides:
            if "watched" in side.lost:
                place = self._folder.absolute().parent
                raise RecordError(f"no space left in {place}; nothing is kept: free some space, and watch again")
        if not _have_connections(sides):
            raise RecordError(self._nothing_seen())
        return keep_watched(self._folder, self._question(), sides, say)

    def _on_watched(self, side: Side, watched: ReplyWatched) -> None:
        report = self._tracker.take(side, watched)
        if self._announced is not None and self._app is None:
            self._announced.on_report(report)
        if self._metrics is not None:
            self._metrics.take(report)
        try:
            self._view.on_report(report)
        except OSError:
            self._on_unread()

    def _on_unread(self) -> None:
        """Whoever reads standard output has gone: the watch ends, unless it serves metrics, and its result is kept."""
        drop_output()
        self._view, self._is_read = Silence(), False
        if self._metrics is None:
            self._session.end()

    def _chosen_view(self) -> View:
        query = self._query
        if query.command:
            self._announced = None
            return Silence()
        if query.as_json:
            return JsonLines()
        is_terminal = sys.stdout.isatty() and sys.stdin is not None and sys.stdin.isatty()
        if query.as_lines or not is_terminal or os.environ.get("TERM", "dumb") == "dumb":
            return PlainLines()
        from whyperf.cli.live.watch_app import WatchApp  # noqa: PLC0415 - loads textual

        self._app = WatchApp(query.name, query.watched.host)
        return self._app

    def _question(self) -> WatchQuestion:
        query = self._query
        return WatchQuestion(
            command_line=stored_command(sys.argv[1:]),
            selection=dict(query.watched.selection),
            evidence=query.evidence.level or USUAL_LEVEL,
            started_realtime=self._started.isoformat(),
            name=query.watched.name,
            profile_hz=query.evidence.profile_hz or None,
            host=query.watched.host,
            far_host=query.far,
        )

    def _nothing_seen(self) -> str:
        last = self._tracker.last.get("near")
        there = others_there(None if last is None else last.get("instead"))
        if self._query.command:
            seen = "no TCP connection of the command was open at one of the 20 samples a second"
            return f"{seen}; nothing is kept{there}"
        return f"no TCP connection of {self._query.name} was seen, so nothing is kept{there}"

    def _lacks_level(self) -> bool:
        """True where a side took less evidence than the user named."""
        asked = self._query.evidence.level
        return asked is not None and any(watched["level"] != asked for watched in self._tracker.last.values())

    def __enter__(self) -> "_Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()


def stored_command(arguments: Sequence[str]) -> str:
    """The command as a result has it: of a program behind `--` without its arguments.

    They may be passwords and tokens, in more forms than a list of options has: `-psecret`, headers, addresses. A result
    is made to be shared.
    """
    behind = arguments.index("--") + 2 if "--" in arguments else len(arguments)
    left_out = [LEFT_OUT] if arguments[behind:] else []
    return shlex.join(["whyperf", *arguments[:behind], *left_out])


def _sees_all() -> bool:
    """True if an agent on this host may read which sockets all processes have. That takes the right to trace them, as
    this link of the first process does (proc(5)).
    """
    try:
        Path("/proc/1/exe").readlink()
    except OSError:
        return False
    return True


def _have_connections(sides: Sequence[WatchedSide]) -> bool:
    """True where a side has watched any."""
    import polars as pl  # noqa: PLC0415 - takes 0.2 s to load, which a watch that begins does not have

    lists = [side.tables["watched"] for side in sides if "watched" in side.tables]
    return any(pl.scan_parquet(path).select(pl.len()).collect().item() for path in lists)


@contextmanager
def _named_once(query: WatchQuery) -> Iterator[None]:
    """Errors of an agent without the name of its side, where there is only one; with what a word may have meant."""
    try:
        yield
    except AgentError as error:
        if query.far is not None:
            raise
        said = str(error).removeprefix("near: ")
        process = next(iter(query.watched.selection.get("processes", ())), 0)
        if said.startswith(f"there is no process {process} ") and process <= MAX_PORT:
            said += f"; for a port write :{process}"
        raise RunError(said, error.fault) from None
    except RunError as error:
        if not query.watched.is_word or "cannot be reached by ssh" not in str(error):
            raise
        word = query.watched.host
        raise RunError(f"{error}; if {word} is a program, write --program {word}", error.fault) from None


def _served(query: WatchQuery) -> "WatchMetrics | None":
    """The metrics, served, where they are asked for.

    Raises:
        UsageError: the address or the port cannot be used.
    """
    if query.metrics is None:
        return None
    from whyperf.watch.metrics import WatchMetrics  # noqa: PLC0415 - loads prometheus-client

    address, port = query.metrics
    metrics = WatchMetrics()
    try:
        port = metrics.serve(address, port)
    except OSError as error:
        raise UsageError(f"--metrics: {address} port {port} cannot be used: {error.strerror}") from error
    shown = f"[{address}]" if ":" in address else address
    say(f"Metrics: http://{shown}:{port}/metrics")
    return metrics


def _refuse_used(folder: Path) -> None:
    """Refuses a folder that holds something, or where none can be made, before anything is watched.

    Raises:
        UsageError: it is so.
        WrongFolderError: another user could exchange it.
    """
    refuse_exchangeable(folder)
    if not folder.exists():
        parent = next(parent for parent in folder.absolute().parents if parent.exists())
        if not os.access(parent, os.W_OK | os.X_OK):
            raise UsageError(f"the result has no place: {parent} may not be written to; name a folder with --out")
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise UsageError(f"{folder} holds something already; name a new folder with --out")
