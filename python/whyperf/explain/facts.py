"""What the rules look at: plain figures of one trial, gathered once.

A rule sees what a user of two real hosts has: segments, calls, counters, TCP_INFO, CPUs, devices, buffers as the kernel
reports them. The factors of a trial and the emulated path's own counters are not here, so no rule can peep at the
answer. None is not known; times are ns, ratios are of the load's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from whyperf.explain.model import Budget, Pattern, Phase, Spell
from whyperf.explain.states import ReceiverState, SenderState

State = SenderState | ReceiverState

SENT_AS_ASKED = 0.97
"""Part of the rate that was asked for from which on a sender reaches it: pacing by timers falls short by a little."""


@dataclass(frozen=True)
class EndFacts:
    """One end of all connections together.

    Attributes:
        host: near or far.
        shares: part of the connections' lives in each limit state.
        spells: how often it was in each of them, and `longest` when it was longest.
        thread_ratio: CPU time of the busiest of the load's threads.
        run_queue_ratio: how long the thread that waited most for a CPU did so.
        busy_ratio: of the busiest of the CPUs that are this end's alone.
        softirq_ratio: softirqs on the CPU that had most of them.
        other_ratio: of the CPUs that the load ran on, what neither the load nor softirqs took, on the busiest.
        steal_ratio: of these CPUs, what the hypervisor gave to others, on the one that lost most.
        withheld_ratio: how long the thread that waited most for a CPU did so while the load did not use it itself.
        cpus: where the load's threads ran.
        buffer_bytes: send buffer of the sender, receive buffer of the receiver, as granted.
        clamp_bytes: upper bound of the announced window.
        calls_count: write or read calls.
        call_bytes_mean: payload of a call.
        call_ns_mean: time in a call that moved something, waiting left out.
        in_call_ratio: the threads' time in read and write calls, on a CPU.
        payload_ratio: what moving the payload takes of the CPU that the threads run on: their calls and softirqs.
        wakeups_per_s: how often a thread woke from a sleep in or before a call.
        asleep_ratio: their time asleep between the calls that move this end's payload.
        asleep_other_ratio: asleep before calls of the other kind: an answer is waited for.
        computing_ratio: running, but in no call.
        runnable_ratio: wanting a CPU and not having one.
        device_packets: packets that its devices sent.
        dropped_packets: dropped by the host's devices after they had arrived, or before they left.
        receive_offload: whether the device that has most of the packets puts together what arrives (GRO).
        no_delay: Nagle is off.
        mss_bytes: largest segment.
    """

    host: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    spells: Mapping[str, int] = field(default_factory=dict)
    longest: Mapping[str, tuple[Spell, ...]] = field(default_factory=dict)
    thread_ratio: float | None = None
    run_queue_ratio: float | None = None
    busy_ratio: float | None = None
    softirq_ratio: float | None = None
    other_ratio: float | None = None
    steal_ratio: float | None = None
    withheld_ratio: float | None = None
    cpus: frozenset[int] = frozenset()
    buffer_bytes: int | None = None
    clamp_bytes: int | None = None
    calls_count: int | None = None
    call_bytes_mean: float | None = None
    call_ns_mean: float | None = None
    in_call_ratio: float | None = None
    payload_ratio: float | None = None
    wakeups_per_s: float | None = None
    asleep_ratio: float | None = None
    asleep_other_ratio: float | None = None
    computing_ratio: float | None = None
    runnable_ratio: float | None = None
    device_packets: int | None = None
    dropped_packets: int | None = None
    receive_offload: bool | None = None
    no_delay: bool | None = None
    mss_bytes: int | None = None

    def ratio(self, *states: State) -> float:
        """What these states have of the time together."""
        return sum(self.shares.get(state.value, 0.0) for state in states)

    @property
    def on_cpu_ratio(self) -> float | None:
        """How much of its busiest CPU the end itself takes: threads and softirqs, other programs left out."""
        own = None if self.busy_ratio is None else max(0.0, self.busy_ratio - (self.other_ratio or 0.0))
        known = [value for value in (self.thread_ratio, own, self.softirq_ratio) if value is not None]
        return min(1.0, max(known)) if known else None

    @property
    def wanted_ratio(self) -> float | None:
        """How much of a CPU the end would take: what it has, and what its busiest thread waited for."""
        own = self.on_cpu_ratio
        return None if own is None else min(1.0, own + (self.run_queue_ratio or 0.0))


@dataclass(frozen=True)
class WindowFacts:
    """Windows and round trips, of all samples or segments of the sender.

    Attributes:
        announced_bytes_max: largest window the receiver announced.
        announced_bytes_median: the middle one, of segments that arrived at the sender.
        flight_bytes_max: most bytes unacknowledged.
        flight_bytes_median: the middle one when data left.
        rtt_ns_min: smallest round-trip time.
        rtt_ns_median: middle smoothed round-trip time.
        rtt_ns_high: the 95th percentile of the smoothed round-trip time.
        cwnd_segments_median: middle congestion window.
        delivered_bps_high: the 90th percentile of what all connections together got acknowledged in half a second, and
            `delivered_bps_max` the most.
        application_limited_ratio: part of the samples in which nothing waited to be sent (tcpi_notsent_bytes), or the
            sender's kernel says that it had too little to send (tcpi_delivery_rate_app_limited).
        leaves_slow_start: whether the slow-start threshold was ever set.
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

    @property
    def rtt_growth(self) -> float | None:
        """The middle round trip over the smallest."""
        if not self.rtt_ns_min or self.rtt_ns_median is None:
            return None
        return self.rtt_ns_median / self.rtt_ns_min


