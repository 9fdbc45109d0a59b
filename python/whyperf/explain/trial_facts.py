"""What the rules look at: plain figures of one trial, gathered once.

A rule sees what a user of two real hosts has: segments, calls, counters, TCP_INFO, CPUs, devices, buffers as the kernel
reports them. The factors of a trial and the emulated path's own counters are not here, so no rule can peep at the
answer. None is not known; times are ns, ratios are of the load's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

from whyperf.explain.host_limits import HostLimits
from whyperf.explain.model import Budget, Pattern, Phase, Spell
from whyperf.explain.states import ReceiverState, SenderState

State = SenderState | ReceiverState

SENT_AS_ASKED = 0.97
"""Share of the rate that was asked for from which on a sender reaches it: pacing by timers falls short by a little."""


@dataclass(frozen=True)
class Processors:
    """How busy a host's CPUs were: ratios of the measured phase.

    Attributes:
        thread_ratio: CPU time of the busiest of the load's threads.
        run_queue_ratio: how long the thread that waited most for a CPU did so.
        busy_ratio: of the busiest CPU that only this side of the load uses.
        softirq_ratio: softirqs on the CPU that had most of them.
        own_softirq_ratio: the same, of the CPUs that the load's threads ran on.
        other_ratio: of the CPUs that the load ran on, what neither the load nor softirqs took, on the busiest.
        steal_ratio: of these CPUs, what the hypervisor gave to others, on the one that lost most.
        withheld_ratio: how long the thread that waited most for a CPU did so while the load did not use it itself.
        own_user_ratio: of these CPUs, what the load's threads had outside the kernel at least, on the one with most.
        cpus: where the load's threads ran.
    """

    thread_ratio: float | None = None
    run_queue_ratio: float | None = None
    busy_ratio: float | None = None
    softirq_ratio: float | None = None
    own_softirq_ratio: float | None = None
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
        asleep_other_ratio: asleep before calls of the other direction: an answer is waited for.
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
    asleep_other_ratio: float | None = None
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
        clamp_bytes: upper bound of the announced window.
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
    clamp_bytes: int | None = None
    mss_bytes: int | None = None
    no_delay: bool | None = None
    transport: str | None = None


@dataclass(frozen=True)
class Devices:
    """The host's network devices.

    Attributes:
        sent_packets: packets that they sent.
        dropped_packets: dropped after they had arrived, or before they left.
        receive_offload: whether the device that has most of the packets puts together what arrives (GRO).
    """

    sent_packets: int | None = None
    dropped_packets: int | None = None
    receive_offload: bool | None = None


@dataclass(frozen=True)
class HostFacts:
    """One side of all connections together.

    Attributes:
        host: near or far.
        shares: part of the connections' lives in each limit state.
        spells: how often it was in each of them, and `longest` when it was longest.
    """

    host: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    spells: Mapping[str, int] = field(default_factory=dict)
    longest: Mapping[str, tuple[Spell, ...]] = field(default_factory=dict)
    processors: Processors = field(default_factory=Processors)
    calls: Calls = field(default_factory=Calls)
    sockets: Sockets = field(default_factory=Sockets)
    devices: Devices = field(default_factory=Devices)
    limits: HostLimits = field(default_factory=HostLimits)

    def ratio(self, *states: State) -> float:
        """What these states have of the time together."""
        return sum(self.shares.get(state.value, 0.0) for state in states)

    @property
    def payload_ratio(self) -> float | None:
        """What moving the payload takes of the CPU that the threads run on: calls less the softirqs that came in them,
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
        """How much of its busiest CPU this side itself takes: threads and softirqs, other programs left out."""
        cpu = self.processors
        own = None if cpu.busy_ratio is None else max(0.0, cpu.busy_ratio - (cpu.other_ratio or 0.0))
        known = [value for value in (cpu.thread_ratio, own, cpu.softirq_ratio) if value is not None]
        return min(1.0, max(known)) if known else None

    @property
    def wanted_ratio(self) -> float | None:
        """How much of a CPU this side would take: what it has, and what its busiest thread waited for."""
        own = self.on_cpu_ratio
        return None if own is None else min(1.0, own + (self.processors.run_queue_ratio or 0.0))


