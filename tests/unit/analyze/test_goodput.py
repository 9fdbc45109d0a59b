"""Goodput of trials whose rate is known by construction."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.made_frames import rows_of_joins
from whyperf.analyze.measures import goodput
from whyperf.analyze.measures.goodput import duration_windows, receiver_rows, window_octets
from whyperf.analyze.measures.windows import cell_windows
from whyperf.analyze.trials import Measured, measure_trials


def measured(*trials: made.Trial) -> Measured:
    return measure_trials(made.inputs(trials))


def only(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1
    return frame.row(0, named=True)


def test_a_constant_rate_is_found_exactly() -> None:
    row = only(measured(made.Trial(rate_bps=3.2e9)).trials)
    assert row["goodput_bps"] == pytest.approx(3.2e9, rel=1e-9)
    assert row["steady"] is True
    assert row["cut_ns"] == 0
    assert row["whole_bps"] == row["goodput_bps"]


def test_the_ramps_of_warm_up_and_cool_down_do_not_count() -> None:
    row = only(measured(made.Trial(rate_bps=1e9, course=lambda s: 1.0 if 1.0 <= s < 11.0 else 0.1)).trials)
    assert row["goodput_bps"] == pytest.approx(1e9, rel=1e-6)


def test_a_ramp_that_outlasts_the_warm_up_is_cut() -> None:
    row = only(measured(made.Trial(rate_bps=1e9, course=lambda seconds: min(1.0, seconds / 3))).trials)
    assert row["cut_ns"] == 2_000_000_000
    assert row["goodput_bps"] == pytest.approx(1e9, rel=1e-3)
    # Of the 10 s of the window two rise from a third to the whole rate.
    assert row["whole_bps"] == pytest.approx(1e9 * (2 * 2 / 3 + 8) / 10, rel=1e-2)
    assert row["steady"] is True


def test_the_time_before_the_first_flow_of_a_schedule_does_not_count() -> None:
    flows = made.Trial(
        rate_bps=1e9,
        connections=2,
        duration_s=10,
        warmup_s=0,
        cooldown_s=0,
        active=((2.0, 10.0), (2.0, 10.0)),
        factors={"schedule": "two"},
    )
    row = only(measured(flows).trials)
    assert row["lead_ns"] == 2_000_000_000
    assert row["window_end_ns"] - row["window_start_ns"] == 8_000_000_000
    assert row["goodput_bps"] == pytest.approx(1e9, rel=1e-6)


@pytest.mark.parametrize(("direction", "far_offset_ns"), [("send", 0), ("send", 123_456_789), ("receive", -5_000_000)])
def test_one_transfer_is_payload_over_first_call_to_last_read(direction: str, far_offset_ns: int) -> None:
    """On one clock, whichever side sends."""
    trial = made.Trial(rate_bps=2e9, transfer_bytes=16 << 20, far_offset_ns=far_offset_ns, direction=direction)
    row = only(measured(trial).trials)
    assert row["goodput_bps"] == pytest.approx(2e9, rel=1e-6)
    assert row["octets"] == 16 << 20


def test_staggered_transfers_count_while_all_are_at_work() -> None:
    # Each connection moves at 0.5 Gbit/s for 268 ms, the second begins 100 ms later.
    trial = made.Trial(rate_bps=1e9, connections=2, transfer_bytes=16 << 20, stagger_ns=100 * made.MS)
    row = only(measured(trial).trials)
    assert row["goodput_bps"] == pytest.approx(1e9, rel=1e-6)
    life_ns = (16 << 20) * 8e9 / 0.5e9
    assert row["window_end_ns"] - row["window_start_ns"] == pytest.approx(life_ns - 100 * made.MS, abs=2)


def test_transfers_one_after_the_other_have_no_common_window() -> None:
    trial = made.Trial(rate_bps=2e9, connections=2, transfer_bytes=16 << 20, stagger_ns=made.SECOND)
    row = only(measured(trial).trials)
    assert row["goodput_bps"] is None
    assert row["unusable"] == "no_common_window"


def test_a_stalled_transfer_cut_at_its_deadline_is_not_flattered() -> None:
    trial = made.Trial(rate_bps=1e9, transfer_bytes=16 << 20, status="deadline")
    inputs = made.inputs([trial])
    # The connection moved everything in 134 ms, then was silent until the deadline at 1 s.
    silence = inputs.intervals.filter(pl.col("role") == "receiver").tail(1)
    end = trial.start_ns + made.SECOND
    silence = silence.with_columns(start_mono_ns=pl.col("end_mono_ns"), end_mono_ns=end, payload_bytes=0).cast(
        inputs.intervals.schema
    )
    row = only(measure_trials(made.changed(inputs, intervals=pl.concat([inputs.intervals, silence]))).trials)
    assert row["goodput_bps"] == pytest.approx((16 << 20) * 8, rel=1e-9)


def test_a_trial_without_rows_is_listed_without_goodput() -> None:
    inputs = made.inputs([made.Trial()])
    empty = made.changed(inputs, flows=inputs.flows.clear(), intervals=inputs.intervals.clear())
    row = only(measure_trials(empty).trials)
    assert row["goodput_bps"] is None
    assert row["unusable"] == "no_window"


def test_rows_of_one_connection_are_not_joined_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of hosts of a forged result may have connection 0: its rows would be the square of that."""
    hosts = [f"h{place}" for place in range(60)]
    key = {"trial": "t", "cell": "c", "connection": 0, "role": "receiver", "phase": "measure"}
    named = pl.DataFrame({"host": hosts}).with_columns(pl.lit(value).alias(name) for name, value in key.items())
    reads = named.with_columns(first_call_mono_ns=pl.int_range(60) + 10, last_call_mono_ns=pl.int_range(60) + 40)
    rows = named.with_columns(start_mono_ns=0, end_mono_ns=99, payload_bytes=8)
    windows = pl.DataFrame({"trial": ["t"], "window_start_ns": [0], "window_end_ns": [99]})
    heights = rows_of_joins(monkeypatch)
    octets = window_octets(rows, reads, windows)
    buffers = ("receive_buffer_requested_bytes", "window_requested_bytes", "receive_buffer_granted_bytes")
    flows = reads.with_columns(pl.lit(None, pl.Int64).alias(name) for name in (*buffers, "window_clamp_bytes"))
    samples = named.with_columns(sample_mono_ns=pl.int_range(60), peer_window_bytes=None, own_window_bytes=1)
    announced = cell_windows(flows, samples)
    assert max(heights) <= 60
    assert only(octets)["window_octets"] == 60 * 8
    assert only(announced)["announced_samples"] == 50


