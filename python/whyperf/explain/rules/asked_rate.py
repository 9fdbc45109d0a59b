"""Open loops: a load that reaches the rate that it was asked for has no other limit."""

from whyperf.explain.causes import Cause
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import Finding, figure
from whyperf.explain.trial_facts import SENT_AS_ASKED, Facts


def asked_stream(facts: Facts) -> Finding | None:
    """A stream whose applications write at a set rate, and all of it arrives."""
    asked, reached = facts.asked.bps, facts.goodput_bps or facts.rate_bps
    if facts.datagrams is not None or not asked or not reached or reached < SENT_AS_ASKED * asked:
        return None
    return Finding(
        Cause.ASKED_RATE,
        1.0,
        0.95,
        (
            figure(
                "reached_rate", "flows", facts.receiver, reached_bps=reached, reached_ratio=min(1.0, reached / asked)
            ),
        ),
        gain.of_ends(facts),
        is_counted=True,
        values={"requested_bps": asked, "reached_bps": reached},
    )


def asked_transactions(facts: Facts) -> Finding | None:
    """Transactions that start at their own times, and as many end."""
    asked = facts.asked
    if not asked.are_all_ended:
        return None
    requested, ended = asked.per_s(asked.intended_count or 0), asked.per_s(asked.ended_count)
    exchanges = facts.exchanges
    latency = None if exchanges is None else exchanges.latency_ns
    return Finding(
        Cause.ASKED_RATE,
        1.0,
        0.95,
        (
            figure(
                "open_loop",
                "transactions",
                facts.asker,
                ended_per_s=ended,
                started_per_s=requested,
            ),
        ),
        gain.of_twice(facts),
        is_counted=True,
        variant="transactions",
        values={
            "requested_per_s": requested,
            "ended_per_s": ended,
            "latency_ns": latency,
        },
    )