@dataclass(frozen=True)
class WindowFacts:
    """Windows and round trips, of all samples or segments of the sender.

    Attributes:
        announced_bytes_max: largest window the receiver announced.
        announced_bytes_median: the median one, of segments that arrived at the sender.
        flight_bytes_max: most bytes unacknowledged.
        flight_bytes_median: the median when data left.
        rtt_ns_min: smallest round-trip time.
        rtt_ns_median: median smoothed round-trip time.
        rtt_ns_high: the 95th percentile of the smoothed round-trip time.
        cwnd_segments_median: median congestion window.
        delivered_bps_high: the 90th percentile of what all connections together got acknowledged in half a second, and
            `delivered_bps_max` the most.
        application_limited_ratio: part of the samples in which nothing waited to be sent (tcpi_notsent_bytes), or the
            sender's kernel says that it had too little to send (tcpi_delivery_rate_app_limited).
        leaves_slow_start: whether the slow-start threshold was ever set.
        window_scaling: whether both sides agreed on it; without it no window is above 65,535 bytes.
    """

    announced_bytes_max: int | None = None
    announced_bytes_median: int | None = None
    flight_bytes_max: int | None = None
    flight_bytes_median: int | None = None
    rtt_ns_min: int | None = None
    rtt_ns_median: int | None = None
    rtt_ns_high: int | None = None
    cwnd_segments_median: int | None = None
    delivered_bps_high: float | None = None
    delivered_bps_max: float | None = None
    application_limited_ratio: float | None = None
    leaves_slow_start: bool | None = None
    window_scaling: bool | None = None

    @property
    def rtt_growth(self) -> float | None:
        """The median round trip over the smallest."""
        if not self.rtt_ns_min or self.rtt_ns_median is None:
            return None
        return self.rtt_ns_median / self.rtt_ns_min


@dataclass(frozen=True)
class Population:
    """Connections that the same thing holds, where others are held by something else.

    Attributes:
        connections: how many, and `of` how many there are.
        shares: part of their lives in each state of the sender.
        windows: their windows and round trips.
    """

    connections: int
    of: int
    shares: Mapping[str, float]
    windows: WindowFacts


@dataclass(frozen=True)
class LostRun:
    """Segments that left one after the other and were all lost.

    `rank` is where the first of them stands among all segments by the backlog it met: 0.5 is anywhere, 1 at the most;
    None where the bottleneck rate is not known.
    """

    connection: int
    begin_ns: int
    end_ns: int
    segments: int
    rank: float | None


@dataclass(frozen=True)
class Losses:
    """Lost segments. All but `ratio` need the logs of both hosts.

    Attributes:
        ratio: bytes that left the sender and never arrived, over all.
        events: losses that came more than a round trip after the one before.
        runs: losses of segments that left one after the other.
        segments_per_run: how many segments such a run had, of those that were not a queue's.
        backlog_rank: where losses stand among all segments by the backlog before the bottleneck: 0.5 is anywhere, 1 at
            the fullest only.
        random_ratio: the most likely part of the loss events that came without regard to that backlog; `random_low`
            and `random_high` are the bounds of its 90 % interval.
        burst_likelihood_log10: decimal logarithm of the likelihood ratio of burst losses over independent losses.
        examples: the longest runs, with their place.
    """

    ratio: float | None = None
    events: int | None = None
    runs: int | None = None
    segments_per_run: float | None = None
    backlog_rank: float | None = None
    random_ratio: float | None = None
    random_low: float | None = None
    random_high: float | None = None
    burst_likelihood_log10: float | None = None
    examples: tuple[LostRun, ...] = ()


@dataclass(frozen=True)
class BottleneckRate:
    """The rate of the path's bottleneck, headers included; None where too little arrived.

    Attributes:
        bps: the most frequent rate of pairs of segments that arrived; without a log, the constant rate at which the
            sender's kernel counted deliveries while a queue stood on the path.
        steadiness: part of the pairs, or of the time with a queue, that has about this rate.
        use_ratio: all that arrived over what a bottleneck of this rate could have carried.
        spread: how far the rate varied while a queue stood; None with a log.
        is_seen_when_full: whether it shows only while the queue was longest; `steadiness` and `spread` are of then.
    """

    bps: float | None = None
    steadiness: float | None = None
    use_ratio: float | None = None
    spread: float | None = None
    is_seen_when_full: bool = False


