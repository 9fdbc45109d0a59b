"""No explanation of anything that is stored contradicts itself, and each kind of contradiction is found."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.truth.one_sided import WatchedView
from tests.unit.explain.limit_cases import MS, facts
from tests.unit.explain.situations import situations
from tests.unit.explain.stored_trials import NAMES, VIEWS, unpack_trial
from tests.whole.explain.agreement import Explained, contradictions
from whyperf.analyze.flow import FlowTrial, as_watched, at_levels, open_trial
from whyperf.explain.budget import budgets_of
from whyperf.explain.gather import by_payload, gather_facts
from whyperf.explain.host_facts import HostLimits, Queue
from whyperf.explain.limits.judge import judged
from whyperf.explain.segment_log import read_logs
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts


def of_situations() -> Iterator[Explained]:
    """All stored situations, as their user explains them: with the rate of the path that the plan has."""
    for stored in situations():
        setup = replace(stored.setup, knows_path_rate=True)
        name = f"{stored.experiment} {stored.view.value}"
        yield Explained(name, stored.facts, setup, judged(stored.facts, setup).verdicts)


def of_trials() -> Iterator[Explained]:
    """All stored trials at each level of evidence, and as connections of another program."""
    views = [(view.value, view.levels, None) for view in VIEWS]
    watched = [
        (f"watched {view.value}", dict.fromkeys(("sender", "receiver"), view.level), view.sides)
        for view in WatchedView
        if view.has_sockets
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            trial = by_payload(open_trial(unpack_trial(name, Path(folder))))
            for view, levels, sides in [*views, *watched]:
                read = at_levels(trial, levels)
                if sides is not None:
                    read = as_watched(read, None if sides == "both" else sides)
                yield judgement(f"{name} {view}", facts_of(read))


def facts_of(trial: FlowTrial) -> Facts:
    logs = read_logs(trial)
    return gather_facts(trial, logs, budgets_of(trial, logs), one_machine=True)


def judgement(name: str, facts: Facts) -> Explained:
    return Explained(name, facts, Setup(), judged(facts).verdicts)


@pytest.mark.parametrize("stored", [of_situations, of_trials])
def test_no_stored_explanation_contradicts_itself(stored: Callable[[], Iterator[Explained]]) -> None:
    assert [found for explained in stored() for found in contradictions(explained)] == []


TRIPS = {"rtt_ns_min": 10 * MS, "rtt_ns_median": 19 * MS, "cwnd_segments_median": 30}
LINK = {"bottleneck.bps": 97.6e6, "bottleneck.steadiness": 0.95, "queue.standing_ratio": 0.9}
FLIGHT = {"flight_bytes_max": 774_680, "rtt_ns_median": 2 * MS}
LAN = {"rtt_ns_min": 300_000, "rtt_ns_median": 400_000, "cwnd_segments_median": 10}
TBF = Queue("eth0", "tbf", sent_packets=20_000, dropped_packets=4, overlimits=9_000, rate_bps=1e9, limit_bytes=300_000)
LARGE_WINDOW = {"announced_bytes_max": 8_688, "announced_bytes_median": 8_688}
FOUND = {
    "a link that is full while there is data, of a program that pauses": facts(
        {"shares": {"unknown": 0.38, "not_writing": 0.62}},
        windows=TRIPS,
        segments=LINK | {"bottleneck.use_ratio": 0.38},
        level="counters",
        rate_bps=36.8e6 * 0.95,
    ),
    "a rate with a full queue below that of all the time": facts(
        {"shares": {"unknown": 1.0}},
        windows=TRIPS,
        segments={"queue.full_bps": 20e6, "queue.losses_full_ratio": 1.0, "retransmitted_ratio": 0.01},
        level="user",
        rate_bps=35e6,
    ),
    "a send buffer that was larger before": facts(
        {"shares": {"send_buffer": 0.9}, "sockets.buffer_bytes": 65_536}, windows=FLIGHT
    ),
    "one host of a connection of another program, with its log": facts(watched_sides="sender", level="segments"),
    "the log of one host": facts(
        {"shares": {"congestion_window": 0.9}},
        windows=TRIPS,
        segments={"data_segments": 859, "retransmitted_ratio": 0.05},
        rate_bps=20e6,
    ),
    "four drops of a shaper that is far from full": facts(
        {"shares": {"unknown": 1.0}, "limits": HostLimits(queues=(TBF,)), "sockets.mss_bytes": 1448},
        windows=LAN,
        segments={"data_segments": 20_000},
        level="user",
        rate_bps=30e6,
    ),
    "a window on a path whose rate is given": facts(
        {"shares": {"receive_window_buffer": 0.4, "unknown": 0.6}, "processors.thread_ratio": 0.01},
        {"processors.thread_ratio": 0.01, "sockets.buffer_bytes": 16_384},
        windows={"rtt_ns_min": 2 * MS, "rtt_ns_median": 2 * MS, **LARGE_WINDOW},
        level="user",
        rate_bps=150e6,
    ),
}
"""Facts of which an explanation once contradicted itself."""


@pytest.mark.parametrize("name", FOUND)
def test_no_contradiction_that_was_found_comes_back(name: str) -> None:
    given = Setup({"path_rate_bps": 400_000_000})
    assert list(contradictions(Explained(name, FOUND[name], given, judged(FOUND[name], given).verdicts))) == []
