"""Trials over time: what a short last interval, and the time after the load, do to rates."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.time_series import Course, course

TRIAL = made.Trial(connections=2, warmup_s=0, cooldown_s=0, duration_s=1)
END_NS = TRIAL.start_ns + made.SECOND


def drawn(inputs: Inputs) -> Course:
    return made.known(course(inputs, TRIAL.name))


def test_a_last_interval_of_microseconds_is_part_of_the_one_before() -> None:
    inputs = made.inputs([TRIAL])
    # The second connection ends 10 us after the first, whose intervals are the spans, and moves nothing then.
    late = pl.when((pl.col("connection") == 1) & (pl.col("end_mono_ns") == END_NS)).then(END_NS + 10_000)
    intervals = inputs.intervals.with_columns(late.otherwise(pl.col("end_mono_ns")).alias("end_mono_ns"))
    rates = drawn(replace(inputs, intervals=intervals)).counted_rates
    assert rates.height == 10
    assert rates["at_s"][-1] == pytest.approx(1.00001)
    assert rates["bps"].to_list() == pytest.approx([TRIAL.rate_bps] * 10, rel=1e-3)


def test_a_last_interval_of_more_than_half_the_length_has_a_rate_of_its_own() -> None:
    trial = replace(TRIAL, duration_s=0.96)
    rates = drawn(made.inputs([trial])).counted_rates
    assert rates.height == 10
    assert rates["at_s"][-1] == pytest.approx(0.96)
    assert rates["bps"].to_list() == pytest.approx([trial.rate_bps] * 10, rel=1e-3)


def transactions(spans: Sequence[tuple[float, float, int]]) -> pl.DataFrame:
    """Rows of the near side: start and end in s after the start of the load, and how many ended."""
    return pl.DataFrame(
        [
            {
                "trial": TRIAL.name,
                "host": "near",
                "start_mono_ns": TRIAL.start_ns + round(start_s * made.SECOND),
                "end_mono_ns": TRIAL.start_ns + round(end_s * made.SECOND),
                "transactions_count": ended,
                "received_bytes": 0,
            }
            for start_s, end_s, ended in spans
        ]
    )


def test_the_last_transactions_under_way_are_no_rate() -> None:
    inside = [(number / 10, (number + 1) / 10, 50) for number in range(10)]
    after = (1.000_01, 1.06, 1)
    found = drawn(replace(made.inputs([TRIAL]), transactions=transactions([*inside, after])))
    assert found.transactions["per_s"].to_list() == pytest.approx([500.0] * 10)


def test_a_window_that_no_connection_has_is_unknown_and_not_zero() -> None:
    inputs = made.inputs([TRIAL])
    unknown = inputs.tcp_info.with_columns(pl.lit(None, pl.UInt32).alias("send_mss_bytes"))
    found = drawn(replace(inputs, tcp_info=unknown)).transport
    assert found["cwnd_bytes"].count() == 0
    assert found.filter(pl.col("role") == "sender")["window_bytes"].count() > 0


def test_each_side_has_its_own_windows_and_times() -> None:
    """Two connections, each with 40 segments of 1448 bytes in the window and 65,536 bytes announced."""
    found = drawn(made.inputs([replace(TRIAL, warmup_s=0.2, cooldown_s=0.1)]))
    assert found.phases["phase"].to_list() == ["warm-up", "measure", "cool-down"]
    assert found.phases["from_s"].to_list() == pytest.approx([0.0, 0.2, 1.2])
    assert found.phases["to_s"].to_list() == pytest.approx([0.2, 1.2, 1.3])
    last = {row["role"]: row for row in found.transport.filter(pl.col("at_s") > 1.29).iter_rows(named=True)}
    assert last["sender"] == {**last["sender"], "cwnd_bytes": 115_840, "window_bytes": 131_072, "rtt_ms": 0.06}
    assert last["receiver"] == {**last["receiver"], "cwnd_bytes": None, "window_bytes": 131_072, "rtt_ms": None}
    busy = {role: rows["busy_ratio"].mean() for (role,), rows in found.cpu.partition_by("role", as_dict=True).items()}
    assert busy == pytest.approx({"sender": 0.8, "receiver": 0.6})
