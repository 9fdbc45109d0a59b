"""Ends on one machine use one set of programs, and each sees its own connections as if it had them alone."""

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.bpf_objects import Objects, held_by, still_there
from tests.e2e.logs import log_session, log_trials, run_log, run_logs
from whyperf.run import Kind, PipeClosedError
from whyperf.run.agents import pipes

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

TRANSFER_BYTES = 4_000_000
#: Removing programs ends with a grace period of the kernel's.
FREED_WITHIN_S = 60


def programs(objects: Objects) -> set[int]:
    """Numbers of the programs among them."""
    return {number for kind, number in objects if kind == "prog_id"}


def maps_memory(pid: int) -> bool:
    """Whether a process has memory of a BPF map (proc_pid_maps(5))."""
    return "bpf-map" in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.parametrize(("kind", "victim"), [(Kind.VETH, "near"), (Kind.LOOPBACK, "far"), (Kind.VETH, None)])
def test_one_set_of_programs(tmp_path: Path, kind: Kind, victim: str | None) -> None:
    """Held by the far agent alone, and gone with it, whichever end is killed."""
    # Long enough to be killed in, on a busy host too.
    levels = {"warmup_s": 0, "duration_s": 0.5 if victim is None else 30.0, "connections": 3}
    with (
        ThreadPoolExecutor(1) as pool,
        log_session(tmp_path / "results", kind=kind, **levels) as (
            opened,
            plan,
        ),
    ):
        (planned,) = log_trials(plan)
        moving: list[str] = []
        trial = pool.submit(run_log, opened, plan, planned, lambda host, _: moving.append(host))
        while set(moving) != {"near", "far"}:
            assert not trial.done(), trial.result()
            time.sleep(0.01)
        near, far = (held_by(agent.pid) for agent in opened.agents())
        assert near == set()
        assert maps_memory(opened.agents()[0].pid)
        assert programs(far)
        if victim is None:
            for log in trial.result():
                assert log.manifest.status == "complete"
                assert (log.evidence["got"], log.evidence["missing"]) == ("segments", [])
                assert log.evidence["logged_events_count"] == log.segments.height
                assert set(log.table("counters")["connection"]) == {0, 1, 2}
        else:
            os.kill(opened.agents()[victim == "far"].pid, signal.SIGKILL)
            with pytest.raises(PipeClosedError, match=f"the {victim} agent was killed by signal 9"):
                trial.result()
    end = time.monotonic() + FREED_WITHIN_S
    while left := still_there(near | far):
        assert time.monotonic() < end, left
        time.sleep(0.05)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, to take a capability away")
def test_who_may_not_find_anothers_programs_loads_his_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "agent.sh"
    script.write_text(f'#!/bin/sh\nexec setpriv --bounding-set=-sys_admin -- {pipes.agent_binary()} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("WHYPERF_AGENT", str(script))
    with log_session(tmp_path / "results", kind=Kind.LOOPBACK, transfer_bytes=TRANSFER_BYTES) as (opened, plan):
        (logs,) = run_logs(opened, plan)
        near, far = (programs(held_by(agent.pid)) for agent in opened.agents())
    assert near
    assert far
    assert not near & far
    assert [log.evidence["got"] for log in logs] == ["segments"] * 2
