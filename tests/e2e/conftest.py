"""Fixtures of the tests on real kernel objects: what is started, and that nothing of it stays."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.e2e import host_state
from tests.e2e.host_state import Process

#: How long a process may take to be gone, by the task: "a pipe that closes stops the load within 2 s".
GONE_WITHIN_S = 2.0


def _why_not_privileged() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"cannot make a network namespace: {done.stderr.strip()}"


WHY_NOT_PRIVILEGED = _why_not_privileged()


# A shell has what it starts in the background ignore Ctrl-C, and so would everything started here: the tests stop
# programs as they run in the foreground.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    # Under nohup(1), whyperf would ignore it as well. What is started here has the default.
    signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what needs privilege where there is none."""
    if item.get_closest_marker("root") and WHY_NOT_PRIVILEGED is not None:
        pytest.skip(WHY_NOT_PRIVILEGED)


@dataclass
class Ours:
    """What a test has started on this machine, by the mark it carries."""

    mark: str
    #: Network namespaces seen in use.
    namespaces: set[str] = field(default_factory=set)

    def processes(self) -> list[Process]:
        """Our living processes; notes the namespaces they use."""
        found = host_state.processes(self.mark)
        self.namespaces |= host_state.namespaces(found)
        return found

    def agents(self) -> list[Process]:
        """Our agents."""
        return [process for process in self.processes() if "agent" in process.name]

    def await_none(self, within_s: float = GONE_WITHIN_S) -> None:
        """Waits until no process of ours is left; fails naming those that stay."""
        end = time.monotonic() + within_s
        while left := self.processes():
            assert time.monotonic() < end, f"still there after {within_s} s: {left}"
            time.sleep(0.02)

    def assert_namespaces_gone(self) -> None:
        """No process is in a namespace of ours any more, or holds one."""
        assert host_state.holders(self.namespaces, self.mark) == []


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ours]:
    """Marks all that the test starts, and checks afterwards that the machine is as it was."""
    mark = secrets.token_hex(8)
    monkeypatch.setenv(host_state.MARK, mark)
    before = (host_state.devices(), host_state.sysctls(), host_state.mounted_namespaces())
    found = Ours(mark)
    yield found
    found.await_none(within_s=5)
    found.assert_namespaces_gone()
    assert (host_state.devices(), host_state.sysctls(), host_state.mounted_namespaces()) == before


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes that are ended with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def start(argv: list[str], **options: object) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = subprocess.Popen(argv, **options)  # type: ignore[call-overload]
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
