"""The limit states: what an end of a connection waited for at an instant.

At every instant between its first and its last byte an end is in exactly one of them. The members
stand in the order in which they are asked: the first that holds is the state.
"""

from enum import StrEnum


class SenderState(StrEnum):
    """What kept the sender from sending the next byte."""

    HANDSHAKE = "handshake"
    """From the SYN until the connection is established and the first payload may go (RFC 9293 section 3.5)."""
    RTO_WAIT = "rto_wait"
    """Silence that the retransmission timer ended: from the last segment sent or acknowledged to the timeout's
    retransmission (RFC 6298)."""
    LOSS_RECOVERY = "loss_recovery"
    """Between the first retransmission of a loss and the acknowledgment of all that was outstanding then
    (RFC 6675, RFC 8985), as far as new data may not go because of it."""
    ZERO_WINDOW = "zero_window"
    """Data waits, and the window announced is smaller than a segment and than what waits (RFC 9293 section
    3.8.6.1)."""
    RECEIVE_WINDOW_READER = "receive_window_reader"
    """The announced window is full, and it is smaller than it was because payload lies unread at the receiver."""
    RECEIVE_WINDOW_BUFFER = "receive_window_buffer"
    """The announced window is full though the receiver has read all: its buffer is smaller than the path holds
    (RFC 7323 section 1.1)."""
    SLOW_START = "slow_start"
    """The congestion window is full and below the slow-start threshold (RFC 5681 section 3.1)."""
    CONGESTION_WINDOW = "congestion_window"
    """The congestion window is full and above that threshold."""
    NAGLE = "nagle"
    """Less than a segment waits, only because something is unacknowledged (RFC 896, RFC 9293 section 3.7.4)."""
    PACING = "pacing"
    """Window and congestion window are open, and the pacing timer holds the next segment (tcp_output.c,
    tcp_pacing_check)."""
    DEVICE = "device"
    """What was sent lies in the host's own queues, and TCP small queues hold the rest (tcp_output.c,
    tcp_small_queue_check)."""
    SEND_BUFFER = "send_buffer"
    """All that the send buffer holds is sent and unacknowledged, and the application waits for room in it
    (tcp.c, SOCK_NOSPACE)."""
    WRITE_CALL = "write_call"
    """The application is inside a write call, on a CPU: copying, segmenting, transmitting."""
    WAITS_FOR_CPU = "waits_for_cpu"
    """The application could run, and another task has the CPU."""
    NOT_WRITING = "not_writing"
    """Nothing waits to be sent, and the application is not in a write call."""
    UNKNOWN = "unknown"
    """The evidence does not tell."""


class ReceiverState(StrEnum):
    """What kept the receiver from taking in the next byte."""

    HANDSHAKE = "handshake"
    """From the SYN until the first payload has arrived or the first read call began."""
    SEQUENCE_HOLE = "sequence_hole"
    """Payload has arrived behind one that is missing (RFC 9293 section 3.10.7.4): nothing of it can be read."""
    READ_CALL = "read_call"
    """The application is inside a read call, on a CPU: copying."""
    SOFTIRQ = "softirq"
    """Receive processing takes in segments, on the CPU that the application would need or by itself without pause."""
    WAITS_FOR_CPU = "waits_for_cpu"
    """Payload waits, and the application could run, but another task has the CPU."""
    NOT_READING = "not_reading"
    """Payload waits in sequence, and the application is not in a read call."""
    DELAYED_ACK = "delayed_ack"
    """All is read, and the acknowledgment of the last of it is held back (RFC 1122 section 4.2.3.2), while the sender
    waits for it."""
    WAITING = "waiting"
    """All that has arrived is read and acknowledged: the receiver waits for payload."""
    UNKNOWN = "unknown"
    """The evidence does not tell."""
