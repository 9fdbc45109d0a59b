"""One run of a watched truth experiment: programs of others between two namespaces, a watch in mid-life, the grades."""

import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.disturb.disturbances import Orders
from lab.disturb.keeping import TimedKeeper
from lab.disturb.launching import LaunchedSide
from lab.truth.one_sided import WatchedView
from lab.truth.watched.catalog import PEER, Case, Commands, WatchedCatalog, commands_of, sweep_of
from lab.truth.watched.grade import MAX_OTHER_CPUS, Sight, ViewGrade, WatchedRun, view_grade
from whyperf.disturb.orders import Place
from whyperf.explain.experiment import TrialQuestion
from whyperf.plan import Cell, Level
from whyperf.record import RecordError
from whyperf.run import RunError, Session
from whyperf.run.emulated import EmulatedPath, why_void
from whyperf.run.ends import FAR, NEAR
from whyperf.run.errors import KeeperLostError
from whyperf.watch.record import keep_watched
from whyperf.watch.request import WatchedSide, WatchQuestion
from whyperf.watch.session import WatchedPlace, WatchOrder, WatchSession
from whyperf.watch.sockets import paired, read_sockets
from whyperf.watch.spool import TableSpool
from whyperf.wire import ReplyPathCarried, Selection

EVIDENCE: Level = "segments"
"""The level that both agents watch with. Of less, the views hide what is above."""
USUAL_CONTROL = "cubic"
"""The congestion control of programs that choose none: that of the load of our own, whatever the host's default is."""
OPEN_S = 0.4
"""Time for the connections to open before the path has its losses."""
SETTLE_S = 1.0
"""Time for slow start to be over before the watch begins."""
WATCH_S = 3.0
BASELINE_WATCH_S = 1.5
MAX_CONNECTIONS = 1000
"""More than any case has: all of them count for the rate."""
FIRST_PORT = 20_000


@dataclass(frozen=True)
class RunOrder:
    """A run that is wanted: dose 0 is the one without the cause. Others are explained if they are to be graded."""

    case: Case
    dose: int
    block: int
    port: int
    is_graded: bool = True

    @property
    def folder(self) -> str:
        """The name of its result."""
        return f"{sweep_of(self.case, self.dose)}-{self.block}"


