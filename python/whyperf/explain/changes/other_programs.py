"""Changes for a program that is not ours: each step with its command and with what it affects.

A socket's options can be set by its own program only. Settings of a program affect all its connections, settings of a
host those of all programs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import DEVICE, is_host_wide, raise_sysctls
from whyperf.explain.explanation import Change, ChangeStep, Value
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.limits.limit import Limit
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets
from whyperf.explain.wording.catalog import known, render
from whyperf.foreign import shell_line

Role = Literal["sender", "receiver"]
Scope = Literal["socket", "program", "host"]
Steps = Iterator[ChangeStep]

PROCESS = "PID"
COMMAND = "COMMAND"
ROUTE = "ROUTE"
FASTER = "bbr"
"""A congestion control that does not take each loss for a full queue."""
LARGE_CALL_BYTES = 131_072
_STRACE = f"strace -f -T -e trace=network,desc,read,write -p {PROCESS}"
_PERF = f"perf top -p {PROCESS}"
_TASKSET = f"taskset -apc CPUS {PROCESS}"
_STARTING: Mapping[str, str] = {
    _STRACE: f"strace -f -T -e trace=network,desc,read,write {COMMAND}",
    _PERF: f"perf record -g {COMMAND}",
    _TASKSET: f"taskset -c CPUS {COMMAND}",
}
"""The same for a command that is started with it."""


def with_steps(change: Change, limit: Limit, facts: Facts, setup: Setup) -> Change:
    """The change as a list of steps. No factor makes it, for nobody runs a foreign program again."""
    made = _STEPS.get(limit.cause)
    steps = [] if made is None else list(made(limit, facts, setup))
    if not steps:
        steps = [_of_change(change)]
    return change.model_copy(update={"factors": {}, "steps": [_addressed(step, facts, setup) for step in steps]})


def _addressed(step: ChangeStep, facts: Facts, setup: Setup) -> ChangeStep:
    """The step with the number of the watched process. A command that whyperf started has ended, so it is named to be
    started again.
    """
    command = step.command
    if setup.command and step.host == "near":
        command = _STARTING.get(command, command).replace(COMMAND, setup.command)
    else:
        sides = [_side(facts, "sender"), _side(facts, "receiver")]
        process = next((seen.process for _, seen, host in sides if host == step.host and seen.process), None)
        command = command if process is None else command.replace(PROCESS, str(process))
    # On one machine no side is on a far host, and the process says which it is.
    return step.model_copy(update={"command": command, "host": "" if facts.one_machine else step.host})


def _of_change(change: Change) -> ChangeStep:
    """The advice for the own load, which fits here as well."""
    scope: Scope = "host" if is_host_wide(change.command) or change.code in _OF_HOST else "program"
    return ChangeStep(
        code=change.code,
        values=change.values,
        scope=scope,
        words=change.by_hand,
        command=change.command,
        host=change.command_host,
    )


_OF_HOST = frozenset(
    {
        *("offloads_off", "small_mtu", "small_mtu.clamped", "local_queue", "local_queue.shaper", "window_scaling"),
        *(
            "window_scaling.host",
            "cpu_quota",
            "cpu_quota.unseen",
            "memory_limit",
            "memory_limit.group",
            "receiver_loss",
        ),
        *("packet_filters", "other_bpf", "call_checks", "software_checksums", "memory_pressure", "costly_packets"),
        *("reordering", "ack_path", "ack_thinning", "policer", "shared_bottleneck", "burst_loss.outage", "mitigations"),
    }
)
"""Advice that is about a host or the path, whatever its command is."""


def _side(facts: Facts, role: Role) -> tuple[HostFacts, WatchedSockets, str]:
    """A side, what its sockets show, and the name of its host; of a side that was not watched the host alone is
    known."""
    end, other = (facts.sender, facts.receiver) if role == "sender" else (facts.receiver, facts.sender)
    host = end.host or {"near": "far", "far": "near"}.get(other.host, "")
    return end, end.watched or WatchedSockets(), host


def _step(code: str, scope: Scope, host: str, command: str = "", **values: Value | None) -> ChangeStep:
    """A step; PID in its command is the watched process, and COMMAND what starts it."""
    return ChangeStep(
        code=code, values=known(values), scope=scope, words=render("step", code, values), command=command, host=host
    )


def _buffer(role: Role) -> Callable[[Limit, Facts, Setup], Steps]:
    """A buffer: the program has set it, or the kernel's bound keeps it small."""
    option, letter = ("SO_SNDBUF", "w") if role == "sender" else ("SO_RCVBUF", "r")

    def steps(limit: Limit, facts: Facts, setup: Setup) -> Steps:
        _, seen, host = _side(facts, role)
        is_fixed = seen.send_buffer_fixed if role == "sender" else seen.receive_buffer_fixed
        wanted = _power(limit.targets.get("buffer_bytes" if role == "sender" else "window_bytes", 1 << 20))
        settings = setup.hosts.get(host, {})
        if is_fixed is not False:
            code = "buffer.fixed" if is_fixed else "buffer.perhaps_fixed"
            command = "ss -tmn" if is_fixed is None else f"strace -f -e trace=setsockopt {COMMAND}"
            yield _step(code, "program", host, command, option=option, program=seen.program or None)
        if is_fixed is not True:
            bound = raise_sysctls(settings, {f"net.ipv4.tcp_{letter}mem": (0, 0, 2 * wanted)})
            if bound:
                yield _step(
                    "buffer.bound", "host", host, bound, setting=f"net.ipv4.tcp_{letter}mem", buffer_bytes=wanted
                )
        yield _step("buffer.socket", "socket", host, option=option, buffer_bytes=wanted)
        if is_fixed is not False:
            bound = raise_sysctls(settings, {f"net.core.{letter}mem_max": (wanted,)})
            if bound:
                yield _step("buffer.allowed", "host", host, bound, option=option, setting=f"net.core.{letter}mem_max")

    return steps


