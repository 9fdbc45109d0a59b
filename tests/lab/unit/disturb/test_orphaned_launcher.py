"""The launcher of programs when its controller was killed: they end at once, whatever it waits for."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.disturb import launcher

WAIT_S = 20.0
PROGRAM = ["sh", "-c", "echo $$ > number; exec sleep 1000"]
#: Nothing listens there.
PORT = 1
CONTROLLER = """
import subprocess, sys, time
argv = [sys.executable, sys.argv[3], sys.argv[1]]
launcher = subprocess.Popen(argv, stdin=subprocess.PIPE)
launcher.stdin.write(sys.argv[2].encode())
launcher.stdin.flush()
time.sleep(1000)
"""


def until(holds: Callable[[], bool], wait_s: float) -> bool:
    deadline_s = time.monotonic() + wait_s
    while not holds() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize(
    "orders",
    [
        [{"do": "run", "argv": PROGRAM}],
        [{"do": "start", "argv": PROGRAM}, {"do": "listen", "port": PORT}],
        [{"do": "start", "argv": PROGRAM}, {"do": "usage", "ends": 1000}],
        [{"do": "start", "argv": PROGRAM}],
    ],
    ids=["runs", "waits for a port", "waits for an end", "idle"],
)
def test_no_program_outlives_a_killed_controller(orders: list[dict[str, object]], tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    lines = "".join(json.dumps(order) + "\n" for order in orders)
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(folder), lines, launcher.__file__], stdout=subprocess.DEVNULL
    ) as owner:
        number = folder / "number"
        assert until(lambda: number.exists() and number.read_text().endswith("\n"), WAIT_S)
        program = Path("/proc") / number.read_text().strip()
        assert program.exists()
        os.kill(owner.pid, signal.SIGKILL)
    assert until(lambda: not program.exists(), WAIT_S)
    assert until(lambda: not folder.exists(), WAIT_S)


def test_nothing_is_started_once_the_end_has_begun(tmp_path: Path) -> None:
    """The end, in a thread of its own, kills the programs that are known to it then."""
    folder = tmp_path / "programs"
    folder.mkdir()
    ending = launcher.Launcher(folder)
    ending.end()
    folder.mkdir()
    for order in ("run", "start"):
        with pytest.raises(launcher.LaunchError, match="the controller has ended"):
            ending.obey({"do": order, "argv": PROGRAM})
    assert not (folder / "number").exists()
