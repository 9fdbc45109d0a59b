"""A far host over real ssh: the agent goes there, measures, and is gone with the pipe."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import GONE_WITHIN_S, Ours
from tests.e2e.far_host import SSHD, FarHost, far_host
from tests.e2e.host_state import Process, is_alive
from whyperf.record import Experiment, Manifest
from whyperf.run.agents.pipes import agent_binary

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not SSHD.exists(), reason="needs sshd"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh"),
]

Start = Callable[..., subprocess.Popen[bytes]]
Popen = subprocess.Popen[bytes]

#: How long a run may take until it measures; loading its libraries takes most of it.
MEASURES_WITHIN_S = 60
#: How long a controller may take to notice that an agent is gone, and to say so.
NOTICE_S = 60


@pytest.fixture
def far(ours: Ours, tmp_path: Path) -> Iterator[FarHost]:
    """A far host for ssh."""
    with far_host(tmp_path, ours.mark) as host:
        yield host


def only_trial(far: FarHost) -> Manifest:
    """The manifest of the only trial recorded."""
    trials = Experiment.open(far.results).trials()
    assert trials.damaged == []
    (manifest,) = trials.manifests.values()
    return manifest


def clear(far: FarHost) -> None:
    """Removes the results, so that the same command measures again."""
    shutil.rmtree(far.results)


def test_the_agent_is_pushed_once(far: FarHost) -> None:
    assert far.pushed() == []
    done = far.run("-t", "0.2", "--json")
    assert done.status == 0, done.err
    (cell,) = json.loads(done.out)["cells"]
    assert cell["goodput_bps"]["median"] > 0
    (agent,) = far.pushed()
    assert agent.read_bytes() == agent_binary().read_bytes()
    first = agent.stat()

    clear(far)
    assert far.run("-t", "0.2").status == 0
    assert far.pushed() == [agent]
    assert (agent.stat().st_ino, agent.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)


def test_a_damaged_agent_is_replaced(far: FarHost) -> None:
    assert far.run("-t", "0.2").status == 0
    (agent,) = far.pushed()
    agent.write_bytes(agent.read_bytes()[:-1] + b"!")

    clear(far)
    done = far.run("-t", "0.2")
    assert done.status == 0, done.err
    assert far.pushed() == [agent]
    assert agent.read_bytes() == agent_binary().read_bytes()


def test_both_clocks_are_compared(far: FarHost) -> None:
    assert far.run("-t", "0.2").status == 0
    manifest = only_trial(far)
    assert manifest.testbed == "network"
    near, far_side = manifest.hosts["near"].clock, manifest.hosts["far"].clock
    assert near is not None
    assert far_side is not None
    assert far_side.uncertainty_ns > 0
    # Both sides are under one kernel here, so the truth is known.
    assert abs(far_side.offset_ns) <= far_side.uncertainty_ns
    assert (near.offset_ns, near.uncertainty_ns) == (0, 0)


def test_the_far_side_sends_when_asked(far: FarHost) -> None:
    done = far.run("-t", "0.2", "-R")
    assert done.status == 0, done.err
    hosts = only_trial(far).hosts
    assert (hosts["near"].role, hosts["far"].role) == ("receiver", "sender")
    assert hosts["near"].payload_bytes == hosts["far"].payload_bytes
    assert hosts["far"].payload_bytes


def test_an_installed_agent_of_this_version_is_used(far: FarHost) -> None:
    far.install_agent(f'touch {far.folder}/asked-to-$1; exec {agent_binary()} "$@"')
    done = far.run("-t", "0.2")
    assert done.status == 0, done.err
    assert (far.folder / "asked-to-serve").exists()
    assert far.pushed() == []


def test_an_installed_agent_of_another_version_is_not_used(far: FarHost) -> None:
    far.install_agent(f'touch {far.folder}/asked-to-$1; echo "whyperf-agent 0.0.1"')
    done = far.run("-t", "0.2")
    assert done.status == 0, done.err
    assert (far.folder / "asked-to---version").exists()
    assert not (far.folder / "asked-to-serve").exists()
    assert len(far.pushed()) == 1


def test_a_shell_that_greets_does_no_harm(far: FarHost) -> None:
    far.allow(options=r'command="echo Welcome to far; eval \"$SSH_ORIGINAL_COMMAND\""')
    assert far.run("-t", "0.2").status == 0
    assert only_trial(far).status == "complete"


def test_an_agent_that_greets_does_no_harm(far: FarHost) -> None:
    greet = f'[ "$1" = serve ] && echo Welcome to far; exec {agent_binary()} "$@"'
    far.install_agent(greet)
    assert far.run("-t", "0.2").status == 0
    assert only_trial(far).status == "complete"


def test_an_unknown_host_is_named(far: FarHost) -> None:
    assert_refused(far, "nohost.invalid", "nohost.invalid", "ssh nohost.invalid true")


def test_a_refused_key_is_named(far: FarHost) -> None:
    far.refuse()
    assert_refused(far, "far", "far cannot be reached by ssh", "Permission denied", "ssh far true")


def test_a_closed_port_is_named(far: FarHost) -> None:
    assert_refused(far, "closed", "closed cannot be reached by ssh", "Connection refused", "ssh closed true")


def assert_refused(far: FarHost, host: str, *parts: str) -> None:
    """One sentence with these parts, exit 1, nothing recorded, nothing running."""
    done = far.run("-t", "0.2", host=host)
    assert done.status == 1, done.err
    for part in parts:
        assert part in done.sentence
    assert done.out == ""
    assert not far.results.exists()
    assert far.far_agents() == []


def test_a_killed_ssh_ends_the_far_agent(far: FarHost, started: Start) -> None:
    controller = start_long_run(far, started)
    (client,) = far.ssh_clients()
    (agent,) = far.far_agents()
    os.kill(client.pid, signal.SIGKILL)
    await_gone([agent])
    said = controller.communicate(timeout=NOTICE_S)[1].decode()
    assert controller.returncode == 1, said
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "whyperf: the ssh to far was killed by signal 9, and the far agent ended with it"
    assert not far.results.exists()


def test_a_killed_controller_ends_both_agents(far: FarHost, started: Start) -> None:
    controller = start_long_run(far, started)
    all_ends = [*far.ssh_clients(), *far.far_agents(), *far.near_agents()]
    assert len(all_ends) == 3
    controller.kill()
    await_gone(all_ends)


def start_long_run(far: FarHost, started: Start) -> Popen:
    """Starts a run of 20 s and returns it once it measures."""
    run = far.run_argv("-t", "20", "--json")
    controller = started(run, cwd=far.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + MEASURES_WITHIN_S
    while not list(far.results.glob("trials/.*.partial")):
        assert controller.poll() is None, controller.communicate()[1].decode()
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(1)
    return controller


def await_gone(processes: list[Process]) -> None:
    """Waits until none of them lives; fails naming those that stay."""
    end = time.monotonic() + GONE_WITHIN_S
    while left := [process for process in processes if is_alive(process)]:
        assert time.monotonic() < end, f"still there after {GONE_WITHIN_S} s: {left}"
        time.sleep(0.02)
