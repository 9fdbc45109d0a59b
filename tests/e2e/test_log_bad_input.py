"""What may go wrong with a log: the trial gives its throughput, says what is missing and why, and nothing stays."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.bpf_objects import Objects, held_by, still_there
from tests.e2e.experiments import profile_text
from tests.e2e.logs import log_session, log_trials, run_log
from tests.e2e.whyperf_command import whyperf
from whyperf.record import Experiment
from whyperf.run import Kind, PipeClosedError, Session
from whyperf.run.agents import pipes

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

TRANSFER_BYTES = 4_000_000
#: The kernel frees what nobody holds a moment later.
FREED_WITHIN_S = 60

Wrap = Callable[[str], None]


@pytest.fixture
def wrap_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wrap:
    """Starts agents by a line of shell, in which `$@` is the agent's own command line."""

    def wrap(line: str) -> None:
        agent, script = pipes.agent_binary(), tmp_path / "agent.sh"
        script.write_text(f'#!/bin/sh\nset -- {agent} "$@"\n{line}\n')
        script.chmod(0o755)
        monkeypatch.setenv("WHYPERF_AGENT", str(script))

    return wrap


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, to take a capability away")
@pytest.mark.parametrize("lacking", ["-perfmon,-sys_admin", "-bpf,-sys_admin"])
def test_without_the_privilege_for_tracing_the_level_is_user(tmp_path: Path, wrap_agent: Wrap, lacking: str) -> None:
    wrap_agent(f'exec setpriv --bounding-set={lacking} -- "$@"')
    with log_session(tmp_path / "results", Kind.LOOPBACK, transfer_bytes=TRANSFER_BYTES) as (opened, experiment):
        (planned,) = log_trials(experiment)
        logs = run_log(opened, experiment, planned)
    for log in logs:
        assert log.manifest.status == "complete"
        assert log.manifest.hosts[log.host].payload_bytes == TRANSFER_BYTES
        assert (log.evidence["asked"], log.evidence["got"]) == ("segments", "user")
        # Root is root already.
        assert f"root lacks CAP_{lacking[1:].partition(',')[0].upper()} here" in log.evidence["reason"]
        assert not {"segments", "counters"} & {path.name.partition(".")[0] for path in log.folder.iterdir()}
        assert not log.table("tcp_info").is_empty()


def test_a_full_disk_breaks_the_log_off_and_the_throughput_stands(tmp_path: Path, wrap_agent: Wrap) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    # In a mount namespace of the agent's own, which ends with it.
    mount = f"mount -t tmpfs -o size=16k tmpfs {disk} && TMPDIR={disk} exec"
    wrap_agent(f'exec unshare --mount sh -c \'{mount} "$@"\' agent "$@"')
    profile = tmp_path / "full.toml"
    profile.write_text(profile_text(transfer_bytes=TRANSFER_BYTES, gso=False, tso=False, gro=False))
    done = whyperf("run", profile, "--evidence", "segments", "--json", "--out", tmp_path / "results", folder=tmp_path)
    assert done.status == 0, done.err
    result = json.loads(done.out)
    (cell,) = result["cells"]
    assert (cell["trials"], cell["failed_trials"]) == (1, 0)
    assert cell["goodput_bps"]["median"] > 0
    assert result["evidence"]["incomplete_logs"] == ["log01-c0001"]
    manifest = Experiment.open(tmp_path / "results").trials().manifests["log01-c0001"]
    assert manifest.status == "complete"
    for end in manifest.hosts.values():
        why = f"no space left in {disk}; free some space there, or set TMPDIR"
        assert end.evidence["broken_off"] == f"the segment log could not be written: {why}"


def all_held(opened: Session) -> Objects:
    """What the agents of both sides hold of BPF."""
    return set().union(*(held_by(agent.pid) for agent in opened.agents()))


def await_freed(objects: Objects) -> None:
    """Waits until the kernel has none of them any more."""
    end = time.monotonic() + FREED_WITHIN_S
    while left := still_there(objects):
        assert time.monotonic() < end, left
        time.sleep(0.05)


@pytest.mark.parametrize("victim", ["far", None])
def test_nothing_stays_attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str | None) -> None:
    """Neither programs nor files, whether an agent is killed during a log or ends in order."""
    # Long enough to be killed in, on a busy host too.
    duration_s = 0.5 if victim is None else 30.0
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    with (
        ThreadPoolExecutor(1) as pool,
        log_session(tmp_path / "results", warmup_s=0, duration_s=duration_s) as (opened, plan),
    ):
        (planned,) = log_trials(plan)
        moving: list[str] = []
        trial = pool.submit(run_log, opened, plan, planned, lambda host, _: moving.append(host))
        while set(moving) != {"near", "far"}:
            assert not trial.done(), trial.result()
            time.sleep(0.01)
        held = all_held(opened)
        assert {kind for kind, _ in held} == {"prog_id", "map_id", "link_id"}
        assert still_there(held) == held
        assert list(spool.iterdir()) == []
        if victim is None:
            assert trial.result()[0].manifest.status == "complete"
        else:
            os.kill(opened.agents()[1].pid, signal.SIGKILL)
            with pytest.raises(PipeClosedError, match=f"the {victim} agent was killed by signal 9"):
                trial.result()
    await_freed(held)
    assert list(spool.iterdir()) == []
