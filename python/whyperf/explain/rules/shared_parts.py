"""Parts that all connections of a host of the model share: its bus, its adapter's processor, and a link of half duplex.

Only of the model it is known how busy they are. A live host's bus has no counter that whyperf reads.
"""

from whyperf.explain.causes import Cause
from whyperf.explain.host_limits import HALF_DUPLEX
from whyperf.explain.rules.finding import Finding, figure
from whyperf.explain.trial_facts import Facts

FULL_RATIO = 0.97
"""Part of the load's time from which on a part is the limit. A transfer's start and end leave it idle for some percent.
A part that waits for another, such as a receiver's bus behind a full one, is at most as busy as that."""

TABLES = {HALF_DUPLEX: "tcp_info"}
"""The table that a part's use is from, if not `host_counters`."""


def full_part(facts: Facts) -> Finding | None:
    """A part that was busy nearly all the time: nothing moves more without it, whatever else is seen."""
    sides = (("sender", facts.sender), ("receiver", facts.receiver))
    busy = [(ratio, role, part, end) for role, end in sides for part, ratio in end.limits.parts.items()]
    # Of a bus at both hosts the sender's is named: what the other moves has crossed it.
    ratio, role, part, end = max(busy, key=lambda found: round(found[0], 2), default=(0.0, "", "", facts.sender))
    if ratio < FULL_RATIO:
        return None
    count = end.limits.adapters_count
    most = max((rate for rate in (facts.rate_bps, facts.goodput_bps) if rate is not None), default=None)
    return Finding(
        Cause.CAPACITY,
        0.0,
        0.95,
        (figure(f"{part}_busy", TABLES.get(part, "host_counters"), end, busy_ratio=ratio, role=role),),
        is_counted=True,
        variant=part,
        values={
            "role": role,
            "busy_ratio": ratio,
            "max_bps": most,
            "adapters_count": count if count > 1 else None,
        },
    )
