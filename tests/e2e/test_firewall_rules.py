"""`firewall_rules` on the testbed: the rules are there while a trial runs, every packet passes them, and none stays."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.experiments import Quiet, Record, plan_of, session
from whyperf.run import Session, run_plan
from whyperf.wire import ReplyProgress

pytestmark = [
    pytest.mark.root,
    pytest.mark.usefixtures("ours"),
    pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft (package nftables)"),
]

SHORT: dict[str, Any] = {"duration_s": 0.6, "warmup_s": 0.05, "cooldown_s": 0.05, "interval_ms": 50}
COUNTER = re.compile(r"counter packets (\d+) bytes")
#: Packets that show that a load goes on, and how long a busy host may take for them.
MIN_COUNTED, COUNTED_WITHIN_S = 100, 2.0


def nft(process: int, *argv: str) -> str:
    """What nft prints in the namespace of a process."""
    command = ["nsenter", "-t", str(process), "-n", "--", "nft", *argv]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def far_of(opened: Session) -> int:
    """The process of the far agent."""
    return next(agent.pid for agent in opened.agents() if agent.label == "far")


class Looking(Quiet):
    """Looks at the far side's rules while trials run, and has one more rule count what passes all of them."""

    def __init__(self, opened: Session) -> None:
        """Nothing seen yet; `opened` says which cell has a trial by its testbed."""
        super().__init__()
        self.opened = opened
        opened.on_ready = self.on_ready
        self.cell, self.is_first = "", True
        self.listed: dict[str, str] = {}
        self.tables_before: list[str] = []

    @property
    def far(self) -> int:
        """The process of the far agent."""
        return far_of(self.opened)

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
            if table := nft(self.far, "list", "tables").split():
                nft(self.far, "add", "rule", *table[1:3], "c", "counter")
                # On a busy host no other progress may come.
                end = time.monotonic() + COUNTED_WITHIN_S
                while int(COUNTER.findall(self._look())[-1]) <= MIN_COUNTED and time.monotonic() < end:
                    time.sleep(0.01)
        self._look()

    def _look(self) -> str:
        self.listed[self.cell] = found = nft(self.far, "list", "ruleset")
        return found


def test_all_packets_pass_the_rules_while_the_trial_runs(tmp_path: Path) -> None:
    plan = plan_of(trials=2, firewall_rules=[0, 30], **SHORT)
    without, with_rules = (cell.id for cell in plan.cells)
    with session(tmp_path / "results", plan) as (opened, experiment):
        looking = Looking(opened)
        run_plan(opened, experiment, looking, lambda _: None)
        assert [manifest.status for manifest in Record(experiment).trials.values()] == ["complete"] * 4
        assert nft(looking.far, "list", "tables") == ""
    assert looking.listed[without] == ""
    assert "hook input" in looking.listed[with_rules]
    *own, last = [int(count) for count in COUNTER.findall(looking.listed[with_rules])]
    assert own == [0] * 30
    assert last > MIN_COUNTED
    assert looking.tables_before == [""] * 4


class KillingKeeper(Quiet):
    """Kills the keeper of the first trial that has one."""

    killed = 0

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """The load runs, so the rules are there."""
        super().on_progress(host, progress)
        keepers = [folder for folder in Path("/proc").glob("[0-9]*") if is_own_keeper(folder)]
        if keepers and not self.killed:
            self.killed = int(keepers[0].name)
            os.kill(self.killed, signal.SIGKILL)


def is_own_keeper(folder: Path) -> bool:
    """Whether a process in /proc is a keeper that this process has started."""
    try:
        is_keeper = b"whyperf.disturb.keeper" in (folder / "cmdline").read_bytes()
        return is_keeper and int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
    except OSError:
        return False


def test_a_killed_keeper_makes_its_trial_void_and_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    plan = plan_of(trials=2, firewall_rules=[3, 0], **SHORT)
    with session(tmp_path / "results", plan) as (opened, experiment):
        tables_before: list[str] = []
        opened.on_ready = lambda _: tables_before.append(nft(far_of(opened), "list", "tables"))
        observer = KillingKeeper()
        run_plan(opened, experiment, observer, lambda _: None)
        assert [manifest.status for manifest in Record(experiment).trials.values()] == ["complete"] * 4
    (aside,) = (experiment.folder / "set-aside").glob("*/manifest.json")
    manifest = json.loads(aside.read_text(encoding="utf-8"))
    reason = "the process that undoes the disturbances of the trial (keeper {}) was killed by signal 9"
    assert (manifest["status"], manifest["reason"]) == ("void", reason.format(observer.killed))
    assert tables_before == [""] * 5


def test_rules_for_udp_and_for_ip_version_6(tmp_path: Path) -> None:
    levels: dict[str, Any] = {"workload": "udp-stream", "transport": "udp", "ip_version": 6, "firewall_rules": 3}
    plan = plan_of(**levels, **SHORT)
    with session(tmp_path / "results", plan) as (opened, experiment):
        looking = Looking(opened)
        run_plan(opened, experiment, looking, lambda _: None)
        assert Record(experiment).only.status == "complete"
    (listed,) = looking.listed.values()
    *own, last = [int(count) for count in COUNTER.findall(listed)]
    assert own == [0] * 3
    assert last > MIN_COUNTED
