"""One trial: prepare all ends, connect, start together, collect the tables, write the manifest."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime

from whyperf import __version__
from whyperf.hosts import HostPair
from whyperf.plan import Cell, PlannedTrial
from whyperf.record import INTERRUPTED, RECORD_VERSION, RecordError, TrialWriter, busiest_process
from whyperf.run.agents.agent import Agent, Clock
from whyperf.run.agents.received import Deadline, ReceivedTables
from whyperf.run.emulated import EmulatedPath, why_void
from whyperf.run.ends import FAR, NEAR, Cpus, End
from whyperf.run.errors import AgentError, DisturbedError, KeeperLostError, PipeClosedError, RunError
from whyperf.run.firewall import firewall
from whyperf.run.fleet import CLOCKS_AT_ONCE, PAIRS_AT_ONCE, at_once
from whyperf.run.session import Session
from whyperf.run.spec import trial_specs
from whyperf.run.summed_progress import Together
from whyperf.run.target import Kind
from whyperf.wire import ReplyFinished, ReplyProgress, RequestPrepare, Role

Progress = Callable[[str, ReplyProgress], None]
Document = dict[str, object]
"""A part of the manifest; `TrialWriter.commit` checks the whole."""

_LEAD_NS = 15_000_000
"""Time from sending the start command to the start, in addition to the latency of the pipes."""
_LEAD_NS_EACH = 400_000
"""More of it for each connection: making its thread, and what watches it."""
_LEAD_NS_PAIR = 5_000_000
"""More of it for each pair of agents: sending both the command."""
_MORE_INTERVALS = 8
"""Intervals of a trial beyond what its deadline has room for: each phase may end within one."""
_REPLY_GRACE_S = 15.0
"""The time beyond its deadline that a trial's next reply may take, and all of them beyond two deadlines."""
_WAIT_PIECE_S = 0.1
"""The time that a signal may wait for its handler."""
_INTERRUPT_GRACE_S = 2.0
"""The time that an interrupted trial may take to end its load and send its tables; an agent needs 1.5 s at most
(ABORT_GRACE_NS in crates/session/src/lib.rs)."""


def run_trial(
    session: Session,
    planned: PlannedTrial,
    cell: Cell,
    writer: TrialWriter,
    on_progress: Progress,
    *,
    on_message: Callable[[str], None] = lambda _: None,
) -> Document:
    """Run a trial and return its manifest, with its tables written; the caller commits.

    A trial that an end refuses or that fails under way is a result too: its manifest says why. So is the only trial of
    a plan that the user interrupts: its status is `interrupted`, and the caller stops.

    Raises:
        PipeClosedError: an agent is gone; the trial is void.
    """
    started = datetime.now(UTC)
    manifest = _blank_manifest(session, planned, cell, started)
    try:
        ends = session.ends_for(cell)
        manifest["versions"] = {"controller": __version__} | {label: end.agent.version for label, end in ends.items()}
        cpus = session.cpus_for(cell.factors)
        done_by = {number: session.plan.done_by(cell.id, number) for number in session.pairs}
        pairs = [
            Pair(
                names,
                trial_specs(
                    planned,
                    cell.factors,
                    {end: cpus[name] for end, name in names.items()},
                    session.address(cell.factors, number),
                    # Each pair's far agent listens for itself.
                    session.target.port + number if session.target.port else 0,
                    done_by[number][0],
                    session.plan.seed + number,
                    done_by[number][1],
                ),
                session.address(cell.factors, number),
                number,
                session.plan.pairs[number],
            )
            for number, names in session.pairs.items()
        ]
        on_one_host = session.kind is not Kind.NETWORK
        path = session.path_for(cell, planned.id)
        if path is not None:
            manifest["path"] = {"asked": path.spec}
            path.carry()
        time.sleep(float(cell.factors.get("rest_s", 0.0)))
        session.on_ready(cell.id)
        trial = _Trial(ends, pairs, cpus, on_one_host, path, session.plan.is_single, session.target.fleet is not None)
        with session.disturb(cell.id), firewall(cell.factors, ends[pairs[0].names[FAR]].agent):
            manifest |= trial.measure(writer, on_progress, on_message)
        _note_lost_pairs(manifest, session, trial.lost)
    except PipeClosedError:
        raise
    except RunError as error:
        manifest["status"] = "void" if isinstance(error, DisturbedError) else "failed"
        manifest["reason"] = str(error)
        _abort(session)
        if isinstance(error, KeeperLostError):
            session.discard_testbed()
    return manifest


