"""Transactions whose rates, bytes and costs are known by construction."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.workload_samples import OPEN, RR, Exchange, in_blocks, inputs
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import CellResult, Summary, Transactions
from whyperf.analyze.time_series import courses_of
from whyperf.cli.output.single import single_lines


def summary(*exchanges: Exchange) -> Summary:
    return summarize_inputs(inputs(*exchanges))


def only(found: Summary) -> tuple[CellResult, Transactions]:
    (cell,) = found.cells
    return cell, made.known(cell.transactions)


def test_a_closed_loop_intends_nothing_and_says_what_its_latency_lacks() -> None:
    found = summary(Exchange())
    _, transactions = only(found)
    assert (transactions.intended_per_s, transactions.begun_per_s, transactions.is_open_loop) == (None, None, False)
    assert "closed_loop_latency" in {fact.code for fact in found.facts}


@pytest.mark.parametrize(
    ("begun", "ended", "code"),
    [(1000, 1000, None), (995, 995, None), (985, 985, "rate_missed"), (1000, 985, "overloaded")],
)
def test_an_open_loop_that_differs_from_its_schedule_is_reported(begun: float, ended: float, code: str | None) -> None:
    found = summary(Exchange(workload=OPEN, intended_per_s=1000, begun_per_s=begun, per_s=ended))
    _, transactions = only(found)
    assert transactions.intended_per_s == pytest.approx(1000)
    assert transactions.begun_per_s == pytest.approx(begun, rel=0.006)
    expected = {warning.code for warning in found.warnings} & {"rate_missed", "overloaded"}
    assert expected == ({code} if code else set())
    assert "closed_loop_latency" not in {fact.code for fact in found.facts}


@pytest.mark.parametrize(
    ("service_ns", "code", "evidence"),
    [
        # 9850 transactions of 4.06 ms in 10 s keep 4 connections at work; with 1 ms there was room.
        (4_060_000, "overloaded", "the connections were busy for 100 % of the time, a transaction waited 2.94 ms"),
        (1_000_000, "rate_missed", "apart; the connections were busy for 25 % of the time only"),
    ],
)
def test_who_was_late_is_reported_with_its_evidence(service_ns: int, code: str, evidence: str) -> None:
    rows = (("service", service_ns, service_ns, 9850), ("intended", 7_000_000, 7_000_000, 9850))
    group = {**OPEN["workload"]["groups"][0], "strands_count": 4}
    workload = {**OPEN, "workload": {"groups": [group]}}
    found = summary(Exchange(workload=workload, intended_per_s=1159, begun_per_s=985, per_s=985, latencies=rows))
    _, transactions = only(found)
    assert transactions.places_busy_ratio == pytest.approx(min(1.0, 985 * service_ns / 1e9 / 4), rel=1e-3)
    assert transactions.begin_wait_ns_mean == pytest.approx(7_000_000 - service_ns)
    (expected,) = [warning for warning in found.warnings if warning.code in {"rate_missed", "overloaded"}]
    assert expected.code == code
    assert evidence in expected.text


def test_each_direction_has_its_rate_over_time() -> None:
    """1,000 requests of 100 bytes and responses of 300 bytes per second."""
    (found,) = courses_of(inputs(Exchange()), ["001-c0001"])
    measured = found.arrived.filter(pl.col("at_s").is_between(2, 10))
    rates = {role: frame["bps"].median() for (role,), frame in measured.partition_by("role", as_dict=True).items()}
    assert rates == {"sender": pytest.approx(2.4e6, rel=1e-3), "receiver": pytest.approx(0.8e6, rel=1e-3)}
    (one_way,) = courses_of(inputs(Exchange(response_bytes=0)), ["001-c0001"])
    assert one_way.arrived.is_empty()


def test_a_rate_is_of_the_same_time_as_its_latencies() -> None:
    """What is left of the warm-up is cut from a goodput; latencies are counted by phase, so here it is a warning."""
    exchange = Exchange(trial=made.Trial(course=lambda seconds: min(1.0, seconds / 3)), per_s=1000)
    cell, transactions = only(summary(exchange))
    assert transactions.count == 10_000
    assert "warm_up_counts" in {warning.code for warning in cell.warnings}
    streaming = {**exchange.workload, "metric": "goodput"}
    cell, transactions = only(summary(replace(exchange, workload=streaming)))
    assert transactions.count == 8_000
    assert "warm_up_counts" not in {warning.code for warning in cell.warnings}


def _of(metric: str, *transactions: Mapping[str, object], idle: bool = False) -> Exchange:
    groups = [{"transactions": [{"arrivals": {"by": "closed"}, **transaction}]} for transaction in transactions]
    groups += [{"transactions": []}] if idle else []
    return Exchange(trial=made.Trial(connections=2), workload={**RR, "metric": metric, "workload": {"groups": groups}})


def _steps(*operations: str) -> list[dict[str, object]]:
    return [{"operation": {"operation": operation}} for operation in operations]


@pytest.mark.parametrize(
    ("exchange", "counted_as"),
    [
        (_of("transactions", {"steps": _steps("write")}), "transactions"),
        (_of("goodput", {"steps": _steps("write", "read")}), "transactions"),
        (_of("goodput", {"name": "message", "steps": _steps("write")}), "messages"),
        # Both directions of a stream: calls are no transactions.
        (_of("goodput", {"steps": _steps("write")}, {"steps": _steps("read")}), None),
    ],
)
def test_executions_are_called_what_they_are(exchange: Exchange, counted_as: str | None) -> None:
    cell, transactions = only(summary(exchange))
    assert transactions.counted_as == counted_as
    lines = single_lines(cell)
    assert any(line.startswith(f"{counted_as}".capitalize()) for line in lines) is (counted_as is not None)
    assert any(line.startswith("Transactions") for line in lines) is (counted_as == "transactions")


def test_connections_that_are_only_open_have_no_share() -> None:
    active = {"steps": _steps("write", "read")}
    assert only(summary(_of("transactions", active)))[0].connections is not None
    assert only(summary(_of("transactions", active, idle=True)))[0].connections is None


def test_failed_transactions_are_reported() -> None:
    found = summary(Exchange(failed_per_s=20))
    _, transactions = only(found)
    assert transactions.failed_count == 200
    (warning,) = [each for each in found.warnings if each.code == "failed_transactions"]
    assert warning.text.startswith("200 transactions failed or timed out, 2.0 %")


def test_cost_of_shared_cpus_is_the_loads_threads_alone() -> None:
    _, transactions = only(summary(Exchange(trial=made.Trial(exclusive=False))))
    assert transactions.cost.sender is not None
    assert transactions.cost.sender.busy_ns is None
    assert transactions.cost.sender.load_threads_ns is not None


def test_several_transactions_are_reported_apart_and_together() -> None:
    names = (("clients", "ask"), ("clients", "tell"))
    _, transactions = only(summary(Exchange(per_s=500, names=names)))
    assert transactions.per_s.median == pytest.approx(1000)
    assert [(transaction.group, transaction.transaction) for transaction in transactions.by_name] == list(names)
    assert [transaction.per_s.median for transaction in transactions.by_name] == pytest.approx([500, 500])
    assert all(
        transaction.latency is not None and transaction.latency.count == 10 for transaction in transactions.by_name
    )


def test_a_failed_trial_has_no_transactions() -> None:
    good, bad = in_blocks(Exchange(), [1000, 5000])
    failed = Exchange(trial=made.Trial(block=2, status="failed", reason="refused"), per_s=bad.per_s)
    _, transactions = only(summary(good, failed))
    assert transactions.count == 10_000


def test_a_stream_has_no_transactions() -> None:
    (cell,) = summarize_inputs(made.inputs([made.Trial()])).cells
    assert (cell.transactions, cell.datagrams, cell.metric, cell.workload) == (None, None, "goodput", "stream")


def test_time_stamps_that_did_not_come_are_reported() -> None:
    asked = made.Trial(factors={"kernel_timestamps": True})
    all_came = (("service", 10, 10, 100), ("wire", 4, 4, 100), ("host", 6, 6, 100))
    few_came = (("service", 10, 10, 100), ("wire", 4, 4, 98), ("host", 6, 6, 98))
    cases: tuple[tuple[Exchange, set[str]], ...] = (
        (Exchange(trial=asked), {"no_kernel_timestamps"}),
        (Exchange(trial=asked, latencies=all_came), set()),
        (Exchange(trial=asked, latencies=few_came), {"few_kernel_timestamps"}),
    )
    for exchange, expected in cases:
        codes = {warning.code for warning in summary(exchange).warnings}
        assert {code for code in codes if "kernel_timestamps" in code} == expected
