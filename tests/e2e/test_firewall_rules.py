"""`firewall_rules` on the testbed: the rules are there while a trial runs, every packet passes them, and none stays."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import whyperf_command
from tests.e2e.conftest import Ours
from tests.e2e.experiments import Quiet, Record, plan_of, session
from tests.e2e.host_state import Process
from whyperf.record import Experiment
from whyperf.run import Session, run_plan
from whyperf.wire import ReplyProgress

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft (package nftables)"),
]

SHORT: dict[str, Any] = {"duration_s": 0.4, "warmup_s": 0.1, "cooldown_s": 0.1, "interval_ms": 50}
COUNTER = re.compile(r"counter packets (\d+) bytes")


def nft(process: int, *argv: str) -> str:
    """What nft prints in the namespace of a process."""
    command = ["nsenter", "-t", str(process), "-n", "--", "nft", *argv]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def keepers(ours: Ours) -> list[Process]:
    """The keepers that a test has started."""
    found = []
    for process in ours.processes():
        try:
            if b"whyperf.disturb.keeper" in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                found.append(process)
        except OSError:
            continue
    return found


class Looking(Quiet):
    """Looks at the far side's rules while trials run, and has one more rule count what passes all of them."""

    def __init__(self, opened: Session, ours: Ours) -> None:
        """Nothing seen yet; `opened` says which cell has a trial by its testbed."""
        super().__init__()
        self.opened, self.ours = opened, ours
        opened.on_ready = self.on_ready
        self.cell, self.is_first = "", True
        self.listed: dict[str, str] = {}
        self.keepers: dict[str, int] = {}
        self.tables_before: list[str] = []

    @property
    def far(self) -> int:
        """The process of the far agent."""
        return next(agent.pid for agent in self.opened.agents() if agent.label == "far")

    def on_ready(self, cell: str) -> None:
        """A trial of this cell comes next: what is there before it, after the one before."""
        self.cell, self.is_first = cell, True
        self.tables_before.append(nft(self.far, "list", "tables"))

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """At the first progress: adds the rule; later: lists all."""
        super().on_progress(host, progress)
        if host != "far":
            return
        if self.is_first:
            self.is_first = False
            self.keepers[self.cell] = len(keepers(self.ours))
            if table := nft(self.far, "list", "tables").split():
                nft(self.far, "add", "rule", *table[1:3], "c", "counter")
        self.listed[self.cell] = nft(self.far, "list", "ruleset")


def test_all_packets_pass_the_rules_while_the_trial_runs(ours: Ours, tmp_path: Path) -> None:
    plan = plan_of(trials=2, firewall_rules=[0, 30], **SHORT)
    without, with_rules = (cell.id for cell in plan.cells)
    with session(tmp_path / "results", plan) as (opened, experiment):
        looking = Looking(opened, ours)
        run_plan(opened, experiment, looking, lambda _: None)
        assert [manifest.status for manifest in Record(experiment).trials.values()] == ["complete"] * 4
        assert nft(looking.far, "list", "tables") == ""
    assert (looking.listed[without], looking.keepers[without]) == ("", 0)
    assert looking.keepers[with_rules] == 1
    assert "hook input" in looking.listed[with_rules]
    *own, last = [int(count) for count in COUNTER.findall(looking.listed[with_rules])]
    assert own == [0] * 30
    assert last > 100
    assert looking.tables_before == [""] * 4


def test_rules_for_udp_and_for_ip_version_6(ours: Ours, tmp_path: Path) -> None:
    levels: dict[str, Any] = {"workload": "udp-stream", "transport": "udp", "ip_version": 6, "firewall_rules": 3}
    plan = plan_of(**levels, **SHORT)
    with session(tmp_path / "results", plan) as (opened, experiment):
        looking = Looking(opened, ours)
        run_plan(opened, experiment, looking, lambda _: None)
        assert Record(experiment).only.status == "complete"
    (listed,) = looking.listed.values()
    *own, last = [int(count) for count in COUNTER.findall(listed)]
    assert own == [0] * 3
    assert last > 100


def awaited(what: Callable[[], object], within_s: float = 60) -> None:
    """Waits until it is so."""
    end = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_killed_controller_leaves_no_rules_and_the_run_resumes(
    ours: Ours, started: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    options = ("-t", "1", "--trials", "2", "--set", "firewall_rules=20", "--no-report", "--out", "result")
    before = subprocess.run(["nft", "list", "tables"], capture_output=True, check=True).stdout
    running = started(whyperf_command.argv("run", *options), cwd=tmp_path, stdout=subprocess.DEVNULL)
    awaited(lambda: keepers(ours) or running.poll() is not None)
    assert running.poll() is None
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    # A namespace without a process is gone, and its rules with it.
    ours.await_none(within_s=5)
    ours.assert_namespaces_gone()
    assert subprocess.run(["nft", "list", "tables"], capture_output=True, check=True).stdout == before
    done = whyperf_command.whyperf("run", *options, folder=tmp_path)
    assert done.status in {0, 3}, done.err
    trials = Experiment.open(tmp_path / "result").trials().manifests
    assert [manifest.status for manifest in trials.values()] == ["complete"] * 2
    assert keepers(ours) == []
