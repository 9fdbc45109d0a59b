"""A trial without a segment log: the kernel's clocks give the sender's shares, and what is missing is said."""

from pathlib import Path

import polars as pl

from tests.unit.analyze.flow import traces
from whyperf.analyze.flow import FlowTrial
from whyperf.explain.budget import SPAN_COLUMNS, TrialBudgets
from whyperf.explain.budget import budgets_of as budgets_by
from whyperf.explain.segment_log import read_logs

MS = 1_000_000


def budgets_of(trial: FlowTrial) -> TrialBudgets:
    return budgets_by(trial, read_logs(trial))


def samples(**sums_ms: int) -> pl.DataFrame:
    """The table `tcp_info` of connection 0, sampled at 0 and after 1000 ms; what was counted between."""
    clocks = {
        name: [7 * MS, (7 + sums_ms.get(name, 0)) * MS] for name in ("busy", "rwnd_limited", "send_buffer_limited")
    }
    return pl.DataFrame(
        {
            "connection": pl.Series([0, 0], dtype=pl.UInt32),
            "sample_mono_ns": [traces.START_NS, traces.START_NS + 1000 * MS],
            **{f"{name}_ns": counted for name, counted in clocks.items()},
        }
    )


def test_the_clocks_of_the_kernel_are_the_shares(tmp_path: Path) -> None:
    counted = samples(busy=700, rwnd_limited=400, send_buffer_limited=100)
    found = budgets_of(traces.write(tmp_path / "001-c0001", tables={"tcp_info.near": counted}))
    (budget,) = found.budgets
    assert {share.state: share.ns // MS for share in budget.shares} == {
        "receive_window_buffer": 400,
        "not_writing": 300,
        "unknown": 200,
        "send_buffer": 100,
    }
    assert (found.spans.height, found.spans.columns) == (0, list(SPAN_COLUMNS))
    assert [sentence.split(":")[0] for sentence in found.missing] == [
        "No segment log of the sender (near)",
        "No segment log of the receiver (far)",
    ]


def test_sums_beyond_the_time_between_samples_are_cut(tmp_path: Path) -> None:
    counted = samples(busy=1004, rwnd_limited=1004)
    (budget,) = budgets_of(traces.write(tmp_path / "001-c0001", tables={"tcp_info.near": counted})).budgets
    assert [(share.state, share.ns) for share in budget.shares] == [("receive_window_buffer", 1000 * MS)]


def test_a_thread_that_runs_is_not_one_that_does_not_write(tmp_path: Path) -> None:
    """Small writes over loopback: ACKs come at once, and the kernel counts the time of the calls as idle."""
    threads = pl.DataFrame(
        {
            "phase": ["warm_up", "measure", "measure"],
            "thread": pl.Series([7, 7, 8], dtype=pl.UInt32),
            "start_mono_ns": [traces.START_NS] * 3,
            "end_mono_ns": [traces.START_NS + 1000 * MS] * 3,
            "cpu_ns": [0, 950 * MS, 10 * MS],
        }
    )
    tables = {"tcp_info.near": samples(busy=230), "threads.near": threads}
    (budget,) = budgets_of(traces.write(tmp_path / "001-c0001", tables=tables)).budgets
    assert {share.state: share.ns // MS for share in budget.shares} == {"unknown": 950, "not_writing": 50}


def test_without_any_table_there_is_no_budget(tmp_path: Path) -> None:
    found = budgets_of(traces.write(tmp_path / "001-c0001"))
    assert not found.budgets
    assert found.missing


def test_a_log_without_calls_says_so(tmp_path: Path) -> None:
    log = traces.trace("""
        0.0  > S  0:0
        0.1  < S. 0:0    ack 1
        0.2  > .  1:1449 ack 1
        0.4  < .  1:1    ack 1449
    """)
    found = budgets_of(traces.write(tmp_path / "log01-c0001", near=log))
    (budget,) = found.budgets
    assert sum(share.ns for share in budget.shares) == budget.life_ns == 400_000
    assert any(sentence.startswith("No call log of the sender") for sentence in found.missing)
