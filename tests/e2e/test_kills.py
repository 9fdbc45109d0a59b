"""kill -9 of any process of a run, at any moment: nothing stays, nothing is lost, it resumes."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import whyperf_command
from tests.e2e.conftest import Ours
from tests.e2e.contents import finished_trials, is_void, partial_trials
from tests.e2e.experiments import profile_text
from tests.e2e.host_state import Process
from whyperf.record import Experiment

#: A chain is a dozen runs, and a busy host makes each of them some times as long.
pytestmark = [pytest.mark.root, pytest.mark.timeout(900)]

Start = Callable[..., subprocess.Popen[bytes]]

#: Every process of a run dies, and so many trials of each cell last that long. `make kills` kills many more.
VICTIMS = ("controller", "near", "far", "testbed")
#: Decides order and moments.
SEED = 1995
#: Another MTU is another testbed, and so is one with a path, so that building is hit as well as measuring.
LEVELS: dict[str, Any] = {"mtu_bytes": [1500, 9188], "path_rtt_ms": ["none", 0.2], "transfer_bytes": 2_000_000}
CELLS = 4
#: How long after its first agent a run may be hit.
LATEST_S = 0.6
#: When the last run, which nobody disturbs, is given up.
GIVEN_UP_S = 300
#: How long a controller may take to notice that an agent is gone, and to say so.
NOTICE_S = 60


def agent_of(process: Process) -> str:
    """Which agent a process is: the testbed's holder, or the near or far side's by the holder's descriptor."""
    arguments = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
    if "--netns" not in arguments:
        return "testbed"
    # The holder opens the near side's namespace first.
    return "near" if arguments[arguments.index("--netns") + 1].endswith("/3") else "far"


def find(ours: Ours, victim: str, controller: subprocess.Popen[bytes]) -> int | None:
    """Process id of the victim, if it is there."""
    if victim == "controller":
        return controller.pid
    for process in ours.agents():
        try:
            if agent_of(process) == victim:
                return process.pid
        except OSError:
            continue
    return None


def kill_somewhere(ours: Ours, rng: random.Random, victim: str, controller: subprocess.Popen[bytes]) -> None:
    """Kills the victim at a random moment after the run's first agent appeared, until the run ends of it."""
    while not ours.agents():
        assert controller.poll() is None
        time.sleep(0.02)
    time.sleep(rng.uniform(0, LATEST_S))
    while controller.poll() is None:
        pid = find(ours, victim, controller)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            # One that was about to end anyway is not missed; then its successor dies.
            with suppress(subprocess.TimeoutExpired):
                controller.wait(0.5)


@pytest.mark.parametrize("kills", [1, pytest.param(len(VICTIMS), marks=pytest.mark.slow)])
def test_a_run_survives_every_kill(ours: Ours, started: Start, tmp_path: Path, kills: int) -> None:
    rng = random.Random(SEED)
    trials_count = 2 + kills
    profile, results = tmp_path / "killed.toml", tmp_path / "results"
    profile.write_text(profile_text(trials_count, **LEVELS))
    command = whyperf_command.argv("run", profile, "--out", results)
    for victim in rng.sample(VICTIMS, kills):
        before = finished_trials(results)
        controller = started(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        kill_somewhere(ours, rng, victim, controller)
        said = controller.communicate(timeout=NOTICE_S)[1].decode()
        assert "Traceback" not in said, said
        assert "internal error" not in said, said
        if victim != "controller":
            assert controller.returncode == 1, said
            assert f"whyperf: the {victim} agent was killed by signal 9" in said.splitlines()[-1]
        ours.await_none()
        ours.assert_namespaces_gone()
        after = finished_trials(results)
        assert before.items() <= after.items()
    before = finished_trials(results)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=GIVEN_UP_S, check=False)
    assert done.returncode in {0, 3}, done.stderr.decode()
    after = finished_trials(results)
    assert before.items() <= after.items()
    assert partial_trials(results) == []
    experiment = Experiment.open(results)
    trials = experiment.trials()
    assert trials.damaged == []
    # The union is the plan: every trial once, no other, all of them whole.
    assert sorted(trials.manifests) == sorted(trial.id for trial in experiment.plan.trials())
    assert len(trials.manifests) == CELLS * trials_count
    # A host that stalls leaves trials of the path void, and that alone is not a success.
    statuses = {manifest.status for manifest in trials.manifests.values()}
    assert statuses == {"complete"} if done.returncode == 0 else statuses == {"complete", "void"}
    assert all(is_void(trial) for trial in (results / "set-aside").glob("*"))
