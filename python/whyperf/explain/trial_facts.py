"""Plain figures of one trial that the limits look at, gathered once.

A limit sees what a user of two real hosts has: segments, calls, counters, TCP_INFO, CPUs, devices, and buffers as the
kernel reports them. The factors of a trial and the emulated path's own counters are not here, so no limit can peep at
the answer. None is not known; times are ns, ratios are of the load's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from whyperf.explain.explanation import Budget, Pattern, Phase
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.path_facts import BottleneckRate, SegmentFacts, WindowFacts
from whyperf.explain.watched_facts import Conversation

SENT_AS_ASKED = 0.97
"""Share of the rate that was asked for from which on a sender reaches it: pacing by timers falls short by a little."""


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
        """Number of them that were under way at once (Little's law)."""
        return None if self.latency_ns is None else self.per_s * self.latency_ns / 1e9


@dataclass(frozen=True)
class RequestedLoad:
    """Load that an open loop was asked for. It is no hidden factor: whoever sets a rate knows it.

    Attributes:
        bps: payload of a stream or of datagrams, all connections together; None where it goes as fast as it can.
        intended_count: transactions that were to start in the measured phase, which is `span_ns` long; None where one
            starts when another ends. `ended_count` are those that ended.
        slots: how many transactions may be under way at once.
        transfer_bytes: payload of each connection, which ends with it; None where the time is set.
        is_greedy: a stream whose sender always has more to write.
        batch_count: datagrams that are handed over at once, over all connections; 1 each without a batch.
        merged_count: datagrams that a receiving socket may hold as one (UDP_GRO).
        pacing_bps: the greatest rate that the sockets were given (SO_MAX_PACING_RATE), each.
        paces_itself: the congestion control sets a rate of its own, as BBR does.
        pause_ns: the mean of the pauses that the workload has in a transaction that asks and is answered, and
            `paused_ratio` the part of the time that they take; 0 without any.
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
    pacing_bps: float | None = None
    paces_itself: bool = False
    pause_ns: float = 0.0
    paused_ratio: float = 0.0

    def per_s(self, counted: int) -> float:
        """A count over the measured time."""
        return counted * 1e9 / max(1, self.span_ns)

    @property
    def are_all_ended(self) -> bool:
        """True where as many transactions end as were to start, but for those that happen to be under way at its end.

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
    """Figures of the library of UDT, QUIC or SRT on the sender's connections, in the measured phase.

    Attributes:
        packet_bytes: most payload of a packet.
        rtt_ns_min: the smallest round trip of any sample, and `rtt_ns_median` the median one.
        cwnd_bytes: the median congestion window of a connection.
        peer_window_bytes: the median room that the receiver announced.
        flight_bytes: the median of what was sent and not acknowledged; None where the library does not say.
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
        """Bytes in flight: as the library counts them, else what is sent in a round trip (Little's law)."""
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
        """True where the sender reaches the rate that the user asked for."""
        if not self.asked_bps:
            return False
        # A batch that was due at the end may count for the next phase.
        due = 1 + self.batch_count / max(1, self.sent_count)
        return self.sent_bps * due >= SENT_AS_ASKED * self.asked_bps

    @property
    def dropped_ratio(self) -> float:
        """Part that the socket dropped, of all that reached it."""
        return self.dropped_count / max(1, self.dropped_count + self.taken_count)

    @property
    def missed_ratio(self) -> float:
        """Part that was sent and did not reach the socket, of all that was sent."""
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
        watched_sides: whose host was watched, of the connections of another program: sender, receiver or both; "" of
            the own load.
        conversation: requests and answers of another program, if its payload goes by turns.
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
    watched_sides: Literal["", "sender", "receiver", "both"] = ""
    conversation: Conversation | None = None

    @property
    def is_watched(self) -> bool:
        """True where it is of connections of another program."""
        return self.watched_sides != ""

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
        """Part of a CPU that the busier side would use."""
        known = [end.wanted_ratio for end in (self.sender, self.receiver) if end.wanted_ratio is not None]
        return max(known) if known else None
