"""Additions of stack samples: what the CPU that is the limit spends its time on, and causes that only they show.

A rate that a CPU limits is at most total / (total - class) as high without a class of cost: less if another limit comes
first, if what replaces the class costs something, or if a class is only partly removable. So a class is an upper bound
of a gain, and no prediction.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt

from whyperf.analyze.cost.classes import INTERRUPTS_ON, NOT_ATTRIBUTED, OWN_TRACING, by_name
from whyperf.analyze.cost.events import COPIED_KBYTES
from whyperf.analyze.cost.text import EVENTS
from whyperf.explain.causes import Cause
from whyperf.explain.changes.cost_remedies import remedy_for
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import ClassFacts, CostFacts, CostPart, HostFacts
from whyperf.explain.limits import gain
from whyperf.explain.limits.cpu import SMALL_WRITES
from whyperf.explain.limits.limit import BUSY, LIMIT_FROM, Limit, busy, figure
from whyperf.explain.limits.next_limit import ON_CPU
from whyperf.explain.trial_facts import Facts

BY_CLASS: Mapping[str, Cause] = {
    "filter_rules": Cause.PACKET_FILTERS,
    "other_bpf": Cause.OTHER_BPF,
    "security_modules": Cause.CALL_CHECKS,
    "checksums": Cause.SOFTWARE_CHECKSUMS,
    "memory_pressure": Cause.MEMORY_PRESSURE,
    "contention": Cause.LOCK_CONTENTION,
    "mitigations": Cause.MITIGATIONS,
}
"""Classes of cost that are causes: a host without what they stand for does the same work. Of the others a part is
needed, however a host is set up."""
MIN_SAMPLES = 300
"""Samples of a side from which on a share of an eighth is known to 4 points."""
MIN_INTERRUPTS_RATIO = 0.6
"""Part of a CPU that soft interrupts take, from which on they are what it is busy with."""
SHOWN = 3
MIN_SHOWN = 0.05
"""Classes that are evidence, from this share on: the dearest few, and those that could be causes."""
UNNAMED = frozenset({NOT_ATTRIBUTED, OWN_TRACING, INTERRUPTS_ON})
"""Classes that say nothing of the load: what has no name or was sampled late, and what the measurement itself takes."""


@dataclass(frozen=True)
class Limiting:
    """A side whose CPU is the limit, with its cost and the part of the cost that this CPU has."""

    role: str
    end: HostFacts
    cost: CostFacts
    part: CostPart

    @property
    def dearest(self) -> ClassFacts | None:
        """The class that costs that CPU most; None where most of its time has no name."""
        known = [found for found in self.cost.classes if found.name not in UNNAMED and found.of(self.part) > 0]
        first = max(known, key=lambda found: found.of(self.part), default=None)
        unnamed = self.cost.share(NOT_ATTRIBUTED, self.part)
        return None if first is None or self.share(first.name) < unnamed else first

    def share(self, name: str) -> float:
        """The share of a class in that CPU's cycles."""
        return self.cost.share(name, self.part)

    def times_without(self, name: str) -> float:
        """Largest factor by which the rate is higher without the class, with the error of the samples (95 %)."""
        share = self.share(name)
        samples = max(1.0, self.cost.samples * self.cost.total(self.part) / max(1e-9, self.cost.total()))
        return 1 / max(1e-3, 1 - share - 1.96 * sqrt(share * (1 - share) / samples))


def limiting_of(facts: Facts, role: str) -> Limiting | None:
    """A side with its cost, whether or not its CPU is the limit; None without samples."""
    end = facts.sender if role == "sender" else facts.receiver
    return None if end.cost is None or end.cost.total() <= 0 else Limiting(role, end, end.cost, _part(end, end.cost))


