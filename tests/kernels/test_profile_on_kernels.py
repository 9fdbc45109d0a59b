"""Evidence level `profile` on the kernels of Debian 11, 12 and 13: it samples, or the kernel's refusal is named."""

from pathlib import Path

import polars as pl
import pytest

from tests.e2e.experiments import Quiet, Record
from tests.e2e.whyperf_command import whyperf
from tests.kernels.guest import Guest
from whyperf.analyze.cost.samples import classified
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
    done = whyperf("cost", folder, folder=tmp_path)
    record = Record(experiment)
    softirqs = record.table("softirqs").filter("own")
    assert 0 < softirqs["on_load_ns"].sum() <= softirqs["softirq_ns"].sum()
    for host, end in trial.hosts.items():
        report = end.evidence["profile"]
        if report["reason"] is not None:
            assert report["reason"] in " ".join((done.out + done.err).split()), guest.series
            continue
        assert report["unnamed"] is None
        assert report["samples_count"] > 0, (guest.series, host, report)
        # CONFIG_IRQ_TIME_ACCOUNTING is not set in Debian's kernels.
        assert not report["keeps_interrupts_apart"]
        # An emulated CPU has no counter with a constant rate.
        assert f"Samples of the {host} side have no cycles to split" in done.err
        samples, _ = classified(*(record.table(name).filter(host=host) for name in ("stacks", "functions")))
        counts = dict(samples.group_by("class").agg(pl.col("samples_count").sum()).iter_rows())
        assert "copy" in counts, (guest.series, counts)
        assert counts.get("not_attributed", 0) <= 0.03 * sum(counts.values()), (guest.series, counts)
