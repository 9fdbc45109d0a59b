"""Additions of stage times to verdicts: in which stage a CPU's time goes, and in which one a packet waits.

Stages name no cause: what is slow in one has a cause of its own, which other evidence shows. They are evidence of
verdicts that name a CPU, other load, a queue or a reader, and say where.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts, StageFacts, StageTime
from whyperf.explain.limits import costs
from whyperf.explain.limits.costs import REFINED, limiting_role
from whyperf.explain.limits.limit import Limit, figure
from whyperf.explain.trial_facts import Facts

TABLE = "stages"
WAITS: Mapping[Cause, tuple[str, ...]] = {
    Cause.OTHER_LOAD: ("wakeup_wait", "softirq_wait"),
    Cause.SHARED_CPU: ("wakeup_wait", "softirq_wait"),
    Cause.CPU_QUOTA: ("wakeup_wait", "softirq_wait"),
    Cause.PAUSE: ("wakeup_wait", "softirq_wait", "socket_wait"),
    Cause.SLOW_READER: ("socket_wait", "wakeup_wait"),
    Cause.LOCAL_QUEUE: ("qdisc_wait",),
    Cause.ROUND_TRIP: ("qdisc_wait", "softirq_wait", "wakeup_wait"),
    Cause.THINK_TIME: ("wakeup_wait", "socket_wait"),
}
"""The waits that a verdict may be about; the longest of them is shown."""
KEPT = frozenset({Cause.OTHER_LOAD, Cause.SHARED_CPU, Cause.CPU_QUOTA, Cause.PAUSE})
"""Verdicts on what keeps a thread from its CPU: that may also happen within a stage that processes."""
BETWEEN_CALLS = frozenset({Cause.SLOW_READER, Cause.SLOW_WRITER, Cause.THINK_TIME})
"""Verdicts on a program: what it does itself between two calls."""
MIN_WAIT_NS = 1_000
"""A shorter wait is no more than any switch between threads takes."""
COPIES = frozenset({"copy_in", "copy_out"})
SLOW_COPY_NS_PER_KBYTE = 400
"""2.5 GB/s: memory of a server carries several times as much (`whyperf model calibrate --steps` times a copy)."""
SHARES_SLOW = frozenset({
    *(Cause.OTHER_LOAD, Cause.SHARED_CPU, Cause.CPU_QUOTA, Cause.PAUSE, Cause.THINK_TIME, Cause.ROUND_TRIP),
    *(Cause.CAPACITY, Cause.NOT_KNOWN, Cause.SLOW_READER),
})  # fmt: skip
"""Verdicts on exchanges to which it is evidence what makes the slowest messages slow."""
MIN_SLOW_RATIO = 0.3
"""Part of the delay from which on a stage is named as where the slowest messages wait."""
MIN_PACKETS_PER_INTERRUPT = 2.0
"""From here on the device or NAPI puts interrupts off."""


def refined(limit: Limit, facts: Facts) -> Limit:
    """The limit with what stack samples and stage times show of what it is about; as it is without either."""
    found = costs.refined(limit, facts)
    rows = list(_rows(limit, facts))
    return replace(found, evidence=(*found.evidence, *rows)) if rows else found


def _rows(limit: Limit, facts: Facts) -> Iterator[Evidence]:
    role = limiting_role(limit, facts)
    end = facts.sender if role == "sender" else facts.receiver
    found = end.stages
    if found is not None and limit.cause in REFINED:
        yield from _processing(role, end, found)
    sides = _sides(limit, facts)
    waiting = [(side, *longest) for side in sides if (longest := _longest(side, limit.cause)) is not None]
    if waiting:
        side, stage, total = max(waiting, key=lambda entry: entry[1].waiting_ns)
        yield _wait("sender" if side is facts.sender else "receiver", side, stage, total)
    if limit.cause in BETWEEN_CALLS:
        yield from _between_calls(limit, facts)
    if limit.cause in SHARES_SLOW and facts.exchanges is not None:
        yield from _slowest(facts)


def _processing(role: str, end: HostFacts, found: StageFacts) -> Iterator[Evidence]:
    """The dearest stage of the CPU that is the limit, and copies that are slow."""
    dearest = found.dearest
    if dearest is None or found.cpu_ns <= 0:
        return
    yield _cpu(role, end, found, dearest)
    for stage in found.of(*COPIES):
        if stage.ns_per_kbyte is not None and stage.ns_per_kbyte >= SLOW_COPY_NS_PER_KBYTE:
            yield figure("stage_copy", TABLE, end, copy_ns=stage.ns_per_kbyte, stage=stage.title, role=role)


def _cpu(role: str, end: HostFacts, found: StageFacts, stage: StageTime) -> Evidence:
    values: dict[str, Value | None] = {
        "stage_ns": stage.cpu_ns,
        "total_ns": found.cpu_ns,
        "stage_ratio": stage.cpu_ns / found.cpu_ns,
        "packet_bytes": found.packet_bytes,
        "stage": stage.title,
        "about": stage.about,
        "role": role,
    }
    return figure("stage_cpu", TABLE, end, **values)


def _sides(limit: Limit, facts: Facts) -> tuple[HostFacts, ...]:
    """The side that a verdict names, or both."""
    named = {"sender": (facts.sender,), "receiver": (facts.receiver,)}
    return named.get(str(limit.values.get("role")), (facts.sender, facts.receiver))


def _longest(end: HostFacts, cause: Cause) -> tuple[StageTime, StageFacts] | None:
    """The longest wait at a side of those that a cause may be about."""
    if end.stages is None:
        return None
    kept = [stage for stage in end.stages.stages if not stage.is_wait and cause in KEPT]
    waits = [stage for stage in (*end.stages.of(*WAITS.get(cause, ())), *kept) if stage.waiting_ns >= MIN_WAIT_NS]
    return (max(waits, key=lambda stage: stage.waiting_ns), end.stages) if waits else None


def _between_calls(limit: Limit, facts: Facts) -> Iterator[Evidence]:
    """Time that the program takes between calls, where that is more than the host's network code takes."""
    role = "sender" if limit.cause is Cause.SLOW_WRITER else str(limit.values.get("role", "receiver"))
    end = facts.sender if role == "sender" else facts.receiver
    found = end.stages
    if found is not None and found.application_ns > found.cpu_ns:
        values: dict[str, Value | None] = {"application_ns": found.application_ns, "cpu_ns": found.cpu_ns}
        yield figure("stage_application", TABLE, end, **values, role=role)