def _part(end: HostFacts, cost: CostFacts) -> CostPart:
    """Which part of its cost the busiest CPU of a side has: softirqs of other CPUs leave a thread's time alone."""
    thread, softirq = end.processors.thread_ratio or 0.0, end.processors.softirq_ratio or 0.0
    in_threads, in_softirqs = cost.total("threads"), cost.total("softirqs")
    if softirq >= max(MIN_INTERRUPTS_RATIO, thread) and in_softirqs > in_threads:
        return "softirqs"
    return "threads" if thread >= BUSY and in_threads >= in_softirqs else "side"


def packet_filters(facts: Facts) -> Limit | None:
    """Each packet passes rules of netfilter or of tc."""
    return _of_class(facts, "filter_rules")


def other_bpf(facts: Facts) -> Limit | None:
    """BPF programs of others, or tracing, run on each packet or call."""
    return _of_class(facts, "other_bpf")


def call_checks(facts: Facts) -> Limit | None:
    """Each system call is checked, audited or traced."""
    return _of_class(facts, "security_modules")


def software_checksums(facts: Facts) -> Limit | None:
    """A CPU computes checksums that a device could."""
    return _of_class(facts, "checksums")


def memory_pressure(facts: Facts) -> Limit | None:
    """The host makes room because its memory is short."""
    return _of_class(facts, "memory_pressure")


def lock_contention(facts: Facts) -> Limit | None:
    """A CPU waits for locks that others hold."""
    return _of_class(facts, "contention")


def mitigations(facts: Facts) -> Limit | None:
    """Guards against speculation take time at each entry into the kernel."""
    return _of_class(facts, "mitigations")


def _of_class(facts: Facts, name: str) -> Limit | None:
    sides = [side for role in ("sender", "receiver") if (side := limiting_of(facts, role)) is not None]
    side = max(sides, key=lambda found: found.share(name) * busy(found.end), default=None)
    if side is None or side.cost.samples < MIN_SAMPLES:
        return None
    found, share = side.cost.of_class(name), side.share(name) * busy(side.end)
    if found is None or share < LIMIT_FROM:
        return None
    return Limit(
        BY_CLASS[name],
        share,
        (_row(side, found), _bound(side, found)),
        _bounded_by(side, found),
        values={
            "role": side.role,
            "class_ratio": side.share(name),
            "functions": list(found.functions) or None,
            "cost_class": name,
            "without_times": side.times_without(name),
        },
    )


SIDE_CPUS = frozenset({Cause.SENDER_CPU, Cause.RECEIVER_CPU, Cause.CAPACITY})
"""Verdicts on all that a CPU does: what costs most of it bounds what can be gained."""
REFINED = (ON_CPU - {Cause.OTHER_LOAD, Cause.CPU_QUOTA, Cause.SHARED_CPU}) | {Cause.CAPACITY}
"""Verdicts to which the cost of a side is evidence: not those on who else has its CPU."""
_OF_RECEIVER = frozenset({Cause.RECEIVER_CPU, Cause.READ_SIZE})
_OF_SENDER = frozenset({Cause.SENDER_CPU, Cause.TINY_WRITES})


def refined(limit: Limit, facts: Facts) -> Limit:
    """The limit with what samples show of the CPU that it is about; as it is without samples."""
    if limit.cause not in REFINED:
        return limit
    if limit.variant == "alternating":
        sides = [side for role in ("sender", "receiver") if (side := limiting_of(facts, role)) is not None]
        rows = [row for side in sides for row in _rows(side, shown=1)]
        return replace(limit, evidence=(*limit.evidence, *rows))
    side = limiting_of(facts, limiting_role(limit, facts))
    if side is None:
        return limit
    rows = list(_rows(side, but=limit))
    dearest = side.dearest
    if dearest is None or limit.cause not in SIDE_CPUS:
        return replace(limit, evidence=(*limit.evidence, *rows))
    rows.insert(1, _bound(side, dearest))
    found = replace(limit, evidence=(*limit.evidence, *rows))
    is_whole = limit.cause is Cause.CAPACITY or limit.variant.startswith("packets")
    return _named(found, side, dearest, facts) if is_whole else found


