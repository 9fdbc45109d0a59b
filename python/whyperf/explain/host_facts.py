"""Facts of one host in a trial: its CPUs, its calls, its sockets and devices. None is not known; ratios are of time."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from whyperf.explain.cost_facts import CostFacts
from whyperf.explain.explanation import Spell
from whyperf.explain.host_limits import HostLimits
from whyperf.explain.stage_facts import StageFacts
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.explain.watched_facts import WatchedSockets

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
        sent_packets: packets that they sent.
        sent_bytes: the bytes of these.
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
