"""The simulated world: all hosts and processes, and the invariants that hold at any time.

What a host does in addition to its state machines is simple here. Connections open if both sides are there with the
same token. A load takes as long as asked, and ends early if the other side is gone. Latencies are drawn from the seed.
"""

import json
from functools import partial
from typing import Any

from tests.simulation.hosts import SimulatedAgent
from tests.simulation.pipe import FIRST_DESCRIPTOR, Process
from tests.simulation.trials import MS, OUTLIVES_NS, STOPS_NS, HostTrial, InvariantError, Link
from tests.simulation.virtual_time import SECOND_NS, Scheduler
from whyperf.run.agents.frames import HEADER_BYTES


class World:
    """All hosts, and the controller's processes."""

    def __init__(self, scheduler: Scheduler, faults: Any) -> None:
        self.scheduler, self.faults = scheduler, faults
        self.processes: list[Process] = []
        self.agents: list[SimulatedAgent] = []
        self.listeners: dict[int, HostTrial] = {}
        self.links: list[Link] = []
        self.realtime_ns = 1_700_000_000 * SECOND_NS
        #: Number of the controller's process: one that was killed does nothing more.
        self.life = 0
        #: Whether a controller runs.
        self.is_running = False
        self._offsets: dict[str, int] = {}
        self._port = 40_000

    def clock_offset_ns(self, host: str) -> int:
        if host not in self._offsets:
            self._offsets[host] = self.scheduler.random.randint(-500, 3_000) * SECOND_NS + 12_345
        return self._offsets[host]

    def start(self, argv: list[str], stderr: Any, **_: Any) -> Process:
        """As `subprocess.Popen`."""
        label = argv[-1]
        process = Process(self, label, argv[1] if argv[0] == "ssh" else None, stderr)
        self.processes.append(process)
        self.scheduler.note(f"{label} started")
        return process

    def at(self, descriptor: int) -> Process:
        return self.processes[descriptor - FIRST_DESCRIPTOR]

    def stopped(self, pid: int) -> object | None:
        """As `os.waitid` of a child that may be stopped."""
        process = next(process for process in self.processes if process.pid == pid)
        if process.returncode is not None:
            raise ChildProcessError
        return process if process.host is None and process.agent.is_stopped else None

    def address_of(self, host: str) -> str:
        return f"198.51.100.{len(host)}"

    def next_port(self) -> int:
        self._port += 1
        return self._port

    def on_request(self, process: Process, data: bytes) -> None:
        """What a controller sends: `start` only when both sides of all pairs are connected."""
        body = json.loads(data[HEADER_BYTES:])["body"]
        self.scheduler.note(f"to {process.label}: {body['request']}")
        if body["request"] == "start" and process.agent.trial is not None:
            for agent in self.living():
                trial = agent.trial if agent.process.life == self.life and agent.hung_up_ns is None else None
                if (
                    trial is not None
                    and trial.spec["opening"] == "connect"
                    and (trial.link is None or trial.is_opening)
                ):
                    raise InvariantError(f"{process.label} is to start before {agent.label} has connected")

    def on_prepare(self, agent: SimulatedAgent) -> None:
        """An agent prepares a trial: no earlier one is left but what was given up after its grace."""
        left = [trial for trial in agent.trials if not trial.is_over and not trial.is_aborted]
        if left:
            raise InvariantError(f"the {agent.label} agent prepares a trial while {left[0].spec['trial']} is under way")

    def connect(self, near: HostTrial, far: HostTrial) -> None:
        sides = {near.agent.label: near, far.agent.label: far}
        link = Link(len(self.links) + 1, near.spec["trial"], sides)
        if near.spec["trial"] != far.spec["trial"]:
            raise InvariantError(f"connections of trial {near.spec['trial']} came to trial {far.spec['trial']}")
        self.links.append(link)
        near.link = far.link = link
        del self.listeners[far.port]

    def run_load(self, link: Link) -> None:
        """Both sides have started: they are done after the trial's time, if nothing comes between."""
        stop = next(iter(link.sides.values())).spec["stop"]
        phases_ns = sum(value for key, value in stop.items() if key.endswith("_ns"))
        takes_ns = self.faults.load_ns(link, phases_ns or 300 * MS)
        for side in link.sides.values():
            drain_ns = takes_ns + self.scheduler.random.randint(0, 20 * MS)
            self.scheduler.after(drain_ns, partial(side.agent.complete_load, side))

    def break_link(self, link: Link, label: str) -> None:
        """One side has let go of its connections."""
        link.broken = link.broken or f"connection {link.serial}: reset by peer"
        for other, side in link.sides.items():
            if other == label:
                continue
            if side.is_opening:
                refused = {"fault": "peer", "text": link.broken}
                side.agent.later(50 * MS, partial(side.agent.opened, side, refused))
            elif side.is_loading and other in link.started_ns:
                outcome = {"ended": "failed", "reason": link.broken}
                side.agent.later(50 * MS, partial(side.agent.end_load, side, outcome))

    def living(self) -> list[SimulatedAgent]:
        return [agent for agent in self.agents if not agent.is_dead]

    def end_controller(self) -> None:
        """Its process is gone, and its pipes with it."""
        self.life += 1
        for process in self.processes:
            if process.life == self.life - 1:
                process.abandon()

    def check_step(self) -> None:
        """What holds at any time."""
        for agent in self.agents:
            if agent.hung_up_ns is None or agent.is_stopped:
                continue
            if not agent.is_dead and self.scheduler.now_ns - agent.hung_up_ns > OUTLIVES_NS:
                raise InvariantError(f"the {agent.label} agent outlives its pipe by 2 s")
            if not agent.hangs and self.scheduler.now_ns - agent.hung_up_ns > STOPS_NS + agent.process.latency_ns * 3:
                if any(not watch.is_over for watch in agent.watches):
                    raise InvariantError(f"the watch of {agent.label} goes on after its pipe closed")
                loads = [trial for trial in agent.trials if trial.is_loading]
                if loads:
                    raise InvariantError(f"the load of {agent.label} goes on after its pipe closed")
