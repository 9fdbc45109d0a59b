"""One run of a tool or of the own load between two namespaces, with the same evidence around it."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic_ns
from typing import Literal

from lab.disturb.launching import LaunchedSide
from lab.tools.catalog import MAX_CONNECTIONS, OUTPUT, Tool, into_file
from lab.tools.evidence import Samples, data_connections, own_rate, progress_of, samples_of, sockets_of, use_of
from lab.tools.look import look_of, started_under_strace
from lab.tools.printed import PrintedError
from lab.tools.tool_runs import OWN, Load, Look, Progress, Reported, Run, Side, SideLook, SideUse, SocketFacts, Variant
from whyperf.plan import Cell, Level, PlannedTrial
from whyperf.record import Experiment, Manifest, RecordError, read_table
from whyperf.run import RunError, Session
from whyperf.run.ends import FAR, NEAR
from whyperf.run.trial import run_trial
from whyperf.watch.record import keep_watched
from whyperf.watch.request import WatchedSide, WatchQuestion
from whyperf.watch.session import WatchedPlace, WatchOrder, WatchSession
from whyperf.wire import Selection

EVIDENCE: Level = "counters"
"""The level that both sides of every run are watched with, the own load's included: it costs all of them the same."""
FIRST_PORT = 20_000
PORTS_EACH = MAX_CONNECTIONS + 50
"""More than the connections of a run."""
MAX_WATCHED = 10 * MAX_CONNECTIONS
"""Connections that a watch takes at most: those of a run, of its control, and of the run before."""
OWN_PORT = 19_000
"""Where the own load's connections go: a session's target has it, so that they are known before they open."""
SERVER_ENDS_S = 0.5
"""The time that a server may take to end by itself after its client."""
LOOK_S = 1.0
"""Seconds of a run under strace."""
SAMPLE_S = 0.02
_PLACES: Sequence[tuple[Literal["near", "far"], Literal["sender", "receiver"]]] = (
    ("near", "sender"),
    ("far", "receiver"),
)
_SIDES: Mapping[str, Side] = dict(_PLACES)


@dataclass
class Evidence:
    """The counts around a run."""

    progress: Progress | None = None
    uses: Mapping[Side, SideUse] = field(default_factory=dict)
    sockets: SocketFacts | None = None
    record: str | None = None


CpuTimes = Mapping[Side, tuple[float, float]]
"""User and system CPU time in s, by side."""


@dataclass(frozen=True)
class Done:
    """A load that has ended: its figure, its CPU time, and when it was started (CLOCK_MONOTONIC)."""

    reported: Reported
    cpu_s: CpuTimes
    start_ns: int


