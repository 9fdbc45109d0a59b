"""From a cell to the path that the agent receives."""

from typing import Any

from whyperf.profile import Level, resolve
from whyperf.run.path import path_seed, path_spec


def spec(**given: Level) -> Any:
    found = path_spec(resolve(given, testbed=True), seed=7)
    assert found is not None
    return found


def test_a_cell_without_a_path_has_no_spec() -> None:
    assert path_spec(resolve({}, testbed=True), seed=7) is None
    assert path_spec(resolve({}, testbed=False), seed=7) is None


def test_the_whole_of_a_spec() -> None:
    each_way = {
        "rate_bps": 50_000_000,
        "delay_ns": 20_000_000,
        "jitter_ns": 0,
        "queue": {"limit": {"by": "packets", "packets": 165}, "discipline": {"name": "drop_tail"}, "ecn": False},
        "loss": {"by": "none"},
        "reorder_per_billion": 0,
        "duplicate_per_billion": 0,
        "ack_thinning": 1,
        "cross_traffic": [],
    }
    assert spec(path_rtt_ms=40, path_rate_bps=50_000_000, path_queue="165p") == {
        "implementation": "auto",
        "seed": 7,
        "forward": each_way,
        "backward": each_way,
        "interval_ns": 10_000_000,
    }


def test_forward_is_the_way_of_the_payload() -> None:
    given: dict[str, Level] = {"path_rtt_ms": 100, "path_delay_back_ms": 10, "path_loss": "segments:5+9"}
    sent, received = spec(**given), spec(**given, direction="receive")
    assert (sent["forward"], sent["backward"]) == (received["backward"], received["forward"])
    assert sent["forward"]["delay_ns"] == 90_000_000
    assert sent["forward"]["loss"] == {"by": "scripted", "segments": [5, 9]}


def test_each_direction_has_its_own_loss() -> None:
    found = spec(path_loss=0.01, path_loss_back=0.2)
    assert found["forward"]["loss"] == {"by": "random", "probability_per_billion": 10_000_000}
    assert found["backward"]["loss"] == {"by": "random", "probability_per_billion": 200_000_000}


def test_bursts_and_shares_are_whole_numbers_of_a_billion() -> None:
    assert spec(path_loss=0.001)["forward"]["loss"] == {"by": "random", "probability_per_billion": 1_000_000}
    assert spec(path_loss="bursts:0.01/0.25/0.5/1e-3")["forward"]["loss"] == {
        "by": "gilbert_elliott",
        "good_to_bad_per_billion": 10_000_000,
        "bad_to_good_per_billion": 250_000_000,
        "bad_loss_per_billion": 500_000_000,
        "good_loss_per_billion": 1_000_000,
    }
    assert spec(path_loss=0)["forward"]["loss"] == {"by": "none"}


def test_disciplines_and_cross_traffic() -> None:
    base: dict[str, Level] = {"path_rtt_ms": 40, "path_rate_bps": 50_000_000}
    codel = spec(**base, path_discipline="codel", path_ecn=True, path_queue="2bdp")["forward"]["queue"]
    assert codel["limit"] == {"by": "bytes", "bytes": 500_000}
    assert codel["discipline"] == {"name": "codel", "target_ns": 5_000_000, "interval_ns": 100_000_000}
    assert codel["ecn"]
    red = spec(**base, path_discipline="red")["forward"]["queue"]["discipline"]
    assert (red["min_bytes"], red["max_bytes"], red["probability_per_billion"]) == (41_666, 125_000, 100_000_000)
    cross = {"path_cross_rate_bps": 20_000_000, "path_cross_amplitude_bps": 5_000_000, "path_cross_period_ms": 2000}
    both = spec(**base, **cross)
    assert both["forward"]["cross_traffic"] == [
        {"rate_bps": 20_000_000, "amplitude_bps": 5_000_000, "period_ns": 2_000_000_000, "packet_bytes": 1514}
    ]
    assert both["backward"]["cross_traffic"] == []


def test_every_trial_has_a_seed_of_its_own_that_comes_again() -> None:
    assert path_seed("t1", 1) == path_seed("t1", 1)
    assert len({path_seed("t1", 1), path_seed("t2", 1), path_seed("t1", 2)}) == 3
    assert 0 <= path_seed("t1", 1) < 2**63
