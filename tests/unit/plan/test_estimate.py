"""Estimates of time: the guess, and what done trials make of it."""

import pytest

from whyperf.plan import PlannedFleet, TimeLeft, build, estimate, trial_seconds
from whyperf.profile import find, parse


def test_a_timed_cell_takes_its_phases_and_the_overhead() -> None:
    plan = build(find("quick"))
    assert trial_seconds(plan, plan.cells[0]) == pytest.approx(11.35)
    assert estimate(plan).payload_bytes == 0


@pytest.mark.parametrize(
    ("pairs", "connections", "trials", "measured_s"),
    # Seconds of `whyperf run --from node[1-8] --to node9 -t 0.4 --set warmup_s=0 --set cooldown_s=0` and the like.
    [(4, 1, 1, 3.1), (4, 1, 5, 5.7), (8, 1, 1, 3.8), (8, 1, 5, 7.1), (4, 100, 4, 6.1), (4, 1000, 4, 15.8)],
)
def test_a_fleet_takes_about_as_long_as_measured(pairs: int, connections: int, trials: int, measured_s: float) -> None:
    profile = parse(
        f"""about = "x"
        [fixed]
        warmup_s = 0
        duration_s = 0.4
        cooldown_s = 0
        connections = {connections}
        [design]
        trials = {trials}""",
        name="x",
        where="x",
    )
    near = tuple(f"node{number}" for number in range(1, pairs + 1))
    fleet = PlannedFleet(pattern="fan-in", far=("node9",) * pairs)
    plan = build(profile, target="node9", near=near, fleet=fleet)
    assert estimate(plan).seconds == pytest.approx(measured_s, rel=0.2)


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
