"""Terms that the page explains, and the names of a segment's codes with the numbers that stand for them in a tile."""

from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS, RETRANSMISSIONS

TERMS: tuple[tuple[str, str], ...] = (
    (
        "Row, packet, segment",
        "A row is what passed between TCP and the device at once: a packet. A GSO or GRO super-segment is one packet "
        "of many segments on the wire. A pure ACK is a packet without payload.",
    ),
    (
        "Unacknowledged bytes",
        "At the sender, sent and not acknowledged, as the kernel counts them. At the receiver, arrived and not yet "
        "answered by its own acknowledgments.",
    ),
    (
        "Announced window",
        "Bytes that the receiver allows in flight, as in each of its headers and scaled (RFC 7323). The sender sees "
        "it when it arrives.",
    ),
    ("ACK ratio", "Data segments on the wire for each pure ACK that answers them."),
    (
        "Context",
        "Who made the kernel send: a system call, receive processing (an ACK arrived and released data), a timer, "
        "pacing, or a deferred worker.",
    ),
    (
        "Drawn by pixel",
        "Where rows are narrower than a pixel, each column of pixels shows the last, lowest and highest value in it "
        "and every kind of size that occurred (after M4, Jugel et al. 2014). Zoomed in, every row is drawn.",
    ),
    (
        "[counters], [user]",
        "Stands behind what is not from the segment log: counted by programs in the kernel without a log of single "
        "segments, or read from outside the kernel, by TCP_INFO and the calls themselves.",
    ),
    ("Time", "Since the start of the load, on the controller's clock; the handshake comes before 0."),
    ("Sequence numbers", "Relative: the first octet of a connection is 1 in each direction."),
)


CONTEXT_WORDS = {
    "process": "process (write or read call)",
    "net_rx": "receive processing (an ACK arrived)",
    "timer": "timer",
    "hrtimer": "high-resolution timer (pacing)",
    "worker": "deferred worker (small queues)",
    "other": "anything else",
}
ACK_REASON_WORDS = {
    "delayed_timer": "delayed-ACK timer",
    "read_call": "read call or window update",
    "second_segment": "second full segment",
    "quick": "at once",
    "out_of_order": "out of order or duplicate",
    "window_probe": "window probe or keepalive",
    "fin": "the peer's FIN",
    "handshake": "handshake",
    "other": "anything else",
}
RETRANSMISSION_WORDS = {
    "timeout": "after a timeout",
    "fast": "fast retransmission",
    "probe": "loss probe",
    "other": "for another reason",
}

KSOFTIRQD = 16
"""Added to a context's number when it ran in ksoftirqd."""

AGAIN = 16
"""A retransmission's kind, from 1, times this, is added to the reason's number."""

CONTEXT_NAMES = [CONTEXT_WORDS[name] for name in CONTEXTS]
#: 0 stands for none.
ACK_REASON_NAMES = ["", *(ACK_REASON_WORDS[name] for name in ACK_REASONS)]
RETRANSMISSION_NAMES = ["", *(RETRANSMISSION_WORDS[name] for name in RETRANSMISSIONS)]
