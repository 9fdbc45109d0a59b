"""FAST on a queue that is smaller than its alpha."""

import pytest

from tests.unit.explain.test_rules import facts
from whyperf.explain.rules.changes import _small_queue
from whyperf.explain.rules.transports import starved_alpha
from whyperf.explain.setup import Setup
from whyperf.profile import Level

TCP = facts(transport="tcp")


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


def test_the_change_names_fast_and_a_queue_for_it() -> None:
    change = _small_queue(None, TCP, setup(path_queue="10p"))  # type: ignore[arg-type]
    assert (change.code, change.factors) == ("small_queue.fast", {"path_queue": "40p"})
    assert "FAST keeps up to 20 segments" in change.by_hand
    assert "as Reno does" in change.by_hand


def test_the_queue_has_room_for_all_connections() -> None:
    change = _small_queue(None, TCP, setup(path_queue="60p", connections=4))  # type: ignore[arg-type]
    assert change.factors == {"path_queue": "160p"}
    assert starved_alpha(setup(**change.factors, connections=4)) is None
