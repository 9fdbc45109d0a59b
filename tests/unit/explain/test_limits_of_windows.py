"""Windows, buffers, the rates of a congestion control and acknowledgments: what each takes, and what speaks against."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.explain.limit_cases import (
    LITTLE_LEFT,
    MISMATCH,
    MS,
    MUCH,
    OF_WINDOWS,
    PACED,
    PATH,
    Case,
    Edit,
    at_receiver,
    counted,
    cpu,
    each_change,
    each_scene,
    facts,
    limit_of,
    of_asked,
    of_windows,
    share_of,
    shares,
)
from whyperf.explain.causes import Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.explanation import Change, Spell
from whyperf.explain.limits import windows
from whyperf.explain.limits.limit import looked_up
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
from whyperf.profile import Factors

HELD = facts(shares(receive_window_buffer=0.9), windows={"announced_bytes_max": 16_384})


@each_scene(OF_WINDOWS)
def test_a_limit_takes_much_of_its_scene(case: Case) -> None:
    limit = limit_of(case.cause, case.speaks)
    assert limit.code == case.code
    assert limit.share >= MUCH
    assert limit.evidence


@each_change(OF_WINDOWS)
def test_a_limit_takes_little_where_something_speaks_against_it(case: Case, edit: Edit) -> None:
    assert share_of(case.cause, edit(case.speaks)) <= LITTLE_LEFT * share_of(case.cause, case.speaks)


def test_a_window_that_has_shrunk_is_full_of_what_the_reader_leaves() -> None:
    """Linux takes no window back: one that is usually smaller than the largest, unread payload has closed."""
    shrunk = counted(
        shares(receive_window_buffer=0.95),
        windows=PATH | {"announced_bytes_max": 1_800_000, "announced_bytes_median": 131_072},
    )
    assert share_of(Cause.SLOW_READER, shrunk) > 5 * share_of(Cause.RECEIVE_BUFFER, shrunk)
    steady = of_windows(announced_bytes_max=131_072)(shrunk)
    assert share_of(Cause.RECEIVE_BUFFER, steady) == pytest.approx(0.95)
    assert share_of(Cause.SLOW_READER, steady) == 0


@pytest.mark.parametrize(("busy", "expected"), [(0.5, 2.0), (0.01, 10.0)])
def test_the_gain_of_a_window_ends_where_the_receiver_is_busy(busy: float, expected: float) -> None:
    limit = windows.receive_buffer(at_receiver(cpu(thread=busy))(HELD))
    assert limit is not None
    assert limit.gain is not None
    assert limit.gain.ratio == pytest.approx(expected)


def test_a_pacing_rate_that_was_asked_for_promises_nothing() -> None:
    assert limit_of(Cause.PACING_RATE, PACED).gain is not None
    assert limit_of(Cause.PACING_RATE, of_asked(pacing_bps=500e6)(PACED)).gain is None


def test_a_state_says_how_often_it_was_and_when_longest() -> None:
    spells = tuple(Spell(connection=2, from_ns=at * MS, to_ns=(at + long) * MS) for at, long in ((500, 30), (100, 20)))
    seen = {"longest": {"receive_window_buffer": spells}, "spells": {"receive_window_buffer": 40}}
    state = limit_of(Cause.RECEIVE_BUFFER, facts(shares(receive_window_buffer=0.6) | seen)).evidence[0]
    values = state.values
    assert (values["state_ratio"], values["longest_ns"], values["from_ns"]) == (0.6, 30 * MS, 500 * MS)
    assert (state.connection, state.from_ns, state.to_ns, state.spells_count) == (2, 500 * MS, 530 * MS, 40)
    assert state.spells == list(spells)


def test_the_usual_window_stands_next_to_the_largest() -> None:
    row = limit_of(Cause.RECEIVE_BUFFER, of_windows(announced_bytes_median=8192)(HELD)).evidence[1]
    assert (row.code, row.values["window_bytes"], row.values["median_bytes"]) == ("max_window", 16_384, 8192)


@pytest.mark.parametrize(
    ("level", "tables"),
    [("segments", {"segments"}), ("counters", {"tcp_info", "counters"}), ("user", {"tcp_info"})],
)
def test_without_a_log_no_evidence_claims_to_be_from_it(level: str, tables: set[str]) -> None:
    limit = limit_of(Cause.WRITE_WINDOW_MISMATCH, replace(MISMATCH, level=level))
    assert {looked_up(row, level).table for row in limit.evidence} == tables


def change_of(cause: Cause, found: Facts, setup: Setup) -> Change:
    change = change_for(limit_of(cause, found), found, setup)
    assert change is not None
    return change


@pytest.mark.parametrize(
    ("set_factors", "changed"),
    [
        ({"window_bytes": 16_384}, {"window_bytes": "default"}),
        ({"receive_buffer_bytes": 8192, "window_bytes": 16_384}, {"receive_buffer_bytes": "default"}),
        ({}, {"receive_buffer_bytes": 262_144}),
    ],
)
def test_the_change_undoes_what_the_cell_set(set_factors: Factors, changed: Factors) -> None:
    assert change_of(Cause.RECEIVE_BUFFER, HELD, Setup(set_factors)).factors == changed


@pytest.mark.parametrize(("is_turned", "factors"), [(False, {"receive_buffer_bytes": 262_144}), (True, {})])
def test_no_factor_is_named_that_would_change_the_other_side(is_turned: bool, factors: Factors) -> None:
    change = change_of(Cause.RECEIVE_BUFFER, replace(HELD, is_turned=is_turned), Setup())
    assert change.factors == factors
    assert ("wrong_factors" in change.values) is is_turned


@pytest.mark.parametrize(
    ("setup", "window"),
    [
        ({"factors": {"window_bytes": 8192}}, "default"),
        ({"factors": {"window_bytes": "default"}}, 32_768),
        ({"factors": {"window_bytes": 8192, "hosts": "sparc2+sba-100@2.2.6"}, "testbed": "model"}, 32_768),
    ],
)
def test_a_window_that_writes_do_not_fit_gets_one_that_is_larger_there(
    setup: dict[str, Any], window: str | int
) -> None:
    assert change_of(Cause.WRITE_WINDOW_MISMATCH, MISMATCH, Setup(**setup)).factors == {"window_bytes": window}
