"""A far host over real ssh: the agent goes there, measures, and is gone with the pipe; what can break is named."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.contents import finished_trials, partial_trials
from tests.e2e.far_host import SSHD, FarHost, far_host
from tests.e2e.host_state import is_alive
from whyperf.record import Experiment, Manifest
from whyperf.run.agents.pipes import agent_binary

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not SSHD.exists(), reason="needs sshd"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh"),
]

Start = Callable[..., subprocess.Popen[bytes]]

#: How long a run may take until it measures; loading its libraries takes most of it.
MEASURES_WITHIN_S = 60
#: How long a busy host may take until all notice that something is gone, and say so. The limits that the product keeps
#: are measured where nothing else runs (endurance/kills).
NOTICE_S = 60
SEED = 1998
VICTIMS = ("ssh", "far", "controller")
#: How long after the first ssh a run may be hit: looking, pushing, measuring.
LATEST_S = 2.0


@pytest.fixture
def far(ours: Ours, tmp_path: Path) -> Iterator[FarHost]:
    """A far host for ssh."""
    with far_host(tmp_path, ours.mark) as host:
        yield host


def measured(far: FarHost, *options: str) -> Manifest:
    """The manifest of the only trial of a run, whose results are removed, so that the same command measures again."""
    done = far.run("-O", "0.1", "-t", "0.2", *options)
    assert done.status == 0, done.err
    trials = Experiment.open(far.results).trials()
    assert trials.damaged == []
    (manifest,) = trials.manifests.values()
    assert manifest.status == "complete"
    shutil.rmtree(far.results)
    return manifest


def test_the_agent_is_pushed_once_and_replaced_when_it_is_damaged(far: FarHost) -> None:
    assert far.pushed() == []
    first = measured(far)
    (agent,) = far.pushed()
    assert agent.read_bytes() == agent_binary().read_bytes()
    pushed = agent.stat()
    second = measured(far, "-R")
    assert far.pushed() == [agent]
    assert (agent.stat().st_ino, agent.stat().st_mtime_ns) == (pushed.st_ino, pushed.st_mtime_ns)

    agent.write_bytes(agent.read_bytes()[:-1] + b"!")
    measured(far)
    assert far.pushed() == [agent]
    assert agent.read_bytes() == agent_binary().read_bytes()

    # The far side sends when that is asked for, and both clocks are compared.
    for manifest, roles in ((first, ("sender", "receiver")), (second, ("receiver", "sender"))):
        assert manifest.testbed == "network"
        near, far_side = manifest.hosts["near"], manifest.hosts["far"]
        assert (near.role, far_side.role) == roles
        assert near.payload_bytes == far_side.payload_bytes != 0
        assert near.clock is not None
        assert far_side.clock is not None
        # Its port is open at the address that ssh goes to, and at no other.
        assert far_side.spec["listen_address"] == far.address
        assert (near.clock.offset_ns, near.clock.uncertainty_ns) == (0, 0)
        # Both sides are under one kernel here, so the truth is known.
        assert abs(far_side.clock.offset_ns) <= far_side.clock.uncertainty_ns != 0


def test_an_installed_agent_of_this_version_is_used_although_it_greets(far: FarHost) -> None:
    greets = f'touch {far.folder}/asked-to-$1; [ "$1" = serve ] && echo Welcome to far; exec {agent_binary()} "$@"'
    far.install_agent(greets)
    measured(far)
    assert (far.folder / "asked-to-serve").exists()
    assert far.pushed() == []


def test_an_installed_agent_of_another_version_is_not_used_and_a_shell_may_greet(far: FarHost) -> None:
    far.install_agent(f'touch {far.folder}/asked-to-$1; echo "whyperf-agent 0.0.1"')
    far.allow(options=r'command="echo Welcome to far; eval \"$SSH_ORIGINAL_COMMAND\""')
    measured(far)
    assert (far.folder / "asked-to---version").exists()
    assert not (far.folder / "asked-to-serve").exists()
    assert len(far.pushed()) == 1


def test_a_host_that_cannot_be_used_is_named_in_a_sentence(far: FarHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, nothing recorded, nothing running."""

    def assert_refused(host: str, *parts: str) -> None:
        done = far.run("-O", "0.1", "-t", "0.2", host=host)
        assert (done.status, done.out) == (1, "")
        *waited, sentence = done.err.splitlines()
        # After two seconds without an answer.
        assert waited in ([], [f"Connecting to {host} (Ctrl-C ends)"])
        assert [part for part in parts if part not in sentence] == []
        assert not far.results.exists()
        assert far.far_agents() == []

    assert_refused("nohost.invalid", "nohost.invalid", "ssh nohost.invalid true")
    assert_refused("closed", "closed cannot be reached by ssh", "Connection refused", "ssh closed true")
    assert_refused("198.18.0.99", "198.18.0.99 cannot be reached by ssh", "No route to host")
    (far.folder / "home" / "cache").write_text("in the way")
    assert_refused("far", "far cannot keep the agent: mkdir: ", "put that right, or install whyperf-agent")
    far.refuse()
    assert_refused("far", "far cannot be reached by ssh", "Permission denied", "ssh far true")
    monkeypatch.setattr(FarHost, "_ssh", lambda _: {"WHYPERF_SSH": "no-such-ssh -F x"})
    assert_refused("far", "there is no ssh on this host; install the OpenSSH client")


