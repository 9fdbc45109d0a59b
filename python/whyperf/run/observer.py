"""Who watches an experiment run."""

from typing import Protocol

from whyperf.wire import ReplyProgress


class Observer(Protocol):
    """Is called with what happens, in order, from one thread at a time. Implementations must not raise."""

    def on_message(self, text: str) -> None:
        """Note a fact worth a line, such as the testbed being the loopback."""

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """Note the start of a trial: ``done`` of at most ``total`` trials are recorded."""

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """Note an interval of the running trial on one side (Progress in crates/schema/src/message.rs)."""

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """Note a recorded trial, how it ended, and why where that is not `complete`."""
