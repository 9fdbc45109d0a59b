"""Facts of one host in a trial: CPUs, calls, sockets and devices, limits from outside its sockets, costs, stage times.

None is not known; ratios are of time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from whyperf.explain.explanation import Spell
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.explain.watched_facts import WatchedSockets


@dataclass(frozen=True)
class Quota:
    """The CPU quota of a control group that the load is in.

    Attributes:
        group: path of the group, and `kind` the version of control groups.
        cpus: quota over period: how many CPUs it allows.
        throttled_ratio: of the periods in which the group wanted to run, those in which it used up its quota.
        stopped_ratio: how long it was kept from a CPU, of the time between the readings; summed over CPUs, so that it
            can be above 1.
    """

    group: str
    kind: str
    cpus: float
    throttled_ratio: float
    stopped_ratio: float


@dataclass(frozen=True)
class MemoryLimit:
    """The memory limit of a control group that the load is in.

    Attributes:
        group: path of the group, and `kind` the version of control groups.
        limit_bytes: the limit, or the one from which on memory is reclaimed; None without a limit.
        hits: how often the group met it during the load; page cache that is reclaimed counts as well.
        tcp_limit_bytes: the limit of its sockets alone; None without one.
        tcp_hits: how often its sockets met that.
        stalled_ratio: how long a thread of the group waited for memory.
    """

    group: str
    kind: str
    limit_bytes: int | None
    hits: int
    tcp_limit_bytes: int | None = None
    tcp_hits: int = 0
    stalled_ratio: float | None = None


@dataclass(frozen=True)
class Queue:
    """A queueing discipline of a device of the host.

    Attributes:
        device: its name, and `kind` that of the discipline.
        sent_packets: what it sent during the load, `dropped_packets` what it dropped.
        overlimits: how often it could not send at once.
        rate_bps: the rate that it allows, headers of the link included; None where it has none.
        limit_bytes: most bytes that wait in it.
    """

    device: str
    kind: str
    sent_packets: int
    dropped_packets: int = 0
    overlimits: int = 0
    rate_bps: float | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True)
class Interruption:
    """The spans in which a side's load was kept from its work, all of one kind together.

    Attributes:
        kind: `paused`, the process did not run although it could have; `withheld`, its threads waited for a CPU.
        at_ns: when the longest began, from the start of the measured phase, and `longest_ns` how long it was.
        length_ns: how long all were; of pauses without the time in which the process ran.
        span_ratio: part of the measured phase of the intervals that hold them.
        waited_ratio: part of these intervals in which a thread waited for a CPU.
        other_ratio: part of the CPU that other programs had in these intervals.
        rate_ratio: the rate in these intervals over that of the others.
    """

    kind: str
    at_ns: int
    longest_ns: int
    length_ns: int
    span_ratio: float
    waited_ratio: float
    other_ratio: float
    rate_ratio: float

    @property
    def lost_ratio(self) -> float:
        """Part that the rate of the whole phase lost by them."""
        return self.span_ratio * max(0.0, 1 - self.rate_ratio)


HALF_DUPLEX = "half_duplex"
"""The part of `HostLimits.parts` that is a link of half duplex."""


@dataclass(frozen=True)
class HostLimits:
    """All of one host. All but interruptions is from the table `host_counters`, which older records do not have.

    Attributes:
        quota: the group that was kept from its CPUs for longest.
        memory: the group that met its limit most often.
        queues: of the devices that sent packets.
        interruptions: spans in which the load did not get to its work.
        parts: part of the time for which what a host of the model shares was busy: its bus, the processor on its
            adapter for what leaves and for what arrives, and of the sender a link of half duplex.
        adapters_count: adapters of a host of the model; 1 where nothing says otherwise.
        counts: what the kernel counted during the load, by the names of `nstat` and of the table.
        span_ns: between the two readings.
    """

    quota: Quota | None = None
    memory: MemoryLimit | None = None
    queues: tuple[Queue, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    adapters_count: int = 1
    counts: Mapping[str, int] = field(default_factory=dict)
    span_ns: int = 0


@dataclass(frozen=True)
class StageTime:
    """A stage of the side's payload: a packet is processed in it for `cpu_ns` and waits in it for `waiting_ns`, on
    average. `title` is its name, `about` what it covers; `ns_per_kbyte` where its time grows with the payload.
    Nothing is processed in one that `is_wait`; in others, waiting is time in which other work had the CPU.
    """

    name: str
    title: str
    about: str
    cpu_ns: float
    waiting_ns: float
    ns_per_kbyte: float | None = None
    is_wait: bool = False


@dataclass(frozen=True)
class StageFacts:
    """The stages of a side.

    Attributes:
        stages: those of the payload that the sender sends and the receiver receives, in the order of their time.
        cpu_ns: processing of a packet by all of them.
        packet_bytes: its payload, on average.
        application_ns: time of the program itself between calls, for a packet; 0 where none was seen.
        packets_per_interrupt: packets that one hardware interrupt brings; None where none was seen.
        slow_stage: the stage that the slowest 1 % of the messages spend most of their delay in; None with few messages.
        slow_ratio: its part of that delay.
        slow_ns: how much longer than the others these messages take in it.
    """

    stages: tuple[StageTime, ...] = ()
    cpu_ns: float = 0.0
    packet_bytes: float = 0.0
    packets_per_interrupt: float | None = None
    application_ns: float = 0.0
    slow_stage: StageTime | None = None
    slow_ratio: float | None = None
    slow_ns: float | None = None

    def of(self, *names: str) -> list[StageTime]:
        """The stages of these names that there are."""
        return [stage for stage in self.stages if stage.name in names]

    @property
    def dearest(self) -> StageTime | None:
        """The stage with most processing."""
        return max(self.stages, key=lambda stage: stage.cpu_ns, default=None)


CostPart = Literal["threads", "softirqs", "side"]
"""Whose cycles: of the load's threads, of softirqs on top of anything else, or of both."""