@dataclass(frozen=True)
class QueueFacts:
    """The queue before the path's bottleneck, by what it adds to delays; None where not known.

    With the logs of both hosts these are the delays of segments in the payload's direction, and of ACKs in the other.
    Without a log they are what the smoothed round trip has above its minimum.

    Attributes:
        standing_ratio: part of the time in which a queue stood.
        delay_ns_median: the median delay above the smallest, and `delay_ns_high` the 95th percentile.
        own_ratio: part of that delay that the own segments before the bottleneck explain; needs the log.
        jitter_ratio: how far a delay is from the one shortly before, over the median delay, while a queue stands: a
            queue fills and drains, jitter leaps.
        full_bps: the median own rate while the queue was longest, headers included.
        full_spread: how far that rate varies: its range from the 10th to the 90th percentile, over the median.
        full_count: in how many steps, or segments, the queue was that long.
        full_ratio: part of the time, or of the segments, in which the queue was that long.
        losses_full_ratio: part of the losses that came then.
        lossy_bps: the median own rate in steps with losses, headers included, and `lossy_spread` how far it varies.
        lossy_count: how many steps had losses.
        back_delay_ns_median: the median delay of ACKs above the smallest; needs the logs.
        marked_ratio: part of the delivered segments that the path had marked (ECN).
    """

    standing_ratio: float | None = None
    delay_ns_median: float | None = None
    delay_ns_high: float | None = None
    own_ratio: float | None = None
    jitter_ratio: float | None = None
    full_bps: float | None = None
    full_spread: float | None = None
    full_count: int | None = None
    full_ratio: float | None = None
    losses_full_ratio: float | None = None
    lossy_bps: float | None = None
    lossy_spread: float | None = None
    lossy_count: int | None = None
    back_delay_ns_median: float | None = None
    marked_ratio: float | None = None

    @property
    def own_losses_ratio(self) -> float | None:
        """Part of the losses that the queue caused: others come as often while it is full as at any time."""
        if self.losses_full_ratio is None:
            return None
        always = self.full_ratio or 0.0
        return max(0.0, (self.losses_full_ratio - always) / (1 - always)) if always < 1 else 1.0


@dataclass(frozen=True)
class OutageFacts:
    """Spans of the measured phase in which nothing was acknowledged though data was under way, and TCP's timer doubled.

    Attributes:
        longest_ns: the longest of them; 0 without any.
        length_ns: all together.
        span_ratio: part of the measured phase.
        from_ns: when the longest began, after the first sample of that phase.
    """

    longest_ns: int = 0
    length_ns: int = 0
    span_ratio: float = 0.0
    from_ns: int = 0


@dataclass(frozen=True)
class PolicingFacts:
    """The rate while segments were lost, from what the sender's kernel counts as delivered; None where too few were.

    Attributes:
        bps: the median rate of all connections together, in steps with losses, headers included.
        spread: how far that rate varies, over three steps each: from the 10th to the 90th percentile, over the median.
        lossy_ratio: part of the steps that had losses.
        delay_ns: the median growth of the round trip in these steps that is a queue's.
        faster_times: the highest rate of the trial over this rate.
    """

    bps: float | None = None
    spread: float | None = None
    lossy_ratio: float = 0.0
    delay_ns: float = 0.0
    faster_times: float = 1.0


@dataclass(frozen=True)
class Pacing:
    """The pacing rate that most segments or samples saw, and the part of them that saw just this rate; 0 where higher
    ones were seen as well, for a limit is the highest."""

    bps: float | None = None
    constant_ratio: float | None = None


