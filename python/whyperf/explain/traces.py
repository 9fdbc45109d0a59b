"""The trace that a cause leaves: where it would be seen and is not there, the cause hardly limits.

A quota stops threads, a loss is sent again, a large window needs window scaling. What weights learn of such figures is
how much of them speaks for a cause; that none at all speaks against it is no matter of degree.
"""

from collections.abc import Callable, Mapping

from whyperf.explain.causes import Cause
from whyperf.explain.observe import Observations
from whyperf.explain.trial_facts import Facts

LACKING = 0.03
"""The part of its probability that a cause keeps without its trace: 1 of 102 stored trials with an injected cause lacks
it (tests/unit/explain/test_traces.py), and 3 % of the causes that counted in drawn situations (seed 20261203)."""
MIN_STOPPED, MIN_OPENING = 0.005, 0.02
"""The part of the time that a quota stops threads at least, and that opening connections takes: less is no limit that
anybody would look for."""
MIN_OTHERS = 0.05
"""The same of other programs: each host has some that take 1 to 4 % of a CPU."""
MIN_BUSY, MIN_SHARED, MIN_COSTLY = 0.4, 0.3, 0.5
"""The part of a CPU that a side uses or waits for at least where that CPU limits it, where both sides share one, and
where single functions are what it is busy with: a thread that waits in between is busy for less than all the time."""
UNSCALED_BYTES = 65_535
"""The largest window without window scaling (RFC 7323 section 2.2)."""
FEW_CONNECTIONS = 4
"""So few share nothing that many would wait for."""
EACH_SECOND = 0.6
"""ACKs for a segment where a receiver acknowledges every second one (RFC 5681 section 4.2), and a few more."""

Lacks = Callable[[Facts, Observations], bool]
SIDES = ("sender", "receiver")


def lacking(facts: Facts, observed: Observations) -> frozenset[str]:
    """The causes whose trace would be seen, and is not there."""
    return frozenset(str(cause) for cause, lacks in TRACES.items() if lacks(facts, observed))


def _all_below(limit: float, *names: str) -> Lacks:
    """Every one of these is known, and none is as much as the limit."""

    def lacks(_: Facts, observed: Observations) -> bool:
        values = [observed[name].value for name in names]
        return all(value is not None and value < limit for value in values)

    return lacks


def _all_above(limit: float, *names: str) -> Lacks:
    """Every one of these is known, and above the limit."""

    def lacks(_: Facts, observed: Observations) -> bool:
        values = [observed[name].value for name in names]
        return all(value is not None and value > limit for value in values)

    return lacks


def _of_both(*names: str) -> tuple[str, ...]:
    return tuple(f"{side}.{name}" for side in SIDES for name in names)


def _knows_hosts(facts: Facts) -> bool:
    """True where the counters of both hosts were read, so that nothing of one is out of sight."""
    return bool(facts.sender.limits.span_ns and facts.receiver.limits.span_ns)


def _no_quota(facts: Facts, _: Observations) -> bool:
    quotas = [end.limits.quota for end in (facts.sender, facts.receiver)]
    return _knows_hosts(facts) and all(quota is None or quota.stopped_ratio < MIN_STOPPED for quota in quotas)


def _no_memory_limit(facts: Facts, observed: Observations) -> bool:
    has_none = all(end.limits.memory is None for end in (facts.sender, facts.receiver))
    return _knows_hosts(facts) and has_none and not observed["kernel.lacks_memory"].value


def _no_own_queue(facts: Facts, _: Observations) -> bool:
    """No queueing discipline of a host has a rate, holds packets back or drops them."""
    queues = [queue for end in (facts.sender, facts.receiver) for queue in end.limits.queues]
    acts = any(queue.rate_bps or queue.dropped_packets or queue.overlimits for queue in queues)
    return _knows_hosts(facts) and not acts


def _nothing_again(_: Facts, observed: Observations) -> bool:
    """TCP, which has segments of a largest size, sent nothing again."""
    return observed["sender.mss"].value is not None and observed["loss.repeated"].value == 0


_NOT_BUSY = _all_below(MIN_COSTLY, *_of_both("cpu.wanted"))
TRACES: Mapping[Cause, Lacks] = {
    Cause.CPU_QUOTA: _no_quota,
    Cause.MEMORY_LIMIT: _no_memory_limit,
    Cause.LOCAL_QUEUE: _no_own_queue,
    **dict.fromkeys((Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.PATH_LOSS), _nothing_again),
    **dict.fromkeys((Cause.SMALL_QUEUE, Cause.POLICER), _nothing_again),
    Cause.MANY_CONNECTIONS: _all_below(FEW_CONNECTIONS + 1, "connections"),
    Cause.WINDOW_SCALING: _all_above(UNSCALED_BYTES, "window.announced"),
    Cause.SENDER_CPU: _all_below(MIN_BUSY, "sender.cpu.thread", "sender.cpu.wanted"),
    Cause.RECEIVER_CPU: _all_below(MIN_BUSY, "receiver.cpu.thread", "receiver.cpu.wanted"),
    Cause.SHARED_CPU: _all_below(MIN_SHARED, *_of_both("cpu.thread", "cpu.wanted", "cpu.waited", "cpu.peer")),
    Cause.OTHER_LOAD: _all_below(MIN_OTHERS, *_of_both("cpu.other", "cpu.steal", "cpu.withheld", "cpu.waited")),
    Cause.QUICK_ACK: _all_below(EACH_SECOND, "ack.each"),
    Cause.CONNECTION_SETUP: _all_below(MIN_OPENING, "exchange.opening"),
    **dict.fromkeys((Cause.PACKET_FILTERS, Cause.OTHER_BPF, Cause.CALL_CHECKS, Cause.SOFTWARE_CHECKSUMS), _NOT_BUSY),
    **dict.fromkeys((Cause.MEMORY_PRESSURE, Cause.LOCK_CONTENTION, Cause.MITIGATIONS), _NOT_BUSY),
}
"""When a cause lacks its trace; a cause that is not here leaves none that is always there."""
