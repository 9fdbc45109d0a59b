"""When the measurement of a single trial is over for those who wait for it."""

import io
from typing import Any

from tests.unit.cli.test_intervals import sample
from whyperf.cli.live.display import Intervals
from whyperf.cli.live.progress import Progress
from whyperf.plan import build
from whyperf.profile import find

S = 1_000_000_000
START = 7 * S


def progress(interval: int, phase: str, end_s: float) -> Any:
    times = {"start_mono_ns": round(START + (end_s - 0.1) * S), "end_mono_ns": round(START + end_s * S)}
    return sample(interval, phase, **times)


def test_it_is_over_with_the_last_interval_of_both_sides_and_only_once() -> None:
    plan = build(find("quick"), target="loopback", overrides={"duration_s": 0.3, "warmup_s": 0.2})
    trials = list(plan.trials())
    calls: list[str] = []
    shown = Intervals(Progress(plan, trials), io.StringIO(), on_measured=lambda: calls.append("measured"))
    shown.on_trial_started(trials[0].id, trials[0].cell, 0, 1)
    ends = [(0, "warm-up", 0.1), (1, "warm-up", 0.2), (2, "measure", 0.3), (3, "measure", 0.4), (4, "measure", 0.5001)]
    for host in ("near", "far"):
        for number, phase, end_s in ends[:-1]:
            shown.on_progress(host, progress(number, phase, end_s))
    assert calls == []
    shown.on_progress("far", progress(*ends[-1]))
    assert calls == []
    shown.on_progress("near", progress(*ends[-1]))
    assert calls == ["measured"]
    for host in ("near", "far"):
        shown.on_progress(host, progress(5, "cool-down", 0.6))
    assert calls == ["measured"]
