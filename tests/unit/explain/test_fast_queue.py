"""FAST on a queue that is smaller than its alpha."""

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.changes.cost_remedies import starved_alpha
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.explanation import Change
from whyperf.explain.limits.limit import Limit
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
from whyperf.profile import Level


def setup(**levels: Level) -> Setup:
    return Setup(factors={"congestion_control": "fast", "path_rate_bps": 50_000_000, "path_rtt_ms": 40.0, **levels})


@pytest.mark.parametrize(
    ("levels", "alpha"),
    [
        ({"path_queue": "19p"}, 20),
        ({"path_queue": "20p"}, None),
        ({"path_queue": "39p", "connections": 2}, 20),
        ({"path_queue": "40p", "connections": 2}, None),
        # At 12 Mbit/s it keeps 8, and above 120 Mbit/s 200.
        ({"path_queue": "8p", "path_rate_bps": 12_000_000}, None),
        ({"path_queue": "7p", "path_rate_bps": 12_000_000}, 8),
        ({"path_queue": "199p", "path_rate_bps": 121_000_000}, 200),
        ({"path_queue": "10p", "congestion_control": "reno"}, None),
        ({"path_queue": "10p", "path_rate_bps": "none"}, None),
    ],
)
def test_a_queue_below_alpha_starves_fast(levels: dict[str, Level], alpha: int | None) -> None:
    assert starved_alpha(setup(**levels)) == alpha


def change(setup: Setup) -> Change:
    found = change_for(Limit(Cause.SMALL_QUEUE, 0.5), Facts("t"), setup)
    assert found is not None
    return found


def test_the_change_names_fast_and_a_queue_for_it() -> None:
    found = change(setup(path_queue="10p"))
    assert (found.code, found.factors) == ("small_queue.fast", {"path_queue": "40p"})
    assert "FAST keeps up to 20 segments" in found.by_hand
    assert "as Reno does" in found.by_hand


def test_the_queue_has_room_for_all_connections() -> None:
    found = change(setup(path_queue="60p", connections=4))
    assert found.factors == {"path_queue": "160p"}
    assert starved_alpha(setup(**found.factors, connections=4)) is None
