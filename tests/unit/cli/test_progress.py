"""Trials done and time left."""

from typing import Any

import pytest

from whyperf.cli.durations import duration
from whyperf.cli.live.progress import Progress, cell_words, transaction_bytes
from whyperf.plan import build
from whyperf.profile import find

PLAN = build(find("demo"), only=["sweep=throughput", "window_bytes=4096"], trials=2)


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_follows_the_trials_done() -> None:
    clock = Clock()
    trials = list(PLAN.trials())
    progress = Progress(PLAN, trials, clock)
    for number, trial in enumerate(trials, start=1):
        progress.on_trial_started(trial.id, trial.cell, number - 1, len(trials))
        clock.now += 3.0
        progress.on_trial_finished(trial.id)
        if number == len(PLAN.cells):
            # Every cell was seen once and took 3 s.
            assert progress.seconds_left() == pytest.approx(3.0 * (len(trials) - number))
    assert progress.seconds_left() == 0.0


def test_the_rate_is_the_receivers() -> None:
    progress = Progress(PLAN, list(PLAN.trials()))
    trial = next(PLAN.trials())
    progress.on_trial_started(trial.id, trial.cell, 0, 1)
    interval: Any = {"start_mono_ns": 0, "end_mono_ns": 1_000_000_000, "payload_bytes": 125}
    progress.on_progress("near", interval | {"payload_bytes": 999})
    assert progress.rate_bps == 0.0
    progress.on_progress("far", interval)
    assert progress.rate_bps == 1000.0


def test_cells_are_named_by_what_varies() -> None:
    assert cell_words(PLAN, PLAN.cells[0].id) == "write_size_bytes=1024"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("overrides", "each"),
    [
        ({"workload": "rr", "request_size_bytes": 100, "response_size_bytes": 300}, 400),
        ({"workload": "burst"}, 16 * 1024 + 1),
        ({"workload": "idle-connections"}, 2),
        ({"workload": "small-messages"}, None),
        ({"workload": "udp-stream"}, None),
        ({}, None),
    ],
)
def test_the_rate_of_an_exchange_is_in_transactions(overrides: dict[str, str | int], each: int | None) -> None:
    plan = build(find("quick"), overrides=dict(overrides))
    assert transaction_bytes(plan, "c0001") == each
    progress = Progress(plan, list(plan.trials()))
    progress.on_trial_started("001-c0001", "c0001", 0, 1)
    assert progress.rate_words() == ""
    interval: Any = {"start_mono_ns": 0, "end_mono_ns": 1_000_000_000, "payload_bytes": 400 * 50}
    progress.on_progress("far", interval)
    if each == 400:
        assert progress.rate_words() == "50.0 transactions/s"
    assert progress.rate_words().endswith("transactions/s" if each else "bit/s")