@dataclass(frozen=True)
class ClassFacts:
    """The cost of a class of functions (`whyperf.analyze.cost`), in cycles per KByte or per transaction.

    Attributes:
        name: the class.
        cycles: the mean over the trials, with its interval `low` to `high`; None with one trial.
        in_threads: the part that the load's threads have; None with a PMU, which counts whole CPUs.
        functions: its dearest functions, the dearest first.
        event: what is counted of it, as in `classes.toml`; "" where nothing is.
        each_cycles: cycles for each of these events, of which a KByte has `per_kbyte`.
    """

    name: str
    cycles: float
    low: float | None = None
    high: float | None = None
    in_threads: float | None = None
    functions: tuple[str, ...] = ()
    event: str = ""
    each_cycles: float | None = None
    per_kbyte: float | None = None

    def of(self, part: CostPart) -> float:
        """Its cycles in a part of the side."""
        if part == "side" or self.in_threads is None:
            return self.cycles
        return self.in_threads if part == "threads" else max(0.0, self.cycles - self.in_threads)


@dataclass(frozen=True)
class CostFacts:
    """The cost of a side, the dearest class first.

    Attributes:
        per: what cycles are divided by: KBytes of payload, or transactions.
        classes: those that belong to the load; not idle CPUs, nor other programs.
        samples: how many there are.
        packets_per_kbyte: packets of the side's direction, super-segments counted once; None where nothing counts them.
    """

    per: Literal["kbyte", "transaction"] = "kbyte"
    classes: tuple[ClassFacts, ...] = ()
    samples: int = 0
    packets_per_kbyte: float | None = None

    def total(self, part: CostPart = "side") -> float:
        """Cycles of the side, or of a part of it."""
        return sum(found.of(part) for found in self.classes)

    def share(self, name: str, part: CostPart = "side") -> float:
        """The share of a class, 0 to 1."""
        total = self.total(part)
        found = self.of_class(name)
        return 0.0 if found is None or total <= 0 else found.of(part) / total

    def of_class(self, name: str) -> ClassFacts | None:
        """The class of this name."""
        return next((found for found in self.classes if found.name == name), None)


State = SenderState | ReceiverState


@dataclass(frozen=True)
class Processors:
    """Use of a host's CPUs: ratios of the measured phase.

    Attributes:
        thread_ratio: CPU time of the busiest of the load's threads.
        run_queue_ratio: how long the thread that waited most for a CPU did so.
        busy_ratio: of the busiest CPU that only this side of the load uses.
        softirq_ratio: softirqs on the CPU that had most of them.
        own_softirq_ratio: the same, of the CPUs that the load's threads ran on.
        router_ratio: of the CPUs that the load ran on, what the router of an emulated path took, on the busiest.
        peer_ratio: of these CPUs, what the load of other sides took, on the busiest; 0 of other machines.
        other_ratio: of these CPUs, what neither load nor router nor softirqs took, on the busiest.
        steal_ratio: of these CPUs, what the hypervisor gave to others, on the one that lost most.
        withheld_ratio: how long the thread that waited most for a CPU did so while neither the load nor the router
            used it.
        own_user_ratio: of these CPUs, what the load's threads had outside the kernel at least, on the one with most.
        cpus: where the load's threads ran.
    """

    thread_ratio: float | None = None
    run_queue_ratio: float | None = None
    busy_ratio: float | None = None
    softirq_ratio: float | None = None
    own_softirq_ratio: float | None = None
    router_ratio: float = 0.0
    peer_ratio: float = 0.0
    other_ratio: float | None = None
    steal_ratio: float | None = None
    withheld_ratio: float | None = None
    own_user_ratio: float | None = None
    cpus: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Calls:
    """The calls that move the payload in this host's direction: writes of the sender, reads of the receiver.

    Ratios are of the threads' time from their first call to their last.

    Attributes:
        count: calls that moved something.
        bytes_mean: payload of such a call.
        ns_mean: time in such a call, waiting left out.
        in_call_ratio: in a read or write call, on a CPU.
        in_softirqs_ratio: under softirqs that came in a call.
        asleep_ratio: asleep before calls that move the payload.
        computing_ratio: running, but in no call.
        runnable_ratio: runnable, without a CPU.
        wakeups_per_s: how often a thread woke from a sleep in or before a call.
    """

    count: int | None = None
    bytes_mean: float | None = None
    ns_mean: float | None = None
    in_call_ratio: float | None = None
    in_softirqs_ratio: float | None = None
    asleep_ratio: float | None = None
    computing_ratio: float | None = None
    runnable_ratio: float | None = None
    wakeups_per_s: float | None = None