def _note_lost_pairs(manifest: Document, session: Session, lost: Mapping[int, RunError]) -> None:
    """Notes what a trial of a fleet says about pairs that did not take part to its end.

    Where all their hosts answer again, the trial is void and can be repeated with all of them.
    """
    out = {**session.lost_pairs.reasons, **lost}
    if not out:
        return
    pairs = session.plan.pairs
    manifest["lost_pairs"] = [
        {"pair": pair, "near": pairs[pair].near, "far": pairs[pair].far, "reason": str(reason)}
        for pair, reason in sorted(out.items())
    ]
    if manifest["status"] != INTERRUPTED and session.revive():
        first = min(out)
        manifest["status"] = "void"
        manifest["reason"] = (
            f"the pair {pairs[first].near} → {pairs[first].far} was lost, and its hosts answer again: {out[first]}"
        )


def _blank_manifest(session: Session, planned: PlannedTrial, cell: Cell, started: datetime) -> Document:
    return {
        "record_version": RECORD_VERSION,
        "trial": planned.id,
        "cell": planned.cell,
        "block": planned.block,
        "status": "complete",
        "reason": None,
        "origin": "host",
        "testbed": session.kind.value,
        "started_realtime": started.isoformat(),
        "versions": {"controller": __version__},
        "factors": dict(cell.factors),
        "evidence_asked": planned.evidence,
        "hosts": {},
        "warnings": [],
    }


@dataclass(frozen=True)
class Pair:
    """A near agent and its far agent: their names and their specs, by end, and where the near one connects to."""

    names: dict[str, str]
    specs: dict[str, RequestPrepare]
    address: str
    number: int
    hosts: HostPair


