"""What the first and the second signal do."""

import os
import signal
import time

import pytest

from whyperf.cli.live import interrupts


def test_the_first_signal_interrupts_nothing_while_a_result_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with interrupts.handled() as stops:
        with stops.keeping():
            signal.raise_signal(signal.SIGTERM)
        assert "writing the result" in capsys.readouterr().err
    with interrupts.handled() as stops:
        with stops.keeping():
            pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_is_held_interrupts_when_it_is_released(capsys: pytest.CaptureFixture[str]) -> None:
    """What has to know its folder to remove it is not interrupted while it makes that."""
    with interrupts.handled(held=True) as stops:
        signal.raise_signal(signal.SIGINT)
        assert "stopping (again to stop at once)" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            stops.release()
    with interrupts.handled(held=True) as stops:
        stops.release()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_second_hangup_is_the_shells_and_no_wish_to_stop_at_once() -> None:
    with interrupts.handled():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)
        # This process would end.
        signal.raise_signal(signal.SIGHUP)


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts.handled():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


class Interrupted:
    """An object whose end a signal interrupts."""

    def __del__(self) -> None:
        """Python drops what is raised here."""
        signal.raise_signal(signal.SIGINT)


def wait_after_an_end() -> None:
    """Ends such an object, and waits."""
    Interrupted()
    time.sleep(60)


def test_an_interrupt_that_python_drops_is_raised_again() -> None:
    with interrupts.handled(), pytest.raises(KeyboardInterrupt):
        wait_after_an_end()


class EndedError(Exception):
    """The process would have ended here."""


@pytest.fixture
def _no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(_code: int) -> None:
        raise EndedError

    monkeypatch.setattr(os, "_exit", end)


@pytest.mark.usefixtures("_no_end")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_same_signal_within_half_a_second_is_the_same_wish(number: signal.Signals) -> None:
    """timeout(1) signals the process and its group, within milliseconds."""
    now = [100.0]
    with interrupts.handled(now_s=lambda: now[0]):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        now[0] += 0.4
        signal.raise_signal(number)
        now[0] += 0.1
        with pytest.raises(EndedError):
            signal.raise_signal(number)


@pytest.mark.usefixtures("_no_end")
def test_another_signal_is_another_wish() -> None:
    with interrupts.handled(now_s=lambda: 100.0):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(EndedError):
            signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_ended_a_watched_command_may_come_again() -> None:
    with interrupts.handled({signal.SIGINT: 99.9}, now_s=lambda: 100.0):
        signal.raise_signal(signal.SIGINT)
    with interrupts.handled({signal.SIGINT: 99.0}, now_s=lambda: 100.0), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
