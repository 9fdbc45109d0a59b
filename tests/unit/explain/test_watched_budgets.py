"""Connections of other programs: budgets of one side, from attaching to detaching, and what is missing said."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze.flow import traces
from tests.unit.explain.test_coarse_budget import samples
from whyperf.analyze.flow import FlowTrial, as_watched, at_levels
from whyperf.explain.budget import TrialBudgets
from whyperf.explain.budget import budgets_of as budgets_by
from whyperf.explain.segment_log import read_logs

MS = traces.MS
FAR_NS = traces.START_NS + traces.FAR_OFFSET_NS


def budgets_of(trial: FlowTrial) -> TrialBudgets:
    return budgets_by(trial, read_logs(trial))


def watched(first_ms: float, last_ms: float, start_ns: int = traces.START_NS) -> pl.DataFrame:
    """The table `watched` of connection 0."""
    rows: dict[str, Any] = {
        "connection": pl.Series([0], dtype=pl.UInt32),
        "first_mono_ns": [start_ns + round(first_ms * MS)],
        "last_mono_ns": [start_ns + round(last_ms * MS)],
    }
    return pl.DataFrame(rows)


def queues(*unread_bytes: int, step_ms: int = 100) -> pl.DataFrame:
    """The table `sockets` of connection 0 at the far side, a sample each `step_ms`."""
    return pl.DataFrame(
        {
            "connection": pl.Series([0] * len(unread_bytes), dtype=pl.UInt32),
            "sample_mono_ns": [FAR_NS + place * step_ms * MS for place in range(len(unread_bytes))],
            "receive_queue_bytes": unread_bytes,
        }
    )


def shares(found: TrialBudgets, role: str) -> dict[str, float]:
    """Milliseconds in each state of the only connection of a role."""
    (budget,) = (budget for budget in found.budgets if budget.role == role)
    assert sum(share.ns for share in budget.shares) == budget.life_ns
    return {share.state: share.ns / MS for share in budget.shares if share.ns}


def test_a_sender_alone_leaves_open_who_fills_the_window(tmp_path: Path) -> None:
    counted = samples(busy=700, rwnd_limited=400, send_buffer_limited=100)
    tables = {"tcp_info.near": counted, "watched.near": watched(0, 1010)}
    found = budgets_of(as_watched(traces.write(tmp_path / "001-c0001", tables=tables), "sender"))
    assert shares(found, "sender") == {
        "receive_window": 400, "not_writing": 300, "in_flight": 200, "send_buffer": 100, "unknown": 10
    }  # fmt: skip
    assert [sentence.split(":")[0] for sentence in found.missing] == [
        "No segment log of the sender (near)",
        "Only the sender's host (near) was watched",
    ]


def test_a_receiver_alone_has_a_budget_by_its_queue(tmp_path: Path) -> None:
    tables = {"sockets.far": queues(0, 0, 500, 700, 0), "watched.far": watched(0, 400, FAR_NS)}
    found = budgets_of(as_watched(traces.write(tmp_path / "001-c0001", tables=tables), "receiver"))
    assert shares(found, "receiver") == {"waiting": 200, "unread": 200}
    spans = found.spans.select("begin_ns", "end_ns", "state").rows()
    assert spans == [(0, 150 * MS, "waiting"), (150 * MS, 350 * MS, "unread"), (350 * MS, 400 * MS, "waiting")]
    assert found.missing[0].startswith("Only the receiver's host (far) was watched")


def test_without_samples_of_the_queue_the_state_of_a_receiver_is_not_known(tmp_path: Path) -> None:
    tables = {"watched.far": watched(0, 400, FAR_NS)}
    found = budgets_of(as_watched(traces.write(tmp_path / "001-c0001", tables=tables), "receiver"))
    assert shares(found, "receiver") == {"unknown": 400}


LOG = """
    300.0 > .  1:1449    ack 1 win=65536
    310.0 < .  1:1       ack 1449 win=1448
    311.0 > .  1449:2897 ack 1 win=65536
    321.0 < .  1:1       ack 2897 win=1448