@dataclass(frozen=True)
class RequestCycle:
    """Requests and answers by the sender's log; None where no data comes back.

    Attributes:
        answer_ratio: part of the time from the last data sent to the answer.
        think_ratio: part of the time from the answer to the next data sent.
        cycle_ns: the mean time from a request to the next.
        exchange_ns: the median time from the first data of a request to its answer.
        answer_ns: the median time from the last data of a request to its answer.
        think_ns: the median time from an answer to the next request.
    """

    answer_ratio: float | None = None
    think_ratio: float | None = None
    cycle_ns: float | None = None
    exchange_ns: float | None = None
    answer_ns: float | None = None
    think_ns: float | None = None

    @property
    def waiting_ratio(self) -> float:
        """Share of the time between the last data of a request and the first of the next."""
        return (self.answer_ratio or 0.0) + (self.think_ratio or 0.0)


@dataclass(frozen=True)
class SegmentFacts:
    """What went over the wire; losses and their order need the logs of both hosts.

    Attributes:
        data_segments: data segments sent, as on the wire.
        data_packets: data packets that left TCP, a super-segment counting once.
        segment_bytes_mean: payload of a segment on the wire.
        sent_segments_per_packet: segments of a packet as it left TCP; 1 without segmentation offload.
        taken_segments_per_packet: the same as it arrived at the receiver's TCP; 1 without receive offload.
        retransmitted_ratio: segments sent again over all.
        timeouts: segments sent again after a timeout.
        needless_timeouts: those that the receiver had acknowledged, by its log; None without it.
        out_of_order_ratio: data packets that arrived out of order over all; without a log, less what retransmissions
            explain.
        reordering_events: times that the sender's kernel saw reordering; None where it does not count them.
        spurious_ratio: of what was sent again, the part that had not been lost.
        acks_arrived_ratio: pure ACKs that arrived over those the receiver sent.
        acks_per_segment: pure ACKs sent over data segments arrived.
        ack_reasons: part of the receiver's pure ACKs by reason.
        data_back_packets: data packets from the receiver to the sender: answers.
        held_ratio: part of the time in which the receiver's timer held back an ACK, and data came as soon as it was
            sent.
        released_bytes: median size of the packets that such an ACK released.
    """

    data_segments: int | None = None
    data_packets: int | None = None
    segment_bytes_mean: float | None = None
    sent_segments_per_packet: float | None = None
    taken_segments_per_packet: float | None = None
    retransmitted_ratio: float | None = None
    timeouts: int | None = None
    needless_timeouts: int | None = None
    out_of_order_ratio: float | None = None
    reordering_events: int | None = None
    spurious_ratio: float | None = None
    acks_arrived_ratio: float | None = None
    acks_per_segment: float | None = None
    ack_reasons: Mapping[str, float] = field(default_factory=dict)
    data_back_packets: int | None = None
    held_ratio: float | None = None
    released_bytes: float | None = None
    losses: Losses = field(default_factory=Losses)
    bottleneck: BottleneckRate = field(default_factory=BottleneckRate)
    queue: QueueFacts = field(default_factory=QueueFacts)
    policing: PolicingFacts = field(default_factory=PolicingFacts)
    outage: OutageFacts = field(default_factory=OutageFacts)
    pacing: Pacing = field(default_factory=Pacing)
    cycle: RequestCycle = field(default_factory=RequestCycle)


@dataclass(frozen=True)
class ExchangeFacts:
    """Transactions that ask and are answered, as the application itself counts them in the measured phase.

    What an application does is no hidden factor: its user knows that it waits for answers.

    Attributes:
        count: how many ended.
        per_s: in a second.
        calls_each: system calls of one, at the end that begins it.
        latency_ns: the median time from its start to its end.
        connect_ns: the median time that it takes to open the connection of its own that each of them has; None where
            connections stay open.
        payload_ratio: their part of all payload, in both directions.
    """

    count: int
    per_s: float
    calls_each: float
    latency_ns: float | None = None
    connect_ns: float | None = None
    payload_ratio: float = 1.0

    @property
    def at_once(self) -> float | None:
        """How many were under way at once (Little's law)."""
        return None if self.latency_ns is None else self.per_s * self.latency_ns / 1e9