@dataclass(frozen=True)
class LostRun:
    """Segments that left one after the other and were all lost.

    `rank` is where the first of them stands among all segments by the backlog it met: 0.5 is anywhere, 1 at the most;
    None without a rate of the line.
    """

    connection: int
    begin_ns: int
    end_ns: int
    segments: int
    rank: float | None


@dataclass(frozen=True)
class SegmentFacts:
    """What went over the wire; only both ends' logs tell losses and their order.

    Attributes:
        data_segments: data segments sent, as on the wire.
        data_packets: data packets that left TCP, a super-segment counting once.
        segment_bytes_mean: payload of a segment on the wire.
        sent_segments_per_packet: segments of a packet as it left TCP; 1 without segmentation offload.
        taken_segments_per_packet: the same as it arrived at the receiver's TCP; 1 without receive offload.
        retransmitted_ratio: segments sent again over all.
        lost_ratio: bytes that left the sender and never arrived, over all.
        loss_events: losses that came more than a round trip after the one before.
        loss_runs: losses of segments that left one after the other.
        lost_segments_per_run: how many segments such a run had, of those that were not a queue's.
        timeouts: segments sent again after a timeout.
        out_of_order_ratio: data packets that arrived out of order over all; without a log, less what retransmissions
            explain.
        reordering_events: times that the sender's kernel saw reordering; None where it does not count them.
        spurious_ratio: of what was sent again, the part that had not been lost.
        loss_backlog_rank: where losses stand among all segments by the backlog before the line: 0.5 is anywhere, 1 at
            the fullest only.
        loss_scattered_ratio: part of the loss events that came without regard to that backlog, as is most to be
            believed; `loss_scattered_low` and `_high` are the ends of its 90 % interval.
        loss_burst_odds_log10: how much likelier these are bursts than losses that know nothing of each other.
        loss_examples: the longest runs, with their place.
        acks_arrived_ratio: pure ACKs that arrived over those the receiver sent.
        acks_per_segment: pure ACKs sent over data segments arrived.
        ack_reasons: part of the receiver's pure ACKs by reason.
        data_back_packets: data packets from the receiver to the sender: answers.
        pacing_bps: the pacing rate that most segments saw.
        pacing_constant_ratio: part of the segments that saw just this rate.
        held_ratio: part of the time in which the receiver's timer held back an ACK, and data came as soon as it let go.
        released_bytes: the middle one of the packets that such an ACK released.
        answer_ratio: part of the time from the last data sent to the answer; None where no data comes back.
        think_ratio: part of the time from the answer to the next data sent.
        turn_ns: the mean time from a request to the next.
        exchange_ns: the middle time from the first data of a request to its answer; `answer_ns` from the last,
            `think_ns` from the answer to the next request.
        line_bps: the most frequent rate of pairs of segments that arrived, headers included; without a log, the
            constant rate at which the sender's kernel counted deliveries while a queue stood on the path.
        line_steadiness: part of the pairs, or of the time, that has about this rate.
        line_use_ratio: all that arrived over what a line of this rate could have carried.
    """

    data_segments: int | None = None
    data_packets: int | None = None
    segment_bytes_mean: float | None = None
    sent_segments_per_packet: float | None = None
    taken_segments_per_packet: float | None = None
    retransmitted_ratio: float | None = None
    lost_ratio: float | None = None
    loss_events: int | None = None
    loss_runs: int | None = None
    lost_segments_per_run: float | None = None
    timeouts: int | None = None
    out_of_order_ratio: float | None = None
    reordering_events: int | None = None
    spurious_ratio: float | None = None
    loss_backlog_rank: float | None = None
    loss_scattered_ratio: float | None = None
    loss_scattered_low: float | None = None
    loss_scattered_high: float | None = None
    loss_burst_odds_log10: float | None = None
    loss_examples: tuple[LostRun, ...] = ()
    acks_arrived_ratio: float | None = None
    acks_per_segment: float | None = None
    ack_reasons: Mapping[str, float] = field(default_factory=dict)
    data_back_packets: int | None = None
    pacing_bps: float | None = None
    pacing_constant_ratio: float | None = None
    held_ratio: float | None = None
    released_bytes: float | None = None
    answer_ratio: float | None = None
    think_ratio: float | None = None
    turn_ns: float | None = None
    exchange_ns: float | None = None
    answer_ns: float | None = None
    think_ns: float | None = None
    line_bps: float | None = None
    line_steadiness: float | None = None
    line_use_ratio: float | None = None


