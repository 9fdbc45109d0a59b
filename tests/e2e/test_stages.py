"""Stage times on the testbed: the tables are there, planted delays are in their stage, and plain runs have none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.bpf_objects import held_by
from tests.e2e.experiments import Quiet, profile_text
from tests.e2e.whyperf_command import whyperf
from whyperf.plan import PlannedStages, PlannedTrial, build
from whyperf.profile import parse
from whyperf.record import Experiment, Manifest
from whyperf.run import Kind, Session, Target
from whyperf.run.trial import run_trial

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

SHORT: dict[str, Any] = {"duration_s": 0.4, "warmup_s": 0.1, "cooldown_s": 0.1, "interval_ms": 100}
#: Every block.
ALL = PlannedStages(one_in=1)
WAITS = ["qdisc_wait", "softirq_wait", "wakeup_wait", "socket_wait"]
SENDER = {"call_entry", "copy_in", "tcp_out", "qdisc_out", "driver_out", "call_exit", "application"}
RECEIVER = {"softirq_wait", "driver_in", "ip_in", "tcp_in", "wakeup", "copy_out", "ack_out"}


class Trials:
    """Makes trials with stage times, and reads their tables."""

    def __init__(self, session: Session, experiment: Experiment) -> None:
        """Nothing made yet."""
        self.session, self.experiment = session, experiment
        self.made = 0

    def run(self, cell: int = 0, stages: PlannedStages | None = ALL) -> Manifest:
        """Makes one."""
        self.made += 1
        planned_cell = self.experiment.plan.cells[cell]
        name = f"stages{self.made:02d}-{planned_cell.id}"
        planned = PlannedTrial(name, self.made, planned_cell.id, stages=stages)
        with self.experiment.begin_trial(name) as writer:
            manifest = writer.commit(run_trial(self.session, planned, planned_cell, writer, Quiet().on_progress))
        assert manifest.status == "complete", manifest.reason
        return manifest

    def table(self, manifest: Manifest, name: str, host: str) -> pl.DataFrame:
        """A table of a host."""
        return pl.read_parquet(self.experiment.folder / "trials" / manifest.trial / f"{name}.{host}.parquet")

    def stages(self, manifest: Manifest, host: str) -> pl.DataFrame:
        """The rows of a host, with the CPU time of processing without programs."""
        empty_ns = manifest.hosts[host].evidence["stages"]["empty_pair_ns"]
        probes_ns = pl.col("probes_count").cast(pl.Int64) * empty_ns
        own_ns = (pl.col("cpu_ns").cast(pl.Int64) - probes_ns).clip(0).alias("own_ns")
        return self.table(manifest, "stages", host).with_columns(pl.col("stage").cast(pl.String), own_ns)

    def each_ns(self, manifest: Manifest, host: str, stage: str, column: str) -> pl.Series:
        """What a stage took, by segment."""
        rows = self.stages(manifest, host).filter(stage=stage)
        assert not rows.is_empty(), stage
        return rows.group_by("connection", "direction", "sequence").agg(pl.col(column).sum())[column]

    def median_ns(self, manifest: Manifest, host: str, stage: str) -> float:
        """The median over segments of what a stage took."""
        return float(str(self.each_ns(manifest, host, stage, "own_ns").median()))


@contextmanager
def trials_on(folder: Path, kind: Kind = Kind.VETH, **levels: Any) -> Iterator[Trials]:
    """A session on the testbed or the loopback."""
    text = profile_text(congestion_control="cubic", **({} if "transfer_bytes" in levels else SHORT) | levels)
    target = "loopback" if kind is Kind.LOOPBACK else "testbed"
    plan = build(parse(text, name="test", where="test.toml"), target=target)
    with Experiment.create(folder / "results", plan, text) as experiment, Session(plan, Target(kind)) as session:
        yield Trials(session, experiment)


@pytest.mark.parametrize("kind", [Kind.VETH, Kind.LOOPBACK])
def test_all_stages_of_a_stream_are_there(tmp_path: Path, kind: Kind) -> None:
    with trials_on(tmp_path, kind, transfer_bytes=200_000_000, connections=2) as trials:
        found = trials.run(stages=PlannedStages(one_in=4))
        for host, end in found.hosts.items():
            report = end.evidence["stages"]
            assert (report["reason"], report["broken_off"], report["lost_rows_count"]) == (None, None, [])
            assert [change["one_in_count"] for change in report["sampling"]] == [4]
            assert 0 < report["empty_pair_ns"] < 1000
            rows = trials.stages(found, host)
            assert report["rows_count"] == rows.height
            wanted = SENDER if end.role == "sender" else RECEIVER
            assert wanted <= set(rows["stage"]), wanted - set(rows["stage"])
            assert rows.filter(pl.col("cpu_ns") > pl.col("wall_ns")).is_empty()
            assert rows.filter(pl.col("stage").is_in(WAITS), pl.col("cpu_ns") > 0).is_empty()
            assert set(rows["one_in_count"]) == {4}
            # All of a sampled block is sampled, at both hosts: about a quarter of the bytes.
            stage = "driver_out" if end.role == "sender" else "copy_out"
            part = rows.filter(stage=stage)["payload_bytes"].sum() / 400_000_000
            assert 0.1 < part < 0.45, (host, part)
            gaps = trials.table(found, "stage_gaps", host).group_by("reason").agg(pl.col("gaps_count").sum())
            assert dict(gaps.rows()).get("lost_record", 0) == 0
        block_bytes = found.hosts["near"].evidence["stages"]["block_bytes"]
        sent, received = (
            (trials.stages(found, host).filter(stage=stage, connection=0)["sequence"] // block_bytes).to_list()
            for host, stage in (("near", "driver_out"), ("far", "tcp_in"))
        )
        assert len(set(sent)) > 10
        # What the last one holds may arrive in a segment that starts in the one before.
        assert set(sent) - {sent[-1]} <= set(received)
        # Now and then one arrives in parts, and a part begins in a block in which none was sent (2 of 75 trials).
        assert len(set(received) - set(sent)) <= len(set(sent)) / 20


@pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft (package nftables)")
def test_rules_of_a_firewall_are_in_the_ip_stage(tmp_path: Path) -> None:
    doses = [0, 800]
    with trials_on(tmp_path, firewall_rules=doses, write_rate_bps=200_000_000) as trials:
        ip, tcp = (
            [trials.median_ns(trials.run(cell), "far", stage) for cell in range(2)] for stage in ("ip_in", "tcp_in")
        )
    assert ip[1] > ip[0] + 300
    assert ip[1] - ip[0] > 3 * abs(tcp[1] - tcp[0])


@pytest.mark.alone
def test_stage_times_are_about_the_cpu_time_that_the_kernel_counts(tmp_path: Path) -> None:
    """Both hosts together: softirqs of one may run on the other's CPU."""
    with trials_on(tmp_path) as trials:
        found = trials.run()
        staged = counted = 0
        for host in found.hosts:
            intervals = trials.table(found, "cpu", host).filter(phase="measure")
            start_ns, end_ns = intervals["start_mono_ns"].min(), intervals["end_mono_ns"].max()
            rows = trials.stages(found, host).filter(pl.col("start_mono_ns").is_between(start_ns, end_ns))
            staged += int(rows["cpu_ns"].sum())
            report = found.hosts[host].evidence["stages"]
            staged += report["own_ns"] * rows.height // report["rows_count"]
            softirqs = trials.table(found, "softirqs", host).filter("own", phase="measure")
            counted += int(trials.table(found, "threads", host).filter(phase="measure")["cpu_ns"].sum())
            counted += int(softirqs["softirq_ns"].sum()) - int(softirqs["on_load_ns"].fill_null(0).sum())
    assert 0.75 < staged / counted < 1.1, (staged, counted)


