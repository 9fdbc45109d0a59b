"""Trials with stage times on the embedded testbed, and what they say of a host: straight from the tables."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from lab.bench.cost.experiment import Watcher, profile_of
from whyperf.plan import Level, Plan, PlannedStages, PlannedTrial, build
from whyperf.record import Experiment, Manifest
from whyperf.run import Kind, RunError, Session, Target
from whyperf.run.trial import run_trial

#: Stages in which nothing is processed.
WAITS = ("qdisc_wait", "softirq_wait", "wakeup_wait", "socket_wait")
HOSTS = ("near", "far")
MAX_LOST = 0.03
"""Of the rows of a trial: what is missing is missing in the sums, too."""


@dataclass(frozen=True)
class Staged:
    """One trial, recorded."""

    folder: Path
    manifest: Manifest

    def table(self, name: str, host: str) -> pl.DataFrame:
        """A table of a host."""
        return pl.read_parquet(self.folder / f"{name}.{host}.parquet")

    def window_ns(self, host: str) -> tuple[int, int]:
        """The phase that is measured, on the host's clock."""
        rows = self.table("cpu", host).filter(pl.col("phase") == "measure")
        return int(rows["start_mono_ns"].min()), int(rows["end_mono_ns"].max())  # type: ignore[arg-type]

    def report(self, host: str) -> Mapping[str, Any]:
        """The report on what the stage times of a host are worth.

        Raises:
            LookupError: there are none.
        """
        report = self.manifest.hosts[host].evidence.get("stages")
        if not report or report["reason"] or report["broken_off"]:
            raise LookupError(f"{self.manifest.trial}: no stage times of the {host} side: {report}")
        return dict(report)

    def rows(self, host: str) -> pl.DataFrame:
        """The rows of the phase that is measured, each with `own_ns`, its CPU time without programs."""
        start_ns, end_ns = self.window_ns(host)
        empty_ns = self.report(host)["empty_pair_ns"]
        rows = self.table("stages", host).filter(pl.col("start_mono_ns").is_between(start_ns, end_ns))
        cost_ns = pl.col("probes_count").cast(pl.Float64) * empty_ns
        own_ns = (pl.col("cpu_ns") - cost_ns).clip(0).alias("own_ns")
        return rows.with_columns(pl.col("stage").cast(pl.String), own_ns)

    def followed_ratio(self, host: str) -> float:
        """Of the payload that the host moved in the phase, the part whose segments were followed.

        Raises:
            LookupError: the log had no room for too many rows, or no segment was followed.
        """
        report, rows = self.report(host), self.rows(host)
        lost = sum(cpu["count"] for cpu in report["lost_rows_count"])
        stage = "driver_out" if self.manifest.hosts[host].role == "sender" else "copy_out"
        followed = rows.filter(stage=stage)["payload_bytes"].sum()
        if lost > MAX_LOST * report["rows_count"] or not followed:
            raise LookupError(f"{self.manifest.trial}: {lost} rows are lost, {followed} bytes were followed")
        moved = self.table("intervals", host).filter(pl.col("phase") == "measure")["payload_bytes"].sum()
        return float(followed) / float(moved)

    def stage_ns(self, host: str) -> float:
        """CPU time of the phase as stages show it: that of what was followed, for all payload, and of the programs.

        Raises:
            LookupError: as `followed_ratio`.
        """
        rows, report = self.rows(host), self.report(host)
        runs, all_runs = float(rows["probes_count"].sum()), float(self.table("stages", host)["probes_count"].sum())
        programs_ns = runs * float(report["empty_pair_ns"]) + float(report["own_ns"]) * runs / all_runs
        return float(rows["own_ns"].sum()) / self.followed_ratio(host) + programs_ns

    def counted_ns(self, host: str) -> float:
        """CPU time of the load's threads, and of softirqs that are not on top of them, on the host's own CPUs."""
        threads = self.table("threads", host).filter(pl.col("phase") == "measure")
        softirqs = self.table("softirqs", host).filter(pl.col("phase") == "measure", "own")
        own_softirqs_ns = (
            softirqs["softirq_ns"].cast(pl.Int64) - softirqs["on_load_ns"].fill_null(0).cast(pl.Int64)
        ).sum()
        return float(threads["cpu_ns"].sum()) + float(own_softirqs_ns)

    def goodput_bps(self) -> float:
        """Payload that the receiver took in the phase, per time."""
        host = next(name for name, end in self.manifest.hosts.items() if end.role == "receiver")
        rows = self.table("intervals", host).filter(pl.col("phase") == "measure")
        start_ns, end_ns = int(rows["start_mono_ns"].min()), int(rows["end_mono_ns"].max())  # type: ignore[arg-type]
        return 8e9 * float(rows["payload_bytes"].sum()) / (end_ns - start_ns)

    def transactions(self) -> int:
        """Transactions that ended in the phase that is measured."""
        rows = self.table("transactions", "near").filter(pl.col("phase") == "measure")
        return int(rows["transactions_count"].sum())

    def per_segment_ns(self, host: str, stage: str, column: str = "own_ns") -> float:
        """The mean over sampled segments of what a stage took.

        Raises:
            LookupError: no segment has the stage.
        """
        rows = self.rows(host).filter(stage=stage)
        if rows.is_empty():
            raise LookupError(f"{self.manifest.trial}: no {stage} of the {host} side")
        each = rows.group_by("connection", "direction", "sequence").agg(pl.col(column).sum())
        return float(each[column].mean())  # type: ignore[arg-type]


class Measure(Protocol):
    """Makes one trial of a cell."""

    def __call__(self, cell: str, stages: PlannedStages | None, evidence: Level = "counters") -> Staged:
        """With these stage times, or without, and this other evidence.

        Raises:
            RunError: it was not completed.
        """


@contextmanager
def opened(text: str, folder: Path) -> Iterator[tuple[Plan, Measure, Session]]:
    """The plan of a profile, what makes its trials, and the session that they are made in, on the testbed."""
    profile = profile_of(text, "stages")
    plan = build(profile, trials=1)
    with Experiment.create(folder, plan, profile.text) as experiment, Session(plan, Target(Kind.VETH)) as session:
        for host, facts in session.facts.items():
            experiment.write_host(host, facts)
        made = 0

        def measure(cell: str, stages: PlannedStages | None, evidence: Level = "counters") -> Staged:
            nonlocal made
            made += 1
            planned = PlannedTrial(f"{made:03d}-{cell}", made, cell, evidence, stages=stages)
            with experiment.begin_trial(planned.id) as writer:
                manifest = writer.commit(run_trial(session, planned, plan.cell(cell), writer, Watcher().on_progress))
            if manifest.status != "complete":
                raise RunError(f"{planned.id}: {manifest.status}: {manifest.reason}")
            return Staged(experiment.folder / "trials" / planned.id, manifest)

        yield plan, measure, session


def slope(doses: Sequence[float], values: Sequence[float]) -> float:
    """The least-squares slope of values over doses."""
    mean_dose, mean_value = sum(doses) / len(doses), sum(values) / len(values)
    above = sum((dose - mean_dose) * (value - mean_value) for dose, value in zip(doses, values, strict=True))
    return above / sum((dose - mean_dose) ** 2 for dose in doses)
