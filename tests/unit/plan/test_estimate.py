"""Estimates of time: the guess, and what done trials make of it."""

import pytest

from whyperf.plan import TimeLeft, build, estimate, trial_seconds
from whyperf.profile import find, parse


def test_a_timed_cell_takes_its_phases_and_the_overhead() -> None:
    plan = build(find("quick"))
    assert trial_seconds(plan, plan.cells[0]) == pytest.approx(11.35)
    assert estimate(plan).payload_bytes == 0


def test_payload_is_counted_over_trials_and_connections() -> None:
    profile = parse(
        'about = "x"\n[fixed]\ntransfer_bytes = 1000\nconnections = 3\n[design]\ntrials = 5', name="x", where="x"
    )
    assert estimate(build(profile)).payload_bytes == 15_000


def test_done_trials_replace_the_guess() -> None:
    plan = build(find("demo"))
    left = TimeLeft(plan)
    first, second = plan.cells[0], plan.cells[1]
    assert left.seconds([first.id]) == pytest.approx(trial_seconds(plan, first))
    left.on_trial(first.id, 10 * trial_seconds(plan, first))
    assert left.seconds([first.id, first.id]) == pytest.approx(20 * trial_seconds(plan, first))
    # A cell not yet measured is taken to be slower in the same proportion.
    assert left.seconds([second.id]) == pytest.approx(10 * trial_seconds(plan, second))
