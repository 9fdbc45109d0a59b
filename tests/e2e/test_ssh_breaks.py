"""What can break between the hosts: ssh killed at any moment, a host that is not there, no ssh at all."""

import os
import random
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
from whyperf.record import Experiment
from whyperf.run.agents.pipes import agent_binary

pytestmark = [pytest.mark.root, pytest.mark.skipif(not SSHD.exists(), reason="needs sshd")]

Start = Callable[..., subprocess.Popen[bytes]]

SEED = 1998
VICTIMS = ("ssh", "far", "controller", "ssh")
TRIALS = 30
#: How long after the first ssh a run may be hit: looking, pushing, measuring.
LATEST_S = 2.0
NOTICE_S = 60


@pytest.fixture
def far(ours: Ours, tmp_path: Path) -> Iterator[FarHost]:
    """A far host for ssh."""
    with far_host(tmp_path, ours.mark) as host:
        yield host


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


def await_alone(far: FarHost) -> None:
    """Waits until no process of a run is left on either side."""
    end = time.monotonic() + 2
    while left := [*far.ssh_clients(), *far.far_agents(), *far.near_agents()]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


def test_a_run_survives_every_kill_of_ssh(far: FarHost, started: Start) -> None:
    rng = random.Random(SEED)
    command = far.run_argv("--bytes", "2M", "--trials", TRIALS)
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
        await_alone(far)
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
    # Pushes that broke off left nothing but the agent.
    (agent,) = far.pushed()
    assert agent.read_bytes() == agent_binary().read_bytes()


def test_a_host_that_is_not_there_is_named(far: FarHost) -> None:
    done = far.run("--bytes", "1M", host="198.18.0.99")
    assert (done.status, done.out) == (1, "")
    assert "198.18.0.99 cannot be reached by ssh" in done.sentence
    assert "No route to host" in done.sentence
    assert not far.results.exists()


def test_no_ssh_is_named(far: FarHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FarHost, "_ssh", lambda _: {"WHYPERF_SSH": "no-such-ssh -F x"})
    done = far.run("--bytes", "1M")
    assert (done.status, done.out) == (1, "")
    assert "there is no ssh on this host; install the OpenSSH client" in done.sentence
    assert not far.results.exists()


def test_an_address_that_refuses_fails_the_trial(far: FarHost) -> None:
    """The near side's own: nobody listens there."""
    done = far.run("--bytes", "1M", "--address", "198.18.0.1", "--json")
    assert done.status == 1
    assert "connecting to 198.18.0.1" in done.err
    (manifest,) = Experiment.open(far.results).trials().manifests.values()
    assert manifest.status == "failed"


def test_a_cache_that_cannot_be_written_is_named(far: FarHost) -> None:
    (far.folder / "home" / "cache").write_text("in the way")
    done = far.run("--bytes", "1M")
    assert (done.status, done.out) == (1, "")
    assert "far cannot keep the agent: mkdir: " in done.sentence
    assert "put that right, or install whyperf-agent" in done.sentence
    assert not far.results.exists()
