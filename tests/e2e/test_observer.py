"""Who watches an experiment hears of everything in order, and from one thread at a time."""

import threading
import time
from pathlib import Path

import pytest

from tests.e2e.experiments import plan_of, session
from whyperf.run import Kind, run_plan
from whyperf.wire import ReplyProgress

pytestmark = pytest.mark.usefixtures("ours")


class Watcher:
    """Notes what it hears, and whether it was ever called twice at once."""

    def __init__(self) -> None:
        """Nothing heard yet."""
        self.heard: list[tuple[str, str]] = []
        self.crowded = False
        self._busy = threading.Lock()

    def on_message(self, text: str) -> None:
        """Notes it."""
        self._note("message", text)

    def on_trial_started(self, trial: str, _cell: str, done: int, total: int) -> None:
        """Notes it with the progress."""
        self._note("started", f"{trial} {done}/{total}")

    def on_progress(self, host: str, _progress: ReplyProgress) -> None:
        """Notes whose it was, slowly."""
        self._note("progress", host)

    def on_trial_finished(self, trial: str, status: str, _reason: str | None) -> None:
        """Notes the outcome."""
        self._note("finished", f"{trial} {status}")

    def _note(self, what: str, text: str) -> None:
        if not self._busy.acquire(blocking=False):
            self.crowded = True
            return
        self.heard.append((what, text))
        if what == "progress":
            time.sleep(0.015)
        self._busy.release()


def test_an_observer_hears_in_order_and_never_twice_at_once(tmp_path: Path) -> None:
    plan = plan_of(2, Kind.LOOPBACK, duration_s=0.3, warmup_s=0, cooldown_s=0, interval_ms=20)
    watcher = Watcher()
    with session(tmp_path / "results", plan) as (opened, experiment):
        run_plan(opened, experiment, watcher, lambda _: None)
    assert not watcher.crowded
    calls = [entry for entry in watcher.heard if entry[0] != "progress"]
    assert calls == [
        ("started", "001-c0001 0/2"),
        ("finished", "001-c0001 complete"),
        ("started", "002-c0001 1/2"),
        ("finished", "002-c0001 complete"),
    ]
    assert {text for what, text in watcher.heard if what == "progress"} == {"near", "far"}