SPANS = st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**9)), min_size=1, max_size=12)


@settings(max_examples=60)
@given(SPANS, st.integers(-(10**9), 10**10), st.integers(1, 10**10))
def test_octets_inside_and_outside_a_window_are_all_octets(
    spans: list[tuple[int, int]], start: int, length: int
) -> None:
    rows = _rows(spans)
    total = sum(octets for _, octets in spans)
    end = start + length
    last = sum(length for length, _ in spans)
    parts = [(-(10**10), start), (start, end), (end, 10**11)]
    sums = [_octets(rows, low, high, last) for low, high in parts if high > low]
    assert sum(sums) == pytest.approx(total, rel=1e-9, abs=1e-6)
    assert all(-1e-6 <= part <= total + 1e-6 for part in sums)


def _rows(spans: list[tuple[int, int]]) -> pl.DataFrame:
    at = 0
    rows = []
    for length, octets in spans:
        rows.append(("t", 0, at, at + length, octets))
        at += length
    names = ["trial", "connection", "start_mono_ns", "end_mono_ns", "payload_bytes"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _octets(rows: pl.DataFrame, start: int, end: int, last: int) -> float:
    window = pl.DataFrame({"trial": ["t"], "window_start_ns": [start], "window_end_ns": [end]})
    life = {"trial": ["t"], "connection": [0], "first_call_mono_ns": [0], "last_call_mono_ns": [last]}
    return float(window_octets(rows, pl.DataFrame(life), window)["window_octets"][0])


def test_the_common_window_is_the_intersection() -> None:
    inputs = made.inputs([made.Trial(connections=2)])
    rows = receiver_rows(inputs.intervals)
    late = pl.col("connection") == 1
    shifted = rows.with_columns(pl.when(late).then(pl.col("start_mono_ns") + 7).otherwise(pl.col("start_mono_ns")))
    both = duration_windows(shifted)
    assert both["window_start_ns"][0] == shifted["start_mono_ns"].filter(shifted["connection"] == 1).min()
    assert both["window_end_ns"][0] == rows["end_mono_ns"].max()


def test_of_a_multitude_the_single_connections_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodput, "MAX_SINGLE", 2)
    row = only(measured(made.Trial(rate_bps=3e9, connections=3)).trials)
    assert row["fairness"] is None
    assert row["goodput_bps"] == pytest.approx(3e9, rel=1e-6)
