"""Figures of a trial's segments: windows, losses, queues, rates. None is not known; times are ns."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
        cwnd_segments_median: median congestion window.
        delivered_bps_high: the 90th percentile of what all connections together got acknowledged in half a second, and
            `delivered_bps_max` the most.
        application_limited_ratio: part of the samples in which nothing waited to be sent (tcpi_notsent_bytes), or the
            sender's kernel says that it had too little to send (tcpi_delivery_rate_app_limited).
        window_scaling: whether both sides agreed on it; without it no window is above 65,535 bytes.
    """

    announced_bytes_max: int | None = None
    announced_bytes_median: int | None = None
    flight_bytes_max: int | None = None
    flight_bytes_median: int | None = None
    rtt_ns_min: int | None = None
    rtt_ns_median: int | None = None
    cwnd_segments_median: int | None = None
    delivered_bps_high: float | None = None
    delivered_bps_max: float | None = None
    application_limited_ratio: float | None = None
    window_scaling: bool | None = None

    @property
    def rtt_growth(self) -> float | None:
        """The median round trip over the smallest."""
        if not self.rtt_ns_min or self.rtt_ns_median is None:
            return None
        return self.rtt_ns_median / self.rtt_ns_min


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
        random_ratio: the most likely part of the loss events that came without regard to that backlog.
        burst_likelihood_log10: decimal logarithm of the likelihood ratio of burst losses over independent losses.
        examples: the longest runs, with their place.
    """

    ratio: float | None = None
    events: int | None = None
    runs: int | None = None
    segments_per_run: float | None = None
    backlog_rank: float | None = None
    random_ratio: float | None = None
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
        delay_ns_median: the median delay above the smallest.
        own_ratio: part of that delay that the own segments before the bottleneck explain; needs the log.
        jitter_ratio: how far a delay is from the one shortly before, over the median delay, while a queue stands: a
            queue fills and drains, jitter leaps.
        full_bps: the median own rate while the queue was longest, headers included.
        full_spread: how far that rate varies: its range from the 10th to the 90th percentile, over the median.
        full_ratio: part of the time, or of the segments, in which the queue was that long.
        losses_full_ratio: part of the losses that came then.
        back_delay_ns_median: the median delay of ACKs above the smallest, without a log above half of the smallest
            round trip; needs both hosts.
        is_of_acks: whether most of the delay is that of ACKs: no queue before a bottleneck. Without a log only; with
            one, the delays are those of the payload's direction.
        marked_ratio: part of the delivered segments that the path had marked (ECN).
    """

    standing_ratio: float | None = None
    delay_ns_median: float | None = None
    own_ratio: float | None = None
    jitter_ratio: float | None = None
    full_bps: float | None = None
    full_spread: float | None = None
    full_ratio: float | None = None
    losses_full_ratio: float | None = None
    back_delay_ns_median: float | None = None
    is_of_acks: bool = False
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
    """Traffic on the wire; losses and their order need the logs of both hosts.

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
        data_back_packets: data packets from the receiver to the sender: answers. Without a log, segments.
        held_ratio: part of the time in which the receiver's timer held back an ACK, and data came as soon as it was
            sent.
        released_bytes: median size of the packets that such an ACK released.
        short_gap_ratio: part of the time in gaps of the arrivals before which the sender had sent all that was written;
            only where the receiver's log stands alone.
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
    short_gap_ratio: float | None = None
    losses: Losses = field(default_factory=Losses)
    bottleneck: BottleneckRate = field(default_factory=BottleneckRate)
    queue: QueueFacts = field(default_factory=QueueFacts)
    policing: PolicingFacts = field(default_factory=PolicingFacts)
    outage: OutageFacts = field(default_factory=OutageFacts)
    pacing: Pacing = field(default_factory=Pacing)
    cycle: RequestCycle = field(default_factory=RequestCycle)