@dataclass(frozen=True)
class ExchangeFacts:
    """Transactions that ask and are answered, as the application itself counts them in the measured phase.

    What an application does is no hidden factor: its user knows that it waits for answers.

    Attributes:
        count: how many ended.
        per_s: in a second.
        calls_each: system calls of one, at the end that begins it.
        latency_ns: the middle time from its begin to its end.
    """

    count: int
    per_s: float
    calls_each: float
    latency_ns: float | None = None

    @property
    def at_once(self) -> float | None:
        """How many were under way at once (Little's law)."""
        return None if self.latency_ns is None else self.per_s * self.latency_ns / 1e9


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
    """

    sent_count: int
    taken_count: int
    dropped_count: int
    taken_bytes: int
    span_ns: int
    asked_bps: float | None = None

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
        return bool(self.asked_bps and self.sent_bps >= SENT_AS_ASKED * self.asked_bps)

    @property
    def dropped_ratio(self) -> float:
        """What the socket dropped, of all that reached it."""
        return self.dropped_count / max(1, self.dropped_count + self.taken_count)

    @property
    def missed_ratio(self) -> float:
        """What was sent and did not reach the socket, of all that was sent."""
        return max(0.0, 1 - (self.dropped_count + self.taken_count) / max(1, self.sent_count))


@dataclass(frozen=True)
class Facts:
    """All of it.

    Attributes:
        trial: whose.
        level: what the states are from: segments (the log), counters or user (the kernel's own clocks).
        life_ns: from the first to the last byte of all connections.
        rate_bps: payload over that.
        goodput_bps: what the cell's trials without the log measured, if there are any.
        link_bps: the slower of the lines that the ends' devices state, headers included; None where none states one.
        connections: how many carried payload.
        one_machine: both ends run on the same machine, so that they can share a CPU.
        is_turned: the sender is the end that the trial called the receiver: a workload that mostly asks.
        transport: what carried the payload; only of tcp there are windows and a time budget.
        exchanges: transactions that are answered, if the workload has any.
        datagrams: what became of them, if it sent any.
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
    sender: EndFacts = field(default_factory=EndFacts)
    receiver: EndFacts = field(default_factory=EndFacts)
    windows: WindowFacts = field(default_factory=WindowFacts)
    segments: SegmentFacts = field(default_factory=SegmentFacts)
    transport: str = "tcp"
    exchanges: ExchangeFacts | None = None
    datagrams: DatagramFacts | None = None
    budgets: tuple[Budget, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    missing: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def asker(self) -> EndFacts:
        """The end that begins a workload's transactions and counts them: the near one."""
        return self.receiver if self.is_turned else self.sender

    @property
    def lost_in_receiver(self) -> int:
        """Segments sent again that had arrived at the receiving host before it asked for them: it lost them."""
        return sum(one.losses.lost_in_receiver or 0 for one in self.patterns if one.losses is not None)

    @property
    def lost_in_receiver_ratio(self) -> float:
        """Their part of all that was sent again; a go-back-N sends more again than was lost."""
        again = sum(sum(one.losses.kinds.values()) for one in self.patterns if one.losses is not None)
        return self.lost_in_receiver / again if again else 0.0

    @property
    def longest_phase(self) -> Phase | None:
        """The turn that fills most of the first connection's time."""
        phases = self.patterns[0].phases if self.patterns else []
        return max(phases, key=lambda phase: phase.ratio, default=None)

    @property
    def busiest_ratio(self) -> float | None:
        """How much of a CPU the end that wants more of it wants."""
        known = [end.wanted_ratio for end in (self.sender, self.receiver) if end.wanted_ratio is not None]
        return max(known) if known else None
