"""Terms that the page explains, and the texts and numbers of the codes of a segment in a tile."""

from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS, RETRANSMISSIONS

TERMS: tuple[tuple[str, str], ...] = (
    (
        "Row, packet, segment",
        "A row is one packet, as TCP and the device exchange it. A GSO or GRO super-segment is one packet of many "
        "segments on the wire. A pure ACK is a packet without payload.",
    ),
    (
        "Unacknowledged bytes",
        "At the sender: bytes that are sent and not acknowledged, as the kernel counts them. At the receiver: bytes "
        "that it received and did not acknowledge yet.",
    ),
    (
        "Advertised window",
        "Bytes that the receiver allows in flight: the scaled window of each of its headers (RFC 7323). The sender "
        "shows it when the packet arrives.",
    ),
    ("ACK ratio", "Data segments on the wire per pure ACK."),
    (
        "Context",
        "Where in the kernel the packet was sent: in a system call, in receive processing (an ACK arrived and released "
        "data), in a timer, by pacing, or in a deferred worker.",
    ),
    (
        "Drawn per pixel",
        "Where rows are narrower than a pixel, each pixel column shows its last, lowest and highest value and every "
        "segment size in it (M4, Jugel et al. 2014). Zoom in to see every row.",
    ),
    (
        "[counters], [user]",
        "Marks values that are not from the segment log: BPF programs in the kernel counted them, or user space read "
        "them with TCP_INFO and from its own calls.",
    ),
    ("Time", "Time since the start of the load, on the controller's clock. The handshake has negative times."),
    ("Sequence numbers", "Relative: the first byte of a connection is 1 in each direction."),
)


CONTEXT_TEXT = {
    "process": "process (write or read call)",
    "net_rx": "receive processing (an ACK arrived)",
    "timer": "timer",
    "hrtimer": "high-resolution timer (pacing)",
    "worker": "deferred worker (small queues) or NAPI thread",
    "other": "other",
}
ACK_REASON_TEXT = {
    "delayed_timer": "delayed-ACK timer",
    "read_call": "read call or window update",
    "second_segment": "second full segment",
    "quick": "immediate (quick ACK)",
    "out_of_order": "out of order or duplicate",
    "window_probe": "window probe or keepalive",
    "fin": "the peer's FIN",
    "handshake": "handshake",
    "other": "other",
}
RETRANSMISSION_TEXT = {
    "timeout": "after a timeout",
    "fast": "fast retransmission",
    "probe": "loss probe",
    "other": "for another reason",
}

KSOFTIRQD = 16
"""Added to the number of a context that ran in ksoftirqd."""

RETRANSMITTED = 16
"""The kind of a retransmission, from 1, times this is added to the number of the reason."""

CONTEXT_NAMES = [CONTEXT_TEXT[name] for name in CONTEXTS]
#: 0 stands for none.
ACK_REASON_NAMES = ["", *(ACK_REASON_TEXT[name] for name in ACK_REASONS)]
RETRANSMISSION_NAMES = ["", *(RETRANSMISSION_TEXT[name] for name in RETRANSMISSIONS)]
