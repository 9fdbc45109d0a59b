"""Evidence level `profile` on the kernels of Debian 11, 12 and 13: it samples, or the kernel's refusal is named."""

import json
from pathlib import Path

import pytest

from tests.e2e.experiments import Quiet, Record
from tests.e2e.whyperf_command import whyperf
from tests.kernels.guest import Guest
from whyperf.plan import build
from whyperf.profile import parse
from whyperf.record import Experiment
from whyperf.run import Kind, Session, Target, run_plan

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("agents_in_guest")]

#: A guest is slow, and so is switching to its programs at each sample.
PROFILE = """
about = "Stacks in a guest."
[fixed]
duration_s = 2.0
warmup_s = 0.5
cooldown_s = 0.2
deadline_s = 120.0
[design]
trials = 1
profile_hz = 97
"""


def test_stacks_are_sampled_or_refused_by_name(guest: Guest, tmp_path: Path) -> None:
    plan = build(parse(PROFILE, name="test", where="test.toml"), target="testbed")
    folder = tmp_path / "results"
    with Experiment.create(folder, plan, PROFILE) as experiment, Session(plan, Target(Kind.VETH)) as opened:
        run_plan(opened, experiment, Quiet(), lambda _: None)
        trial = Record(experiment).only
    assert trial.status == "complete", trial.reason
    done = whyperf("cost", folder, "--json", folder=tmp_path)
    found = json.loads(done.out)
    for host, end in trial.hosts.items():
        report = end.evidence["profile"]
        if report["reason"] is not None:
            assert any(report["reason"] in note for note in found["notes"]), (guest.series, report["reason"])
            continue
        assert report["unnamed"] is None
        assert report["samples_count"] > 0, (guest.series, host, report)
        # Debian does not keep the time of interrupts apart.
        assert not report["keeps_interrupts_apart"]
    sampled = [end.role for end in trial.hosts.values() if end.evidence["profile"]["reason"] is None]
    (cell,) = found["cells"]
    assert sorted(side["role"] for side in cell["sides"]) == sorted(sampled)
    for side in cell["sides"]:
        shares = {entry["name"]: entry["share"] for entry in side["classes"]}
        assert "copy" in shares, (guest.series, side["role"])
        assert shares.get("not_attributed", 0.0) <= 0.03, (guest.series, side["role"])
        softirqs = Record(experiment).table("softirqs").filter("own")
        assert (softirqs["on_load_ns"] <= softirqs["softirq_ns"]).all()
        assert softirqs["on_load_ns"].sum() > 0
