"""Estimates of time for fleets, against measured times."""

import pytest

from whyperf.plan import PlannedFleet, build, estimate
from whyperf.profile import parse


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
