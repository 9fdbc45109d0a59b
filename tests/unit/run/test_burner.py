"""Programs that only compute run while a burning cell's trial does, and not a moment longer than who started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from whyperf.run.burner import Burner
from whyperf.run.observer import Observer

CPU = min(os.sched_getaffinity(0))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list["subprocess.Popen[bytes]"]:
    """All programs that were started."""
    programs: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            programs.append(self)

    monkeypatch.setattr("whyperf.run.burner.subprocess.Popen", Kept)
    return programs


def test_a_burning_cell_has_its_programs_until_its_trial_is_over(started: list["subprocess.Popen[bytes]"]) -> None:
    observer = Mock(spec=Observer)
    burner = Burner(observer, {"c0002": 2}, lambda _: [CPU])
    burner.on_trial_started("001-c0001", "c0001", 0, 2)
    assert started == []
    burner.on_trial_started("001-c0002", "c0002", 1, 2)
    assert [program.poll() for program in started] == [None, None]
    burner.on_trial_finished("001-c0002", "complete", None)
    assert [program.poll() for program in started] == [-signal.SIGKILL] * 2
    assert [call[0] for call in observer.method_calls] == ["on_trial_started"] * 2 + ["on_trial_finished"]


def test_a_trial_that_never_ended_leaves_no_program_to_the_next(started: list["subprocess.Popen[bytes]"]) -> None:
    burner = Burner(Mock(spec=Observer), {"c0002": 1}, lambda _: [CPU])
    burner.on_trial_started("001-c0002", "c0002", 0, 2)
    burner.on_trial_started("002-c0001", "c0001", 1, 2)
    assert [program.poll() for program in started] == [-signal.SIGKILL]


_KILLED = """
import os, signal, sys
from unittest.mock import Mock
from whyperf.run.burner import Burner
from whyperf.run.observer import Observer
burner = Burner(Mock(spec=Observer), {"c0002": 1}, lambda _: [int(sys.argv[1])])
burner.on_trial_started("001-c0002", "c0002", 0, 1)
print(burner._programs[0].pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_computes_on_after_a_kill() -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(CPU)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    program = Path("/proc") / done.stdout.decode().strip()
    for _ in range(1000):
        time.sleep(0.01)
        if not program.exists() or program.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
    raise AssertionError(f"{program} still runs")
