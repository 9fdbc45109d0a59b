"""The quantities of the segment flow, in one flat table."""

from collections.abc import Mapping
from dataclasses import dataclass

from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS, RETRANSMISSIONS
from whyperf.analyze.flow.steps import quotient
from whyperf.analyze.flow.trial import LEVELS

Values = Mapping[str, float | None]
"""The values that one level has of one host, by quantity."""

BEST_FIRST = tuple(reversed(LEVELS))
COUNTED_FIRST = ("counters", "segments", "user")


@dataclass(frozen=True)
class Quantity:
    """A quantity: `name`; `unit`: bytes, segments, packets, count or ratio; `description`, what it is.

    Data is what goes the payload's way: sent at the sender, arrived at the receiver. ACKs are pure
    ones, the other way. `levels` are tried in their order.
    """

    name: str
    unit: str
    description: str
    levels: tuple[str, ...] = BEST_FIRST


_CONTEXT_WORDS = {
    "process": "a process (write, read, socket backlog)",
    "net_rx": "receive processing (released by an ACK)",
    "timer": "a timer",
    "hrtimer": "a high-resolution timer (pacing)",
    "worker": "a deferred worker (TCP small queues) or a NAPI thread",
    "other": "anywhere else",
}
_REASON_WORDS = {
    "delayed_timer": "the delayed-ACK timer ran out",
    "read_call": "a read call freed buffer",
    "second_segment": "a second segment arrived",
    "quick": "quick ACK mode",
    "out_of_order": "data came out of order or twice",
    "window_probe": "the peer's window was probed",
    "fin": "the peer's FIN came",
    "handshake": "the handshake was completed",
    "other": "none of these reasons",
}
_AGAIN_WORDS = {
    "timeout": "after a timeout",
    "fast": "by fast retransmit or recovery",
    "probe": "as loss probes",
    "other": "for none of these reasons",
}

QUANTITIES: tuple[Quantity, ...] = (
    Quantity("data_bytes", "bytes", "data, retransmissions included"),
    Quantity("data_segments", "segments", "data segments on the wire"),
    Quantity("data_packets", "packets", "data packets, a super-segment counting once"),
    Quantity("segment_bytes_mean", "bytes", "average payload on the wire"),
    Quantity("packet_bytes_mean", "bytes", "average super-segment"),
    Quantity("unacked_bytes_max", "bytes", "most bytes unacknowledged"),
    Quantity("window_bytes_min", "bytes", "smallest window announced by the receiver"),
    Quantity("window_bytes_max", "bytes", "largest window announced by the receiver"),
    Quantity("acks_count", "count", "pure ACKs"),
    Quantity("segments_per_ack", "ratio", "data segments per ACK"),
    Quantity("packets_per_ack", "ratio", "data packets per ACK"),
    *(Quantity(f"ack_{reason}_count", "count", f"ACKs sent because {_REASON_WORDS[reason]}") for reason in ACK_REASONS),
    Quantity("duplicate_acks_count", "count", "duplicate ACKs arrived", COUNTED_FIRST),
    Quantity("out_of_order_packets", "packets", "data packets arrived before others that were missing"),
    Quantity("not_next_packets", "packets", "data packets arrived out of order or twice", COUNTED_FIRST),
    Quantity("retransmitted_packets", "packets", "data packets sent again"),
    Quantity("retransmitted_segments", "segments", "data segments sent again"),
    *(
        Quantity(f"retransmitted_{kind}_packets", "packets", f"data packets sent again {_AGAIN_WORDS[kind]}")
        for kind in RETRANSMISSIONS
    ),
    *(
        Quantity(f"context_{context}_ratio", "ratio", f"data packets sent from {_CONTEXT_WORDS[context]}")
        for context in CONTEXTS
    ),
    Quantity("ksoftirqd_ratio", "ratio", "data packets sent in ksoftirqd"),
    Quantity("write_size_bytes_mean", "bytes", "average send call"),
    Quantity("read_size_bytes_mean", "bytes", "average receive call"),
)
"""All quantities, in the order they are printed."""


def with_quotients(values: Values) -> dict[str, float | None]:
    """Adds the averages of one level, from its own sums."""
    quotients = {
        "segment_bytes_mean": ("data_bytes", "data_segments"),
        "packet_bytes_mean": ("data_bytes", "data_packets"),
        "segments_per_ack": ("data_segments", "acks_count"),
        "packets_per_ack": ("data_packets", "acks_count"),
    }
    made = {name: quotient(values.get(over), values.get(under)) for name, (over, under) in quotients.items()}
    return {**values, **made}