@dataclass(frozen=True)
class RequestedLoad:
    """What an open loop was asked for. It is no hidden factor: whoever sets a rate knows it.

    Attributes:
        bps: payload of a stream or of datagrams, all connections together; None where it goes as fast as it can.
        intended_count: transactions that were to start in the measured phase, which is `span_ns` long; None where one
            starts when another ends. `ended_count` are those that ended.
        slots: how many transactions may be under way at once.
        transfer_bytes: payload of each connection, which ends with it; None where the time is set.
        is_greedy: a stream whose sender always has more to write.
        batch_count: datagrams that are handed over at once, over all connections; 1 each without a batch.
        merged_count: datagrams that a receiving socket may hold as one (UDP_GRO).
    """

    bps: float | None = None
    intended_count: int | None = None
    ended_count: int = 0
    span_ns: int = 0
    slots: int | None = None
    transfer_bytes: int | None = None
    is_greedy: bool = False
    batch_count: int = 0
    merged_count: int = 1

    def per_s(self, counted: int) -> float:
        """A count over the measured time."""
        return counted * 1e9 / max(1, self.span_ns)

    @property
    def are_all_ended(self) -> bool:
        """Whether as many transactions end as were to start, but for those that happen to be under way at its end.

        Random arrivals vary by the square root of their number (Poisson).
        """
        if not self.intended_count:
            return False
        late = self.intended_count - self.ended_count
        return late <= 0.1 * self.intended_count and late <= max(
            (1 - SENT_AS_ASKED) * self.intended_count, 2 * sqrt(self.intended_count)
        )


@dataclass(frozen=True)
class TransportFacts:
    """What the library of UDT, QUIC or SRT says of the sender's connections, in the measured phase.

    Attributes:
        packet_bytes: most payload of a packet.
        rtt_ns_min: the smallest round trip of any sample, and `rtt_ns_median` the median one.
        cwnd_bytes: the median congestion window of a connection.
        peer_window_bytes: the median room that the receiver announced.
        flight_bytes: the median of what was sent and not acknowledged; None where the library does not say.
        period_bps: the rate of a packet in each sending period, if the library sends by one.
        sent_packets: packets sent, those sent again included, and `lost_packets` those taken for lost.
        sent_bps: what a connection sent.
        bottleneck: the path's rate, if packets went at one.
    """

    packet_bytes: float = 0.0
    rtt_ns_min: float | None = None
    rtt_ns_median: float | None = None
    cwnd_bytes: float | None = None
    peer_window_bytes: float | None = None
    flight_bytes: float | None = None
    period_bps: float | None = None
    sent_packets: int = 0
    lost_packets: int = 0
    sent_bps: float | None = None
    bottleneck: BottleneckRate = field(default_factory=BottleneckRate)

    @property
    def lost_ratio(self) -> float:
        """Packets taken for lost over all that were sent."""
        return self.lost_packets / max(1, self.sent_packets)

    @property
    def in_flight_bytes(self) -> float | None:
        """What is in flight: as the library counts it, else what is sent in a round trip (Little's law)."""
        if self.flight_bytes is not None or self.sent_bps is None or self.rtt_ns_median is None:
            return self.flight_bytes
        return self.sent_bps * self.rtt_ns_median / 8e9


@dataclass(frozen=True)
class DatagramFacts:
    """Datagrams of the measured phase, by their numbers and by the receiving socket's own count.

    Attributes:
        sent_count: taken by the sender's kernel.
        taken_count: read by the receiver, with `taken_bytes` of payload.
        dropped_count: dropped at the receiving socket, which had no room.
        span_ns: how long that was.
        asked_bps: what the user asked the sender to send; None where he asked for as much as possible. It is no hidden
            factor: whoever sets a rate knows it.
        steps: how many datagrams were read in each interval, as of intervals of equal length.
        batch_count: datagrams that the sender hands over at once, over all connections.
    """

    sent_count: int
    taken_count: int
    dropped_count: int
    taken_bytes: int
    span_ns: int
    asked_bps: float | None = None
    steps: tuple[float, ...] = ()
    batch_count: int = 0

    def per_s(self, counted: int) -> float:
        """A count over the measured time."""
        return counted * 1e9 / max(1, self.span_ns)

    @property
    def sent_bps(self) -> float:
        """Payload that the sender's kernel took, in bit/s: datagrams that arrive are as large as those that do not."""
        return 8 * self.per_s(self.sent_count) * self.taken_bytes / max(1, self.taken_count)

    @property
    def is_sent_as_asked(self) -> bool:
        """Whether the sender reaches the rate that the user asked for."""
        if not self.asked_bps:
            return False
        # A batch that was due at the end may count for the next phase.
        due = 1 + self.batch_count / max(1, self.sent_count)
        return self.sent_bps * due >= SENT_AS_ASKED * self.asked_bps

    @property
    def dropped_ratio(self) -> float:
        """What the socket dropped, of all that reached it."""
        return self.dropped_count / max(1, self.dropped_count + self.taken_count)

    @property
    def missed_ratio(self) -> float:
        """What was sent and did not reach the socket, of all that was sent."""
        return max(0.0, 1 - (self.dropped_count + self.taken_count) / max(1, self.sent_count))


