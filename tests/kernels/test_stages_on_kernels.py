"""Stage times on the kernels of Debian 11, 12 and 13: the stages that can be are there, the other hooks are named."""

from pathlib import Path

import pytest

from tests.e2e.experiments import Quiet, Record
from tests.kernels.guest import Guest
from whyperf.plan import PlannedStages, build
from whyperf.profile import parse
from whyperf.record import Experiment
from whyperf.run import Kind, Session, Target, run_plan

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("agents_in_guest")]

PROFILE = """
about = "Stage times in a guest."
[fixed]
duration_s = 2.0
warmup_s = 0.5
cooldown_s = 0.2
deadline_s = 120.0
[design]
trials = 1
"""
#: Stages that need no hook newer than Linux 6.1, by the side that has them.
SINCE_6_1 = {
    "sender": {"tcp_out", "qdisc_out", "driver_out", "application"},
    "receiver": {"driver_in", "ip_in", "tcp_in", "copy_out", "ack_out"},
}


def test_stages_are_timed_or_their_hooks_named(guest: Guest, tmp_path: Path) -> None:
    plan = build(parse(PROFILE, name="test", where="test.toml"), target="testbed", stages=PlannedStages(one_in=1))
    with (
        Experiment.create(tmp_path / "results", plan, PROFILE) as experiment,
        Session(plan, Target(Kind.VETH)) as opened,
    ):
        run_plan(opened, experiment, Quiet(), lambda _: None)
    record = Record(experiment)
    (trial,) = record.experiment.trials().staged.values()
    assert trial.status == "complete", trial.reason
    for host, end in trial.hosts.items():
        report = end.evidence["stages"]
        if report["reason"] is not None:
            # Linux 5.10 has no storage of tasks.
            assert guest.series.startswith("5."), (guest.series, report)
            continue
        found = set(record.table("stages").filter(host=host)["stage"])
        assert SINCE_6_1[end.role] <= found, (guest.series, host, found, report["missing"])
        for hook in report["missing"]:
            assert hook["reason"], hook
        has_copy_in = all(hook["name"] != "tcp:tcp_sendmsg_locked" for hook in report["missing"])
        assert ("copy_in" in found) == (has_copy_in and end.role == "sender"), (guest.series, host)
