"""Columns as long as a log, held against what the slower functions of numpy make of them; the longest of spans."""

import numpy as np
import polars as pl
import pytest

from whyperf.explain.budget.calls import Activity, first_that_holds, is_doing, last_at
from whyperf.explain.budget.shares import longest_of


@pytest.mark.parametrize("count", [0, 1, 40])
def test_the_last_instant_before_a_time_is_the_one_that_a_search_finds(count: int) -> None:
    drawn = np.random.default_rng(7)
    instants = np.sort(drawn.integers(0, 60, count))
    times = np.unique(drawn.integers(-5, 70, 50))

    assert last_at(instants, times).tolist() == (np.searchsorted(instants, times, side="right") - 1).tolist()


def test_the_first_question_that_holds_is_the_answer() -> None:
    drawn = np.random.default_rng(8)
    questions = [(drawn.random(200) < 0.3, code) for code in (4, 2, 4, 1)]

    expected = np.select([holds for holds, _ in questions], [code for _, code in questions], 9)
    assert first_that_holds(questions, 9).tolist() == expected.tolist()


def test_an_activity_is_one_of_those_wanted() -> None:
    activity = np.array([int(activity) for activity in Activity], dtype=np.int8)

    found = is_doing(activity, Activity.BLOCKED, Activity.AWAY)
    assert set(activity[found].tolist()) == {Activity.BLOCKED, Activity.AWAY}


def test_the_longest_spans_of_a_state_come_longest_first() -> None:
    starts = [0, 10, 15, 40, 50, 90]
    states = ["away", "busy", "away", "away", "busy", "away"]
    spans = pl.DataFrame({"begin_ns": starts, "end_ns": [*starts[1:], 105], "state": states})

    found = longest_of(spans, 3)
    assert [(span.from_ns, span.to_ns) for span in found["away"]] == [(15, 40), (90, 105), (0, 10)]
    assert [(span.connection, span.from_ns) for span in found["busy"]] == [(3, 50), (3, 10)]
