"""A simulated host: an agent's process, its threads in turns, around its real state machines."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.simulation.agent_library import Machine, closed_grace_ns
from tests.simulation.samples import FACTS, TESTBED_END, evidence, progress, table, watched
from tests.simulation.trials import MAX_PROCESS_S, MS, SILENT_NS, HostTrial, HostWatch, InvariantError
from tests.simulation.virtual_time import SECOND_NS

if TYPE_CHECKING:
    from tests.simulation.pipe import Process
    from tests.simulation.world import World


class SimulatedAgent:
    """An agent's process on its host: its threads in turns, around its real state machines."""

    def __init__(self, world: "World", process: "Process") -> None:
        self.world, self.process = world, process
        self.machine = Machine(process.pid)
        self.is_dead = self.is_stopped = self._stays_stopped = False
        #: Whether something in it takes longer than it may.
        self.hangs = self.said_goodbye = False
        self.ended_ns: int | None = None
        self.hung_up_ns: int | None = None
        random = world.scheduler.random
        self.clock_offset_ns = 0 if process.host is None else world.clock_offset_ns(process.host)
        self.trial: HostTrial | None = None
        self.trials: list[HostTrial] = []
        self.strangers_count = 0
        self.watches: list[HostWatch] = []
        self._inputs: deque[bytes | None] = deque()
        self._is_busy = False
        self._partial = b""
        self._frames_count = 0
        #: How it ends when everything is said.
        self._exit: tuple[int, str] | None = None
        #: Whether the pipe was full when it last wanted to write.
        self._is_blocked = False
        self._last_sent_ns = world.scheduler.now_ns
        self._timer_ns: int | None = None
        self._slowness = random.choice((1, 1, 1, 5))
        # It starts, and then reads.
        world.scheduler.after(random.randint(MS, 30 * MS), self.pump)
        world.agents.append(self)

    @property
    def label(self) -> str:
        return self.process.label

    @property
    def now_ns(self) -> int:
        return self.world.scheduler.now_ns

    @property
    def mono_ns(self) -> int:
        return self.now_ns + self.clock_offset_ns

    def receive(self, data: bytes) -> None:
        self._inputs.append(data)
        self.pump()

    def end_of_input(self) -> None:
        self._inputs.append(None)
        self.hang_up()

    def hang_up(self) -> None:
        """Nobody holds the other end of its standard input."""
        if self.hung_up_ns is None and not self.is_dead:
            self.hung_up_ns = self.now_ns
            self.world.scheduler.after(closed_grace_ns(), lambda: self.exit(0, ""))
        self.pump()

    def stop(self, seconds: float | None) -> None:
        """Stop the process, for good without a time: no end of an earlier stop continues it then."""
        self.is_stopped = True
        if seconds is None:
            self._stays_stopped = True
        else:
            self.world.scheduler.after(round(seconds * SECOND_NS), self.resume)

    def resume(self) -> None:
        if self._stays_stopped:
            return
        self.is_stopped = False
        self._last_sent_ns = self.now_ns
        if self.hung_up_ns is not None and self.now_ns >= self.hung_up_ns + closed_grace_ns():
            self.exit(0, "")
        self.pump()

    def exit(self, status: int, said: str) -> None:
        if self.is_dead or self.is_stopped:
            return
        self._check_silence()
        self.die()
        self.process.on_agent_gone(status, said)

    def die(self) -> None:
        """It is gone, and its connections with it."""
        if self.is_dead:
            return
        self.is_dead, self.ended_ns = True, self.now_ns
        self.world.scheduler.note(f"agent {self.label} is gone")
        self.machine.free()
        for watch in self.watches:
            watch.is_over = True
        for trial in self.trials:
            trial.is_over = True
            trial.is_loading = False
            if trial.link is not None:
                self.world.break_link(trial.link, self.label)

    def pump(self) -> None:
        """Let all threads go on as far as they can."""
        if self.is_dead or self.is_stopped:
            return
        while not self.is_dead and (self._serve() or self._write()):
            pass
        if not self.is_dead and not self.is_stopped:
            self._set_timer(self.machine.timeout_ns())

    def _serve(self) -> bool:
        if self._is_busy:
            return False
        if self.hung_up_ns is not None:
            self.machine.handle(self.now_ns, "hang_up")
        action = self.machine.poll_action(self.now_ns)
        if action is not None:
            self.world.scheduler.note(f"{self.label} {action['action']}")
            getattr(self, f"_on_{action.pop('action')}")(**action)
            return True
        if not self._inputs:
            return False
        data = self._inputs.popleft()
        if data is None:
            self.machine.handle(self.now_ns, "end")
        else:
            self.machine.handle_bytes(data)
            self.process.on_taken(len(data))
        return True

    def _write(self) -> bool:
        """Write a frame, or what fits of it."""
        room = self.process.up_room
        if room <= 0:
            self._is_blocked = True
            return False
        if self._is_blocked:
            # Whoever did not read is to blame for the silence.
            self._is_blocked, self._last_sent_ns = False, self.now_ns
        if not self._partial:
            frame = self.machine.poll_frame(self.now_ns)
            if not isinstance(frame, bytes):
                if frame is None and self._exit is not None:
                    self.exit(*self._exit)
                else:
                    self._set_timer(frame)
                return False
            self._partial = self.world.faults.on_frame_up(self, frame)
            if not self._partial:
                return True
        self._check_silence()
        piece, self._partial = self._partial[:room], self._partial[room:]
        self.process.send_up(piece)
        self._last_sent_ns = self.now_ns
        return True

    def _check_silence(self) -> None:
        if self._is_blocked:
            return
        until_ns = self.now_ns if self.hung_up_ns is None else min(self.now_ns, self.hung_up_ns)
        if self.process.closed_ns is not None:
            until_ns = min(until_ns, self.process.closed_ns)
        if until_ns - self._last_sent_ns > SILENT_NS:
            silent_s = (until_ns - self._last_sent_ns) / SECOND_NS
            raise InvariantError(f"the living {self.label} agent was silent for {silent_s:.1f} s")

    def _set_timer(self, due_ns: int | None) -> None:
        if due_ns is None or (self._timer_ns is not None and self._timer_ns <= due_ns):
            return
        self._timer_ns = due_ns

        def ring() -> None:
            if self._timer_ns == due_ns:
                self._timer_ns = None
            self.pump()

        self.world.scheduler.at(due_ns, ring)

    def later(self, most_ns: int, call: Callable[[], None]) -> None:
        """Call after some time of the host, which takes longer on a slow one."""
        self._after(self.world.scheduler.random.randint(0, most_ns) * self._slowness, call)

    def _after(self, delay_ns: int, call: Callable[[], None]) -> None:
        def run() -> None:
            if self.is_stopped:
                # It goes on when the process does.
                self.world.scheduler.after(100 * MS, run)
            elif not self.is_dead:
                call()
                self.pump()

        self.world.scheduler.after(delay_ns, run)

    def _busy(self, most_ns: int, call: Callable[[], None], *, hangs_ns: int = 0) -> None:
        """The thread that serves is at something for some time, and hangs in it for so long."""
        self._is_busy = True

        def end() -> None:
            self._is_busy = False
            call()

        if hangs_ns:
            self._after(hangs_ns, end)
        else:
            self.later(most_ns, end)

    def _on_answer(self, id: int, request: dict[str, Any]) -> None:  # noqa: A002 - as in the message
        kind = request["request"]
        takes_ns = {"describe_host": 20 * MS, "build_testbed": 300 * MS, "end_path": 50 * MS, "clock": 0}.get(kind, MS)

        def answer() -> None:
            replies, tables = self._replies(kind)
            self.machine.handle(self.now_ns, "answer", id=id, replies=replies, tables=tables)

        hangs_ns = self.world.faults.hang_ns(self, kind)
        self.hangs = self.hangs or hangs_ns > 0
        self._busy(takes_ns, answer, hangs_ns=hangs_ns)

    def _replies(self, kind: str) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
        done = {"reply": "done"}
        if kind == "clock":
            realtime_ns = self.world.realtime_ns + self.mono_ns
            return [{"reply": "clock", "mono_ns": self.mono_ns, "realtime_ns": realtime_ns}], []
        if kind == "describe_host":
            return [{"reply": "host", **FACTS, "hostname": self.process.host or "here"}], []
        if kind == "build_testbed":
            ends = {
                side: {**TESTBED_END, "host": side, "ipv4": address, "netns": f"/proc/1/{side}"}
                for side, address in (("near", "192.0.2.1"), ("far", "192.0.2.2"))
            }
            return [{"reply": "testbed", "middle": None, **ends}], []
        if kind == "end_path":
            audit = self.world.faults.path_audit()
            return [audit, done], []
        return [done], []

    def _on_count_arrivals(self, id: int) -> None:  # noqa: A002 - as in the message
        self.machine.handle(self.now_ns, "arrivals", id=id, connections_count=0, strangers_count=self.strangers_count)

    def _on_prepare(self, spec: dict[str, Any]) -> None:
        self.world.on_prepare(self)
        refused = self.world.faults.refused_prepare(self)
        is_listening = spec["opening"] == "listen"

        def prepare() -> None:
            if refused is not None:
                reply = None
            else:
                self.trial = HostTrial(self, spec, number=-1)
                self.trials.append(self.trial)
                if is_listening:
                    self.trial.port = spec["listen_port"] or self.world.next_port()
                    self.strangers_count = 0
                    self.world.listeners[self.trial.port] = self.trial
                reply = {"reply": "prepared", "port": self.trial.port or None, "loan": None}
            self.machine.handle(
                self.now_ns,
                "prepared",
                reply=reply,
                refused=refused,
                opening=spec["opening"],
                connections_count=spec["connections_count"],
            )

        self._busy(5 * MS, prepare)

    def _on_accept(self, trial: int) -> None:
        assert self.trial is not None
        self.trial.number, self.trial.is_opening = trial, True

    def _on_connect(self, trial: int, address: str, port: int) -> None:
        assert self.trial is not None
        near = self.trial
        near.number, near.is_opening = trial, True

        def connect() -> None:
            far = self.world.listeners.get(port)
            problem = self.world.faults.refused_connect(self, far)
            if not near.is_opening or near.is_aborted:
                return
            if problem is None and (far is None or not far.is_opening or far.is_aborted or far.agent.is_dead):
                problem = f"connecting to {address} port {port}: connection refused"
            if problem is None and far is not None and far.spec["token"] != near.spec["token"]:
                problem = "the listening side dropped a connection without its token"
            if problem is not None:
                self.opened(near, {"fault": "peer", "text": problem})
                return
            assert far is not None
            self.world.connect(near, far)
            far.agent.later(2 * MS, lambda: far.agent.opened(far, None))
            self.later(2 * MS, lambda: self.opened(near, None))

        self.later(20 * MS, connect)

    def opened(self, trial: HostTrial, refused: dict[str, str] | None) -> None:
        """All connections of a trial are open, or failed to."""
        if trial.is_opening and not self.is_dead:
            trial.is_opening = False
            if refused is not None:
                trial.is_over = True
            self.machine.handle(self.now_ns, "opened", trial=trial.number, refused=refused)
            self.pump()

    def _on_load(self, trial: int, id: int, at_mono_ns: int) -> None:  # noqa: A002 - as in the message
        own = self.trial
        if own is None or own.number != trial or own.link is None:
            raise InvariantError(f"the {self.label} agent starts a load without connections")
        own.request = id
        own.link.planned_ns[self.label] = at_mono_ns - self.clock_offset_ns
        wait_ns = max(0, at_mono_ns - self.mono_ns)
        own.is_loading = True
        self.world.scheduler.after(wait_ns, lambda: self.later(100_000, lambda: self._begin_load(own)))

    def _begin_load(self, trial: HostTrial) -> None:
        link = trial.link
        assert link is not None
        if not trial.is_loading:
            return
        link.started_ns[self.label] = self.now_ns
        self._report_progress(trial, 0)
        deadline_ns = trial.spec["deadline_ns"]
        self.world.scheduler.after(deadline_ns, lambda: self.end_load(trial, {"ended": "deadline"}))
        if link.broken is not None:
            self.end_load(trial, {"ended": "failed", "reason": link.broken})
        elif len(link.started_ns) == len(link.sides):
            self.world.run_load(link)

    def _report_progress(self, trial: HostTrial, interval: int) -> None:
        def report() -> None:
            link = trial.link
            if not trial.is_loading or self.is_dead or link is None:
                return
            if not self.is_stopped:
                moves = len(link.started_ns) == len(link.sides) and not any(
                    side.agent.is_stopped for side in link.sides.values()
                )
                reply = progress(interval, 1_000 if moves else 0)
                self.machine.handle(self.now_ns, "progress", id=trial.request, reply=reply)
                self.pump()
            self._report_progress(trial, interval + 1)

        self.world.scheduler.after(trial.spec["interval_ns"], report)

    def complete_load(self, trial: HostTrial) -> None:
        """Everything has moved."""
        self.later(0, lambda: self.end_load(trial, {"ended": "complete"}))

    def end_load(self, trial: HostTrial, outcome: dict[str, Any]) -> None:
        """The load is over; its result is made and sent."""
        if not trial.is_loading or self.is_dead:
            return
        trial.is_loading, trial.is_over = False, True
        link = trial.link
        assert link is not None
        if outcome["ended"] in {"failed", "aborted", "deadline"}:
            self.world.break_link(link, self.label)

        def send() -> None:
            link.outcomes[self.label] = outcome
            tables = {}
            for name in ("intervals", "round_trips")[: 2 - min(1, link.serial % 3)]:
                tables[name] = link.tables[self.label, name] = table(name, self.label, link.serial)
            finished = {
                "outcome": outcome,
                "payload_bytes": link.payload_bytes,
                "notes": [],
                "evidence": evidence(trial.spec["evidence"]),
            }
            named = [{"name": name, "hex": content.hex()} for name, content in tables.items()]
            self.machine.handle(
                self.now_ns, "load_ended", trial=trial.number, id=trial.request, finished=finished, tables=named
            )

        self.later(30 * MS, send)

    def _on_watch(self, watch: int, id: int, spec: dict[str, Any]) -> None:  # noqa: A002 - as in the message
        if any(not earlier.is_over for earlier in self.watches):
            raise InvariantError(f"the {self.label} agent begins a watch while one is under way")
        empty_reports = self.world.scheduler.random.choice((0, 0, 0, 2, 1_000))
        own = HostWatch(spec, watch, id, empty_reports)
        self.watches.append(own)
        refused = self.world.faults.refused_prepare(self)

        def watch_on() -> None:
            if refused is not None and not own.is_over:
                own.is_over = True
                self.machine.handle(self.now_ns, "watch_refused", watch=watch, refused=refused)
            else:
                self._report_watched(own)

        self.later(30 * MS, watch_on)
        if spec["duration_ns"] is not None:
            self._after(spec["duration_ns"], lambda: self.end_watch(own, "complete"))
        elif spec["ends_with_process"] is not None:
            takes_ns = self.world.scheduler.random.randint(0, MAX_PROCESS_S * SECOND_NS)
            self._after(takes_ns, lambda: self.end_watch(own, "complete"))

    def _report_watched(self, own: HostWatch) -> None:
        def report() -> None:
            if own.is_over or self.is_dead:
                return
            if not self.is_stopped:
                is_empty = own.reports < own.empty_reports
                reply = watched(self.label, own.reports, self.mono_ns, is_empty=is_empty)
                self.machine.handle(self.now_ns, "progress", id=own.request, reply=reply)
                own.reports += 1
                self.pump()
            self.world.scheduler.after(own.spec["report_ns"], report)

        report()

    def _on_end_watch(self) -> None:
        self.end_watch(self.watches[-1], "complete")

    def end_watch(self, own: HostWatch, ended: str) -> None:
        """The watch is over; its result is made and sent."""
        if own.is_over or self.is_dead or (ended == "complete" and self.world.faults.goes_on(self)):
            return
        own.is_over = True

        def send() -> None:
            serial = 1 + len(self.watches) + self.process.pid
            for name in ("watched", "sockets", "tcp_info"):
                own.tables[name] = table(name, self.label, serial)
            own.finished = {
                "outcome": {"ended": ended},
                "payload_bytes": serial,
                "notes": [],
                "evidence": evidence(own.spec["evidence"]),
            }
            named = [{"name": name, "hex": content.hex()} for name, content in own.tables.items()]
            self.machine.handle(
                self.now_ns, "watch_ended", watch=own.number, id=own.request, finished=own.finished, tables=named
            )

        self.later(30 * MS, send)

    def _on_abort(self) -> None:
        if self.watches and not self.watches[-1].is_over:
            own, slow_ns = self.watches[-1], self.world.faults.slow_abort_ns(self)
            self.hangs = self.hangs or slow_ns > 0
            self.later(50 * MS + slow_ns, lambda: self.end_watch(own, "aborted"))
        trial, self.trial = self.trial, None
        if trial is None or trial.is_aborted:
            return
        trial.is_aborted = True
        if self.world.listeners.get(trial.port) is trial:
            del self.world.listeners[trial.port]
        slow_ns = self.world.faults.slow_abort_ns(self)
        self.hangs = self.hangs or slow_ns > 0
        if trial.is_opening:
            refused = {"fault": "peer", "text": "aborted while waiting for connections"}
            self.later(100 * MS + slow_ns, lambda: self.opened(trial, refused))
        elif trial.is_loading:
            self.later(120 * MS + slow_ns, lambda: self.end_load(trial, {"ended": "aborted"}))
        else:
            trial.is_over = True
        if trial.link is not None:
            self.world.break_link(trial.link, self.label)

    def number_frame(self) -> int:
        """The number of the next frame."""
        self._frames_count += 1
        return self._frames_count - 1

    def _on_exit(self, error: str | None, says_goodbye: bool) -> None:
        said = "" if error is None else f"whyperf-agent: the controller's pipe: {error}"
        self._exit = (0 if error is None else 1, said)
        self.said_goodbye = says_goodbye
        # One that cannot say it all is gone nevertheless.
        self.world.scheduler.after(SECOND_NS, lambda: self.exit(*self._exit) if self._exit else None)
