"""A verdict tried over real ssh: killed while it runs, nothing of it stays, and the same command decides it."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import host_state
from tests.e2e.conftest import GONE_WITHIN_S, Ours
from tests.e2e.far_host import SSHD, FarHost, far_host
from tests.e2e.host_state import Process, is_alive

pytestmark = [pytest.mark.root, pytest.mark.skipif(not SSHD.exists(), reason="needs sshd")]

Start = Callable[..., subprocess.Popen[bytes]]

#: A verification starts within this, its libraries loaded and both agents there.
MEASURES_WITHIN_S = 90


def verification(far: FarHost) -> Path | None:
    """Its folder."""
    return next(iter(far.results.parent.glob(f"{far.results.name}-verify-*")), None)


def trials(far: FarHost) -> list[str]:
    """Its finished trials."""
    folder = verification(far)
    return [] if folder is None else sorted(path.name for path in folder.glob("trials/[0-9]*"))


def await_gone(processes: list[Process]) -> None:
    """Waits until none of them lives; fails naming those that stay."""
    end = time.monotonic() + GONE_WITHIN_S
    while left := [process for process in processes if is_alive(process)]:
        assert time.monotonic() < end, f"still there after {GONE_WITHIN_S} s: {left}"
        time.sleep(0.02)


def test_a_verdict_on_a_far_host_is_tried_there_and_a_kill_leaves_nothing(
    ours: Ours, tmp_path: Path, started: Start
) -> None:
    with far_host(tmp_path, ours.mark) as far:
        # The far side sends, paced: its own agent sets that, over there.
        phases = ("--set", "warmup_s=0.1", "--set", "cooldown_s=0", "-t", "0.2")
        done = far.run("-R", "--set", "pacing_rate_bps=50000000", "--evidence", "segments", *phases)
        assert done.status in {0, 3}, done.err
        before = (host_state.sysctls(), host_state.devices())
        arguments = ("explain", far.results, "--verify", "--json")

        killed = started(far.argv(*arguments), cwd=far.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + MEASURES_WITHIN_S
        while not trials(far):
            assert killed.poll() is None, killed.communicate()[1].decode()
            assert time.monotonic() < end
            time.sleep(0.02)
        running = [*far.ssh_clients(), *far.far_agents(), *far.near_agents()]
        assert running
        killed.kill()
        await_gone(running)
        assert (host_state.sysctls(), host_state.devices()) == before
        made = trials(far)

        done = far.command(*arguments)
        assert done.status == 0, done.err
        assert set(made) < set(trials(far))
        verdicts = [verdict for cell in json.loads(done.out)["cells"] for verdict in cell["verdicts"]]
        (tried,) = [verdict for verdict in verdicts if verdict["verification"] is not None]
        assert tried["cause"] == "pacing_rate"
        assert tried["verification"]["outcome"] == "confirmed", tried["verification"]["words"]
        assert tried["verification"]["pairs"] >= 6
        assert far.far_agents() == []