@dataclass(frozen=True)
class _Trial:
    """All ends of a trial by name, and their pairs."""

    ends: dict[str, End]
    pairs: list[Pair]
    cpus: dict[str, Cpus]
    on_one_host: bool
    path: EmulatedPath | None = None
    #: True where what it measured is kept when the user interrupts it.
    keeps_interrupted: bool = False
    #: True where the other pairs go on if one fails.
    goes_on: bool = False
    #: Why pairs are out of this trial, by their numbers.
    lost: dict[int, RunError] = field(default_factory=dict)

    def measure(self, writer: TrialWriter, on_progress: Progress, on_message: Callable[[str], None]) -> Document:
        """Run the load and return what the manifest gets from it.

        Raises:
            RunError: it failed; where pairs go on without each other, all have.
        """
        agents = {name: self.ends[name].agent for pair in self.pairs for name in pair.names.values()}
        specs: dict[str, RequestPrepare] = {
            pair.names[end]: {**spec, "host": pair.names[end]}
            for pair in self.pairs
            for end, spec in pair.specs.items()
        }
        self._connect_all(agents, specs)
        clocks = self._clocks(agents)
        pairs = self._left()
        agents = {name: agents[name] for pair in pairs for name in pair.names.values()}
        lead_ns = self._lead_ns(pairs) + 4 * max(clocks[name].uncertainty_ns for name in agents)
        start_mono_ns = time.monotonic_ns() + lead_ns
        if self.path is not None:
            self.path.start(start_mono_ns)
        together = Together([pair.names for pair in pairs], on_progress, on_message)

        def collect(name: str) -> ReplyFinished:
            at_mono_ns = start_mono_ns + clocks[name].offset_ns
            # Its own load alone excuses an agent that is silent: another pair's may go on for long.
            others = [
                agents[other]
                for pair in pairs
                if name in pair.names.values()
                for other in pair.names.values()
                if other != name
            ]

            def on_progress(label: str, progress: ReplyProgress) -> None:
                if progress["payload_bytes"]:
                    for other in others:
                        other.load_moved()
                together.on_progress(label, progress)

            try:
                return _collect(agents[name], specs[name], at_mono_ns, writer, on_progress)
            except RunError as error:
                if not self.goes_on:
                    raise
                pair = next(pair for pair in pairs if name in pair.names.values())
                self.lost.setdefault(pair.number, error)
                together.leave(pair.names, f"{pair.hosts.near} → {pair.hosts.far} is lost, the others go on: {error}")
                raise

        finished, is_interrupted = _all(collect, agents, keeps_interrupted=self.keeps_interrupted, goes_on=self.goes_on)
        self._lose_failed(finished)
        pairs = self._left()
        finished = {name: finished[name] for pair in pairs for name in pair.names.values()}
        status, reason = (INTERRUPTED, "stopped by the user") if is_interrupted else _status(finished)
        carried: Document = {}
        if self.path is not None:
            audit = self.path.end(writer)
            kept = {key: value for key, value in audit.items() if key != "reply"}
            carried = {"path": {"asked": self.path.spec, "audit": kept, "cpu": self.path.cpu}}
            busiest = busiest_process(note for reply in finished.values() for note in reply["notes"])
            void = None if status in {"failed", INTERRUPTED} else why_void(audit, self.path.spec, busiest)
            if void is not None:
                status, reason = "void", void
        after = self._clocks({name: agents[name] for name in finished})
        pairs = self._left()
        hosts: dict[str, Document] = {}
        first_connection = 0
        for pair in self.pairs:
            for name in pair.names.values() if pair in pairs else ():
                hosts[name] = self._host_entry(name, specs[name], (clocks[name], after[name]), finished[name])
                hosts[name]["first_connection"] = first_connection
            first_connection += pair.specs[NEAR]["connections_count"]
        return {"status": status, "reason": reason, "start_mono_ns": start_mono_ns, "hosts": hosts} | carried

    def _left(self) -> list[Pair]:
        """The pairs that still take part.

        Raises:
            RunError: why the first one does not, where none does.
        """
        left = [pair for pair in self.pairs if pair.number not in self.lost]
        if not left:
            raise next(iter(self.lost.values()))
        return left

    def _lead_ns(self, pairs: Sequence[Pair]) -> int:
        """The time before the start at which the agents are given it: machines get ready at the same time."""
        connections: dict[object, int] = defaultdict(int)
        for pair in pairs:
            for end, spec in pair.specs.items():
                connections[self._machine_of(pair.names[end]), end] += spec["connections_count"]
        return _LEAD_NS + max(connections.values()) * _LEAD_NS_EACH + len(pairs) * _LEAD_NS_PAIR

    def _machine_of(self, name: str) -> tuple[str, str]:
        facts = self.ends[name].facts
        return facts["boot_id"], facts["hostname"]

    def _connect_all(self, agents: Mapping[str, Agent], specs: dict[str, RequestPrepare]) -> None:
        """Open the connections of all pairs. Without a fleet one pair after the other, and all must."""

        def connect(pair: Pair) -> None:
            self._connect(agents[pair.names[NEAR]], agents[pair.names[FAR]], specs, pair)

        if not self.goes_on:
            for pair in self.pairs:
                connect(pair)
            return
        numbers = {pair.number: pair for pair in self.pairs}
        _, failures = at_once(lambda number: connect(numbers[number]), list(numbers), PAIRS_AT_ONCE)
        for number, error in failures.items():
            self.lost.setdefault(number, error)
            for name in numbers[number].names.values():
                agents[name].post({"request": "abort"})

    def _clocks(self, agents: Mapping[str, Agent]) -> dict[str, Clock]:
        """All agents' clocks against the controller's."""
        if not self.goes_on:
            return {name: agent.clock() for name, agent in agents.items()}
        clocks, failures = at_once(lambda name: agents[name].clock(), list(agents), CLOCKS_AT_ONCE)
        for pair in self.pairs:
            for name in pair.names.values():
                if name in failures:
                    self.lost.setdefault(pair.number, failures[name])
        return clocks

    def _lose_failed(self, finished: Mapping[str, ReplyFinished]) -> None:
        """Of a fleet, take out the pairs whose own load failed."""
        if not self.goes_on:
            return
        for pair in self.pairs:
            ended = {name: finished[name] for name in pair.names.values() if name in finished}
            status, reason = _status(ended)
            if pair.number not in self.lost and (status == "failed" or len(ended) < len(pair.names)):
                self.lost[pair.number] = RunError(reason or "an agent sent nothing")

    def _connect(self, near: Agent, far: Agent, specs: dict[str, RequestPrepare], pair: Pair) -> None:
        """Prepare both agents of a pair and open their connections.

        On one host the near agent uses the BPF programs of the far one.
        """
        far_spec, near_spec = specs[pair.names[FAR]], specs[pair.names[NEAR]]
        prepared = far.call({**far_spec, "programs": {"by": "lend"}} if self.on_one_host else far_spec)
        if prepared["port"] is None:
            raise RunError(f"{far.label}: the agent listens for the trial's connections and names no port")
        if not self.on_one_host and (prepared["loan"] or prepared["stages_loan"]):
            # Its numbers would be those of this kernel's maps, which the near agent writes and deletes from.
            raise RunError(
                f"the agent on {pair.hosts.far} lends BPF programs that it was not asked for: "
                "only one on the same host can; its reply is not used, so look at who runs that host"
            )
        loan, port, echo_port = prepared["loan"], prepared["port"], prepared["echo_port"]
        near_spec = {**near_spec, "stages_loan": prepared["stages_loan"]}
        near.call({**near_spec, "programs": {"by": "borrow", **loan}} if loan else near_spec)
        try:
            near.call({"request": "connect", "address": pair.address, "port": port, "echo_port": echo_port})
        except AgentError as error:
            raise _with_far_side(error, far) from None

    def _host_entry(
        self, name: str, spec: RequestPrepare, clocks: tuple[Clock, Clock], finished: ReplyFinished
    ) -> Document:
        before, after = clocks
        cpus = self.cpus[name]
        return {
            "role": spec["role"],
            "outcome": finished["outcome"],
            "payload_bytes": finished["payload_bytes"],
            "notes": finished["notes"],
            "evidence": finished["evidence"],
            "clock": {
                "offset_ns": before.offset_ns,
                "uncertainty_ns": max(before.uncertainty_ns, after.uncertainty_ns),
                "drift_ns": after.offset_ns - before.offset_ns,
                "pairs": [{"mono_ns": clock.mono_ns, "realtime_ns": clock.realtime_ns} for clock in clocks],
            },
            "own_cpus": list(cpus.own),
            "own_cpus_exclusive": cpus.exclusive,
            "cpus_of": self._cpus_of(name, spec["role"]),
            "tsc_hz": self.ends[name].facts["tsc_hz"],
            "spec": {key: value for key, value in spec.items() if key not in {"request", "token"}},
        }

    def _cpus_of(self, name: str, role: Role) -> str:
        """The first end of the same role on the same CPUs of the same machine."""

        def place(end: str) -> tuple[object, ...]:
            facts = self.ends[end].facts
            return facts["boot_id"], facts["hostname"], self.cpus[end].own

        same = [
            pair.names[end]
            for pair in self.pairs
            for end, spec in pair.specs.items()
            if spec["role"] == role and place(pair.names[end]) == place(name)
        ]
        return same[0]


