"""Causes named where nothing can be removed: a host's CPU is busy moving payload, or others have it."""

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence
from whyperf.explain.rules import datagrams, gain
from whyperf.explain.rules.finding import FULL_RATIO, Finding, figure, is_on_cpu, others_on_cpu, state_evidence
from whyperf.explain.rules.watched.threads import doing
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import ExchangeFacts, Facts


def capacity(facts: Facts) -> Finding | None:
    """A host's CPU is busy moving payload: no cause that could be removed."""
    busy = facts.busiest_ratio
    if busy is None or datagrams.missed_ratio(facts) is not None or not (is_on_cpu(facts) or alternates(facts)):
        return None
    if (withheld := _withheld(facts)) is not None:
        return withheld
    if not is_on_cpu(facts):
        return _alternating(facts)
    ends = (("sender", facts.sender), ("receiver", facts.receiver))
    role, end = max(ends, key=lambda side: side[1].wanted_ratio or 0.0)
    exchanges, is_full = facts.exchanges, busy >= FULL_RATIO
    # Never less than what was measured, with or without the log.
    most = max((rate for rate in (facts.rate_bps, facts.goodput_bps) if rate is not None), default=None)
    states = (S.WRITE_CALL, S.WAITS_FOR_CPU) if role == "sender" else (R.READ_CALL, R.SOFTIRQ)
    return Finding(
        Cause.CAPACITY,
        0.0,
        0.9,
        (
            figure("cpu_busy", "cpu", end, busy_ratio=busy, role=role),
            state_evidence(end, role, *states),
        ),
        variant=".".join(
            name
            for name, applies in (
                ("transactions", exchanges is not None),
                ("not_full", not is_full),
                (SMALL_WRITES, _may_have_small_writes(facts, role)),
            )
            if applies
        ),
        values={
            "role": role,
            "busy_ratio": busy,
            "max_bps": most if is_full else None,
            "left_ratio": None if is_full else 1 - busy,
            "busy_times": None if is_full else 1 / busy,
            "adapters_count": end.limits.adapters_count if end.limits.adapters_count > 1 else None,
            "transactions_per_s": None if exchanges is None else exchanges.per_s,
            "call_bytes": facts.sender.calls.bytes_mean,
            "check_with": "ethtool -k" if facts.receiver.devices.receive_offload is None else None,
        },
    )


SMALL_WRITES = "small_writes"
"""Variant where larger writes, which make larger packets, may take less of a CPU's time a byte: nobody tried."""


def _may_have_small_writes(facts: Facts, role: str) -> bool:
    """Of a program of others nobody counts the bytes of a write."""
    size = facts.sender.calls.bytes_mean
    if facts.exchanges is not None or facts.datagrams is not None:
        return False
    return facts.is_watched and role == "sender" if size is None else size < gain.SUPER_SEGMENT_BYTES


WITHHELD_RATIO = 0.2
"""Share of the time that a thread waits for a CPU, while the load does not use it, from which on it shares the CPU.
"""


def _withheld(facts: Facts) -> Finding | None:
    """An end's threads want a CPU and do not get it: the CPU is not at the end of what it can do, but not theirs."""
    ends = (("sender", facts.sender), ("receiver", facts.receiver))
    role, end = max(ends, key=lambda side: side[1].processors.withheld_ratio or 0.0)
    waited, others, stolen = (
        end.processors.withheld_ratio or 0.0,
        end.processors.other_ratio or 0.0,
        end.processors.steal_ratio or 0.0,
    )
    if waited < WITHHELD_RATIO or (facts.is_watched and doing(end) == "sleeps"):
        return None
    run_queue = end.processors.run_queue_ratio or 0.0
    if stolen >= max(others, WITHHELD_RATIO / 2):
        why = "steal"
    else:
        why = "programs" if others >= WITHHELD_RATIO / 2 else "quota"
    return Finding(
        Cause.OTHER_LOAD,
        waited,
        0.9,
        (
            figure("run_queue", "threads", end, withheld_ratio=waited, waited_ratio=run_queue),
            others_on_cpu(facts, end),
            figure("steal", "cpu", end, steal_ratio=stolen),
        ),
        is_counted=True,
        variant=f"withheld.{why}",
        values={"role": role, "waited_ratio": waited, "other_ratio": others, "steal_ratio": stolen},
    )


def alternates(facts: Facts) -> bool:
    """True where the ends work one after the other, for each other's answers, so that together they use up the time."""
    both = (facts.sender.wanted_ratio or 0.0) + (facts.receiver.wanted_ratio or 0.0)
    return ((facts.segments.data_back_packets or 0) >= 5 or facts.exchanges is not None) and both >= 0.6


def _alternating(facts: Facts) -> Finding:
    """No cause to remove: each exchange is work of both hosts, one after the other, and the path between them."""
    ends = (("sender", facts.sender), ("receiver", facts.receiver))
    exchanges = facts.exchanges
    shares = {f"{role}_ratio": end.wanted_ratio or 0.0 for role, end in ends}
    return Finding(
        Cause.CAPACITY,
        0.0,
        0.9,
        tuple(figure("wanted_cpu", "cpu", end, wanted_ratio=shares[f"{role}_ratio"], role=role) for role, end in ends)
        + (() if exchanges is None else (exchange_evidence(facts, exchanges),)),
        variant="alternating",
        values={
            **shares,
            "transaction_ns": facts.segments.cycle.cycle_ns if exchanges is None else exchanges.latency_ns,
            "transactions_per_s": None if exchanges is None else exchanges.per_s,
        },
    )


def exchange_evidence(facts: Facts, exchanges: ExchangeFacts) -> Evidence:
    """Evidence of what the application counted of its transactions."""
    return figure(
        "answered",
        "transactions",
        facts.asker,
        transactions_per_s=exchanges.per_s,
        transactions_count=exchanges.count,
        concurrent_times=None if exchanges.at_once is None else max(1.0, exchanges.at_once),
    )
