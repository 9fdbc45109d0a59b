"""The rate of a path's bottleneck without a segment log: found where a queue is served, and nowhere else."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.gather import deliveries, transports
from whyperf.explain.gather.deliveries import (
    Steps,
    bottleneck_of_steps,
    delivery_steps,
    is_over_full,
    policing_of_steps,
    queue_of_steps,
)
from whyperf.explain.path_facts import BottleneckRate

LINK_BPS = 95.6e6
MSS = 1448
SEED = np.random.default_rng(20)


def steps(rates: NDArray[np.float64], queue: NDArray[np.float64] | float, **known: Any) -> Steps:
    defaults = {"backlogged_ratio": 1.0, "window_segments": 80.0}
    queues = np.broadcast_to(np.asarray(queue, dtype=np.float64), rates.shape)
    return Steps(rates, queues, mss_bytes=MSS, **(defaults | known))


FULL = LINK_BPS * SEED.normal(1, 0.003, 40)
SAWTOOTH = LINK_BPS * np.tile(np.linspace(0.5, 1.0, 20), 2)


OVERSHOOT = np.r_[np.full(3, 0.8), np.full(37, 0.02)]
REGROWN = LINK_BPS * np.r_[np.ones(3), np.linspace(0.5, 0.9, 37)]
"""A window that fills the queue once, is halved there and grows back."""


def test_a_line_that_is_full_once_is_seen_with_how_much_of_it_is_used() -> None:
    measured = np.arange(40) >= 5
    found = bottleneck_of_steps(steps(REGROWN, OVERSHOOT, is_measured=measured))
    assert found.bps == pytest.approx(LINK_BPS * (MSS + 66) / MSS, rel=0.01)
    assert found.use_ratio == pytest.approx(REGROWN[measured].mean() / LINK_BPS, abs=0.02)


def test_losses_belong_to_a_full_queue_where_they_come_with_it() -> None:
    at = np.arange(40)
    of_queue = queue_of_steps(steps(REGROWN, OVERSHOOT, lost_segments=np.where(at < 4, 50.0, 0.0)))
    of_path = queue_of_steps(steps(REGROWN, OVERSHOOT, lost_segments=np.where(at % 5 == 0, 2.0, 0.0)))
    assert of_queue.losses_full_ratio == 1.0
    assert of_path.losses_full_ratio == pytest.approx(1 / 8)


def test_an_own_rate_that_varies_while_the_queue_is_full_shows() -> None:
    alone, shared = queue_of_steps(steps(FULL, 0.5)), queue_of_steps(steps(SAWTOOTH, 0.5))
    assert (alone.standing_ratio, shared.standing_ratio) == (1.0, 1.0)
    assert alone.full_spread is not None
    assert alone.full_spread < 0.02
    assert shared.full_spread == pytest.approx(0.4 / 0.75, rel=0.1)


@pytest.mark.parametrize(
    ("queue", "jitter", "is_full"),
    [
        (np.full(40, 0.8), 0.02, True),
        # A window that leaves in bursts makes round trips leap.
        (np.full(40, 0.8), 0.3, False),
        # It holds back for a part of the time.
        (np.r_[np.full(30, 0.8), np.full(10, 0.02)], 0.01, False),
        (np.full(40, 0.1), 0.001, False),
    ],
)
def test_a_window_larger_than_the_path_keeps_its_queue_full(
    queue: NDArray[np.float64], jitter: float, *, is_full: bool
) -> None:
    assert is_over_full(steps(FULL, queue, jitter_ratios=np.full(40, jitter))) is is_full


def test_a_queue_is_served_at_one_rate_whatever_the_round_trip() -> None:
    found = bottleneck_of_steps(steps(FULL, np.linspace(0.1, 0.9, 40)))
    assert found.bps == pytest.approx(LINK_BPS * (MSS + 66) / MSS, rel=0.005)
    assert found.use_ratio == pytest.approx(1.0, abs=0.01)
    assert found.steadiness == pytest.approx(1.0, abs=0.05)


def test_a_line_that_is_left_at_times_is_seen_with_how_much_of_it_is_used() -> None:
    rates = np.concatenate((FULL[:15], LINK_BPS * np.linspace(0.75, 0.97, 25)))
    found = bottleneck_of_steps(steps(rates, np.concatenate((np.full(15, 0.1), np.full(25, 0.01)))))
    assert found.bps == pytest.approx(LINK_BPS * (MSS + 66) / MSS, rel=0.01)
    assert found.use_ratio == pytest.approx(rates.mean() / LINK_BPS, abs=0.02)


@pytest.mark.parametrize(
    ("why", "these"),
    [
        ("a window or a pacing rate: no queue", steps(FULL, 0.01)),
        (
            "a queue only while the rate is lower",
            steps(np.r_[FULL[:30], 0.7 * FULL[30:]], np.r_[np.zeros(30), np.full(10, 0.5)]),
        ),
        ("losses: the window grows and is reduced", steps(SAWTOOTH, 0.1)),
        ("several windows that vary", steps(LINK_BPS * SEED.normal(1, 0.08, 40), 0.1)),
        ("what is delivered faster at times", steps(np.r_[FULL[:30], 1.5 * FULL[30:]], 0.3)),
        ("round trips that leap: no queue", steps(REGROWN, OVERSHOOT, jitter_ratios=np.full(40, 0.5))),
        ("a rate that others leave", steps(SAWTOOTH, 0.5)),
        ("the application has nothing to send", steps(FULL, 0.3, backlogged_ratio=0.3)),
        ("a window of a few segments", steps(FULL, 0.3, window_segments=4.0)),
        ("too little time", steps(FULL[:4], 0.3)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_line_is_seen_where_something_else_sets_the_rate(why: str, these: Steps) -> None:
    assert bottleneck_of_steps(these).bps is None, why


def trial(folder: Path, **changed: object) -> tuple[FlowTrial, FlowEnd]:
    """Two connections that share a line for 4 s, sampled every 100 ms; their samples are 30 ms apart."""
    rows = [
        {
            "connection": connection,
            "phase": "measure",
            "sample_mono_ns": at * 100_000_000 + connection * 30_000_000,
            "delivered_segments": round(share * LINK_BPS / 8 / MSS * (at * 0.1 + connection * 0.03)),
            "send_mss_bytes": MSS,
            "rtt_ns": 15_000_000,
            "rtt_ns_min": 10_000_000,
            "not_sent_bytes": 100_000,
            "cwnd_segments": 60,
            "application_limited": False,
        }
        | changed
        for connection, share in ((0, 0.3), (1, 0.7))
        for at in range(40)
    ]
    pl.DataFrame(rows).write_parquet(folder / "tcp_info.near.parquet")
    end = FlowEnd("near", "sender", 0, EndEvidence())
    return FlowTrial(folder, "001-c0001", "c0001", "complete", {"near": end}, 0, None), end


def test_the_rate_under_a_policer_is_even_whatever_single_steps_let_through() -> None:
    measured = np.arange(40) >= 4
    bursts = np.tile((1.2, 0.9, 0.9), 12)
    policed = np.r_[np.full(4, 3.0), bursts] * LINK_BPS
    found = policing_of_steps(steps(policed, 0.01, lost_segments=np.where(measured, 5.0, 0.0), is_measured=measured))
    assert found.bps == pytest.approx(LINK_BPS * (MSS + 66) / MSS, rel=0.01)
    assert found.spread == pytest.approx(0.0, abs=0.01)
    assert found.lossy_ratio == 1.0
    assert found.faster_times == pytest.approx(3.0, rel=0.01)
    random = policing_of_steps(steps(SAWTOOTH, 0.01, lost_segments=np.ones(40)))
    assert random.spread is not None
    assert random.spread > 0.3


def test_a_pause_is_no_queue_although_the_last_round_trip_was_long() -> None:
    paused = np.r_[FULL[:20], np.zeros(10), FULL[30:]]
    found = queue_of_steps(steps(paused, 0.6))
    assert found.full_spread is not None
    assert found.full_spread < 0.02
    assert found.standing_ratio == pytest.approx(0.75)


def line_of(found: tuple[FlowTrial, FlowEnd]) -> BottleneckRate:
    made = delivery_steps(*found)
    return BottleneckRate() if made is None else bottleneck_of_steps(made)


def test_connections_are_added_up_at_the_same_instants(tmp_path: Path) -> None:
    found = line_of(trial(tmp_path))
    assert found.bps == pytest.approx(LINK_BPS * (MSS + 66) / MSS, rel=0.005)


@pytest.mark.parametrize(
    "changed",
    [
        {"application_limited": True},
        {"not_sent_bytes": 0},
        {"rtt_ns_min": 15_000_000},
        {"rtt_ns": 650_000, "rtt_ns_min": 90_000},
        # A burst of a window makes a short round trip this much longer, too.
        {"rtt_ns": 900_000, "rtt_ns_min": 150_000},
        {"delivered_segments": None},
        {"phase": "warm-up"},
    ],
    ids=str,
)
def test_a_trial_without_a_queue_on_a_path_shows_no_line(tmp_path: Path, changed: dict[str, object]) -> None:
    assert line_of(trial(tmp_path, **changed)).bps is None


def test_a_queue_of_milliseconds_on_a_local_network_shows_its_line(tmp_path: Path) -> None:
    found = line_of(trial(tmp_path, rtt_ns=1_500_000, rtt_ns_min=150_000))
    assert found.bps == pytest.approx(LINK_BPS * (MSS + 66) / MSS, rel=0.005)
    assert found.use_ratio == pytest.approx(1.0, abs=0.01)


LATE_NS = 2**60
"""36 years after the start, as only the author of a result can write it."""


def test_instants_of_a_result_do_not_decide_how_many_steps_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (deliveries, transports):
        monkeypatch.setattr(module, "MAX_STEPS", 1000, raising=False)
    of_trial = trial(tmp_path)
    table = tmp_path / "tcp_info.near.parquet"
    rows = pl.read_parquet(table)
    is_last = pl.int_range(pl.len()).over("connection") == 39
    late = [
        pl.when(is_last).then(LATE_NS).otherwise(name).alias(name) for name in ("sample_mono_ns", "delivered_segments")
    ]
    rows.with_columns(late).write_parquet(table)
    made = delivery_steps(*of_trial)
    assert made is not None
    assert made.rates_bps.size <= 1001
    counted = pl.col("delivered_segments").alias("sent_packets"), pl.lit(0).alias("lost_packets")
    own = rows.with_columns(late).with_columns(*counted, pl.col("cwnd_segments").alias("cwnd_bytes"))
    assert transports._bottleneck(own, MSS, 10e6).bps is None


DAY_NS = 86_400 * 10**9


@pytest.mark.parametrize("phase", ["measure", "warm-up"])
def test_a_connection_that_began_long_before_the_others_adds_no_steps(tmp_path: Path, phase: str) -> None:
    of_trial = trial(tmp_path)
    usual = delivery_steps(*of_trial)
    table = tmp_path / "tcp_info.near.parquet"
    later = pl.read_parquet(table).with_columns(pl.col("sample_mono_ns") + DAY_NS)
    early = later.head(1).with_columns(pl.lit(1, pl.Int64).alias("sample_mono_ns"), pl.lit(phase).alias("phase"))
    pl.concat([early, later]).write_parquet(table)
    made = delivery_steps(*of_trial)
    assert usual is not None
    assert made is not None
    assert made.rates_bps.size == pytest.approx(usual.rates_bps.size, abs=1)
    assert made.measured.all()