class ToolsRunner:
    """Makes runs on the testbed of a session."""

    def __init__(self, session: Session, load: Load, folder: Path, command_line: str, name: str) -> None:
        """Records of what was watched go to the folder `watched` in `folder`; their names begin with `name`."""
        self._session, self._load, self._folder = session, load, folder
        self._command_line, self._name = command_line, name
        self._cell = session.plan.cells[0]
        self._made = self._ports = 0

    def of_tool(self, tool: Tool, block: int) -> Run:
        """A run of a tool; what went wrong in it makes it void.

        Raises:
            RunError: an agent of the testbed is gone.
        """

        port = self._next_port()
        self._session.ends_for(self._cell)
        commands = tool.commands(self._load, self._far_address, port)

        def load() -> Done:
            with self._launched() as sides:
                _write_files(sides, commands.files)
                before = {side.side: side.usage(0.0) for side in sides.of.values()}
                sides.of[FAR].start(commands.server)
                sides.of[FAR].wait_for_port(commands.listens)
                start_ns = monotonic_ns()
                sides.of[NEAR].run(into_file(commands.client))
                after = {NEAR: sides.of[NEAR].usage(0.0), FAR: sides.of[FAR].usage(SERVER_ENDS_S)}
                text = (sides.folder / OUTPUT).read_text(encoding="utf-8", errors="replace")
                used = {
                    _SIDES[name]: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in after
                }
                return Done(tool.reported(text, self._load), used, start_ns)

        selection: Selection = {"ports": list(commands.ports)} if commands.ports else {}
        return self._run(Run(tool=tool.name, block=block), self._cell, selection, load)

    def of_own(
        self,
        experiment: Experiment,
        planned: PlannedTrial,
        *,
        variant: tuple[Variant, str | None] | None = None,
    ) -> Run:
        """A trial of the own load, recorded in its experiment.

        Raises:
            RunError: an agent of the testbed is gone.
            RecordError: the disk refuses.
        """
        cell = experiment.plan.cell(planned.cell)
        kind, of = variant or (None, None)

        def load() -> Done:
            ends = self._session.ends_for(cell)
            before = {name: _cpu_s(ends[name].agent.pid) for name in (NEAR, FAR)}
            with experiment.begin_trial(planned.id) as writer:
                made = run_trial(self._session, planned, cell, writer, lambda *_: None)
                manifest = writer.commit(made)
            after = {name: _cpu_s(ends[name].agent.pid) for name in (NEAR, FAR)}
            if manifest.status != "complete":
                raise RunError(f"the trial is {manifest.status}: {manifest.reason}")
            used = {
                _SIDES[name]: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in after
            }
            return Done(
                own_reported(experiment, manifest, self._load, kind),
                used,
                int(str(made.get("start_mono_ns", monotonic_ns()))),
            )

        run = Run(tool=OWN, block=planned.block, variant=kind, variant_of=of)
        return self._run(run, cell, {"ports": [OWN_PORT]}, load)

    def look(self, tool: Tool) -> Look:
        """A run of its own under strace, which counts in no figure."""
        if shutil.which("strace") is None:
            return Look(tool=tool.name, missing="the program strace is missing; install the package strace")
        load = self._load.model_copy(update={"warmup_s": 0.0, "duration_s": LOOK_S})
        try:
            with self._launched() as sides:
                commands = tool.commands(load, self._far_address, self._next_port())
                _write_files(sides, commands.files)
                sides.of[FAR].start(started_under_strace(commands.server, "look-far"))
                sides.of[FAR].wait_for_port(commands.listens)
                sides.of[NEAR].run(into_file(started_under_strace(commands.client, "look-near")))
                sides.of[FAR].usage(SERVER_ENDS_S)
                found: dict[str, SideLook | None] = {}
                for place, side in _PLACES:
                    with (sides.folder / f"look-{place}").open(encoding="utf-8", errors="replace") as lines:
                        found[side] = look_of(lines, side, are_messages=load.workload == "rr")
        except (RunError, OSError) as error:
            if self._session.lost is not None:
                raise self._session.lost from None
            return Look(tool=tool.name, missing=f"a run under strace failed: {error}")
        return Look(tool=tool.name, sender=found["sender"], receiver=found["receiver"])

    def _run(self, run: Run, cell: Cell, selection: Selection, work: Callable[[], Done]) -> Run:
        self._made += 1
        try:
            if self._load.workload == "udp":
                done, evidence = self._sampled(cell, work)
            else:
                done, evidence = self._watched(cell, f"{self._name}-{self._made:04d}-{run.tool}", selection, work)
        except (RunError, RecordError, PrintedError, OSError) as error:
            if self._session.lost is not None:
                raise self._session.lost from None
            return run.model_copy(update={"void": str(error)})
        return run.model_copy(
            update={
                "reported": done.reported,
                "progress": evidence.progress,
                "sender": evidence.uses.get("sender"),
                "receiver": evidence.uses.get("receiver"),
                "sockets": evidence.sockets,
                "record": evidence.record,
            }
        )

    def _watched(self, cell: Cell, name: str, selection: Selection, work: Callable[[], Done]) -> tuple[Done, Evidence]:
        """The work, with both sides watched."""
        self._session.ends_for(cell)
        testbed = self._session.testbed
        assert testbed is not None
        started = datetime.now(UTC)
        made: list[Done] = []
        failed: list[Exception] = []

        def while_watching(_over: threading.Event) -> None:
            try:
                made.append(work())
            except (RunError, RecordError, PrintedError, OSError) as error:
                failed.append(error)

        places = (WatchedPlace(netns=testbed["near"]["netns"]), WatchedPlace(netns=testbed["far"]["netns"]))
        with WatchSession(*places, self._folder) as watching:
            watching.watch(
                WatchOrder(selection, EVIDENCE, connections_most=MAX_WATCHED, far_selection=selection),
                lambda *_: None,
                while_watching,
            )
            if failed:
                raise failed[0]
            if not made:
                raise RunError(watching.far_lost or "the watch ended before the run")
            sides = {side.host: side for side in watching.results()}
            if len(sides) < len(_PLACES):
                raise RunError(watching.far_lost or "a side was not watched to its end")
            evidence = _evidence(sides, self._load, made[0])
            evidence.record = self._kept(name, list(sides.values()), started)
        return made[0], evidence

    def _sampled(self, cell: Cell, work: Callable[[], Done]) -> tuple[Done, Evidence]:
        """The work, with the receiving kernel's count of datagrams sampled: a watch has none of UDP."""
        receiver = self._session.ends_for(cell)[FAR].agent.pid
        with _datagrams(receiver, self._load.datagram_bytes) as samples:
            done = work()
        uses = {side: SideUse(user_s=user, system_s=system) for side, (user, system) in done.cpu_s.items()}
        return done, Evidence(progress_of(samples, self._load, done.start_ns), uses)

    def _kept(self, name: str, sides: Sequence[WatchedSide], started: datetime) -> str:
        folder = self._folder / "watched" / name
        folder.parent.mkdir(0o700, exist_ok=True)
        question = WatchQuestion(
            command_line=self._command_line,
            selection={},
            evidence=EVIDENCE,
            started_realtime=started.isoformat(),
            name=name,
        )
        keep_watched(folder, question, sides).close()
        return f"watched/{name}"

    @property
    def _far_address(self) -> str:
        assert self._session.testbed is not None
        return self._session.testbed["far"]["ipv4"]

    def _next_port(self) -> int:
        # No run meets what is left of the sockets of another.
        self._ports += PORTS_EACH
        return FIRST_PORT + self._ports % 10_000

    @contextmanager
    def _launched(self) -> "Iterator[_Sides]":
        """Launchers on both sides, whose programs use the congestion control of the own load."""
        session = self._session
        ends, cpus = session.ends_for(self._cell), session.cpus_for(self._cell.factors)
        assert session.testbed is not None
        with ExitStack() as closing:
            folder = Path(tempfile.mkdtemp(prefix="whyperf-tools-"))
            closing.callback(shutil.rmtree, folder, ignore_errors=True)
            launched = {
                side: closing.enter_context(LaunchedSide(side, ends[side].agent.pid, folder, cpus[side].own))
                for side in (NEAR, FAR)
            }
            control = str(self._cell.factors.get("congestion_control", "default"))
            if control != "default":
                for side, other in ((NEAR, session.testbed["far"]), (FAR, session.testbed["near"])):
                    own = session.testbed["near"] if side == NEAR else session.testbed["far"]
                    # A namespace may set its default only to what the host allows everybody (tcp_cong.c).
                    route = (f"{other['ipv4']}/32", "dev", own["device"], "congctl", control)
                    launched[side].run(["ip", "route", "replace", *route])
            yield _Sides(launched, folder)


