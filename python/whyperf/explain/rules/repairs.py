"""Transactions that losses hold up: a few of them take much longer than the usual one."""

from collections.abc import Iterator

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import Finding, clipped, figure, is_on_cpu
from whyperf.explain.trial_facts import Facts

MIN_LOSSES = 3
MIN_REPAIRING = 0.15
"""Part of the time that transactions spend beyond the usual one, from which on repairs of losses are what counts."""
MAX_ALONE_SEGMENTS = 10
"""Segments that are at most under way where the own load fills no queue: an initial window (RFC 6928)."""


def slow_exchanges(facts: Facts) -> float:
    """Part of the time in which a transaction takes longer than the usual one, where all start one after the other."""
    exchanges, slots = facts.exchanges, facts.asked.slots
    if exchanges is None or exchanges.latency_ns is None or not slots or facts.asked.intended_count is not None:
        return 0.0
    return clipped(1 - (exchanges.at_once or 0.0) / slots) * exchanges.payload_ratio


def repairs(facts: Facts) -> Finding | None:
    """Losses hold up single transactions: with too little under way for fast retransmission, what is lost is sent again
    after a timeout, or a probe (RFC 6298, RFC 8985 section 7).
    """
    lost, exchanges = slow_exchanges(facts), facts.exchanges
    if lost < MIN_REPAIRING or exchanges is None or is_on_cpu(facts) or not _is_repairing(facts):
        return None
    flight, size = facts.windows.flight_bytes_max or 0, facts.sender.sockets.mss_bytes or 0
    if facts.transport == "tcp" and flight > MAX_ALONE_SEGMENTS * size:
        return None
    return Finding(
        Cause.RANDOM_LOSS,
        lost,
        0.85,
        (
            figure("slow_exchanges", "latencies", facts.asker, latency_ns=exchanges.latency_ns, slow_ratio=lost),
            *_repaired(facts),
        ),
        gain.of_pauses(facts, lost),
        is_counted=True,
        variant="exchanges",
        values={"latency_ns": exchanges.latency_ns, "transactions_per_s": exchanges.per_s},
    )


def _is_repairing(facts: Facts) -> bool:
    """True where something was sent again, by either side; of datagrams, where some did not arrive."""
    if facts.transport != "tcp":
        sent, taken = facts.sender.sockets.payload_bytes or 0, facts.receiver.sockets.payload_bytes or 0
        return taken > 0 and sent - taken >= MIN_LOSSES * (facts.sender.calls.bytes_mean or sent)
    return sum(_sent_again(facts)) >= MIN_LOSSES


def _sent_again(facts: Facts) -> tuple[int, int]:
    """Segments that each host's kernel sent again."""
    again = [end.limits.counts.get("TcpRetransSegs", 0) for end in (facts.sender, facts.receiver)]
    return again[0], again[1]


def _repaired(facts: Facts) -> Iterator[Evidence]:
    """Evidence of what was sent again, or did not arrive."""
    if facts.transport != "tcp":
        sent, taken = facts.sender.sockets.payload_bytes or 0, facts.receiver.sockets.payload_bytes or 0
        yield figure("unanswered", "flows", facts.sender, sent_bytes=sent, taken_bytes=taken)
        return
    sent, answered = _sent_again(facts)
    yield figure("sent_again", "host_counters", facts.sender, sent_again_count=sent, back_again_count=answered)
