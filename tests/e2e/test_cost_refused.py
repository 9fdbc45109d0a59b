"""What keeps `--evidence profile` from sampling or naming is one sentence, and what can be measured goes on."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bpf_objects import Objects, held_by, still_there
from tests.e2e.conftest import Ours
from tests.e2e.far_host import SSHD, far_host
from tests.e2e.whyperf_command import argv, whyperf
from whyperf.record import Experiment
from whyperf.run.agents.pipes import agent_binary

pytestmark = pytest.mark.root

needs_ssh = pytest.mark.skipif(not SSHD.exists() or shutil.which("ssh") is None, reason="needs sshd and ssh")
needs_setpriv = pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, to take a capability away")

#: How long a run may take until it samples.
SAMPLES_WITHIN_S = 60
#: Removing programs ends with a grace period of the kernel's.
FREED_WITHIN_S = 60
#: Root without what sampling needs; bpf_jit_harden and others of root stay.
WITHOUT_TRACING = "setpriv --bounding-set=-perfmon,-sys_admin,-bpf --inh-caps=-perfmon,-sys_admin,-bpf --"


def reports(results: Path) -> dict[str, dict[str, Any]]:
    """What each host of the only trial reports of its samples."""
    (trial,) = Experiment.open(results).trials().manifests.values()
    assert trial.status == "complete"
    return {host: end.evidence["profile"] for host, end in trial.hosts.items()}


@needs_ssh
def test_both_sides_are_sampled_over_ssh_and_named_where_they_run(ours: Ours, tmp_path: Path) -> None:
    with far_host(tmp_path, ours.mark) as far:
        done = far.run("-t", "1", "--evidence", "profile")
        assert done.status in {0, 3}, done.err
        cost = far.command("cost", far.results, "--json")
        assert cost.status == 0, cost.err
        text = far.command("cost", far.results).out
    for host, report in reports(far.results).items():
        assert (report["reason"], report["unnamed"]) == (None, None), host
        assert report["samples_count"] > 0, host
    (cell,) = json.loads(cost.out)["cells"]
    sender, receiver = cell["sides"]
    assert (sender["role"], receiver["role"]) == ("sender", "receiver")
    for side, name in ((sender, "_copy_from_iter"), (receiver, "_copy_to_iter")):
        assert name in {function["name"] for entry in side["classes"] for function in entry["functions"]}
    assert "sender: " in text
    assert "receiver: " in text


@needs_ssh
@needs_setpriv
def test_a_far_host_that_may_not_sample_is_named_and_the_near_one_is_split(ours: Ours, tmp_path: Path) -> None:
    with far_host(tmp_path, ours.mark) as far:
        far.install_agent(f'exec {WITHOUT_TRACING} {agent_binary()} "$@"')
        done = far.run("-t", "1", "--evidence", "profile")
        assert done.status in {0, 3}, done.err
        cost = far.command("cost", far.results)
    found = reports(far.results)
    assert (found["near"]["reason"], found["far"]["event"]) == (None, None)
    sentence = "The far side could not be sampled: the kernel does not let this user"
    assert "The stacks of the far side could not be sampled: the kernel does not let this user" in done.out
    assert cost.status == 0, cost.err
    assert sentence in " ".join(cost.out.split())
    assert "sender: " in cost.out
    assert "receiver: " not in cost.out


def test_a_kernel_that_hides_its_names_is_named_and_its_time_is_not_attributed(
    ours: Ours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ours
    # As a process without CAP_SYSLOG reads it; a mount namespace of its own, which ends with the agent, has it.
    hidden = tmp_path / "kallsyms"
    hidden.write_text("0000000000000000 T _text\n0000000000000000 t tcp_sendmsg\n")
    script = tmp_path / "agent.sh"
    mounts = f'mount --bind {hidden} /proc/kallsyms && exec "$@"'
    script.write_text(f"#!/bin/sh\nexec unshare --mount sh -c '{mounts}' sh {agent_binary()} \"$@\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("WHYPERF_AGENT", str(script))
    done = whyperf("run", "-t", "1", "--evidence", "profile", "--no-report", "--out", "result", folder=tmp_path)
    assert done.status in {0, 3}, done.err
    for report in reports(tmp_path / "result").values():
        assert "kernel.kptr_restrict" in report["unnamed"]
        assert report["samples_count"] > 0
    cost = whyperf("cost", "result", "--json", folder=tmp_path)
    assert cost.status == 0, cost.err
    found = json.loads(cost.out)
    assert all("the kernel hides the addresses of its functions" in note for note in found["notes"])
    assert len(found["notes"]) == 2
    for side in found["cells"][0]["sides"]:
        shares = {entry["name"]: entry["share"] for entry in side["classes"]}
        assert shares["not_attributed"] > 0.5
        assert sum(shares.values()) == pytest.approx(1)


def test_a_killed_agent_leaves_nothing_that_samples(
    ours: Ours, tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    command = argv("run", "-t", "60", "--evidence", "profile", "--no-report", "--out", "result")
    controller = started(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + SAMPLES_WITHIN_S
    held: Objects = set()
    # Sampling is a link of BPF on an event of each CPU, on both sides.
    while len(samplers := [process for process in ours.agents() if samples(process.pid)]) < 2:
        assert controller.poll() is None, controller.communicate()[1].decode()
        assert time.monotonic() < end
        time.sleep(0.05)
    for process in samplers:
        held |= held_by(process.pid)
    assert held
    for process in samplers:
        os.kill(process.pid, signal.SIGKILL)
    said = controller.communicate(timeout=SAMPLES_WITHIN_S)[1].decode()
    assert controller.returncode == 1, said
    assert "agent was killed by signal 9" in said
    end = time.monotonic() + FREED_WITHIN_S
    while left := still_there(held):
        assert time.monotonic() < end, left
        time.sleep(0.05)


def samples(pid: int) -> bool:
    """Whether a process has perf events open."""
    try:
        return any(path.readlink().name.endswith("[perf_event]") for path in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
