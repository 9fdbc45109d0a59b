"""When a trial over an emulated path is void."""

from typing import Any

import pytest

from whyperf.run.emulated import budget_ns, why_void

SPEC: Any = {"forward": {"rate_bps": None}, "backward": {"rate_bps": None}}
LIMITED = SPEC | {"backward": {"rate_bps": 100_000_000}}
AUDIT: Any = {
    "released_packets": 1000,
    "late_packets": 10,
    "budget_ns": 1_000_000,
    "lateness_ns_max": 20_000_000,
    "socket_dropped_frames": 0,
    "device_dropped_packets": 0,
    "refused_frames": 0,
}


def test_a_few_late_packets_do_not_void_a_trial() -> None:
    assert why_void(AUDIT, SPEC) is None
    assert why_void(AUDIT | {"released_packets": 0, "late_packets": 0}, SPEC) is None


def test_a_trial_is_not_void_for_what_nobody_could_see() -> None:
    unseen = AUDIT | {"late_packets": None, "lateness_ns_max": None}
    assert why_void(unseen, SPEC) is None
    assert why_void(unseen | {"device_dropped_packets": 1}, SPEC) is not None


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("late_packets", 11, "1.1% of the packets left the path more than 1 ms late, the latest by 20.0 ms"),
        ("socket_dropped_frames", 1200, "1,200 frames overran the path's router"),
        ("device_dropped_packets", 1, "1 packets were dropped by the testbed's devices"),
        ("refused_frames", 2, "the kernel refused 2 frames"),
    ],
)
def test_a_trial_is_void_for_what_the_path_did_not_do(name: str, number: int, expected: str) -> None:
    reason = why_void(AUDIT | {name: number}, LIMITED)
    assert reason is not None
    assert expected in reason
    assert reason.endswith("free CPUs and run again, or choose a lower path_rate_bps")


def test_a_void_trial_names_the_busy_process_and_no_setting_that_nobody_made() -> None:
    reason = why_void(AUDIT | {"late_packets": 11}, SPEC, "cc1 (process 7) used 97 % of a CPU")
    assert reason is not None
    assert reason.endswith("; cc1 (process 7) used 97 % of a CPU meanwhile: end it and run again")
    assert "path_rate_bps" not in reason


@pytest.mark.parametrize(("delay_ms", "budget_ms"), [(0, 1), (5, 1), (90, 9)])
def test_the_budget_grows_with_the_round_trip(delay_ms: int, budget_ms: int) -> None:
    direction = {"delay_ns": delay_ms * 1_000_000}
    spec: Any = {"forward": direction, "backward": direction}
    assert budget_ns(spec) == budget_ms * 1_000_000
