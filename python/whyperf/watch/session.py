"""Agents that watch: one for each side, each at the end of a pipe, until the time is up or the user ends it."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from whyperf.plan import Level
from whyperf.run import PipeClosedError, RunError
from whyperf.run.agents import pipes
from whyperf.run.agents.agent import Agent, Clock
from whyperf.run.agents.received import Deadline, ReceivedTables
from whyperf.run.errors import NoAnswerError
from whyperf.watch.pipe_connections import connections_of
from whyperf.watch.request import WatchedSide
from whyperf.watch.spool import TableSpool
from whyperf.wire import HostFacts, ReplyFinished, ReplyWatched, RequestWatch, Selection, WatchedConnection

NEAR: Final = "near"
FAR: Final = "far"
Side = Literal["near", "far"]
NS_PER_S: Final = 1_000_000_000
SAMPLE_NS: Final = 50_000_000
"""Time between two samples of a connection that is asked for; the agent takes more where it watches many."""
_REPLY_GRACE_S: Final = 30.0
"""Time beyond an interval that the next report may take, and time that the tables of a large log may be silent."""
_END_GRACE_S: Final = 60.0
"""The time beyond its watch that an agent may go on without tables: what is left to do may be silent twice."""
_SETTLE_S: Final = 2.0
"""The time that an agent may take to notice that the process is gone with which its watch ends."""
_FAR_FACTOR: Final = 4
"""So many times the connections of the near side are watched on the far one: some of them are others."""
_MIN_ON_FAR: Final = 64
_MAX_CONNECTIONS: Final = 1000
"""CONNECTIONS_MAX_CONNECTIONS of crates/schema/src/watch.rs."""
_REPORTS_FACTOR: Final = 2
"""So many times as often as asked for may reports come."""
_REPORTS_AHEAD: Final = 10_000
"""Reports in addition: some come early at first, and others wait in the pipe while this host is suspended or busy."""

OnWatched = Callable[[Side, ReplyWatched], None]


@dataclass(frozen=True)
class WatchedPlace:
    """Where an agent watches: on this host or another, in the network namespace of a path there, if it is given."""

    host: str | None = None
    netns: str | None = None

    def argv(self) -> list[str]:
        """The command of its agent.

        Raises:
            RunError: there is none, or the host cannot be reached.
        """
        return pipes.local(self.netns) if self.host is None else pipes.ssh(self.host, self.netns)


@dataclass(frozen=True)
class WatchOrder:
    """The request to the agents."""

    selection: Selection
    evidence: Level
    profile_hz: int | None = None
    interval_s: float = 1.0
    duration_s: float | None = None
    connections_most: int = 16
    #: A process with whose end the watch ends.
    ends_with_process: int | None = None
    #: The connections that the far side watches from the start; None: what the near side has found.
    far_selection: Selection | None = None

    def request(self, side: Side, selection: Selection | None = None) -> RequestWatch:
        """The request to the agent of a side, with the selection that it takes."""
        most = self.connections_most
        asked: RequestWatch = {
            "request": "watch",
            "host": side,
            "selection": self.selection if selection is None else selection,
            "evidence": self.evidence,
            "sample_ns": SAMPLE_NS,
            "report_ns": round(self.interval_s * NS_PER_S),
            "connections_most": most if side == NEAR else min(_MAX_CONNECTIONS, max(_MIN_ON_FAR, _FAR_FACTOR * most)),
        }
        if self.profile_hz is not None:
            asked["profile_hz"] = self.profile_hz
        if self.duration_s is not None:
            asked["duration_ns"] = round(self.duration_s * NS_PER_S)
        if self.ends_with_process is not None and side == NEAR:
            asked["ends_with_process"] = self.ends_with_process
        return asked


@dataclass
class _Watching:
    """An agent of a side, and what it has sent."""

    side: Side
    agent: Agent
    facts: HostFacts
    spool: TableSpool
    clocks: list[Clock] = field(default_factory=list)
    deadline: Deadline = field(default_factory=lambda: Deadline(_END_GRACE_S))
    #: True where a pipe leads to it.
    is_remote: bool = False
    finished: ReplyFinished | None = None
    is_ended: bool = False

    def result(self, finished: ReplyFinished) -> WatchedSide:
        """All that it sent."""
        before, after = (None, None) if self.agent.shares_clock else self.clocks
        return WatchedSide(self.side, self.facts, before, finished, self.spool.tables, after, self.spool.lost)


class _Reports:
    """The reports of an agent: no more than were asked for, of no more connections."""

    def __init__(self, side: Side, connections_most: int, interval_s: float) -> None:
        self._side, self._connections_most, self._interval_s = side, connections_most, interval_s
        self._since_s = time.monotonic()
        self._count = 0

    def check(self, watched: ReplyWatched) -> None:
        """Count a report.

        Raises:
            RunError: it has more connections than were asked for, or reports come much faster.
        """
        if (count := len(watched["connections"])) > self._connections_most:
            raise RunError(
                f"{self._side}: the agent reported {count:,} connections, and at most {self._connections_most:,} were "
                "asked for; install the same whyperf on both hosts"
            )
        self._count += 1
        due = (time.monotonic() - self._since_s) / self._interval_s
        if self._count > _REPORTS_AHEAD + _REPORTS_FACTOR * due:
            raise RunError(
                f"{self._side}: the agent sent {self._count:,} reports where about {due:,.0f} were due; install the "
                "same whyperf on both hosts"
            )


class _FarSelection:
    """The request to the far side, once the near one has found connections; None where it never does."""

    def __init__(self) -> None:
        self._found: Selection | None = None
        self._is_known = threading.Event()

    def give(self, found: Selection | None) -> None:
        """The first call counts."""
        if not self._is_known.is_set():
            self._found = found
            self._is_known.set()

    def wait(self) -> Selection | None:
        self._is_known.wait()
        return self._found


class WatchSession:
    """The agents of one watch. Leaving it ends them, removes what they attached, and forgets their tables."""

    def __init__(self, near: WatchedPlace, far: WatchedPlace | None, spool_folder: Path) -> None:
        """Start the agents; nothing is watched yet.

        Raises:
            RunError: a host cannot be reached, or a namespace cannot be entered.
        """
        self._closing = ExitStack()
        self._lock = threading.Lock()
        self._reporting = threading.Lock()
        self._sides: dict[Side, _Watching] = {}
        self._is_ending = False
        #: Why the far side was not watched to its end, in a sentence.
        self.far_lost: str | None = None
        #: Why the watch ended early, in a sentence: the near agent lives, and was late with a report.
        self.late: str | None = None
        #: True where the near agent ended the watch, and nobody here: its time was up, or its processes have ended.
        self.has_ended_itself = False
        try:
            self._start(NEAR, near, spool_folder)
            if far is not None:
                self._start(FAR, far, spool_folder)
        except BaseException:
            self.close()
            raise

    @property
    def facts(self) -> Mapping[Side, HostFacts]:
        """The hosts by side."""
        return {side: watching.facts for side, watching in self._sides.items()}

    @property
    def process(self) -> int:
        """The process at this end of the near side's pipe: the agent itself, or ssh."""
        return self._sides[NEAR].agent.pid

    def watch(
        self, order: WatchOrder, on_watched: OnWatched, while_watching: Callable[[threading.Event], None] | None = None
    ) -> None:
        """Watch until the time is up, the process has ended, or the user ends it.

        `on_watched` is called with every report, from one thread at a time. `while_watching` is called in this thread
        once the near side watches, and the far one where it does from the start, with what is set when the watch is
        over; when it returns, the watch ends. An interrupt (KeyboardInterrupt) ends the watch, too; it is raised again
        when all tables are here.

        Raises:
            AgentError: the agent refuses, such as a process that is not there.
            RunError: the near agent is gone.
        """
        begun, over, far_selection = threading.Event(), threading.Event(), _FarSelection()
        far = self._sides.get(FAR)
        awaited: set[Side] = {NEAR}
        if far is not None and order.far_selection is not None:
            far_selection.give(order.far_selection)
            awaited.add(FAR)

        def report(side: Side, watched: ReplyWatched) -> None:
            with self._reporting:
                on_watched(side, watched)
            awaited.discard(side)
            if not awaited:
                begun.set()
            if side == NEAR and watched["connections"]:
                far_selection.give(seen_from_far(order.selection, watched["connections"]))

        def on_over() -> None:
            over.set()
            begun.set()
            far_selection.give(None)

        pool = ThreadPoolExecutor(2, thread_name_prefix="watch")
        try:
            near_done = pool.submit(
                self._collect, self._sides[NEAR], self._request(order, NEAR), report, order.interval_s
            )
            near_done.add_done_callback(lambda _: on_over())
            waited = [near_done]
            if far is not None:
                waited.append(pool.submit(self._collect_far, far, order, far_selection, report, begun.set))
            try:
                if while_watching is not None:
                    begun.wait()
                    if not over.is_set():
                        while_watching(over)
                    if order.ends_with_process is not None:
                        over.wait(_SETTLE_S)
                else:
                    over.wait()
                self.end()
                _await(near_done, waited)
            except KeyboardInterrupt:
                self.end()
                _await(near_done, waited)
                near_done.result()
                raise
            near_done.result()
        finally:
            far_selection.give(None)
            pool.shutdown(wait=False, cancel_futures=True)

    def _request(self, order: WatchOrder, side: Side, selection: Selection | None = None) -> RequestWatch:
        """The request to a side, without the connections that carry this very watch."""
        asked = order.request(side, selection)
        own = [ends for each in self._sides.values() if each.is_remote for ends in connections_of(each.agent.pid)]
        return {**asked, "selection": {**asked["selection"], "excluded": own}} if own else asked

    def end(self) -> None:
        """Have all agents end their watch; what they have comes."""
        with self._lock:
            self._is_ending = True
            watching = [each for each in self._sides.values() if not each.is_ended]
        for each in self._sides.values():
            # A far side that goes on nevertheless keeps nobody waiting.
            each.deadline.expect()
        for each in watching:
            each.agent.post({"request": "end_watch"})

    def results(self) -> list[WatchedSide]:
        """Data that the sides sent, near first; of a side that was lost, nothing."""
        return [each.result(each.finished) for each in self._sides.values() if each.finished is not None]

    def hang_up(self) -> None:
        """Let the agents end; `close` waits for it."""
        for each in self._sides.values():
            each.agent.hang_up()

    def close(self) -> None:
        """End the agents and forget their tables."""
        self.hang_up()
        self._closing.close()

    def __enter__(self) -> Self:
        """Use the session in a with statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _start(self, side: Side, place: WatchedPlace, spool_folder: Path) -> None:
        try:
            agent = Agent(side, place.argv(), shares_clock=place.host is None, host=place.host)
        except PipeClosedError as error:
            if place.netns is None:
                raise
            raise RunError(f"{place.netns} cannot be entered: {_reason(error)}") from None
        agent.advice = "run the same command again"
        self._closing.callback(agent.close)
        facts = agent.call({"request": "describe_host"})
        spool = self._closing.enter_context(TableSpool(spool_folder))
        self._sides[side] = _Watching(side, agent, facts, spool, is_remote=place.host is not None)

    def _collect(self, each: _Watching, request: RequestWatch, report: OnWatched, interval_s: float) -> None:
        """Have one agent watch, and receive all that it sends, tables straight to their files."""
        each.clocks.append(each.agent.clock())
        finished: ReplyFinished | None = None
        duration_ns = request.get("duration_ns")
        if duration_ns is not None:
            each.deadline.expect(duration_ns / NS_PER_S)
        # Without the far side there is still the near one.
        on_late = self._end_late if each.side == NEAR else None
        stream = each.agent.stream(request, interval_s + _REPLY_GRACE_S, each.deadline.end_s, on_late)
        reports = _Reports(each.side, request["connections_most"], interval_s)
        with ReceivedTables(each.spool, each.side, request) as tables:
            for reply in tables.replies(stream, each.deadline):
                if reply["reply"] == "watched":
                    reports.check(reply)
                    report(each.side, reply)
                    # A stop in the moment in which the watch began was for nothing that went on.
                    if self._is_ending and not each.is_ended:
                        each.is_ended = True
                        each.agent.post({"request": "end_watch"})
                elif reply["reply"] == "finished":
                    self.has_ended_itself |= each.side == NEAR and not self._is_ending
                    each.is_ended = True
                    finished = reply
        if finished is None:
            raise RunError(f"{each.side}: the agent ended the watch without saying how it ended")
        each.clocks.append(each.agent.clock())
        each.finished = finished

    def _end_late(self, late: NoAnswerError) -> None:
        """End a watch whose near agent is late: what it has seen by now may still come."""
        self.late = str(late)
        self.end()

    def _collect_far(
        self,
        far: _Watching,
        order: WatchOrder,
        selection: _FarSelection,
        report: OnWatched,
        on_lost: Callable[[], None],
    ) -> None:
        """The same for the far side, once it is known which connections it shares. Without it the near one goes on."""
        try:
            found = selection.wait()
            if found is not None and not self._is_ending:
                self._collect(far, self._request(order, FAR, found), report, order.interval_s)
        except RunError as error:
            self.far_lost = str(error)
            on_lost()


def _await(near_done: "Future[None]", waited: "Sequence[Future[None]]") -> None:
    """Wait until all sides have sent what they have; without the near one, the others are of no use."""
    wait([near_done])
    if near_done.exception() is None:
        wait(waited)


def seen_from_far(selection: Selection, connections: Sequence[WatchedConnection]) -> Selection:
    """The request to the far side: the connections of the near side's addresses, of its ports where it names some.

    Which of them are the same is found by the addresses and ports of both, when the record is made.
    """
    addresses = sorted({address_of(connection["endpoints"]["local"]) for connection in connections})
    found: Selection = {"addresses": addresses}
    if selection.get("ports"):
        found["ports"] = selection["ports"]
    return found


def address_of(end: str) -> str:
    """The address of `address:port` or `[address]:port`, without the zone and the prefix of a mapped IPv4 address."""
    address = end.rpartition(":")[0].strip("[]").partition("%")[0]
    return address.removeprefix("::ffff:") if "." in address else address


def _reason(error: RunError) -> str:
    """The last words of the agent; of the testbed's namespaces, what they mean for one of others."""
    said = str(error).partition("whyperf-agent: ")[2] or str(error)
    if "is gone or never was" in said:
        return "there is no such process"
    if "needs CAP_" in said:
        return "that takes CAP_SYS_ADMIN where the namespace was made; run as root of this host"
    return said
