"""The limit states: what an end of a connection waited for at an instant.

At every instant between its first and its last byte an end is in exactly one of them. The members
stand in the order in which they are asked: the first that holds is the state. A state in which
something holds data back counts only while data waits.
"""

from enum import StrEnum


class SenderState(StrEnum):
    """State that kept the sender from sending the next byte.

    The kernel asks for pacing, then for the congestion window, then for the receive window (tcp_write_xmit,
    net/ipv4/tcp_output.c). So the states of the receive window hold only where the congestion window has room.
    """

    HANDSHAKE = "handshake"
    """From the SYN until the connection is established and payload can be sent (RFC 9293 section 3.5)."""
    RTO_WAIT = "rto_wait"
    """A pause that ends with a retransmission timeout (RFC 6298) or a tail loss probe (RFC 8985 section 7). It starts
    at the last segment sent or acknowledged, and ends at the retransmission of what was lost."""
    LOSS_RECOVERY = "loss_recovery"
    """From the first retransmission after a loss until everything outstanding at that time is acknowledged (RFC 6675,
    RFC 8985). It counts only while this keeps new data from being sent."""
    PACING = "pacing"
    """Receive window and congestion window have room, and the pacing timer delays the next segment (tcp_output.c,
    tcp_pacing_check)."""
    ZERO_WINDOW = "zero_window"
    """Data waits, and the advertised window is smaller than one segment and smaller than the waiting data (RFC 9293
    section 3.8.6.1)."""
    RECEIVE_WINDOW_READER = "receive_window_reader"
    """The advertised window is full, and unread payload is in the receiver's buffer. The receiving application is not
    reading; or more than a window of payload has arrived since it last read everything."""
    RECEIVE_WINDOW_BUFFER = "receive_window_buffer"
    """The advertised window is full although the application has read everything. The receive buffer is smaller than
    the bandwidth-delay product of the path (RFC 7323 section 1.1)."""
    RECEIVE_WINDOW = "receive_window"
    """The advertised window is full, and only the sender's host was watched. Whether unread payload fills the buffer of
    the receiver, or the buffer is small, this side alone does not show."""
    SLOW_START = "slow_start"
    """The congestion window is full, and below the slow-start threshold (RFC 5681 section 3.1)."""
    CONGESTION_WINDOW = "congestion_window"
    """The congestion window is full, and above the slow-start threshold; or it has no room for the next super-segment
    (tcp_output.c, tcp_tso_should_defer)."""
    DEVICE = "device"
    """Sent data is in the host's own queues, and TCP small queues hold back the rest (tcp_output.c,
    tcp_small_queue_check)."""
    SEND_BUFFER = "send_buffer"
    """The application waits for room in the send buffer (tcp.c, SOCK_NOSPACE). What the buffer holds is sent and not
    acknowledged, except for a rest of less than one segment."""
    IN_FLIGHT = "in_flight"
    """Data waits or is in flight, and neither the receive window nor the send buffer is the limit. Without a log, the
    kernel's clocks do not show whether it is the congestion window, pacing, losses, a device or a CPU. Only of
    connections of other programs."""
    WAITS_FOR_CPU = "waits_for_cpu"
    """The application is ready to run, but another task has the CPU, or its thread serves other connections."""
    NAGLE = "nagle"
    """Less than one segment waits, only because earlier data is not acknowledged (RFC 896, RFC 9293 section 3.7.4)."""
    WRITE_CALL = "write_call"
    """The CPU works for the connection. Either the application is in a write call (copying, segmenting, transmitting)
    or between two consecutive calls, or the kernel sends what it is allowed to send."""
    NOT_WRITING = "not_writing"
    """No data waits, and the application is not in a write call."""
    UNKNOWN = "unknown"
    """The evidence does not show the state."""


class ReceiverState(StrEnum):
    """State that kept the receiver from taking in the next byte."""

    HANDSHAKE = "handshake"
    """From the SYN until the first payload arrives or the first read call starts."""
    SOFTIRQ = "softirq"
    """Receive processing of segments uses the CPU that the application needs, or runs without a pause."""
    READ_CALL = "read_call"
    """The application is in a read call and on a CPU (copying), or between two consecutive calls."""
    WAITS_FOR_CPU = "waits_for_cpu"
    """Payload waits and the application is ready to run, but another task has the CPU, or its thread serves other
    connections."""
    NOT_READING = "not_reading"
    """Payload in sequence waits, and the application is not in a read call."""
    UNREAD = "unread"
    """Payload in sequence waits to be read, by samples of the socket's queue. Without a log of calls, they do not show
    whether the application does not read, reads, or waits for a CPU."""
    SEQUENCE_HOLE = "sequence_hole"
    """Payload has arrived after a missing segment (RFC 9293 section 3.10.7.4), and everything before it is read."""
    DELAYED_ACK = "delayed_ack"
    """Everything is read, and the next event is the delayed ACK for the last payload (RFC 1122 section 4.2.3.2)."""
    WAITING = "waiting"
    """Everything that arrived is read and acknowledged; the receiver waits for payload."""
    UNKNOWN = "unknown"
    """The evidence does not show the state."""


NAMES: dict[SenderState | ReceiverState, str] = {
    SenderState.HANDSHAKE: "Handshake",
    SenderState.RTO_WAIT: "Retransmission timeout",
    SenderState.LOSS_RECOVERY: "Loss recovery",
    SenderState.ZERO_WINDOW: "Zero window",
    SenderState.RECEIVE_WINDOW_READER: "Limited by a slow reader",
    SenderState.RECEIVE_WINDOW_BUFFER: "Limited by the receive buffer",
    SenderState.RECEIVE_WINDOW: "Limited by the receive window",
    SenderState.SLOW_START: "Slow start",
    SenderState.CONGESTION_WINDOW: "Limited by the congestion window",
    SenderState.NAGLE: "Nagle's algorithm",
    SenderState.PACING: "Pacing",
    SenderState.DEVICE: "Device queues",
    SenderState.SEND_BUFFER: "Limited by the send buffer",
    SenderState.IN_FLIGHT: "Data in flight",
    SenderState.WRITE_CALL: "In a write call",
    SenderState.WAITS_FOR_CPU: "Waiting for a CPU",
    SenderState.NOT_WRITING: "Application not writing",
    SenderState.UNKNOWN: "State not known",
    ReceiverState.HANDSHAKE: "Handshake",
    ReceiverState.SEQUENCE_HOLE: "Missing segment",
    ReceiverState.READ_CALL: "In a read call",
    ReceiverState.SOFTIRQ: "Receive processing",
    ReceiverState.WAITS_FOR_CPU: "Waiting for a CPU",
    ReceiverState.NOT_READING: "Application not reading",
    ReceiverState.UNREAD: "Payload unread",
    ReceiverState.DELAYED_ACK: "Delayed ACK",
    ReceiverState.WAITING: "Waiting for payload",
    ReceiverState.UNKNOWN: "State not known",
}
"""Name of a state wherever people read of it. Where two ends share a state it has one name."""


OF_PATH = (
    *(SenderState.CONGESTION_WINDOW, SenderState.SLOW_START, SenderState.LOSS_RECOVERY, SenderState.RTO_WAIT),
    *(SenderState.PACING, SenderState.DEVICE, SenderState.IN_FLIGHT),
)
"""States in which the path, or the congestion control for its sake, holds the sender."""


def name_of(state: str) -> str:
    """Name that people read for a state that is known by its value.

    Raises:
        KeyError: no end has such a state.
    """
    return {known.value: name for known, name in NAMES.items()}[state]
