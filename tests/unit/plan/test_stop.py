"""Sequential stopping: bounds, widths, repeatability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.plan import StopRule, build, cells_wanting, relative_width, wants_trial
from whyperf.profile import parse

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


def test_steady_cells_stop_and_scattered_ones_go_on() -> None:
    assert not wants_trial(RULE, "main", [1.00e9, 1.01e9, 1.005e9], 3, "seed")
    assert wants_trial(RULE, "main", [1.0e9, 2.0e9, 1.5e9], 3, "seed")


def test_the_width_agrees_with_theory_for_a_normal_sample() -> None:
    # The median's standard error of a normal sample is sigma * sqrt(pi / 2n) (Kenney and Keeping 1962).
    values = np.random.default_rng(5).normal(100.0, 1.0, size=400)
    expected = 2 * 1.96 * np.sqrt(np.pi / 2 / 400) / 100
    assert relative_width(list(values), "seed") == pytest.approx(expected, rel=0.35)


def test_a_cell_without_payload_has_no_narrow_interval() -> None:
    assert relative_width([0.0, 0.0, 0.0], "seed") == float("inf")


def test_a_sweep_with_trials_of_its_own_ignores_the_rule() -> None:
    rule = RULE.model_copy(update={"sweep_trials": {"cpu": 2}})
    assert wants_trial(rule, "cpu", [1.0], 1, "seed")
    assert not wants_trial(rule, "cpu", [1.0, 9.0], 2, "seed")


def test_cells_are_distinguished() -> None:
    profile = parse(
        'about = "x"\n[design]\ntrials_min = 3\ntrials_max = 6\ninterval_width = 0.05\n'
        '[[sweep]]\nname = "one"\n[sweep.factors]\nwindow_bytes = [4096, 8192, 16384]\n',
        name="x",
        where="x.toml",
    )
    plan = build(profile)
    steady, scattered, failing = (cell.id for cell in plan.cells)
    goodputs = {steady: [1.0, 1.0, 1.0], scattered: [1.0, 2.0, 3.0]}
    assert cells_wanting(plan, goodputs, {steady: 3, scattered: 3, failing: 6}) == {scattered}
    assert len(plan.blocks) == 6


def test_a_cell_ends_when_its_interval_is_at_most_as_wide_as_the_rule_says() -> None:
    goodputs = [1.0e9, 1.1e9, 1.05e9, 1.2e9]
    width = relative_width(goodputs, "seed")
    assert width > 0
    for limit, wants in ((width, False), (width * 0.999, True)):
        rule = RULE.model_copy(update={"interval_width": limit})
        assert wants_trial(rule, "main", goodputs, 4, "seed") is wants