class WatchedRunner:
    """Makes runs on the testbed of a session."""

    def __init__(
        self, session: Session, catalog: WatchedCatalog, folder: Path, sights: Sequence[Sight], command_line: str
    ) -> None:
        """Results of explained runs are kept in `folder`."""
        self._session = session
        self._catalog = catalog
        self._folder = folder
        self._views = list(dict.fromkeys(view for sight in Sight if sight in sights for view in sight.views))
        self._command_line = command_line
        self._cells = {cell.sweep: cell for cell in session.plan.cells}

    def run(self, order: RunOrder) -> WatchedRun:
        """The run, watched and graded; what went wrong in it makes it void.

        Raises:
            RunError: an agent of the testbed is gone.
        """
        key = {"case": order.case.name, "dose": order.dose, "block": order.block}
        try:
            return self._run(order)
        except (RunError, RecordError, OSError) as error:
            if isinstance(error, KeeperLostError):
                self._session.discard_testbed()
            if self._session.lost is not None:
                raise self._session.lost from None
            return WatchedRun.model_validate({**key, "void": str(error)})

    def _run(self, order: RunOrder) -> WatchedRun:
        cell = self._cells[sweep_of(order.case, order.dose)]
        started = datetime.now(UTC)
        with ExitStack() as closing:
            spool = closing.enter_context(TableSpool(self._folder))
            watching = closing.enter_context(self._watch_session(cell))
            is_explained = bool(order.dose) and order.is_graded
            watch_s = WATCH_S if is_explained else BASELINE_WATCH_S
            selection: Selection = {"ports": [order.port]}
            with self._load(order, cell) as load:
                watching.watch(
                    WatchOrder(
                        selection,
                        EVIDENCE,
                        duration_s=watch_s,
                        connections_most=MAX_CONNECTIONS,
                        far_selection=selection if order.case.from_start else None,
                    ),
                    lambda *_: None,
                    load.work if order.case.from_start else None,
                )
                others, busiest = load.near.others()
                taken = f"{busiest} and others used {others:.0%} of a CPU" if others > MAX_OTHER_CPUS else ""
                path = load.path
                void = None if path is None else why_void(path.end_into(spool), path.path.spec, taken)
            if not order.dose:
                # A path that was carried badly can only lower the rate without the cause, so fewer doses count.
                void = None
            sides = watching.results()
            if void is None and len(sides) < 2:
                void = watching.far_lost or "a side was not watched to its end"
            run = WatchedRun(
                case=order.case.name,
                dose=order.dose,
                block=order.block,
                rate_bps=None if void else rate_bps(sides),
                void=void,
                other_cpus=others,
                busiest=busiest,
            )
            return self._graded(run, order, sides, started) if is_explained and void is None else run

    def _watch_session(self, cell: Cell) -> WatchSession:
        self._session.ends_for(cell)
        testbed = self._session.testbed
        assert testbed is not None
        return WatchSession(
            WatchedPlace(netns=testbed["near"]["netns"]), WatchedPlace(netns=testbed["far"]["netns"]), self._folder
        )

    @contextmanager
    def _load(self, order: RunOrder, cell: Cell) -> "Iterator[_Load]":
        """The programs at work, with the path and what disturbs them, until the end of the block."""
        session = self._session
        ends, cpus = session.ends_for(cell), session.cpus_for(cell.factors)
        assert session.testbed is not None
        addresses = {NEAR: session.testbed["near"]["ipv4"], FAR: session.testbed["far"]["ipv4"]}
        with ExitStack() as closing:
            folder = Path(tempfile.mkdtemp(prefix="whyperf-truth-"))
            closing.callback(shutil.rmtree, folder, ignore_errors=True)
            path = session.path_for(cell, order.folder)
            carried = None if path is None else closing.enter_context(_carried(path, self._folder))
            near, far = (
                closing.enter_context(LaunchedSide(side, ends[side].agent.pid, folder, cpus[side].own))
                for side in (NEAR, FAR)
            )
            places = {
                launched.side: Place(
                    process=launched.process, cpus=cpus[launched.side].own, address=addresses[launched.side]
                )
                for launched in (near, far)
            }
            devices = {NEAR: session.testbed["near"]["device"], FAR: session.testbed["far"]["device"]}
            for launched, other in ((near, FAR), (far, NEAR)):
                device = devices[launched.side]
                route = (f"{addresses[other]}/32", "dev", device, "congctl", USUAL_CONTROL)
                # A namespace may set its default only to what the host allows everybody (tcp_cong.c).
                launched.run(["ip", "route", "replace", *route])
            fill = {
                "address": addresses[FAR],
                "port": str(order.port),
                "folder": str(folder),
                "python": sys.executable,
                "peer": str(PEER),
            }
            commands = commands_of(self._catalog, order.case, order.dose, fill)
            prepare(near, far, folder, commands)
            disturbances = order.case.change(order.dose).disturb
            orders = Orders(disturbances=disturbances, places=places)
            keeper = closing.enter_context(TimedKeeper(orders, "the run cannot be disturbed"))
            far.start(commands.server)
            far.wait_for_port(order.port)

            def start_client() -> None:
                near.start(commands.client)
                keeper.start_times()
                time.sleep(OPEN_S)
                if path is not None:
                    path.start(time.monotonic_ns())

            if not order.case.from_start:
                start_client()
                time.sleep(SETTLE_S)
            for side in (near, far):
                side.check()
            near.others()
            yield _Load(near, carried, start_client)
            for side in (near, far):
                side.check()

    def _graded(self, run: WatchedRun, order: RunOrder, sides: Sequence[WatchedSide], started: datetime) -> WatchedRun:
        folder = self._folder / order.folder
        shutil.rmtree(folder, ignore_errors=True)
        question = WatchQuestion(
            command_line=self._command_line,
            selection={"ports": [order.port]},
            evidence=EVIDENCE,
            started_realtime=started.isoformat(),
            name=order.case.program,
        )
        with keep_watched(folder, question, sides) as experiment:
            # The busiest connection is the first.
            trial = next(iter(experiment.plan.trials()))
            grades: list[ViewGrade] = []
            for view in self._views:
                levels = dict.fromkeys(("sender", "receiver"), view.level)
                asked = TrialQuestion(trial.cell, trial.id, by_plan=False, levels=levels, watched=view.sides)
                grades.append(view_grade(order.case, WatchedView(view), asked.answer(experiment)))
        return run.model_copy(update={"grades": tuple(grades), "kept": order.folder})


def prepare(near: LaunchedSide, far: LaunchedSide, folder: Path, commands: Commands) -> None:
    """Make what both sides need before the server starts.

    Raises:
        RunError: one of the programs fails.
    """
    for name, text in commands.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for side, setup in ((far, commands.far_setup), (near, commands.near_setup)):
        for command in setup:
            side.run(command)


def rate_bps(sides: Sequence[WatchedSide]) -> float:
    """The payload of all connections, in both directions, in the time that they were watched.

    Raises:
        RunError: there was no connection, or none that was watched for a time.
    """
    sockets = {side.host: read_sockets(side.host, side.tables) for side in sides}
    connections = paired(sockets.get("near", []), sockets.get("far", []))
    of_near = sockets.get("near", [])
    span_ns = max((socket.last_ns for socket in of_near), default=0) - min(
        (socket.first_ns for socket in of_near), default=0
    )
    if span_ns <= 0:
        raise RunError("no connection was watched")
    return sum(ends.moved_bytes for ends in connections) * 8e9 / span_ns


@dataclass
class _CarriedPath:
    """A path that has been carried, and must be ended."""

    path: EmulatedPath
    is_ended: bool = False

    def end_into(self, spool: TableSpool) -> ReplyPathCarried:
        """End it; what it sends goes into the spool."""
        self.is_ended = True
        return self.path.end(spool)


@dataclass(frozen=True)
class _Load:
    """Programs at work, and their path. `start_client` starts client and path, where that is still to be done."""

    near: LaunchedSide
    path: _CarriedPath | None
    start_client: Callable[[], None]

    def work(self, over: threading.Event) -> None:
        """Begin, and go on until the watch is over."""
        self.start_client()
        over.wait()


@contextmanager
def _carried(path: EmulatedPath, folder: Path) -> Iterator[_CarriedPath]:
    path.carry()
    carried = _CarriedPath(path)
    try:
        yield carried
    finally:
        if not carried.is_ended:
            with suppress(RunError), TableSpool(folder) as spool:
                carried.end_into(spool)
