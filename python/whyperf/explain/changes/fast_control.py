"""FAST on a queue that is smaller than its alpha, the segments that it keeps there."""

from whyperf.explain.setup import Setup

ALPHAS = ((120_000_000, 200), (12_000_000, 20), (0, 8))
"""Segments that a connection of FAST keeps in the queue, by its rate in bit/s (Jin, Wei, Low, INFOCOM 2004, section
IV-C; `crates/congestion/src/bpf/fast.h`)."""


def starved_alpha(setup: Setup) -> int | None:
    """FAST's alpha in segments where the queue of the path holds fewer of them; None elsewhere.

    It then never sees the delay that it steers by, so it grows until the queue runs over, and reacts to the loss as
    Reno does (RFC 5681).
    """
    bottleneck, connections = setup.bottleneck(), setup.level("connections")
    if setup.level("congestion_control") != "fast" or bottleneck is None or not isinstance(connections, int):
        return None
    rate_bps, held_packets = bottleneck
    alpha = next(alpha for above_bps, alpha in ALPHAS if rate_bps / connections > above_bps)
    return alpha if held_packets < alpha * connections else None


def fast_queue(alpha: int, setup: Setup) -> int:
    """Packets of a queue that holds the segments which all connections keep there, and as many again."""
    connections = setup.level("connections")
    return 2 * alpha * (connections if isinstance(connections, int) else 1)
