"""Datagrams: loss, order and jitter as the receiver counted them."""

from collections.abc import Sequence

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.workload_samples import UDP, assembled, keyed
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import CellResult, Datagrams, Summary

U32, U64, TEXT = pl.UInt32(), pl.UInt64(), pl.String()
SCHEMA = {"host": TEXT, "connection": U32, "interval": U32, "phase": TEXT, "start_mono_ns": U64, "end_mono_ns": U64}
SCHEMA |= {"sent_count": U64, "received_count": U64, "payload_bytes": U64}
SCHEMA |= dict.fromkeys(("late_count", "duplicate_count", "highest_sequence_count", "jitter_ns"), U64)
SCHEMA |= {"kernel_drops_count": U32}


def rows(trial: made.Trial, lost: float, connections: int = 1, drops: int = 0) -> pl.DataFrame:
    """1000 datagrams a second and flow are sent, this part of them is lost; in warm-up all are."""
    found: list[Sequence[object]] = []
    for connection in range(connections):
        highest = 0
        for number, (phase, start, end) in enumerate(made._spans(trial)):
            sent = (end - start) // 1_000_000
            received = round(sent * (1 - lost)) if phase != "warm-up" else 0
            highest += sent
            at = (number, phase, trial.start_ns + start, trial.start_ns + end)
            found.append(("near", connection, *at, sent, 0, sent * 1000, 0, 0, None, None, 0))
            rest = (1, 2, highest, 5_000 + 100 * connection, drops)
            found.append(("far", connection, *at, 0, received, received * 1000, *rest))
    return keyed(trial, pl.DataFrame(found, schema=SCHEMA, orient="row"))


def summarized(*trials: tuple[made.Trial, pl.DataFrame]) -> Summary:
    frame = pl.concat([rows for _, rows in trials])
    return summarize_inputs(assembled([trial for trial, _ in trials], {"datagrams": frame}, {"c0001": UDP}))


def only(summary: Summary) -> tuple[CellResult, Datagrams]:
    (cell,) = summary.cells
    return cell, made.known(cell.datagrams)


def test_loss_is_what_is_missing_below_the_highest_number_in_the_measurement() -> None:
    trial = made.Trial()
    cell, datagrams = only(summarized((trial, rows(trial, lost=0.1))))
    assert cell.metric == "datagrams"
    assert datagrams.lost_ratio == pytest.approx(0.1)
    assert (datagrams.received_count, datagrams.lost_count) == (9000, 1000)
    assert datagrams.sent_per_s == pytest.approx(1000)
    assert datagrams.received_per_s.median == pytest.approx(900)
    assert (datagrams.late_count, datagrams.duplicate_count) == (100, 200)
    assert (datagrams.jitter_ns, datagrams.jitter_ns_max) == (5000, 5000)


def test_flows_and_trials_add_up() -> None:
    first, other = made.Trial(), made.Trial(block=2)
    _, datagrams = only(summarized((first, rows(first, 0.0, connections=2)), (other, rows(other, 0.2, connections=2))))
    assert datagrams.lost_count == 4000
    assert datagrams.lost_ratio == pytest.approx(0.1)
    assert datagrams.received_per_s.median == pytest.approx(1800)
    assert datagrams.jitter_ns_max == 5100


def test_what_the_receiving_socket_dropped_is_reported() -> None:
    trial = made.Trial()
    summary = summarized((trial, rows(trial, 0.0, drops=7)))
    # All of the drops were counted before the measurement.
    assert only(summary)[1].kernel_drops_count == 0
    frame = rows(trial, 0.0, drops=7).with_columns(
        pl.when(pl.col("phase") == "warm-up")
        .then(3)
        .otherwise(pl.col("kernel_drops_count"))
        .alias("kernel_drops_count")
    )
    summary = summarized((trial, frame.with_columns(pl.col("kernel_drops_count").cast(U32))))
    assert only(summary)[1].kernel_drops_count == 4
    assert "receiver_dropped" in {warning.code for warning in summary.warnings}
