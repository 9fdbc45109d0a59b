"""What a trial was asked for, and which connections and times a question is about, from its manifest and tables."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import EndEvidence, FlowEnd
from whyperf.explain.explanation import Budget, StateShare
from whyperf.explain.gather.all_facts import shares_of
from whyperf.explain.gather.application import _is_greedy, _stream_bps, _sum, asked
from whyperf.explain.gather.read import Active, scheduled, sending

SECOND = 1_000_000_000
NEAR = FlowEnd("near", "sender", 0, EndEvidence())


def trial(folder: Path, **spec: Any) -> FlowTrial:
    """A trial of one near host, which was asked for that."""
    near = {"role": "sender", "spec": {"opening": "connect", "connections_count": 2, **spec}}
    (folder / "manifest.json").write_text(json.dumps({"trial": "t", "cell": "c", "hosts": {"near": near}}))
    return FlowTrial(folder, "t", "c", "complete", {"near": NEAR}, 0, None)


def test_a_stream_is_asked_for_what_all_its_connections_write(tmp_path: Path) -> None:
    assert asked(trial(tmp_path, write_rate_bps=25_000_000)).bps == 50e6
    assert asked(trial(tmp_path, write_rate_bps=0)).bps is None
    assert asked(trial(tmp_path, datagrams={"rate_bps": 10_000_000})).bps == 20e6
    # A schedule switches them on and off.
    flow = {"connections_count": 2, "start_ns": 0, "stop_ns": SECOND}
    assert asked(trial(tmp_path, write_rate_bps=25_000_000, schedule=[flow])).bps is None


def test_only_a_transfer_of_a_set_size_is_asked_for_bytes(tmp_path: Path) -> None:
    assert asked(trial(tmp_path, stop={"by": "bytes", "payload_bytes": 2_000})).transfer_bytes == 2_000
    assert asked(trial(tmp_path, stop={"by": "duration", "measure_ns": 2_000})).transfer_bytes is None


def test_a_workload_that_only_writes_or_only_reads_always_has_more(tmp_path: Path) -> None:
    def part(*steps: str, by: str = "closed") -> dict[str, Any]:
        done = [{"operation": {"operation": step}} for step in steps]
        return {"arrivals": {"by": by}, "outstanding_count": 1, "steps": done}

    def is_greedy(*parts: dict[str, Any]) -> bool:
        groups = [{"strands_count": 1, "transactions": [found]} for found in parts]
        return asked(trial(tmp_path, workload={"groups": groups}, stop={"by": "duration"})).is_greedy

    assert is_greedy(part("write"), part("read"))
    assert not is_greedy(part("write"), part("write", "think"))
    assert not is_greedy(part("write", "read"))
    assert not is_greedy(part("write", by="poisson"))


def test_a_workload_is_asked_for_the_pauses_in_its_transactions(tmp_path: Path) -> None:
    """Two users with a pause of 3 ms in each transaction end 100 of them in a second: 300 of 2,000 ms."""

    def part(name: str, *steps: str, is_busy: bool = False) -> dict[str, Any]:
        done = [
            {"operation": {"operation": step, "duration_ns": 1_000_000, "is_busy": is_busy}, "count": 3}
            for step in steps
        ]
        return {"name": name, "arrivals": {"by": "closed"}, "outstanding_count": 1, "steps": done}

    def pauses(*parts: dict[str, Any]) -> tuple[float, float]:
        groups = [{"name": "users", "strands_count": 2, "transactions": list(parts)}]
        found = asked(trial(tmp_path, workload={"groups": groups}))
        return found.pause_ns, found.paused_ratio

    pl.DataFrame(
        {
            "group": ["users", "users", "users"],
            "transaction": ["ask", "ask", "end"],
            "phase": ["warm-up", "measure", "measure"],
            "start_mono_ns": [0, SECOND, SECOND],
            "end_mono_ns": [SECOND, 2 * SECOND, 2 * SECOND],
            "transactions_count": [90, 100, 0],
        }
    ).write_parquet(tmp_path / "transactions.near.parquet")
    assert pauses(part("ask", "write", "read", "think"), part("end", "write", "read", "think")) == (3e6, 0.15)
    # A CPU that works does not pause, nor does a transaction that nobody answers.
    assert pauses(part("ask", "write", "read", "think", is_busy=True)) == (0, 0)
    assert pauses(part("ask", "write", "think")) == (0, 0)


def of_transactions(*arrivals: dict[str, Any]) -> dict[str, Any]:
    parts = [{"arrivals": found, "outstanding_count": 4} for found in arrivals]
    return {"groups": [{"strands_count": 2, "transactions": parts}]}


def test_an_open_loop_is_asked_for_its_transactions(tmp_path: Path) -> None:
    rows = {"phase": ["warm-up", "measure"], "start_mono_ns": [0, SECOND], "end_mono_ns": [SECOND, 3 * SECOND]}
    counts = {"transactions_count": [5, 19], "intended_count": [9, 20]}
    pl.DataFrame(rows | counts).write_parquet(tmp_path / "transactions.near.parquet")
    poisson = {"by": "poisson", "per_kilosecond": 10_000}
    found = asked(trial(tmp_path, workload=of_transactions(poisson)))
    assert (found.intended_count, found.ended_count, found.span_ns, found.slots) == (20, 19, 2 * SECOND, 8)
    assert found.are_all_ended
    # One that starts when another ends has no rate of its own.
    closed = asked(trial(tmp_path, workload=of_transactions(poisson, {"by": "closed"})))
    assert (closed.intended_count, closed.slots, closed.are_all_ended) == (None, 16, False)


def test_time_that_the_schedule_has_a_flow_switched_off_belongs_to_no_cause(tmp_path: Path) -> None:
    flows = [
        {"connections_count": 1, "start_ns": 0, "stop_ns": 10 * SECOND},
        {"connections_count": 1, "start_ns": 6 * SECOND, "stop_ns": 10 * SECOND},
    ]
    spans = scheduled(trial(tmp_path, schedule=flows))
    assert spans == {0: (0, 10 * SECOND), 1: (6 * SECOND, 10 * SECOND)}

    def budget(connection: int, idle: int) -> Budget:
        parts = {"not_writing": idle, "congestion_window": 10 - idle}
        shares = [StateShare(state=name, ns=s * SECOND, ratio=s / 10, spells=1) for name, s in parts.items()]
        return Budget(
            trial="t", host="near", role="sender", connection=connection, begin_ns=0, end_ns=10 * SECOND, shares=shares
        )

    budgets = [budget(0, 1), budget(1, 7)]
    assert shares_of(budgets)["not_writing"] == pytest.approx(0.4)
    # A flow that pauses while it is on is a slow writer still.
    assert shares_of(budgets, Active(None, spans))["not_writing"] == pytest.approx(2 / 14)


def test_connections_that_only_receive_do_not_send(tmp_path: Path) -> None:
    info = {"connection": [0, 1, 2], "bytes_acked": [9_000, 40, 500], "bytes_received": [0, 9_000, 600]}
    pl.DataFrame(info).write_parquet(tmp_path / "tcp_info.near.parquet")
    found = trial(tmp_path)
    assert sending(found, NEAR) == frozenset({0, 2})
    rows = pl.DataFrame({"connection": [0, 1, 2], "sample_mono_ns": [5, 5, 5]})
    assert Active(sending(found, NEAR), {2: (6, 9)}).rows(rows, found, NEAR)["connection"].to_list() == [0]


WORKLOAD = {
    "groups": [{"transactions": [{"arrivals": {"by": "closed"}, "steps": [{"operation": {"operation": "write"}}]}]}]
}
BOTH_WAYS = {
    "groups": [
        {
            "transactions": [
                {
                    "arrivals": {"by": "closed"},
                    "steps": [{"operation": {"operation": "write"}}, {"operation": {"operation": "read"}}],
                }
            ]
        }
    ]
}


@pytest.mark.parametrize(
    ("spec", "bps", "is_greedy"),
    [
        ({"stop": {"by": "duration"}}, None, True),
        ({"stop": {"by": "bytes"}}, None, False),
        ({}, None, False),
        ({"write_rate_bps": 5, "stop": {"by": "duration"}}, 5.0, False),
        ({"write_rate_bps": 5, "connections_count": 3, "stop": {"by": "duration"}}, 15.0, False),
        ({"reply_size_bytes": 8, "stop": {"by": "duration"}}, None, False),
        ({"datagrams": {"rate_bps": 7}, "connections_count": 2, "stop": {"by": "duration"}}, 14.0, False),
        ({"datagrams": {"batch_count": 1}, "write_rate_bps": 5}, None, False),
        ({"write_rate_bps": 5, "schedule": [{"start_ns": 0}]}, None, False),
        ({"write_rate_bps": 5, "workload": WORKLOAD}, None, False),
        ({"workload": WORKLOAD, "stop": {"by": "duration"}}, None, True),
        ({"workload": BOTH_WAYS, "stop": {"by": "duration"}}, None, False),
    ],
)
def test_what_a_specification_asks_for(spec: dict[str, Any], bps: float | None, *, is_greedy: bool) -> None:
    assert _stream_bps(spec) == bps
    assert _is_greedy(spec) is is_greedy


@pytest.mark.parametrize(("rates", "together"), [([], None), ([5.0], 5.0), ([5.0, 7.0], 12.0), ([5.0, None], None)])
def test_rates_of_hosts_together(rates: list[float | None], together: float | None) -> None:
    assert _sum(rates) == together


def test_the_rate_of_the_sockets_is_known_and_whether_the_control_paces(tmp_path: Path) -> None:
    paced = asked(trial(tmp_path, socket={"pacing_rate_bytes_per_second": 2_500_000, "congestion_control": "cubic"}))
    assert (paced.pacing_bps, paced.paces_itself) == (20e6, False)
    assert asked(trial(tmp_path, socket={"congestion_control": "bbr"})).paces_itself