def _power(value: float) -> int:
    """The next power of two."""
    return 1 << max(12, int(value - 1).bit_length())


def _program(code: str, role: Role | None, command: str = "") -> Callable[[Limit, Facts, Setup], Steps]:
    """A change of the program of one side; without a role of the side that the limit is about."""

    def steps(limit: Limit, facts: Facts, _: Setup) -> Steps:
        _end, seen, host = _side(facts, role or _role(limit, facts))
        yield _step(code, "program", host, command, program=seen.program or None)

    return steps


def _role(limit: Limit, facts: Facts) -> Role:
    """The side that the limit is about: the one that it names, else the one that was watched."""
    named = limit.values.get("role") or facts.watched_sides
    return "receiver" if named == "receiver" else "sender"


def _congestion(_: Limit, facts: Facts, setup: Setup) -> Steps:
    """Losses: where they are, and another congestion control, for this socket or for the route."""
    _end, seen, host = _side(facts, "sender")
    yield _step("losses", "host", host, _named(f"ethtool -S {DEVICE}; nstat -az TcpRetransSegs", host, setup))
    available = setup.hosts.get(host, {}).get("congestion_controls")
    load = f"modprobe tcp_{FASTER}; " if available is not None and FASTER not in available else ""
    now = seen.congestion_control or None
    yield _step("congestion.socket", "socket", host, control=FASTER, now=now)
    yield _step("congestion.route", "host", host, f"{load}ip route change {ROUTE} congctl {FASTER}", control=FASTER)


def _named(command: str, host: str, setup: Setup) -> str:
    """The command with the name of the device that carried most packets, where it is known."""
    name = setup.devices.get(host, {}).get("name")
    return command if not name else command.replace(DEVICE, shell_line([str(name)]))


def _nagle(_: Limit, facts: Facts, __: Setup) -> Steps:
    host = _side(facts, "sender")[2]
    yield _step("one_write", "program", host, _STRACE)
    yield _step("no_delay", "socket", host)


