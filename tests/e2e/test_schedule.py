"""Flow schedules on the real load: who writes when, by which congestion control, and to the byte."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.experiments import Quiet, Record, measure
from whyperf.analyze import summarize
from whyperf.plan import build
from whyperf.profile import parse
from whyperf.profile.schedule import regions
from whyperf.record import Experiment
from whyperf.report import write
from whyperf.run import Kind, Session, Target, run_plan

pytestmark = [pytest.mark.paced, pytest.mark.usefixtures("ours")]

OWN = """
about = "Two directions, two congestion controls."
[fixed]
interval_ms = 10
[schedule]
name = "own"
[[schedule.flow]]
start_s = 0
stop_s = 0.4
congestion_control = "reno"
[[schedule.flow]]
start_s = 0.2
stop_s = 0.6
connections = 2
congestion_control = "cubic"
direction = "receive"
"""


def received(record: Record) -> pl.DataFrame:
    """Payload that arrived, by connection and interval, with the interval's center in ns after the start."""
    rows = record.table("intervals").filter(pl.col("role") == "receiver")
    middle = (pl.col("start_mono_ns").cast(pl.Int64) + pl.col("end_mono_ns").cast(pl.Int64)) // 2
    start = pl.col("start_mono_ns").min().cast(pl.Int64)
    return rows.select("connection", "payload_bytes", (middle - start).alias("at_ns"))


def test_flows_come_and_go_as_the_schedule_says(tmp_path: Path) -> None:
    record = measure(tmp_path, kind=Kind.LOOPBACK, schedule="seven-regions", schedule_scale=0.003, interval_ms=10)
    assert record.only.status == "complete", record.only.reason
    flows = record.experiment.plan.cells[0].schedule
    assert flows is not None
    rows = received(record)
    for region in regions([(flow.start_ns, flow.stop_ns) for flow in flows]):
        # Around the center: what a flow that left has in its buffers may still arrive at the region's beginning.
        middle = (region.start_ns + region.stop_ns) // 2
        inside = rows.filter((pl.col("at_ns") > middle) & (pl.col("at_ns") < region.stop_ns - 10_000_000))
        at_work = inside.group_by("connection").agg(pl.col("payload_bytes").sum()).filter(pl.col("payload_bytes") > 0)
        assert set(at_work["connection"]) == set(region.flows), region
    table = record.table("flows")
    sent = table.filter(pl.col("role") == "sender").sort("connection")
    arrived = table.filter(pl.col("role") == "receiver").sort("connection")
    assert sent["payload_bytes"].to_list() == arrived["payload_bytes"].to_list()
    assert all(earlier < later for earlier, later in pairwise(sent["first_call_mono_ns"]))
    (cell,) = summarize(record.experiment).cells
    assert (cell.trials, cell.unsteady_trials, cell.connections) == (1, 0, None)


def test_rrul_measures_the_idle_path_and_the_loaded_one(tmp_path: Path) -> None:
    record = measure(tmp_path, kind=Kind.LOOPBACK, schedule="rrul", schedule_scale=0.02, interval_ms=10, rtt_probe_ms=2)
    assert record.only.status == "complete", record.only.reason
    summary = summarize(record.experiment)
    (cell,) = summary.cells
    assert cell.rtt_probe is not None
    assert cell.rtt_probe.idle is not None
    assert cell.rtt_probe.load is not None
    # 100 ms without load, in which 51 requests fit, and 1.2 s with it; a busy host sends fewer.
    assert 5 <= cell.rtt_probe.idle.count <= 51
    assert cell.rtt_probe.load.count > 2 * cell.rtt_probe.idle.count
    assert cell.transports is not None
    rates = {flow.name: flow.goodput_bps.median or 0 for flow in cell.transports.flows}
    assert list(rates) == [f"{way} {mark}" for way in ("up", "down") for mark in ("BE", "BK", "CS5", "EF")]
    assert min(rates.values()) > 0
    page = write(record.experiment, summary).read_text(encoding="utf-8")
    for chart in ("transports-goodput-send", "transports-goodput-receive", "transports-rtt", "rtt-probe-boxes"):
        assert f'id="chart-{chart}"' in page


def test_each_flow_has_its_congestion_control_and_its_direction(tmp_path: Path) -> None:
    plan = build(parse(OWN, name="own", where="own.toml"), target="loopback")
    with Experiment.create(tmp_path / "results", plan, OWN) as experiment:
        with Session(plan, Target(Kind.LOOPBACK)) as session:
            run_plan(session, experiment, Quiet(), lambda _: None)
        record = Record(experiment)
        assert record.only.status == "complete", record.only.reason
        table = record.table("flows").sort("host", "connection")
        assert table.filter(host="near")["role"].to_list() == ["sender", "receiver", "receiver"]
        assert table.filter(host="far")["role"].to_list() == ["receiver", "sender", "sender"]
        for host in ("near", "far"):
            assert table.filter(host=host)["congestion_control"].to_list() == ["reno", "cubic", "cubic"]
        totals = table.pivot(on="role", index="connection", values="payload_bytes")
        assert totals["sender"].to_list() == totals["receiver"].to_list()
        assert min(totals["receiver"]) > 0
