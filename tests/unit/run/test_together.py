"""Intervals of several agents of a side are reported as one."""

from typing import Any

from whyperf.run.summed_progress import Together

PAIRS = [{"near": "near", "far": "far"}, {"near": "near2", "far": "far2"}]


def progress(interval: int, payload_bytes: int) -> Any:
    return {
        "interval": interval,
        "payload_bytes": payload_bytes,
        "load_cpu_ns": 1,
        "retransmitted_segments": 2,
        "cwnd_segments": 10,
    }


def test_an_interval_is_reported_when_all_agents_of_the_end_have_reported_it() -> None:
    reported: list[tuple[str, Any]] = []
    together = Together(PAIRS, lambda end, shown: reported.append((end, shown)))
    together.on_progress("near", progress(0, 100))
    together.on_progress("far2", progress(0, 7))
    together.on_progress("near", progress(1, 200))
    assert reported == []
    together.on_progress("near2", progress(0, 11))
    assert reported == [("near", progress(0, 111) | {"load_cpu_ns": 2, "retransmitted_segments": 4})]
    together.on_progress("far", progress(0, 3))
    assert reported[1][0] == "far"
    assert reported[1][1]["payload_bytes"] == 10


def test_one_pair_is_reported_as_it_is() -> None:
    reported: list[tuple[str, Any]] = []
    Together(PAIRS[:1], lambda end, shown: reported.append((end, shown))).on_progress("far", progress(4, 9))
    assert reported == [("far", progress(4, 9))]