def _delayed_ack(_: Limit, facts: Facts, __: Setup) -> Steps:
    host = _side(facts, "receiver")[2]
    yield _step("quick_ack", "socket", host)
    yield _step("quick_ack.route", "host", host, f"ip route change {ROUTE} quickack 1")


def _calls(role: Role) -> Callable[[Limit, Facts, Setup], Steps]:
    code = "larger_writes" if role == "sender" else "larger_reads"

    def steps(_: Limit, facts: Facts, __: Setup) -> Steps:
        host = _side(facts, role)[2]
        yield _step(code, "program", host, _STRACE, call_bytes=LARGE_CALL_BYTES)

    return steps


def _pacing(_: Limit, facts: Facts, setup: Setup) -> Steps:
    host = _side(facts, "sender")[2]
    yield _step("pacing", "socket", host)
    yield _step("pacing.qdisc", "host", host, _named(f"tc -s qdisc show dev {DEVICE}", host, setup))


def _placement(limit: Limit, facts: Facts, setup: Setup) -> Steps:
    """CPU placement: the program away from what else wants its CPU, and receive processing away from the program."""
    role = _role(limit, facts)
    host = _side(facts, role)[2]
    yield _step("placement", "program", host, _TASKSET)
    yield _step("others", "host", host, "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head")
    if role == "receiver":
        yield _step("steering", "host", host, _named(_RPS, host, setup))


_RPS = (
    f"grep . /sys/class/net/{DEVICE}/queues/rx-*/rps_cpus; echo MASK | tee /sys/class/net/{DEVICE}/queues/rx-*/rps_cpus"
)


def _computing(role: Role) -> Callable[[Limit, Facts, Setup], Steps]:
    def steps(limit: Limit, facts: Facts, _: Setup) -> Steps:
        if limit.variant.endswith(("sampled", "packets", "packets.written")):
            return
        host = _side(facts, role)[2]
        yield _step("computing", "program", host, _PERF)
        if limit.variant == "busy":
            code = "larger_writes" if role == "sender" else "larger_reads"
            yield _step(code, "program", host, _STRACE, call_bytes=LARGE_CALL_BYTES)
        yield _step("placement", "program", host, _TASKSET)

    return steps


def _segments(limit: Limit, facts: Facts, _: Setup) -> Steps:
    """Segments that something holds small; with a small MTU the advice for the own load is enough."""
    if limit.variant == "held":
        host = _side(facts, "sender")[2]
        yield _step("max_segment", "program", host, f"strace -f -e trace=setsockopt {COMMAND}")
        yield _step("max_segment.route", "host", "", "ip route show; nft list ruleset | grep maxseg")


_STEPS: Mapping[Cause, Callable[[Limit, Facts, Setup], Steps]] = {
    Cause.RECEIVE_BUFFER: _buffer("receiver"),
    Cause.SEND_BUFFER: _buffer("sender"),
    Cause.SLOW_READER: _program("faster_reader", "receiver", _STRACE),
    Cause.SLOW_WRITER: _program("earlier_writes", "sender", _STRACE),
    Cause.THINK_TIME: _program("earlier_messages", None, _STRACE),
    Cause.ROUND_TRIP: _program("several_requests", None),
    Cause.SENDER_CPU: _computing("sender"),
    Cause.RECEIVER_CPU: _computing("receiver"),
    Cause.NAGLE_DELAYED_ACK: _nagle,
    Cause.DELAYED_ACK: _delayed_ack,
    Cause.TINY_WRITES: _calls("sender"),
    Cause.READ_SIZE: _calls("receiver"),
    Cause.PACING_RATE: _pacing,
    Cause.SMALL_MTU: _segments,
    Cause.OTHER_LOAD: _placement,
    Cause.PATH_LOSS: _congestion,
    Cause.RANDOM_LOSS: _congestion,
    Cause.BURST_LOSS: _congestion,
    Cause.SMALL_QUEUE: _congestion,
}
"""Steps of the causes for which the advice for the own load is too little."""
