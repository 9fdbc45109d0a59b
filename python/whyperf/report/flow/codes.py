"""The words of a segment's codes, as they are told, and the numbers that stand for them in a tile."""

from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS, RETRANSMISSIONS

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