def test_a_run_asks_for_them_and_a_plain_run_loads_none(tmp_path: Path) -> None:
    short = ("-t", "0.3", "--trials", "1", "--testbed", "veth", "--no-report")
    done = whyperf("run", *short, "--evidence", "stages", "--out", "result", folder=tmp_path)
    assert done.status in {0, 3}, done.err
    trials = Experiment.open(tmp_path / "result").trials()
    assert sorted(trials.manifests) == ["001-c0001", "stages01-c0001"]
    assert list(trials.measured) == ["001-c0001"]
    assert [name for name in trials.manifests["001-c0001"].tables if name.startswith("stage")] == []
    staged = trials.manifests["stages01-c0001"].tables
    assert {f"{table}.{host}.parquet" for table in ("stages", "stage_gaps") for host in ("near", "far")} <= set(staged)
    with trials_on(tmp_path, transfer_bytes=1_000_000) as made:
        made.run(stages=None)
        plain = {host: held_by(agent.pid) for host, agent in zip(("near", "far"), made.session.agents(), strict=True)}
        made.run()
        staged_objects = held_by(made.session.agents()[1].pid)
        made.run(stages=None)
        again = held_by(made.session.agents()[1].pid)
    programs = [sum(kind == "prog_id" for kind, _ in held) for held in (plain["far"], staged_objects, again)]
    assert programs[1] > programs[0] + 10
    assert programs[2] == programs[0]
