"""Samples of the sockets of other programs, one side at a time. None is not known; ratios are of the
samples."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class WindowShape:
    """A window over time: bytes that it has at least in 90 % of the samples, in half of them, and at most."""

    low_bytes: int | None = None
    median_bytes: int | None = None
    high_bytes: int | None = None

    def is_steady(self, segment_bytes: int) -> bool:
        """True where it is always the same but for a segment, as it is where nothing but the buffer sets it.

        Windows are rounded to segments (__tcp_select_window, net/ipv4/tcp_output.c). A reader that is late for ever
        makes them vary by what it has just read and by what has just come.
        """
        if self.low_bytes is None or not self.high_bytes:
            return False
        return self.low_bytes > 0 and self.high_bytes - self.low_bytes <= segment_bytes


@dataclass(frozen=True)
class WatchedSockets:
    """The sockets of one side, from the tables `watched`, `sockets` and `tcp_info`.

    Attributes:
        samples: how many there are.
        is_whole: watched from the first segment on.
        program: its name, "" where it is not known, and `process` the number of its process.
        congestion_control: that of the connections; "" where it is not known, or they differ.
        listens: this side accepted the connection.
        send_buffer_fixed: the program has set SO_SNDBUF, so that the kernel does not size the buffer any more.
        receive_buffer_fixed: the same of SO_RCVBUF.
        send_buffer_bytes: the median limit of the send buffer.
        unread_ratio: part of the samples in which payload waits to be read.
        unread_bytes: the median of what waits, where something does.
        pressed_ratio: part of the samples in which what waits is as much as the window that is left, or fills the
            buffer.
        own_window: what this side announced.
        peer_window: what the peer announced while data waited to be sent, or all the time if that was rare.
        waiting_ratio: part of the samples in which written data waited to be sent.
        filled_ratio: part of the samples in which what is written and not acknowledged fills two thirds of the send
            buffer: a program that has more to write is not woken then (sk_stream_is_writeable, include/net/sock.h).
        receive_rtt_ns: the median round trip as receive autotuning sees it, and `receive_rtt_ns_low` the 10th
            percentile; None where it sees none. Of a sender that pauses, its pauses are in it.
        late_ratio: segments that came behind a gap, over those with payload.
        rate_spread: how far the rate of what came varies from sample to sample: the range from the 10th to the 90th
            percentile over the median; None where it was silent for half of the time.
        quiet_ratio: part of the samples that find no payload for three round trips, and 10 ms.
        came_segments: segments with payload that came, and `went_segments` that left.
        full_bytes: the payload of a full segment that came (tcpi_rcv_mss).
        pmtu_bytes: the path's MTU, and `mss_bytes` the largest segment of the direction with most payload.
        program_connections: connections of its process that moved payload meanwhile, this one included.
        partial_ratio: part of the samples in which less than a segment waits for the ACK of another one, though the
            windows have room: that is Nagle's rule (tcp_nagle_check, net/ipv4/tcp_output.c).
    """

    samples: int = 0
    is_whole: bool | None = None
    program: str = ""
    process: int | None = None
    congestion_control: str = ""
    listens: bool | None = None
    send_buffer_fixed: bool | None = None
    receive_buffer_fixed: bool | None = None
    send_buffer_bytes: int | None = None
    unread_ratio: float | None = None
    unread_bytes: int | None = None
    pressed_ratio: float | None = None
    own_window: WindowShape = field(default_factory=WindowShape)
    peer_window: WindowShape = field(default_factory=WindowShape)
    waiting_ratio: float | None = None
    filled_ratio: float | None = None
    receive_rtt_ns: int | None = None
    receive_rtt_ns_low: int | None = None
    late_ratio: float | None = None
    rate_spread: float | None = None
    quiet_ratio: float | None = None
    came_segments: int | None = None
    went_segments: int | None = None
    full_bytes: int | None = None
    pmtu_bytes: int | None = None
    mss_bytes: int | None = None
    program_connections: int | None = None
    partial_ratio: float | None = None

    @property
    def moved_segments(self) -> int | None:
        """Segments with payload, in both directions."""
        if self.came_segments is None or self.went_segments is None:
            return None
        return self.came_segments + self.went_segments


@dataclass(frozen=True)
class Conversation:
    """Payload that goes in both directions alternately: requests and answers.

    A delay is this host's from the arrival of the peer's payload until its own leaves, and the peer's the other way
    round: the path's round trip is part of the peer's delays.

    Attributes:
        exchanges_most: how many there were at most.
        own_ratio: part of the time that this host's delays have, and `peer_ratio` the peer's; None where not known.
        own_ns: the median delay of this host, and `peer_ns` of the peer.
        is_logged: the delays are those of the segment log; else of samples.
    """

    exchanges_most: int
    own_ratio: float | None = None
    peer_ratio: float | None = None
    own_ns: float | None = None
    peer_ns: float | None = None
    is_logged: bool = False
