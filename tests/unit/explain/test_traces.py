"""The traces of causes: what would be seen of a cause, and is not there."""

from dataclasses import replace

import pytest

from tests.accuracy import injected
from tests.unit.explain.situations import situations
from whyperf.explain.causes import Cause
from whyperf.explain.decide import ranked_causes
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.host_limits import HostLimits, MemoryLimit, Queue, Quota
from whyperf.explain.observe import NAMED, observe
from whyperf.explain.path_facts import WindowFacts
from whyperf.explain.traces import TRACES, lacking
from whyperf.explain.trial_facts import Facts

READ = HostLimits(span_ns=1)
MAX_LACKING = 0.05
"""Injected causes without a trace: some injections take next to nothing."""


def lacks(facts: Facts) -> frozenset[str]:
    return lacking(facts, observe(facts, NAMED))


def hosts(near: HostLimits, far: HostLimits = READ) -> Facts:
    return Facts("a trial", sender=HostFacts(limits=near), receiver=HostFacts(limits=far))


def test_nothing_is_lacking_where_nothing_was_seen() -> None:
    assert lacks(Facts("a trial", connections=100)) == set()


@pytest.mark.parametrize(
    ("cause", "with_trace"),
    [
        (Cause.CPU_QUOTA, replace(READ, quota=Quota("/a", "v2", 0.5, 0.9, 0.4))),
        (Cause.MEMORY_LIMIT, replace(READ, memory=MemoryLimit("/a", "v2", 1, 3))),
        (Cause.MEMORY_LIMIT, replace(READ, counts={"TcpExtTCPMemoryPressures": 2})),
        (Cause.LOCAL_QUEUE, replace(READ, queues=(Queue("eth0", "tbf", 100, rate_bps=1e6),))),
        (Cause.LOCAL_QUEUE, replace(READ, queues=(Queue("eth0", "pfifo", 100, dropped_packets=1),))),
    ],
)
def test_a_cause_that_counters_of_either_host_show_has_its_trace(cause: Cause, with_trace: HostLimits) -> None:
    assert cause in lacks(hosts(READ))
    assert cause not in lacks(hosts(with_trace))
    assert cause not in lacks(hosts(READ, with_trace))
    # What one host does, the counters of the other do not show.
    assert cause not in lacks(hosts(READ, HostLimits()))


def test_a_small_quota_that_stops_nobody_is_none() -> None:
    assert Cause.CPU_QUOTA in lacks(hosts(replace(READ, quota=Quota("/a", "v2", 0.5, 0.0, 0.001))))


def test_a_window_above_64_kib_was_scaled() -> None:
    facts = Facts("a trial", windows=WindowFacts(announced_bytes_median=200_000))
    assert Cause.WINDOW_SCALING in lacks(facts)
    unscaled = replace(facts, windows=WindowFacts(announced_bytes_median=65_535))
    assert Cause.WINDOW_SCALING not in lacks(unscaled)


def test_what_lacks_its_trace_is_hardly_probable() -> None:
    def quota(facts: Facts) -> float:
        return next((each.probability for each in ranked_causes([], facts) if each.cause == Cause.CPU_QUOTA), 0.0)

    assert quota(hosts(READ)) < quota(hosts(HostLimits(), HostLimits())) / 10 + 0.005


def test_injected_causes_leave_their_traces() -> None:
    seen = lost = 0
    for situation in situations():
        truth = injected()[situation.experiment]
        if truth.is_undisturbed:
            continue
        missing = lacks(situation.facts)
        # Of several names for one injection, one with a trace is enough.
        named = [cause for cause in truth.accepted if cause in set(map(str, TRACES))]
        if named:
            seen += 1
            lost += missing.issuperset(named)
    assert seen > 50
    assert lost / seen <= MAX_LACKING
