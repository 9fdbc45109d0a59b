"""Sequential stopping: bounds, widths, repeatability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.plan import StopRule, relative_width, wants_trial

RULE = StopRule(trials_min=3, trials_max=10, interval_width=0.05)
GOODPUTS = st.lists(st.floats(1e6, 1e11), min_size=0, max_size=12)


@given(GOODPUTS, st.integers(0, 15))
def test_never_below_the_minimum_and_never_above_the_maximum(goodputs: list[float], failed: int) -> None:
    tried = len(goodputs) + failed
    wants = wants_trial(RULE, "main", goodputs, tried, "seed")
    if tried >= 10:
        assert not wants
    elif len(goodputs) < 3:
        assert wants


@given(GOODPUTS)
def test_the_same_goodputs_give_the_same_decision(goodputs: list[float]) -> None:
    first = wants_trial(RULE, "main", goodputs, len(goodputs), "seed")
    assert wants_trial(RULE, "main", goodputs, len(goodputs), "seed") == first


def test_the_width_agrees_with_theory_for_a_normal_sample() -> None:
    # The median's standard error of a normal sample is sigma * sqrt(pi / 2n) (Kenney and Keeping 1962).
    values = np.random.default_rng(5).normal(100.0, 1.0, size=400)
    expected = 2 * 1.96 * np.sqrt(np.pi / 2 / 400) / 100
    assert relative_width(list(values), "seed") == pytest.approx(expected, rel=0.35)


def test_a_cell_without_payload_has_no_narrow_interval() -> None:
    assert relative_width([0.0, 0.0, 0.0], "seed") == float("inf")


def test_a_cell_ends_when_its_interval_is_at_most_as_wide_as_the_rule_says() -> None:
    goodputs = [1.0e9, 1.1e9, 1.05e9, 1.2e9]
    width = relative_width(goodputs, "seed")
    assert width > 0
    for limit, wants in ((width, False), (width * 0.999, True)):
        rule = RULE.model_copy(update={"interval_width": limit})
        assert wants_trial(rule, "main", goodputs, 4, "seed") is wants