@dataclass(frozen=True)
class _Sides:
    """Launchers by side, and the folder in which their programs run."""

    of: Mapping[str, LaunchedSide]
    folder: Path


def _write_files(sides: _Sides, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (sides.folder / name).write_text(text, encoding="utf-8")


def _evidence(sides: Mapping[Literal["near", "far"], WatchedSide], load: Load, done: Done) -> Evidence:
    tables = {side: sides[place].tables for place, side in _PLACES}
    # A connection has another number at the other side.
    connections = {
        "receiver": data_connections(tables["receiver"], load.connections, done.start_ns),
        "sender": data_connections(tables["sender"], load.connections, done.start_ns, sent=True),
    }
    uses = {side: use_of(tables[side], connections[side], side, done.cpu_s[side]) for _, side in _PLACES}
    samples = samples_of(tables["receiver"], connections["receiver"])
    exact = uses["receiver"].calls_bytes if load.workload == "stream" else None
    return Evidence(
        progress_of(samples, load, done.start_ns, exact),
        uses,
        sockets_of(tables["sender"], tables["receiver"], (connections["sender"], connections["receiver"])),
    )


def own_reported(experiment: Experiment, manifest: Manifest, load: Load, variant: Variant | None = None) -> Reported:
    """The goodput of a trial as `whyperf show` prints it, or its transactions per second.

    The variant `warm_up` has the rate from the first byte to the last.

    Raises:
        RecordError: it has none.
    """
    from whyperf.analyze.read.record import read_inputs  # noqa: PLC0415 - as above
    from whyperf.analyze.trials import measure_trials  # noqa: PLC0415 - as above
    from whyperf.cli.workflows.trials import TABLES  # noqa: PLC0415 - reading needs polars
    from whyperf.record import Trials  # noqa: PLC0415 - as above

    found = Trials({manifest.trial: manifest}, [])
    measured = measure_trials(read_inputs(experiment, tables=(*TABLES, "datagrams"), found=found))
    rate = own_rate(measured.trials, measured.transactions, load, variant)
    if rate is None:
        raise RecordError(f"the trial {manifest.trial} has no goodput")
    from whyperf import __version__  # noqa: PLC0415 - as above

    return Reported(rate=rate, counted_by="receiver", version=__version__)


def own_look(experiment: Experiment, trial: str, cell: Cell) -> Look:
    """The behavior of the own load call by call: by its settings and its own counts."""
    flows = read_table(experiment, "flows", trials=[trial]).frame
    found: dict[str, SideLook] = {}
    control = cell.factors.get("congestion_control")
    for side, name, asked in (("sender", "send", "write_size_bytes"), ("receiver", "recv", "read_size_bytes")):
        rows = flows.filter(flows["role"].cast(str) == side)
        calls, others = int(rows["calls_count"].sum()), int(rows["other_calls_count"].sum())
        asked_bytes = cell.factors.get(asked)
        found[side] = SideLook(
            data_call=name,
            asked_bytes=int(asked_bytes) if isinstance(asked_bytes, int) else None,
            data_calls_count=calls,
            waits_count=others,
            waits="poll" if others else "",
            options=(f"TCP_CONGESTION {control}",) if control not in {None, "default"} else (),
        )
    return Look(tool=OWN, sender=found["sender"], receiver=found["receiver"])


def _cpu_s(process: int) -> tuple[float, float]:
    """User and system CPU time in s of a process, in ticks of 10 ms: utime and stime of proc(5)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / ticks, int(fields[12]) / ticks


@contextmanager
def _datagrams(process: int, datagram_bytes: int) -> Iterator[Samples]:
    """Samples of the payload that arrived in a process's network namespace, taken until the block ends."""
    samples: list[tuple[int, int]] = []
    over = threading.Event()

    def take() -> None:
        first = None
        while True:
            with suppress(OSError, ValueError, IndexError):
                lines = Path(f"/proc/{process}/net/snmp").read_text().splitlines()
                names, values = (line.split() for line in lines if line.startswith("Udp:"))
                count = int(values[names.index("InDatagrams")])
                first = count if first is None else first
                samples.append((monotonic_ns(), (count - first) * datagram_bytes))
            if over.wait(SAMPLE_S):
                return

    thread = threading.Thread(target=take, name="datagrams", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