"""


def test_the_log_of_a_sender_is_explained_from_attaching_to_detaching(tmp_path: Path) -> None:
    near = traces.trace(LOG)
    tables = {"watched.near": watched(0, 1000), "tcp_info.near": samples()}
    trial = as_watched(traces.write(tmp_path / "log01-c0001", near=near, tables=tables), "sender")
    found = budgets_of(trial)
    assert sum(shares(found, "sender").values()) == 1000
    # Before the first segment only the kernel's clocks show what there was: with one sample nothing.
    assert shares(found, "sender")["unknown"] == 300


@pytest.mark.parametrize(
    ("counted", "state"),
    [({}, "not_writing"), ({"busy_ns": 90}, "in_flight"), ({"busy_ns": 90, "rwnd_limited_ns": 80}, "receive_window")],
    ids=["idle", "busy", "a full window"],
)
def test_before_the_first_segment_the_kernels_clocks_show_what_there_was(
    tmp_path: Path, counted: dict[str, int], state: str
) -> None:
    info = samples().with_columns(pl.col("sample_mono_ns") + pl.Series([0, -900 * MS]))
    info = info.with_columns(pl.Series(name, [7 * MS, (7 + ms) * MS]) for name, ms in counted.items())
    tables = {"watched.near": watched(0, 1000), "tcp_info.near": info}
    trial = as_watched(traces.write(tmp_path / "log01-c0001", near=traces.trace(LOG), tables=tables), "sender")
    found = budgets_of(trial)
    assert shares(found, "sender")[state] >= 300
    assert found.spans.row(0, named=True)["end_ns"] == 300 * MS


def test_a_full_window_is_a_small_buffer_only_where_the_receiver_was_logged(tmp_path: Path) -> None:
    text = """
      0.0 > .  1:1449    ack 1 unacked=1448
      0.1 > .  1449:2897 ack 1 unacked=2896
     10.0 < .  1:1       ack 2897 win=2896
     10.1 > .  2897:5793 ack 1 unacked=2896 by=net_rx
     20.0 < .  1:1       ack 5793 win=2896
     20.1 > .  5793:8689 ack 1 unacked=2896 by=net_rx
     30.0 < .  1:1       ack 8689 win=2896
    """
    near = traces.trace(text)
    tables = {"watched.near": watched(0, 30)}
    alone = as_watched(traces.write(tmp_path / "log01-c0001", near=near, tables=tables), "sender")
    assert not any(name.startswith("receive_window_") for name in shares(budgets_of(alone), "sender"))


def test_connections_that_the_log_does_not_have_are_there_by_samples(tmp_path: Path) -> None:
    info = pl.concat([samples(busy=500), samples(busy=200).with_columns(pl.lit(1, pl.UInt32).alias("connection"))])
    trial = traces.write(tmp_path / "log01-c0001", near=traces.trace(LOG), tables={"tcp_info.near": info})
    found = budgets_of(as_watched(trial, "sender"))
    assert {budget.connection for budget in found.budgets} == {0, 1}


def test_logs_that_begin_with_other_segments_count_from_the_same_octet(tmp_path: Path) -> None:
    # In traces the numbers on the wire of one side are 23 above those of the other for the same text (traces.ISN).
    near = traces.trace("""
        1.0 > . 1449:2897 ack 1
        2.0 > . 2897:4345 ack 1
        5.0 < . 1:1       ack 4345
    """)
    far = traces.trace(
        """
        2.5 < . 2874:4322 ack 24
        2.6 > . 24:24     ack 4322 why=second_segment
    """,
        "far",
        "receiver",
    )
    trial = as_watched(traces.write(tmp_path / "log01-c0001", near, far))
    logs = read_logs(trial)
    assert logs.sender is not None
    assert logs.receiver is not None
    sent = logs.sender.rows.filter(pl.col("direction") == "out")["sequence"].to_list()
    came = logs.receiver.rows.filter(pl.col("direction") == "in")["sequence"].to_list()
    assert came == sent[1:]
    acks = logs.receiver.rows.filter(pl.col("direction") == "out")["acknowledgment"].to_list()
    assert acks == [sent[1] + 1448]


def test_a_view_of_one_side_hides_what_only_the_own_load_counts(tmp_path: Path) -> None:
    flows = traces.flows({0: 1000})
    tables = {"transactions.near": flows, "tcp_info.near": samples(), "tcp_info.far": samples()}
    trial = traces.write(tmp_path / "001-c0001", tables=tables)
    alone = as_watched(at_levels(trial, {"sender": "user"}), "receiver")
    assert alone.end("sender") is None
    assert alone.is_watched
    assert alone.table("transactions", "near") is None
    assert alone.table("tcp_info", "far") is not None
