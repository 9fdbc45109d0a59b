"""Workloads on the real engine: what a profile writes is executed, counted alike on both sides, and reported."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import Quiet, Record, measure
from whyperf.analyze import summarize
from whyperf.analyze.summary import Transactions
from whyperf.cli.output.single import single_lines
from whyperf.plan import build
from whyperf.profile import find
from whyperf.profile.workload import read_workload
from whyperf.record import Experiment
from whyperf.run import Kind, Session, Target, run_plan

pytestmark = pytest.mark.usefixtures("ours")

SHORT: dict[str, Any] = {"duration_s": 0.5, "warmup_s": 0.1, "cooldown_s": 0.05, "interval_ms": 20}
NO_LATENCY = "Latency         not known: no transaction ended within the measured time"
OVER_A_PATH: dict[str, Any] = {**SHORT, "duration_s": 1.2, "warmup_s": 0.2, "workload": "rr", "path_rtt_ms": 40}


def short(folder: Path, **levels: Any) -> Record:
    return measure(folder, kind=Kind.LOOPBACK, **{**SHORT, **levels})


def totals(record: Record) -> dict[str, dict[str, int]]:
    """What each side counted over the whole trial."""
    sums = record.table("transactions").group_by("host").agg(pl.col("^.*_count$|^.*_bytes$").sum())
    return {str(row.pop("host")): row for row in sums.to_dicts()}


def executed(folder: Path, levels: dict[str, Any]) -> Record:
    """A trial in whose measured time a transaction ended: a busy machine may leave a short one no CPU for so long."""
    for duration_s in (0.5, 2, 8):
        record = short(folder / str(duration_s), **levels, duration_s=duration_s)
        (cell,) = summarize(record.experiment).cells
        if cell.transactions is None or cell.metric != "transactions" or cell.transactions.latency is not None:
            break
        assert NO_LATENCY in single_lines(cell)
    return record


@pytest.mark.parametrize(
    "levels",
    [
        {"workload": "rr", "request_size_bytes": 100, "response_size_bytes": 3000},
        {"workload": "rr", "io_model": "io_uring", "threads": 2, "connections": 20, "outstanding": 4},
        {"workload": "rr", "transport": "unix"},
        {"workload": "small-messages"},
        {"workload": "write-wait", "connections": 3},
        {"workload": "bidirectional", "connections": 2},
        {"workload": "burst", "think_us": 100},
        {"workload": "idle-connections", "idle_connections": 50},
        {"workload": "stream", "io_model": "epoll", "connections": 3},
        {"workload": "stream-receive", "io_model": "epoll"},
        {"workload": "stream", "io_model": "io_uring", "direction": "receive"},
    ],
    ids=lambda levels: " ".join(map(str, levels.values())),
)
def test_a_shipped_workload_is_executed_and_reported(tmp_path: Path, levels: dict[str, Any]) -> None:
    record = executed(tmp_path, levels)
    assert record.only.status == "complete", record.only.reason
    both = totals(record)
    # What one side sent, the other received, to the byte.
    assert both["near"]["sent_bytes"] == both["far"]["received_bytes"]
    assert both["far"]["sent_bytes"] == both["near"]["received_bytes"]
    assert both["near"]["transactions_count"] > 0
    (cell,) = summarize(record.experiment).cells
    assert cell.goodput_bps.median is not None
    assert cell.transactions is not None
    assert cell.transactions.per_s.median is not None
    assert cell.transactions.failed_count == 0
    if cell.metric == "transactions":
        latency = cell.transactions.latency
        assert latency is not None
        assert latency.kind == "service"
        assert 0 < latency.min_ns <= (latency.p50_ns or 0) <= latency.max_ns


@pytest.mark.paced
def test_datagrams_are_answered_and_reported_as_the_receiver_counted_them(tmp_path: Path) -> None:
    both = totals(short(tmp_path / "asked", workload="udp-rr", connections=2))
    near, far = both["near"], both["far"]
    assert near["failed_count"] == 0
    assert near["transactions_count"] == far["transactions_count"] > 0
    assert near["sent_bytes"] == far["received_bytes"] == near["received_bytes"] == far["sent_bytes"]
    levels = {"workload": "udp-stream", "connections": 2, "write_rate_bps": 8_000_000, "datagram_size_bytes": 1000}
    record = short(tmp_path / "streamed", **levels)
    rows = record.table("datagrams")
    sent = rows.filter(pl.col("host") == "near")["sent_count"].sum()
    received = rows.filter(pl.col("host") == "far")["received_count"].sum()
    assert 0 < received <= sent
    (cell,) = summarize(record.experiment).cells
    assert cell.metric == "datagrams"
    assert cell.datagrams is not None
    assert cell.datagrams.received_count > 0
    # Payload at the receiver over its window is its datagrams times their size.
    assert cell.goodput_bps.median == pytest.approx((cell.datagrams.received_per_s.median or 0) * 8000, rel=0.1)


@pytest.mark.paced
def test_an_open_loop_reports_its_schedule_and_counts_from_it(tmp_path: Path) -> None:
    record = short(tmp_path, workload="rr", connections=8, offered_rate_per_s=500, arrivals="constant")
    (cell,) = summarize(record.experiment).cells
    assert cell.transactions is not None
    assert cell.transactions.is_open_loop
    assert cell.transactions.intended_per_s == pytest.approx(500, rel=0.1)
    assert cell.transactions.latency is not None
    assert cell.transactions.latency.kind == "intended"


def over_a_path(folder: Path, outstanding: int, **levels: Any) -> tuple[Record, Transactions]:
    """Requests and responses over a path of 40 ms."""
    record = measure(folder / str(outstanding), **{**OVER_A_PATH, **levels}, outstanding=outstanding)
    assert record.only.status == "complete", record.only.reason
    (cell,) = summarize(record.experiment).cells
    assert cell.transactions is not None
    return record, cell.transactions


@pytest.mark.paced
@pytest.mark.root
@pytest.mark.parametrize(
    "levels",
    [
        {"io_model": "epoll", "transport": "mptcp", "connections": 3},
        {"io_model": "blocking"},
        {"io_model": "io_uring"},
    ],
    ids=lambda levels: " ".join(map(str, levels.values())),
)
def test_eight_outstanding_over_a_path_are_eight_times_the_rate_of_one(tmp_path: Path, levels: dict[str, Any]) -> None:
    rates = []
    for outstanding in (1, 8):
        record, transactions = over_a_path(tmp_path, outstanding, **levels)
        near = totals(record)["near"]
        rates.append(near["transactions_count"])
        # Little's law, which holds for the mean: each latency is that of its own request.
        assert transactions.per_s.median is not None
        assert transactions.latency is not None
        under_way = transactions.per_s.median * transactions.latency.mean_ns / 1e9
        assert under_way == pytest.approx(outstanding * levels.get("connections", 1), rel=0.15)
    assert rates[1] >= 7 * rates[0], rates


@pytest.mark.paced
@pytest.mark.root
def test_an_open_loop_over_a_path_keeps_its_rate_with_enough_outstanding(tmp_path: Path) -> None:
    """One connection, 100 a second, 40 ms each: 4 are under way."""
    levels: dict[str, Any] = {"offered_rate_per_s": 100, "arrivals": "constant", "io_model": "epoll"}
    _, alone = over_a_path(tmp_path, 1, **levels)
    _, ahead = over_a_path(tmp_path, 8, **levels)
    assert alone.per_s.median is not None
    assert ahead.per_s.median is not None
    assert alone.per_s.median < 0.3 * 100
    assert ahead.per_s.median > 0.9 * 100


OWN = {
    "name": "own",
    "group": [
        {
            "name": "clients",
            "strands": 3,
            "transaction": [
                {
                    "name": "ask",
                    "iterations": 7,
                    "steps": [{"op": "write", "size": 10, "count": 2}, {"op": "read", "size": "1K"}],
                },
                {"name": "tell", "iterations": 2, "steps": [{"op": "write", "size": {"sequence": [5, 6]}}]},
            ],
        }
    ],
}


def test_a_workload_of_ones_own_that_ends_by_itself_is_counted_exactly(tmp_path: Path) -> None:
    plan = build(find("quick").with_workload(read_workload(OWN)), target="loopback")
    with (
        Experiment.create(tmp_path / "results", plan, "") as experiment,
        Session(plan, Target(Kind.LOOPBACK)) as opened,
    ):
        run_plan(opened, experiment, Quiet(), lambda _: None)
    record = Record(experiment)
    assert record.only.status == "complete", record.only.reason
    near = record.table("transactions").filter(pl.col("host") == "near")
    counts = near.group_by("transaction").agg(pl.col("transactions_count", "sent_bytes", "received_bytes").sum())
    assert sorted(counts.rows()) == [("ask", 21, 21 * 20, 21 * 1024), ("tell", 6, 3 * 11, 0)]
    assert totals(record)["far"]["received_bytes"] == 21 * 20 + 3 * 11
