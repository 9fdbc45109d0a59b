"""One measurement window for all connections and both sides, and each side on the CPUs it was given."""

import os
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.experiments import Record, measure, numbers
from whyperf.record import Manifest

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

WINDOW_NS = 400_000_000
#: How much a window may differ from what was asked.
TOLERANCE_NS = 10_000_000

needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


def windows(record: Record, phase: str) -> pl.DataFrame:
    """First start and last end of a phase's intervals, by trial, end and connection."""
    return (
        record.table("intervals")
        .filter(phase=phase)
        .group_by("trial", "host", "connection")
        .agg(start_ns=pl.col("start_mono_ns").min(), end_ns=pl.col("end_mono_ns").max(), count=pl.len())
    )


def said_late_ns(manifest: Manifest) -> int:
    """How late a sampler says it came: on a machine that is busy with other things it may, and then it says so."""
    notes = [note for end in manifest.hosts.values() for note in end.notes]
    return max((int(note["worst_ns"]) for note in notes if note["note"] == "sampler_late"), default=0)


def test_all_connections_and_both_sides_share_it(tmp_path: Path) -> None:
    record = measure(
        tmp_path,
        duration_s=0.4,
        warmup_s=0.2,
        cooldown_s=0.1,
        connections=[1, 100],
        direction=["send", "receive"],
    )
    measured, warmup, cooldown = (windows(record, phase) for phase in ("measure", "warm-up", "cool-down"))
    for trial, manifest in record.trials.items():
        assert manifest.status == "complete", manifest.reason
        mine = measured.filter(trial=trial)
        connections = int(manifest.factors["connections"])
        assert len(mine) == 2 * connections
        # One that comes late takes two intervals as one.
        assert set(mine["count"]) == {4} or said_late_ns(manifest)
        # Common to all: from the last start to the first end.
        starts_ns, ends_ns = numbers(mine, "start_ns"), numbers(mine, "end_ns")
        common_ns = min(ends_ns) - max(starts_ns)
        longest_ns = max(end - start for start, end in zip(starts_ns, ends_ns, strict=True))
        tolerance_ns = TOLERANCE_NS + 2 * said_late_ns(manifest)
        assert WINDOW_NS - tolerance_ns <= common_ns <= longest_ns <= WINDOW_NS + tolerance_ns, connections
        # The ramps are outside.
        assert max(numbers(warmup.filter(trial=trial), "end_ns")) <= max(starts_ns)
        assert min(numbers(cooldown.filter(trial=trial), "start_ns")) >= min(ends_ns)


def test_every_interval_begins_where_the_last_ended(tmp_path: Path) -> None:
    record = measure(tmp_path, duration_s=0.25, warmup_s=0.03, cooldown_s=0.05, interval_ms=20, connections=3)
    rows = record.table("intervals").sort("host", "connection", "interval")
    for (_, _), mine in rows.group_by("host", "connection"):
        phases = mine["phase"].to_list()
        # 30 ms are an interval and a half, 250 ms twelve and a half, 50 ms two and a half; a busy host joins some.
        most = {"warm-up": 2, "measure": 13, "cool-down": 3}
        assert list(dict.fromkeys(phases)) == list(most)
        assert all(phases.count(phase) <= count for phase, count in most.items())
        assert phases == sorted(phases, key=list(most).index)
        assert mine["interval"].to_list() == list(range(len(phases)))
        assert mine["start_mono_ns"].to_list()[1:] == mine["end_mono_ns"].to_list()[:-1]


@needs_two_cpus
@pytest.mark.parametrize(("near", "far"), [("1", "0"), ("0-1", "1")])
def test_threads_run_where_they_are_pinned(tmp_path: Path, near: str, far: str) -> None:
    record = measure(tmp_path, duration_s=0.2, warmup_s=0.05, cooldown_s=0, connections=4, near_cpus=near, far_cpus=far)
    asked = {"near": {int(cpu) for cpu in near.split("-")}, "far": {int(cpu) for cpu in far.split("-")}}
    for host, cpus in asked.items():
        threads = record.table("threads").filter(host=host)
        assert set(threads["cpu"]) <= cpus
        assert threads["thread"].n_unique() == 4
        assert int(threads["cpu_ns"].sum()) > 0
        assert set(record.table("flows").filter(host=host)["thread"]) == set(threads["thread"])
        assert set(record.only.hosts[host].own_cpus) == cpus
        assert record.only.hosts[host].own_cpus_exclusive == (not asked["near"] & asked["far"])
        # The time of the load is on its CPUs: they did at least what its threads used.
        busy = record.table("cpu").filter(host=host).filter(pl.col("cpu").is_in(list(cpus)))
        assert set(busy["own"]) == {True}


@needs_two_cpus
def test_auto_gives_each_end_a_half(tmp_path: Path) -> None:
    record = measure(tmp_path, transfer_bytes=30_000_000, connections=2)
    near, far = (record.only.hosts[host] for host in ("near", "far"))
    assert set(near.own_cpus).isdisjoint(far.own_cpus)
    assert set(near.own_cpus) | set(far.own_cpus) == os.sched_getaffinity(0)
    assert near.own_cpus_exclusive
    assert far.own_cpus_exclusive


def test_any_pins_nothing(tmp_path: Path) -> None:
    record = measure(tmp_path, transfer_bytes=1_000_000, near_cpus="any", far_cpus="any")
    for end in record.only.hosts.values():
        assert end.spec["pin_cpus"] == []
        assert set(end.own_cpus) == os.sched_getaffinity(0)