def test_an_address_that_refuses_fails_the_trial(far: FarHost) -> None:
    """The near side's own: nobody listens there."""
    done = far.run("--bytes", "1M", "--address", "198.18.0.1", "--json")
    assert done.status == 1
    assert "connecting to 198.18.0.1" in done.err
    (manifest,) = Experiment.open(far.results).trials().manifests.values()
    assert manifest.status == "failed"


def test_a_killed_ssh_ends_the_far_agent(far: FarHost, started: Start) -> None:
    run = far.run_argv("-t", "20", "--json")
    controller = started(run, cwd=far.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + MEASURES_WITHIN_S
    while not list(far.results.glob("trials/.*.partial")):
        assert controller.poll() is None, controller.communicate()[1].decode()
        assert time.monotonic() < end
        time.sleep(0.05)
    (client,), (agent,) = far.ssh_clients(), far.far_agents()
    os.kill(client.pid, signal.SIGKILL)
    end = time.monotonic() + NOTICE_S
    while is_alive(agent):
        assert time.monotonic() < end
        time.sleep(0.02)
    said = controller.communicate(timeout=NOTICE_S)[1].decode()
    assert controller.returncode == 1, said
    assert "Traceback" not in said
    assert said.splitlines()[-1] == "whyperf: the ssh to far was killed by signal 9, and the far agent ended with it"
    assert not far.results.exists()


def find(far: FarHost, victim: str, controller: subprocess.Popen[bytes]) -> int | None:
    """Process id of the victim, if it is there."""
    if victim == "controller":
        return controller.pid
    found = far.ssh_clients() if victim == "ssh" else far.far_agents()
    return found[0].pid if found else None


def kill_somewhere(far: FarHost, rng: random.Random, victim: str, controller: subprocess.Popen[bytes]) -> None:
    """Kills the victim at a random moment after the run's first ssh, until the run ends of it."""
    while not far.ssh_clients():
        assert controller.poll() is None
        time.sleep(0.02)
    time.sleep(rng.uniform(0, LATEST_S))
    while controller.poll() is None:
        pid = find(far, victim, controller)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                controller.wait(0.5)


@pytest.mark.slow
def test_a_run_survives_every_kill_of_ssh(far: FarHost, started: Start) -> None:
    rng = random.Random(SEED)
    command = far.run_argv("--bytes", "2M", "--trials", 5 * len(VICTIMS))
    for victim in rng.sample(VICTIMS, len(VICTIMS)):
        before = finished_trials(far.results)
        controller = started(command, cwd=far.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        kill_somewhere(far, rng, victim, controller)
        said = controller.communicate(timeout=NOTICE_S)[1].decode()
        assert "Traceback" not in said, said
        assert "internal error" not in said, said
        if victim != "controller":
            assert controller.returncode == 1, said
            assert said.splitlines()[-1].startswith("whyperf: "), said
        if victim == "ssh":
            # What was killed is named, not what ended with it.
            assert "agent was killed" not in said, said
        end = time.monotonic() + NOTICE_S
        while left := [*far.ssh_clients(), *far.far_agents(), *far.near_agents()]:
            assert time.monotonic() < end, left
            time.sleep(0.02)
        assert before.items() <= finished_trials(far.results).items()

    before = finished_trials(far.results)
    done = subprocess.run(command, cwd=far.folder, capture_output=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert before.items() <= finished_trials(far.results).items()
    assert partial_trials(far.results) == []
    experiment = Experiment.open(far.results)
    found = experiment.trials()
    assert found.damaged == []
    assert sorted(found.manifests) == sorted(trial.id for trial in experiment.plan.trials())
    assert {manifest.status for manifest in found.manifests.values()} == {"complete"}
    # A push whose far shell is killed leaves its part, which a push removes after an hour, and nothing else.
    (agent,) = (file for file in far.pushed() if not file.name.startswith(".agent-"))
    assert agent.read_bytes() == agent_binary().read_bytes()
