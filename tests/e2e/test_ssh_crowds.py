"""Many agents start at once on a host whose sshd drops connections from the tenth on (MaxStartups 10:30:100)."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.far_host import SSHD, FarHost, far_host
from whyperf.run.agents import pipes
from whyperf.run.agents.agent import Agent
from whyperf.run.agents.pipes import calls

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not SSHD.exists(), reason="needs sshd"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh"),
]

AGENTS = 24


@pytest.fixture
def far(ours: Ours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FarHost]:
    """A far host that this process reaches by ssh."""
    with far_host(tmp_path, ours.mark) as host:
        monkeypatch.setenv("WHYPERF_SSH", f"nsenter --net={host.near_netns} ssh -F {tmp_path}/ssh-config")
        monkeypatch.setattr(calls, "_entrances", {})
        yield host


def dropped(far: FarHost) -> int:
    """Connections that sshd has dropped before their login."""
    return (far.folder / "sshd-log").read_text().count("MaxStartups")


def start_all(far: FarHost) -> float:
    """Starts all agents at once, and ends them; how long it took until all were there."""
    began_s = time.monotonic()

    def start(number: int) -> Agent:
        return Agent(f"far{number}", pipes.ssh("far"), shares_clock=False, host="far")

    with ThreadPoolExecutor(AGENTS) as pool:
        agents = list(pool.map(start, range(AGENTS)))
    took_s = time.monotonic() - began_s
    assert len(far.far_agents()) == AGENTS
    for agent in agents:
        agent.hang_up()
    for agent in agents:
        agent.close()
    assert all(agent.said_goodbye for agent in agents)
    return took_s


def test_no_more_connect_at_once_than_sshd_takes(far: FarHost) -> None:
    start_all(far)
    assert dropped(far) == 0
    # One of them has pushed the agent.
    assert len(far.pushed()) == 1


def test_those_that_sshd_drops_start_again(far: FarHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other controllers may start agents there, too."""
    monkeypatch.setattr(calls, "MAX_AT_ONCE", AGENTS)
    start_all(far)
    assert dropped(far) > 0
