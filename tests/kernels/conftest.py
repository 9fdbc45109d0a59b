"""Boots Debian's kernels one after the other; `make test-kernels` runs these tests, `make test` does not."""

import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kernels.guest import HERE, QEMU, Guest, boot
from whyperf.run import session
from whyperf.run.agents.agent import Agent
from whyperf.run.emulated import EmulatedPath

#: The kernels that scripts/kernels fetches.
SERIES = ("5.10", "6.1", "6.12")
#: Where they are; the Makefile says.
FOLDER = "WHYPERF_KERNELS"

if FOLDER not in os.environ:
    collect_ignore_glob = ["test_*.py"]


def agent_of_guest(label: str, argv: list[str], **_: bool) -> Agent:
    """Greets an agent whose clock is not ours, though the controller started it as if it were a local one."""
    return Agent(label, argv, shares_clock=False)


@pytest.fixture(scope="session", params=SERIES)
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A guest that runs this series, with the agent inside."""
    with booted(str(request.param), tmp_path_factory) as found:
        yield found


@contextmanager
def booted(series: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Boots a series; what is missing for it skips the test."""
    if shutil.which(QEMU) is None:
        pytest.skip(
            f"needs {QEMU}, of the package qemu-system-x86, to boot other kernels; make test-kernels installs it"
        )
    if platform.machine() != "x86_64":
        pytest.skip(f"the kernels are for x86_64; the agent here is for {platform.machine()}")
    kernels = Path(os.environ[FOLDER])
    if not (kernels / series / "package").exists():
        pytest.skip(f"needs Debian's kernel {series}, which scripts/kernels could not fetch; it says why")
    (busybox,) = kernels.glob("busybox/**/bin/busybox")
    with boot(series, kernels / series, busybox, tmp_path_factory.mktemp("guest")) as found:
        yield found


@pytest.fixture(autouse=True)
def assert_alive(request: pytest.FixtureRequest) -> Iterator[None]:
    """Names a guest that is dead, before a test of it and after, instead of a refused connection."""
    found = request.getfixturevalue("guest") if "guest" in request.fixturenames else None
    if isinstance(found, Guest):
        found.assert_alive()
    yield
    if isinstance(found, Guest):
        found.assert_alive()


@pytest.fixture
def agents_in_guest(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the controller find its agents inside the guest."""
    place_agents(guest, monkeypatch)


def place_agents(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the controller find its agents inside the guest, and begins an emulated path at once.

    The guest's clock is not the controller's, which counts on one clock on one machine.
    """
    monkeypatch.setenv("WHYPERF_AGENT", str(HERE / "agent_in_guest"))
    monkeypatch.setenv("WHYPERF_GUEST_PORT", str(guest.port))
    monkeypatch.setattr(session, "Agent", agent_of_guest)
    monkeypatch.setattr(
        EmulatedPath, "start", lambda path, _: path.holder.call({"request": "begin_path", "at_mono_ns": 0})
    )
