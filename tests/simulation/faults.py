"""What goes wrong in a run: up to two faults, drawn from the seed, each in one life of the controller."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.simulation.samples import Setting
from tests.simulation.virtual_time import SECOND_NS
from whyperf.run.agents.agent import DEFAULT_TIMEOUT_S
from whyperf.run.agents.frames import HEADER_BYTES, KIND_MESSAGE, encode
from whyperf.run.target import Kind

MS = 1_000_000
_WAYS_TO_BE_WRONG = 6

#: Faults after which an agent cannot be reached any more.
LOSSES = ("kill-agent", "stop-agent", "kill-ssh", "long-stall")
#: Faults after which a run goes on as if nothing had been.
HARMLESS = ("halt-agent", "short-stall", "stop-controller", "step-realtime", "slow-abort", "late-start")
#: Faults that end the controller.
ENDS = ("kill-controller", "interrupt", "disk-full", "kill-at-disk")
#: Faults of messages.
MESSAGES = ("wrong-reply", "short-table", "flood", "skew-version", "skew-frames")
#: Faults of the pipe.
PIPES = ("duplicate-up", "duplicate-down", "drop-up", "flip-up", "flip-down", "cut-up")
#: Faults of a trial.
TRIALS = ("refuse-prepare", "refuse-connect", "strangers", "break-load", "fail-one-side", "stall-load", "bad-path")
#: Faults in an agent that hangs, of which the long ones fail a trial.
HANGS = ("hang-answer",)
#: Faults that may fail the trial in which they come, and no other.
FAILS_ONE_TRIAL = frozenset(MESSAGES) | {
    "refuse-prepare",
    "refuse-connect",
    "break-load",
    "fail-one-side",
    "stall-load",
}
ALL = (*LOSSES, *HARMLESS, *ENDS, *MESSAGES, *PIPES, *TRIALS, *HANGS)


@dataclass
class Fault:
    """A fault: of which agent, in which life, when or at the how-manieth occasion."""

    kind: str
    life: int
    label: str
    at_ns: int
    count: int
    size: float
    #: When it came.
    came_ns: int | None = None
    #: Which trial it came to.
    trial: str | None = None

    @property
    def is_subtle(self) -> bool:
        """Whether a wrong reply may lack no more than a field that may be absent."""
        return self.kind == "wrong-reply" and int(self.size * _WAYS_TO_BE_WRONG) == 0

    @property
    def hang_ns(self) -> int:
        """How long an agent hangs: some wait longer than the controller does."""
        return round((1 + 40 * self.size) * SECOND_NS)

    @property
    def fails_a_trial(self) -> bool:
        """Whether the trial in which it comes may fail."""
        if self.kind in HANGS:
            return self.hang_ns > DEFAULT_TIMEOUT_S * SECOND_NS
        return self.kind in FAILS_ONE_TRIAL

    def __str__(self) -> str:
        return f"{self.kind} {self.label} (run {self.life}, at {self.at_ns / SECOND_NS:.3f} s or number {self.count})"


def _span_s(setting: Setting) -> float:
    """About how long a run takes."""
    is_timed = "duration_s" in setting.profile_text
    return 0.1 + setting.plan.trials_count * (1.0 if is_timed else 0.4)


def draw(random: Random, setting: Setting) -> list[Fault]:
    """The faults of a seed."""
    labels = ["near", "far"]
    if len(setting.target.near) > 1:
        labels += ["near2", "far2"]
    remote = [label for label in labels if setting.target.kind is Kind.NETWORK and label != "near"]
    if setting.target.kind is Kind.VETH:
        labels.append("testbed")
    found = []
    for number in range(random.choice((0, 1, 1, 1, 1, 2, 2, 2))):
        kind = random.choice(ALL)
        if kind == "kill-ssh" and not remote:
            kind = "kill-agent"
        if kind == "bad-path" and "path" not in setting.name:
            kind = "strangers"
        label = random.choice(remote if kind == "kill-ssh" else labels)
        life = 1 if number == 0 else random.choice((1, 2))
        at_ns = round(random.uniform(0, _span_s(setting)) * SECOND_NS)
        count = random.choice((1, 2, 3, random.randint(1, 12), random.randint(1, 60)))
        if kind in {"disk-full", "kill-at-disk"}:
            count = random.randint(1, 15 + 15 * setting.plan.trials_count)
        found.append(Fault(kind, life, label, at_ns, count, random.random()))
    return found


class Faults:
    """The faults of a run, and the occasions at which they come."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        self.life = 0
        self.world: Any = None
        self.kill_controller: Callable[[], None] = lambda: None
        self.interrupt: Callable[[], None] = lambda: None
        self._counts: dict[int, int] = {}

    def in_life(self) -> list[Fault]:
        return [fault for fault in self.faults if fault.life == self.life]

    def begin_life(self, life: int) -> None:
        """Set the times of the faults of this life."""
        self.life = life
        for fault in self.in_life():
            self.world.scheduler.after(fault.at_ns, lambda fault=fault: self._on_time(fault, life))

    def _came(self, fault: Fault) -> None:
        fault.came_ns = self.world.scheduler.now_ns
        self.world.scheduler.note(f"fault {fault}")

    def _due(self, kind: str, label: str | None = None, *, once: bool = True) -> Fault | None:
        """The fault of this kind whose occasion this is."""
        for fault in self.in_life():
            if fault.kind != kind or (label is not None and fault.label != label):
                continue
            if fault.came_ns is not None:
                if once:
                    continue
                return fault
            self._counts[id(fault)] = self._counts.get(id(fault), 0) + 1
            if self._counts[id(fault)] >= fault.count:
                self._came(fault)
                return fault
        return None

    def _agent(self, label: str) -> Any:
        return next((agent for agent in reversed(self.world.living()) if agent.label == label), None)

    def _on_time(self, fault: Fault, life: int) -> None:
        if self.life != life or not self.world.is_running:
            return
        agent = self._agent(fault.label)
        scheduler = self.world.scheduler
        if fault.kind == "kill-controller":
            self._came(fault)
            self.kill_controller()
        elif fault.kind == "interrupt":
            self._came(fault)
            self.interrupt()
        elif fault.kind == "stop-controller":
            self._came(fault)
            scheduler.stop_tasks(round((1 + 5 * fault.size) * SECOND_NS))
        elif fault.kind == "step-realtime":
            self._came(fault)
            self.world.realtime_ns -= 3600 * SECOND_NS
        elif agent is None or agent.process.returncode is not None:
            return
        elif fault.kind == "kill-agent":
            self._came(fault)
            agent.die()
            agent.process.on_agent_gone(-9, "")
        elif fault.kind == "stop-agent":
            self._came(fault)
            agent.stop(None)
        elif fault.kind == "halt-agent":
            self._came(fault)
            agent.stop(0.1 + 0.9 * fault.size)
        elif fault.kind == "kill-ssh":
            self._came(fault)
            agent.process.end(-9 if fault.size < 0.5 else 255)
        elif fault.kind in {"short-stall", "long-stall"}:
            self._came(fault)
            seconds = 0.1 + 1.2 * fault.size if fault.kind == "short-stall" else 4 + 20 * fault.size
            agent.process.stalled_until_ns = scheduler.now_ns + round(seconds * SECOND_NS)

    def on_bytes_down(self, process: Any, data: bytes) -> bytes:
        """What the agent gets of a request."""
        if b'"hello"' in data and self._skews("skew-version", process.label):
            # For the agent it is as if it were of another version itself.
            body = json.loads(data[HEADER_BYTES:])
            body["body"]["version"] = "0.0.1"
            return encode(json.dumps(body).encode(), 0)
        if self._due("duplicate-down", process.label):
            return data + data
        if (fault := self._due("flip-down", process.label)) is not None:
            return _flipped(data, fault)
        if b'"start"' in data and (fault := self._due("late-start", process.label)) is not None:
            until_ns = self.world.scheduler.now_ns + round(0.3 * fault.size * SECOND_NS)
            process.stalled_until_ns = max(process.stalled_until_ns, until_ns)
        return data

    def _skews(self, kind: str, label: str) -> bool:
        for fault in self.in_life():
            if fault.kind == kind and fault.label == label:
                if fault.came_ns is None:
                    self._came(fault)
                return True
        return False

    def on_frame_up(self, agent: Any, frame: bytes) -> bytes:
        """What the pipe gets instead of a frame."""
        label = agent.label
        payloads = [frame[HEADER_BYTES:-1]]
        if frame[3] == KIND_MESSAGE:
            body = json.loads(payloads[0])
            if body["body"]["reply"] not in {"alive", "goodbye"}:
                payloads = self._changed(label, payloads[0], body)
        # An agent that says something else numbers that as well.
        data = b"".join(encode(payload, agent.number_frame(), frame[3]) for payload in payloads)
        if self._skews("skew-frames", label):
            return data[:2] + bytes([data[2] + 1]) + data[3:]
        return self._through_pipe(agent, data)

    def _through_pipe(self, agent: Any, data: bytes) -> bytes:
        """What a faulty pipe makes of frames."""
        label = agent.label
        if self._due("duplicate-up", label):
            return data + data
        if self._due("drop-up", label):
            return b""
        if (fault := self._due("flip-up", label)) is not None:
            return _flipped(data, fault)
        if (fault := self._due("cut-up", label)) is not None:
            # Its command ends as if all was well, and the agent is there until its own pipe closes.
            data = data[: int(len(data) * fault.size)]
            agent.process.cut_after(data)
            return b""
        return data

    def _changed(self, label: str, payload: bytes, body: dict[str, Any]) -> list[bytes]:
        """A reply, as the fault makes it."""
        if body["body"]["reply"] == "table" and (fault := self._due("short-table", label)) is not None:
            trial = self._agent(label).trial
            fault.trial = None if trial is None else trial.spec["trial"]
            body["body"]["bytes"] += 3
            return [json.dumps(body).encode()]
        if (fault := self._due("wrong-reply", label)) is not None:
            return [json.dumps(_wrong(body, fault)).encode()]
        if self._due("flood", label):
            clock = {"id": 1, "body": {"reply": "clock", "mono_ns": 1, "realtime_ns": 1}}
            return [payload, *([json.dumps(clock).encode()] * 400)]
        return [payload]

    def hang_ns(self, agent: Any, kind: str) -> int:
        """How long an answer takes that takes long, and for some too long."""
        if kind != "clock" or (fault := self._due("hang-answer", agent.label)) is None:
            return 0
        return fault.hang_ns

    def goes_on(self, agent: Any) -> bool:
        """Whether it reports on for ever when it is to end its watch."""
        return self._due("watch-on", agent.label, once=False) is not None

    def slow_abort_ns(self, agent: Any) -> int:
        """How much longer than usual a trial takes to end."""
        fault = self._due("slow-abort", agent.label)
        return 0 if fault is None else round(3 * fault.size * SECOND_NS)

    def refused_prepare(self, agent: Any) -> dict[str, str] | None:
        if self._due("refuse-prepare", agent.label) is None:
            return None
        return {"fault": "host", "text": "the host refuses"}

    def refused_connect(self, agent: Any, far: Any) -> str | None:
        """Why connections do not open."""
        if (fault := self._due("strangers", once=False)) is not None and far is not None:
            if fault.size < 0.5 and far.spec["trial"] != (fault.trial or far.spec["trial"]):
                return None
            fault.trial = far.spec["trial"]
            far.agent.strangers_count += 5
            return "connections did not open"
        return "no route to host" if self._due("refuse-connect", agent.label) else None

    def load_ns(self, link: Any, takes_ns: int) -> int:
        """How long the load of a trial takes."""
        if self._due("stall-load"):
            return 60 * SECOND_NS
        fault = self._due("break-load") or self._due("fail-one-side")
        if fault is not None:
            fault.trial = link.trial
            near, far = sorted(link.sides.values(), key=lambda side: side.spec["opening"])
            failing = far if fault.kind == "fail-one-side" or fault.size < 0.5 else near
            outcome = {"ended": "failed", "reason": "a connection was reset"}

            def fail() -> None:
                if fault.kind == "fail-one-side":
                    failing.link.outcomes[failing.agent.label] = outcome
                    near.agent.end_load(near, {"ended": "complete"})
                failing.agent.end_load(failing, outcome)

            self.world.scheduler.after(round(takes_ns * fault.size), fail)
        return takes_ns

    def path_audit(self) -> dict[str, Any]:
        late = 500 if self._due("bad-path") else 0
        return {
            "reply": "path_carried",
            "budget_ns": MS,
            "cpu_ns": 1,
            "device_dropped_packets": 0,
            "has_precedence": True,
            "late_packets": late,
            "lateness_ns_max": 2 * MS,
            "refused_frames": 0,
            "released_packets": 1000,
            "socket_dropped_frames": 0,
            "unaudited": [],
            "unstamped_frames": 0,
            "wall_ns": SECOND_NS,
            "yielded_count": 0,
        }

    def on_disk(self, operation: str) -> None:
        """The record is about to write; perhaps it cannot, or never will."""
        if self._due("kill-at-disk"):
            self.kill_controller()
        for fault in self.in_life():
            # A disk that is full stays so.
            if fault.kind == "disk-full" and (fault.came_ns is not None or self._due("disk-full")):
                raise OSError(28, "No space left on device", operation)


def _flipped(data: bytes, fault: Fault) -> bytes:
    """The same with another bit."""
    bit = int(fault.size * len(data) * 8)
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << (bit % 8)
    return bytes(changed)


def _wrong(message: dict[str, Any], fault: Fault) -> Any:
    """A message that no agent may send."""
    body = message["body"]
    fields = [name for name in body if name != "reply"]
    choice = int(fault.size * _WAYS_TO_BE_WRONG)
    if choice == 0 and fields:
        return {
            **message,
            "body": {name: value for name, value in body.items() if name != fields[fault.count % len(fields)]},
        }
    if choice == 1:
        return {**message, "body": {**body, "more": 1}}
    if choice == 2 and fields:
        return {**message, "body": {**body, fields[fault.count % len(fields)]: 2**70}}
    if choice == 3:
        return {**message, "body": {"reply": "fly"}}
    if choice == 4 and fields:
        return {**message, "body": {**body, fields[fault.count % len(fields)]: -1}}
    return [message]