def _with_far_side(error: AgentError, far: Agent) -> RunError:
    """Why connections did not open, as the far agent saw it: only there arrive connections without the token."""
    try:
        seen = far.call({"request": "describe_opening"})
    except AgentError:
        return error
    unauthenticated = seen["strangers_count"]
    far_side = seen["problem"] or (f"{seen['connections_count']} connections had arrived" if unauthenticated else None)
    text = str(error) if far_side is None else f"{error}; the far agent: {far_side}"
    if not unauthenticated:
        return RunError(text, error.fault)
    text += f"; connections without the trial's token that came to its port: {unauthenticated}"
    return DisturbedError(text, error.fault)


def _all(
    collect: Callable[[str], ReplyFinished],
    agents: dict[str, Agent],
    *,
    keeps_interrupted: bool = False,
    goes_on: bool = False,
) -> tuple[dict[str, ReplyFinished], bool]:
    """Collect from all agents at once; when one fails, or the user interrupts, end the others too.

    With ``goes_on`` the others end by themselves, and an agent that fails has no answer. Returns the answer of each
    agent, and whether the user interrupted. Of an interrupted trial nothing is collected unless ``keeps_interrupted``;
    then the load is aborted, and what all ends send in time is kept.
    """
    failures: list[Exception] = []

    def collect_or_note(label: str) -> ReplyFinished:
        try:
            return collect(label)
        except Exception as error:
            failures.append(error)
            raise

    pool = ThreadPoolExecutor(len(agents))
    try:
        futures = {label: pool.submit(collect_or_note, label) for label in agents}
        is_interrupted = False
        try:
            _wait(futures.values(), ALL_COMPLETED if goes_on else FIRST_EXCEPTION)
        except KeyboardInterrupt:
            if not keeps_interrupted:
                raise
            is_interrupted = True
            for agent in agents.values():
                agent.post({"request": "abort"})
            if wait(futures.values(), timeout=_INTERRUPT_GRACE_S).not_done or failures:
                raise
        if failures and goes_on and all(isinstance(failure, RunError) for failure in failures):
            answered = {label: future.result() for label, future in futures.items() if future.exception() is None}
            return answered, is_interrupted
        if failures:
            for agent in agents.values():
                agent.post({"request": "abort"})
            wait(futures.values())
            raise _cause(failures)
        finished = {label: future.result() for label, future in futures.items()}
        if is_interrupted and not any(reply["payload_bytes"] for reply in finished.values()):
            # The load had not begun: a record of nothing is no result.
            raise KeyboardInterrupt
        return finished, is_interrupted
    except KeyboardInterrupt:
        for agent in agents.values():
            agent.close()
        raise
    finally:
        pool.shutdown()