MIN_CHANGED = 0.1
"""Share of a class from which on a change is proposed for it."""


def _named(limit: Limit, side: Limiting, dearest: ClassFacts, facts: Facts) -> Limit:
    """The limit with the name of what costs most. Of a CPU that only moves payload, the change is that of the dearest
    class for which there is one."""
    values: dict[str, Value | None] = {
        **limit.values,
        "class": by_name()[dearest.name].title,
        "class_ratio": side.share(dearest.name),
        "without_times": side.times_without(dearest.name),
        "cost_class": dearest.name,
    }
    # What costs most is known here, and that may be the calls.
    of_whole = limit.variant.removesuffix(SMALL_WRITES).rstrip(".")
    variant = f"{of_whole}.sampled" if of_whole else "sampled"
    named = replace(limit, variant=variant, values=values)
    if limit.cause is not Cause.CAPACITY:
        return named
    changed = [
        found
        for found in sorted(side.cost.classes, key=lambda found: -found.of(side.part))
        if side.share(found.name) >= MIN_CHANGED and remedy_for(found.name, side.role, facts) is not None
    ]
    if not changed:
        return named
    return replace(named, values={**values, "changed_class": changed[0].name}, gain=_bounded_by(side, changed[0]))


def _bounded_by(side: Limiting, found: ClassFacts) -> gain.Gain:
    return gain.without_class(side.times_without(found.name), by_name()[found.name].title)


def limiting_role(limit: Limit, facts: Facts) -> str:
    """The side that a limit is about; of one about both, that with the busier CPU."""
    if isinstance(role := limit.values.get("role"), str):
        return role
    if limit.cause in _OF_RECEIVER or limit.cause in _OF_SENDER:
        return "receiver" if limit.cause in _OF_RECEIVER else "sender"
    is_receiver = (facts.receiver.wanted_ratio or 0.0) > (facts.sender.wanted_ratio or 0.0)
    return "receiver" if is_receiver else "sender"


def _rows(side: Limiting, but: Limit | None = None, shown: int = SHOWN) -> Iterator[Evidence]:
    """The dearest classes of a side, without that of the limit itself."""
    own = None if but is None else but.cause
    named = [found for found in side.cost.classes if BY_CLASS.get(found.name) is not own or own is None]
    dearest = side.dearest
    named.sort(key=lambda found: (found is not dearest, -found.cycles))
    for place, found in enumerate(named):
        if (place < shown or found.name in BY_CLASS) and found.cycles >= MIN_SHOWN * side.cost.total():
            yield _row(side, found)


def _row(side: Limiting, found: ClassFacts) -> Evidence:
    """Evidence of what a class takes of the side, as `whyperf show --view cost` has it."""
    per = side.cost.per
    # Of KBytes, the cost of each is that of the first figure.
    is_event = found.event in EVENTS and found.event not in {"kbytes", COPIED_KBYTES}
    event = EVENTS[found.event][0] if is_event else None
    values: dict[str, Value | None] = {
        f"class_cycles_per_{per}": found.cycles,
        f"total_cycles_per_{per}": side.cost.total(),
        "class_ratio": side.cost.share(found.name),
        "class": by_name()[found.name].title,
        "cost_class": found.name,
        "role": side.role,
        "functions": list(found.functions) or None,
        f"low_cycles_per_{per}": found.low,
        f"high_cycles_per_{per}": found.high,
        "each_cycles": found.each_cycles if event else None,
        "event": event,
    }
    return figure("cost_class" if per == "kbyte" else "cost_class.transactions", "stacks", side.end, **values)


def _bound(side: Limiting, found: ClassFacts) -> Evidence:
    """Evidence of what the side could carry at most if the class cost nothing."""
    return figure(
        f"cost_without.{side.part}",
        "stacks",
        side.end,
        without_times=side.times_without(found.name),
        class_ratio=side.share(found.name),
        **{"class": by_name()[found.name].title},
        cost_class=found.name,
        role=side.role,
    )
