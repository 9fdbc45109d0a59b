"""Connections that different things hold are judged by themselves."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.explain.limit_cases import MS, PATH, counted, link
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Budget, StateShare
from whyperf.explain.gather.all_facts import shares_of
from whyperf.explain.gather.read import ALWAYS
from whyperf.explain.gather.sockets import populations
from whyperf.explain.limits.every import found_in
from whyperf.explain.limits.judge import judge, of_populations
from whyperf.explain.path_facts import WindowFacts
from whyperf.explain.trial_facts import Facts, Population

SECOND = 1_000 * MS
WINDOWS = WindowFacts(rtt_ns_min=10 * MS, rtt_ns_median=12 * MS, cwnd_segments_median=30, announced_bytes_max=65_536)
QUEUED = WindowFacts(rtt_ns_min=10 * MS, rtt_ns_median=19 * MS, cwnd_segments_median=30)


def budget(connection: int, shares: Mapping[str, float]) -> Budget:
    states = [StateShare(state=name, ns=int(part * SECOND), ratio=part, spells=1) for name, part in shares.items()]
    return Budget(
        trial="t", host="near", role="sender", connection=connection, begin_ns=0, end_ns=SECOND, shares=states
    )


HELD, PAUSING = {"receive_window_buffer": 0.9, "unknown": 0.1}, {"not_writing": 0.95, "unknown": 0.05}


def found(*shares: Mapping[str, float]) -> tuple[Population, ...]:
    budgets = [budget(number, part) for number, part in enumerate(shares)]
    return populations(budgets, ALWAYS, shares_of, lambda _: WINDOWS)


def test_connections_that_different_things_hold_are_populations() -> None:
    mixed = found(HELD, HELD, HELD, PAUSING)
    assert [(part.connections, part.of) for part in mixed] == [(3, 4), (1, 4)]
    assert mixed[0].shares["receive_window_buffer"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    "shares",
    [
        (HELD, HELD),
        # What differs a little is one kind of connection.
        ({"unknown": 0.55, "not_writing": 0.45}, {"unknown": 0.45, "not_writing": 0.55}),
        # Nothing holds the second most of the time.
        (HELD, {"not_writing": 0.4, "unknown": 0.3, "send_buffer": 0.3}),
    ],
)
def test_connections_that_are_alike_are_none(shares: tuple[Mapping[str, float], ...]) -> None:
    assert found(*shares) == ()


def mixed_facts(*shares: Mapping[str, float]) -> Facts:
    budgets = [budget(number, part) for number, part in enumerate(shares)]
    whole = counted({"shares": shares_of(budgets)}, windows=PATH, connections=len(shares))
    return replace(whole, populations=found(*shares))


def test_a_limit_of_some_connections_counts_for_their_part() -> None:
    of = mixed_facts(HELD, HELD, HELD, PAUSING)
    limits = {limit.cause: limit for limit in of_populations(of, found_in)}
    assert limits.keys() == {Cause.RECEIVE_BUFFER, Cause.SLOW_WRITER}
    writer = limits[Cause.SLOW_WRITER]
    assert (writer.values["part_count"], writer.values["whole_count"]) == (1, 4)
    assert writer.values["lost_ratio"] == pytest.approx(0.95)
    # What holds a part of the connections costs that part of the time.
    assert writer.share == pytest.approx(0.95 / 4, abs=0.01)
    assert limits[Cause.RECEIVE_BUFFER].share == pytest.approx(0.9 * 3 / 4, abs=0.01)
    (alike,) = of_populations(mixed_facts(HELD, HELD), found_in)
    assert "part_count" not in alike.values


def test_a_verdict_says_of_how_many_connections_it_is_true() -> None:
    verdicts = judge(mixed_facts(HELD, HELD, HELD, PAUSING))
    buffer = next(verdict for verdict in verdicts if verdict.cause is Cause.RECEIVE_BUFFER)
    assert buffer.claim.startswith("3 of 4 connections: the receive buffer is too small")


def test_a_full_path_stands_before_connections_that_pause() -> None:
    budgets = [budget(number, part) for number, part in enumerate(({"unknown": 1.0}, PAUSING, PAUSING, PAUSING))]
    whole = counted({"shares": shares_of(budgets)}, segments=link(100e6, steadiness=0.95, use=0.97))
    whole = replace(whole, windows=QUEUED)

    def most(of: Facts) -> Cause:
        return max(of_populations(of, found_in), key=lambda limit: limit.share).cause

    parts = populations(budgets, ALWAYS, shares_of, lambda _: QUEUED)
    assert most(replace(whole, populations=parts)) is Cause.BOTTLENECK
    # Taken together they hid it.
    assert most(whole) is Cause.SLOW_WRITER