def _wait(futures: Collection[Future[ReplyFinished]], until: str) -> None:
    """Waits in pieces, so that a signal interrupts it: importing polars installs a handler of its own around Python's
    with SA_RESTART, with which the kernel restarts a wait instead of ending it (signal(7)).
    """
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_WAIT_PIECE_S, return_when=until)
        if until == FIRST_EXCEPTION and any(future.exception() is not None for future in done):
            return


def _cause(failures: list[Exception]) -> Exception:
    """The failure that came first. One at a file that is gone or closed follows from the other, which abandoned both.

    A full disk fails one agent's tables; the other finds the trial's folder removed, perhaps before the first reports.
    Without its folder no trial can be recorded, as that of an agent that fails meanwhile.
    """
    return min(
        failures,
        key=lambda error: (
            isinstance(error.__cause__ or error, FileNotFoundError | ValueError),
            not isinstance(error, RecordError),
        ),
    )


def _collect(
    agent: Agent, spec: RequestPrepare, at_mono_ns: int, writer: TrialWriter, on_progress: Progress
) -> ReplyFinished:
    """Start one agent's load and receive all it reports, tables straight to their files."""
    finished: ReplyFinished | None = None
    timeout_s = spec["deadline_ns"] / 1e9 + _REPLY_GRACE_S
    due_count = spec["deadline_ns"] // spec["interval_ns"] + _MORE_INTERVALS
    deadline = Deadline(timeout_s)
    deadline.expect(spec["deadline_ns"] / 1e9)
    with ReceivedTables(writer, agent.label, spec) as tables:
        stream = agent.stream({"request": "start", "at_mono_ns": at_mono_ns}, timeout_s, deadline.end_s)
        for reply in tables.replies(stream, deadline):
            if reply["reply"] == "progress":
                due_count -= 1
                if due_count < 0 or finished is not None:
                    raise RunError(f"{agent.label}: the agent sent more progress than the trial has intervals")
                on_progress(agent.label, reply)
            elif reply["reply"] == "finished":
                finished = reply
    if finished is None:
        raise RunError(f"{agent.label}: the agent ended the trial without saying how it ended")
    return finished


def _status(finished: dict[str, ReplyFinished]) -> tuple[str, str | None]:
    """The trial's status: failed where an end failed, cut where one was cut."""
    outcomes = {label: reply["outcome"] for label, reply in finished.items()}
    for label, outcome in outcomes.items():
        if outcome["ended"] == "failed":
            return "failed", f"{label}: {outcome['reason']}"
    for label, outcome in outcomes.items():
        if outcome["ended"] == "aborted":
            return "failed", f"{label}: aborted"
    if any(outcome["ended"] == "deadline" for outcome in outcomes.values()):
        return "deadline", "the load was cut at its deadline; what had moved until then is the result"
    return "complete", None


def _abort(session: Session) -> None:
    """Bring all ends back to where they take the next trial."""
    for agent in session.agents():
        try:
            agent.call({"request": "abort"})
        except PipeClosedError:
            raise
        except RunError:
            # It has nothing to abort, or cannot be used any more, which the session knows.
            continue
