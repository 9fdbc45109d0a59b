"""The limit states: what an end of a connection waited for at an instant.

At every instant between its first and its last byte an end is in exactly one of them. The members
stand in the order in which they are asked: the first that holds is the state. A state in which
something holds data back counts only while data waits.
"""

from enum import StrEnum


class SenderState(StrEnum):
    """What kept the sender from sending the next byte.

    From PACING to DEVICE they are asked as the kernel asks before it sends (tcp_write_xmit, net/ipv4/tcp_output.c).
    """

    HANDSHAKE = "handshake"
    """From the SYN until the connection is established and the first payload may go (RFC 9293 section 3.5)."""
    RTO_WAIT = "rto_wait"
    """Silence that the retransmission timer (RFC 6298) or a tail loss probe (RFC 8985 section 7) ended: from the last
    segment sent or acknowledged to what is sent again, which had been lost."""
    LOSS_RECOVERY = "loss_recovery"
    """Between the first retransmission of a loss and the acknowledgment of all that was outstanding then
    (RFC 6675, RFC 8985), as far as new data may not go because of it."""
    PACING = "pacing"
    """Window and congestion window are open, and the pacing timer holds the next segment (tcp_output.c,
    tcp_pacing_check)."""
    ZERO_WINDOW = "zero_window"
    """Data waits, and the window announced is smaller than a segment and than what waits (RFC 9293 section
    3.8.6.1)."""
    RECEIVE_WINDOW_READER = "receive_window_reader"
    """The announced window is full, and payload lies unread at the receiver: the application is not at it, or has not
    read all since more than a window of it came."""
    RECEIVE_WINDOW_BUFFER = "receive_window_buffer"
    """The announced window is full though the application reads all it finds: the receiver's buffer is smaller than
    the path holds (RFC 7323 section 1.1)."""
    SLOW_START = "slow_start"
    """The congestion window is full and below the slow-start threshold (RFC 5681 section 3.1)."""
    CONGESTION_WINDOW = "congestion_window"
    """The congestion window is full and above that threshold; or too full for the super-segment that is to go next
    (tcp_output.c, tcp_tso_should_defer)."""
    DEVICE = "device"
    """What was sent lies in the host's own queues, and TCP small queues hold the rest (tcp_output.c,
    tcp_small_queue_check)."""
    SEND_BUFFER = "send_buffer"
    """All that the send buffer holds, but for less than a segment, is sent and unacknowledged, and the application
    waits for room in it (tcp.c, SOCK_NOSPACE)."""
    WAITS_FOR_CPU = "waits_for_cpu"
    """The application could run, and another task has the CPU, or its thread serves other connections."""
    NAGLE = "nagle"
    """Less than a segment waits, only because something is unacknowledged (RFC 896, RFC 9293 section 3.7.4)."""
    WRITE_CALL = "write_call"
    """The CPU is at work for it: the application is inside a write call, copying, segmenting, transmitting, or between
    two that follow each other at once; or the kernel sends what may go."""
    NOT_WRITING = "not_writing"
    """Nothing waits to be sent, and the application is not in a write call."""
    UNKNOWN = "unknown"
    """The evidence does not tell."""


class ReceiverState(StrEnum):
    """What kept the receiver from taking in the next byte."""

    HANDSHAKE = "handshake"
    """From the SYN until the first payload has arrived or the first read call began."""
    SOFTIRQ = "softirq"
    """Receive processing takes in segments, on the CPU that the application would need or by itself without pause."""
    READ_CALL = "read_call"
    """The application is inside a read call, on a CPU: copying; or between two that follow each other at once."""
    WAITS_FOR_CPU = "waits_for_cpu"
    """Payload waits, and the application could run, but another task has the CPU, or its thread serves other
    connections."""
    NOT_READING = "not_reading"
    """Payload waits in sequence, and the application is not in a read call."""
    SEQUENCE_HOLE = "sequence_hole"
    """Payload has arrived behind one that is missing (RFC 9293 section 3.10.7.4), and all before it is read."""
    DELAYED_ACK = "delayed_ack"
    """All is read, and the next to happen is that the acknowledgment of the last of it, held back until then, goes out
    (RFC 1122 section 4.2.3.2)."""
    WAITING = "waiting"
    """All that has arrived is read and acknowledged: the receiver waits for payload."""
    UNKNOWN = "unknown"
    """The evidence does not tell."""


NAMES: dict[SenderState | ReceiverState, str] = {
    SenderState.HANDSHAKE: "Handshake",
    SenderState.RTO_WAIT: "Timeout wait",
    SenderState.LOSS_RECOVERY: "Loss recovery",
    SenderState.ZERO_WINDOW: "Zero window",
    SenderState.RECEIVE_WINDOW_READER: "Receive window, slow reader",
    SenderState.RECEIVE_WINDOW_BUFFER: "Receive window, small buffer",
    SenderState.SLOW_START: "Slow start",
    SenderState.CONGESTION_WINDOW: "Congestion window",
    SenderState.NAGLE: "Nagle's hold",
    SenderState.PACING: "Pacing",
    SenderState.DEVICE: "Device and queues",
    SenderState.SEND_BUFFER: "Send buffer full",
    SenderState.WRITE_CALL: "In the write call",
    SenderState.WAITS_FOR_CPU: "Waits for a CPU",
    SenderState.NOT_WRITING: "Application not writing",
    SenderState.UNKNOWN: "Not known",
    ReceiverState.HANDSHAKE: "Handshake",
    ReceiverState.SEQUENCE_HOLE: "Hole in the sequence",
    ReceiverState.READ_CALL: "In the read call",
    ReceiverState.SOFTIRQ: "Receive processing",
    ReceiverState.WAITS_FOR_CPU: "Waits for a CPU",
    ReceiverState.NOT_READING: "Application not reading",
    ReceiverState.DELAYED_ACK: "Acknowledgment held back",
    ReceiverState.WAITING: "Waiting for payload",
    ReceiverState.UNKNOWN: "Not known",
}
"""What a state is called wherever people read of it. Where two ends share a state it has one name."""


def name_of(state: str) -> str:
    """What people read for a state that is known by its value.

    Raises:
        KeyError: no end has such a state.
    """
    return {one.value: name for one, name in NAMES.items()}[state]