MIN_PLACED = 3
"""Fewer losses whose place is known show no part."""


@dataclass(frozen=True)
class Facts:
    """All of it.

    Attributes:
        trial: whose.
        level: what the states are from: segments (the log), counters or user (the kernel's own clocks).
        life_ns: from the first to the last byte of all connections.
        rate_bps: payload over that.
        goodput_bps: what the cell's trials without the log measured, if there are any.
        link_bps: the slower of the links that the hosts' devices state, headers included; None where none states one.
        connections: how many carried payload.
        one_machine: both sides run on the same machine, so that they can share a CPU.
        is_turned: the sender is the end that the trial called the receiver: a workload that mostly asks.
        transport: what carried the payload; only of tcp there are windows and a time budget.
        asked: the rate that an open loop was asked for.
        own: what the library of a transport other than TCP counts, if there is one.
        exchanges: transactions that are answered, if the workload has any.
        datagrams: what became of them, if it sent any.
        populations: the sender's connections by what holds them; nothing where all are alike.
        budgets: where the time of each connection and end went, if there is a log.
        patterns: the segment flow of its connections, if there is a log.
        missing: what evidence there is none of, in sentences.
        gaps: what logs lack that are nearly complete, in sentences.
    """

    trial: str
    level: str = "segments"
    life_ns: int = 0
    rate_bps: float | None = None
    goodput_bps: float | None = None
    link_bps: float | None = None
    connections: int = 1
    one_machine: bool = False
    is_turned: bool = False
    sender: HostFacts = field(default_factory=HostFacts)
    receiver: HostFacts = field(default_factory=HostFacts)
    windows: WindowFacts = field(default_factory=WindowFacts)
    segments: SegmentFacts = field(default_factory=SegmentFacts)
    transport: str = "tcp"
    asked: RequestedLoad = field(default_factory=RequestedLoad)
    own: TransportFacts | None = None
    exchanges: ExchangeFacts | None = None
    datagrams: DatagramFacts | None = None
    populations: tuple[Population, ...] = ()
    budgets: tuple[Budget, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    missing: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def asker(self) -> HostFacts:
        """The end that begins a workload's transactions and counts them: the near one."""
        return self.receiver if self.is_turned else self.sender

    @property
    def lost_in_receiver(self) -> int:
        """Segments sent again that had arrived at the receiving host before it asked for them: it lost them."""
        return sum(pattern.losses.lost_in_receiver or 0 for pattern in self.patterns if pattern.losses is not None)

    @property
    def lost_in_receiver_ratio(self) -> float:
        """Their part of the losses whose place is known, which the receiver asked for first; 0 where these are few."""
        on_path = sum(pattern.losses.lost_on_path or 0 for pattern in self.patterns if pattern.losses is not None)
        known = self.lost_in_receiver + on_path
        return self.lost_in_receiver / known if known >= MIN_PLACED else 0.0

    @property
    def longest_phase(self) -> Phase | None:
        """The turn that fills most of the first connection's time."""
        phases = self.patterns[0].phases if self.patterns else []
        return max(phases, key=lambda phase: phase.ratio, default=None)

    @property
    def busiest_ratio(self) -> float | None:
        """How much of a CPU the busier side would use."""
        known = [end.wanted_ratio for end in (self.sender, self.receiver) if end.wanted_ratio is not None]
        return max(known) if known else None
