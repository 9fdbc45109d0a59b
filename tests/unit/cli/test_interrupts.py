"""What the first and the second signal do."""

import signal
import subprocess
import sys
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


def test_a_second_signal_ends_the_process() -> None:
    script = """
import sys, time
from whyperf.cli.live import interrupts
with interrupts.handled() as stops, stops.keeping():
    print("ready", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 130
