"""An agent that is killed or stopped, at any moment of a run, is named within 3 s and nothing of it stays."""

import os
import random
import signal
import statistics
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e import experiments
from tests.e2e.conftest import Ours
from tests.e2e.experiments import Quiet, profile_text
from tests.e2e.host_state import Process
from tests.e2e.test_kills import agent_of
from whyperf.plan import Plan, build
from whyperf.profile import parse
from whyperf.run import RunError, run_plan

#: By docs/reference/protocol.md: how soon a lost agent is named.
NOTICED_S = 3.0
#: By the seed: which agent, which signal, and when.
SEED = int(os.environ.get("WHYPERF_LOST_SEED", "14"))
#: A run takes about so long; it may be hit at any moment of it.
RUN_S = 6.5
VICTIMS = ("near", "far", "testbed")
SIGNALS = (signal.SIGKILL, signal.SIGSTOP)

pytestmark = [pytest.mark.root, pytest.mark.paced, pytest.mark.timeout(3600)]


def plan() -> Plan:
    """Trials with and without an emulated path, each measured and then with the segment log."""
    text = profile_text(path_rtt_ms=["none", 5], duration_s=0.3, warmup_s=0.1, deadline_s=60)
    return build(parse(text, name="test", where="test.toml"), target="testbed", evidence="segments")


@dataclass
class Run:
    """A run in a thread of its own, and how it ended."""

    folder: Path
    plan: Plan
    ended: threading.Event = field(default_factory=threading.Event)
    failed_at: float | None = None
    reason: str = ""

    def __call__(self) -> None:
        """Runs the plan; a failure is noted when it is known, before anything is cleaned up."""
        try:
            with experiments.session(self.folder, self.plan) as (session, experiment):
                try:
                    run_plan(session, experiment, Quiet(), lambda _: None)
                except RunError:
                    self.failed_at = time.monotonic()
                    raise
        except RunError as error:
            self.failed_at = self.failed_at or time.monotonic()
            self.reason = str(error)
        finally:
            self.ended.set()


@dataclass(frozen=True)
class Loss:
    """An agent that was disturbed, how long after the run's start, and how long it took to notice."""

    victim: str
    signal: signal.Signals
    at_s: float
    noticed_s: float
    reason: str


def find(ours: Ours, victim: str) -> Process | None:
    """The victim, if it is there."""
    for process in ours.agents():
        with suppress(OSError, ValueError):
            # The same program cleans up after killed runs; that is no agent.
            is_agent = b"\0serve\0" in Path(f"/proc/{process.pid}/cmdline").read_bytes()
            if is_agent and agent_of(process) == victim:
                return process
    return None


def lose(ours: Ours, folder: Path, rng: random.Random) -> Loss | None:
    """Runs, and disturbs an agent at a random moment; None where the run was over, or closing that agent, before."""
    victim, how, at_s = rng.choice(VICTIMS), rng.choice(SIGNALS), rng.uniform(0, RUN_S)
    run = Run(folder, plan())
    thread = threading.Thread(target=run)
    thread.start()
    run.ended.wait(at_s)
    process = None
    while process is None and not run.ended.is_set():
        process = find(ours, victim)
    since = time.monotonic()
    if process is not None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, how)
    thread.join()
    ours.await_none()
    ours.assert_namespaces_gone()
    if run.failed_at is None:
        return None
    return Loss(victim, how, at_s, run.failed_at - since, run.reason)


@pytest.mark.parametrize("count", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_every_lost_agent_is_named_in_time(ours: Ours, tmp_path: Path, count: int) -> None:
    rng = random.Random(SEED)
    count = int(os.environ.get("WHYPERF_LOST_COUNT", count))
    losses: list[Loss] = []
    number = 0
    while len(losses) < count:
        number += 1
        assert number <= 3 * count, "most runs end before an agent is lost"
        loss = lose(ours, tmp_path / f"results-{number}", rng)
        if loss is not None:
            losses.append(loss)
            print(f"{loss.victim:8} {loss.signal.name} at {loss.at_s:4.1f} s: {loss.noticed_s:5.3f} s: {loss.reason}")
    for how in SIGNALS:
        took = sorted(loss.noticed_s for loss in losses if loss.signal == how)
        if took:
            print(f"{len(took)} {how.name}: median {statistics.median(took):.3f} s, longest {took[-1]:.3f} s")
    for loss in losses:
        killed, silent = "was killed by signal 9", "was silent for 2."
        assert f"the {loss.victim} agent {killed if loss.signal == signal.SIGKILL else silent}" in loss.reason, loss
        assert loss.noticed_s <= NOTICED_S, loss
