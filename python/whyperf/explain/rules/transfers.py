"""Short exchanges on connections of their own: round trips of set-up and of slow start, whatever the path carries."""

from whyperf.explain.causes import Cause
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import Finding, clipped, figure, is_on_cpu
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.trial_facts import Facts

MIN_SETUP_RATIO = 0.15
"""Share of an exchange from which on the set-up of its connection is named."""


def connection_setup(facts: Facts) -> Finding | None:
    """Every exchange opens a connection of its own (RFC 9293 section 3.5) and starts in slow start (RFC 5681)."""
    exchanges = facts.exchanges
    if exchanges is None or not exchanges.connect_ns or not exchanges.latency_ns or is_on_cpu(facts):
        return None
    # The handshake is a round trip, of a connection that may be too short for any sample of TCP_INFO.
    trip = min(exchanges.connect_ns, facts.windows.rtt_ns_min or exchanges.connect_ns)
    lost = clipped(1 - trip / exchanges.latency_ns)
    if trip < NEIGHBOR_RTT_NS or (exchanges.connect_ns < MIN_SETUP_RATIO * exchanges.latency_ns and lost < 0.5):
        return None
    return Finding(
        Cause.CONNECTION_SETUP,
        lost,
        0.97,
        (
            figure(
                "exchange_trips",
                "latencies",
                facts.asker,
                latency_ns=exchanges.latency_ns,
                rtts_per_exchange=exchanges.latency_ns / trip,
            ),
            figure("connect", "latencies", facts.asker, connect_ns=exchanges.connect_ns),
        ),
        gain.of_kept_connection(facts, exchanges.latency_ns, exchanges.connect_ns, trip),
        is_counted=True,
        values={
            "latency_ns": exchanges.latency_ns,
            "rtts_per_exchange": exchanges.latency_ns / trip,
            "rtt_ns": trip,
            "connect_ns": exchanges.connect_ns,
        },
    )
