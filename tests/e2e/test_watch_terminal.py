"""`whyperf watch` in a terminal of 80 columns: the live view, and the keys of a wrapped command."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.watched_programs import transfer
from tests.e2e.whyperf_command import argv

pytestmark = [pytest.mark.usefixtures("ours"), pytest.mark.paced, pytest.mark.timeout(300)]
SIZE = (24, 80)
CTRL_C = b"\x03"
#: What moves the cursor or sets colors (ECMA-48).
CONTROLS = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")


class Terminal:
    """A terminal, and the program that runs in it."""

    def __init__(self, pid: int, master: int) -> None:
        self._pid, self._master = pid, master
        self.output = b""

    def read(self, within_s: float) -> bool:
        """Reads what comes; False once the program has closed its side."""
        if select.select([self._master], [], [], within_s)[0]:
            try:
                self.output += os.read(self._master, 1 << 16)
            except OSError:
                return False
        return True

    @property
    def text(self) -> str:
        """What was written, without what a terminal obeys."""
        return CONTROLS.sub(b"", self.output).decode(errors="replace")

    def until(self, text: str, within_s: float = 60) -> None:
        """Reads until a text was written."""
        end = time.monotonic() + within_s
        while text not in self.text:
            assert time.monotonic() < end, self.text[-3000:]
            assert self.read(0.2), self.text[-3000:]

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait(self, within_s: float) -> None:
        """Waits for the end of a program whose terminal is closed."""
        end = time.monotonic() + within_s
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            assert time.monotonic() < end, "it runs on"
            time.sleep(0.05)

    def status(self) -> int:
        """Reads to the end; the exit code."""
        while self.read(0.2):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@contextmanager
def terminal(folder: Path, *arguments: object) -> Iterator[Terminal]:
    """`whyperf watch` in a terminal of its own."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        command = argv("watch", "--no-report", *arguments)
        os.execve(command[0], command, {**os.environ, "TERM": "xterm-256color"})
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    try:
        yield Terminal(pid, master)
    finally:
        os.close(master)


def test_the_live_view_shows_rows_until_ctrl_c_ends_it(tmp_path: Path) -> None:
    with transfer() as running, terminal(tmp_path, f":{running.port}", "-i", "0.3", "--out", "there") as shown:
        shown.until("peer/network")
        assert f"127.0.0.1:{running.port}" in shown.text
        assert "Limit now" in shown.text
        shown.press(b"\r")
        shown.until("What this side")
        shown.press(CTRL_C)
        shown.until("stopping (again to stop at once)")
        status = shown.status()
    assert status == 0, shown.text[-2000:]
    assert "In full: whyperf explain there" in shown.text
    assert (tmp_path / "there" / "plan.json").exists()


def test_a_terminal_that_is_closed_ends_it_and_the_result_is_kept(tmp_path: Path) -> None:
    """With plain lines, which are had in a terminal too."""
    with transfer() as running:
        with terminal(tmp_path, f":{running.port}", "-i", "0.3", "--out", "there", "--plain") as shown:
            shown.until("sent")
        shown.wait(60)
    assert "Limit now" not in shown.text
    assert (tmp_path / "there" / "explain.json").exists()


def test_a_key_of_the_terminal_reaches_the_command_once(tmp_path: Path) -> None:
    script = "n=0; trap 'n=$((n+1)); echo got $n' INT; echo ready; sleep 2 & wait; sleep 0.3 & wait; exit $((20 + n))"
    with terminal(tmp_path, "--", "sh", "-c", script) as shown:
        shown.until("ready")
        shown.press(CTRL_C)
        shown.until("got 1")
        status = shown.status()
    assert status == 21, shown.text
    assert "got 2" not in shown.text