def _wait(role: str, end: HostFacts, stage: StageTime, found: StageFacts) -> Evidence:
    per_interrupt = found.packets_per_interrupt if stage.name == "softirq_wait" else None
    return figure(
        "stage_wait" if stage.is_wait else "stage_kept",
        TABLE,
        end,
        wait_ns=stage.waiting_ns,
        cpu_ns=found.cpu_ns,
        stage=stage.title,
        about=stage.about,
        role=role,
        interrupt_packets=per_interrupt if (per_interrupt or 0) >= MIN_PACKETS_PER_INTERRUPT else None,
    )


def _slowest(facts: Facts) -> Iterator[Evidence]:
    """Evidence of what makes the slowest messages slow, of the direction in which most of it is in one stage."""
    ends = [end for end in (facts.sender, facts.receiver) if end.stages is not None and end.stages.slow_ratio]
    if not ends:
        return
    end = max(ends, key=lambda side: 0.0 if side.stages is None else side.stages.slow_ns or 0.0)
    found = end.stages
    if found is None or found.slow_stage is None or (found.slow_ratio or 0.0) < MIN_SLOW_RATIO:
        return
    yield figure(
        "stage_slow",
        TABLE,
        end,
        slow_ratio=found.slow_ratio,
        slow_ns=found.slow_ns,
        stage=found.slow_stage.title,
        about=found.slow_stage.about,
    )