@dataclass(frozen=True)
class Sockets:
    """The connections that moved payload, over their whole lives.

    Attributes:
        connections: how many.
        life_ns: from the first call to the last, and `each_ns` the median of a connection.
        payload_bytes: what they moved.
        calls_count: write or read calls.
        buffer_bytes: send buffer of the sender, receive buffer of the receiver, as granted.
        mss_bytes: largest segment.
        no_delay: Nagle is off.
        transport: what carried the payload.
    """

    connections: int = 0
    life_ns: int = 0
    each_ns: int | None = None
    payload_bytes: int = 0
    calls_count: int | None = None
    buffer_bytes: int | None = None
    mss_bytes: int | None = None
    no_delay: bool | None = None
    transport: str | None = None


@dataclass(frozen=True)
class Devices:
    """The host's network devices.

    Attributes:
        sent_packets: packets that the one which carried most sent.
        sent_bytes: the bytes of these, whoever sent them.
        dropped_packets: dropped after they had arrived, or before they left.
        receive_offload: whether the device that has most of the packets puts together what arrives (GRO).
    """

    sent_packets: int | None = None
    sent_bytes: int | None = None
    dropped_packets: int | None = None
    receive_offload: bool | None = None


@dataclass(frozen=True)
class HostFacts:
    """One side of all connections together.

    Attributes:
        host: near or far.
        shares: part of the connections' lives in each limit state.
        spells: how often it was in each of them, and `longest` when it was longest.
        encrypts: whether the application encrypts what its calls move, as over TLS.
        cost: what its CPU time goes to, from the samples of the cell's trials; None where none has any.
        stages: what the stages of a packet take, from the cell's trials with stage times; None where it has none.
        watched: what samples of the sockets of another program show; None of the own load.
    """

    host: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    spells: Mapping[str, int] = field(default_factory=dict)
    longest: Mapping[str, tuple[Spell, ...]] = field(default_factory=dict)
    encrypts: bool = False
    processors: Processors = field(default_factory=Processors)
    calls: Calls = field(default_factory=Calls)
    sockets: Sockets = field(default_factory=Sockets)
    devices: Devices = field(default_factory=Devices)
    limits: HostLimits = field(default_factory=HostLimits)
    cost: CostFacts | None = None
    stages: StageFacts | None = None
    watched: WatchedSockets | None = None

    def ratio(self, *states: State) -> float:
        """Part of the time that these states have together."""
        return sum(self.shares.get(state.value, 0.0) for state in states)

    @property
    def payload_ratio(self) -> float | None:
        """Cost of moving the payload, of the CPU that the threads run on: calls less the softirqs that came in them,
        and softirqs; None without a log of calls.

        The clock of a call runs on while a virtual machine's CPU does not; that of the thread, which is exact, bounds
        it.
        """
        if self.calls.in_call_ratio is None:
            return None
        within = self.calls.in_softirqs_ratio or 0.0
        own = max(0.0, self.calls.in_call_ratio - within)
        if self.processors.thread_ratio is not None:
            own = min(own, self.processors.thread_ratio)
        return min(1.0, own + max(within, self.processors.own_softirq_ratio or 0.0))

    @property
    def on_cpu_ratio(self) -> float | None:
        """Part of its busiest CPU that this side itself takes: threads and softirqs. Other programs, the other side and
        the router of an emulated path are left out.

        Of another program nobody set a CPU aside: what its host's busiest CPU does may have nothing to do with it.
        """
        cpu = self.processors
        is_known = cpu.busy_ratio is not None and self.watched is None
        others = (cpu.other_ratio or 0.0) + cpu.router_ratio + cpu.peer_ratio
        own = max(0.0, (cpu.busy_ratio or 0.0) - others) if is_known else None
        known = [value for value in (cpu.thread_ratio, own, cpu.softirq_ratio) if value is not None]
        return min(1.0, max(known)) if known else None

    @property
    def wanted_ratio(self) -> float | None:
        """Part of a CPU that this side would take: what it has, and what its busiest thread waited for.

        The router of an emulated path runs before the load, and lets it run when the router sleeps: a wait for it is a
        delay, and shows nothing of how much the thread would take.
        """
        own, cpu = self.on_cpu_ratio, self.processors
        return None if own is None else min(1.0, own + max(0.0, (cpu.run_queue_ratio or 0.0) - cpu.router_ratio))
