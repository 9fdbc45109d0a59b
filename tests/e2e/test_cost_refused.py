"""What keeps `--evidence profile` from sampling or naming is one sentence, and what can be measured goes on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.far_host import SSHD, far_host
from tests.e2e.whyperf_command import whyperf
from whyperf.record import Experiment
from whyperf.run.agents.pipes import agent_binary

pytestmark = pytest.mark.root

needs_ssh = pytest.mark.skipif(not SSHD.exists() or shutil.which("ssh") is None, reason="needs sshd and ssh")
needs_setpriv = pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, to take a capability away")

SHORT = ("-t", "0.4", "--set", "warmup_s=0.1")
#: Root without what sampling needs; bpf_jit_harden and others of root stay.
WITHOUT_TRACING = "setpriv --bounding-set=-perfmon,-sys_admin,-bpf --inh-caps=-perfmon,-sys_admin,-bpf --"


def reports(results: Path) -> dict[str, dict[str, Any]]:
    """What each host of the only trial reports of its samples."""
    (trial,) = Experiment.open(results).trials().manifests.values()
    assert trial.status == "complete"
    return {host: end.evidence["profile"] for host, end in trial.hosts.items()}


@needs_ssh
@needs_setpriv
def test_a_far_host_that_may_not_sample_is_named_and_the_near_one_is_split(ours: Ours, tmp_path: Path) -> None:
    with far_host(tmp_path, ours.mark) as far:
        far.install_agent(f'exec {WITHOUT_TRACING} {agent_binary()} "$@"')
        done = far.run(*SHORT, "--evidence", "profile")
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
    done = whyperf("run", *SHORT, "--evidence", "profile", "--no-report", "--out", "result", folder=tmp_path)
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
