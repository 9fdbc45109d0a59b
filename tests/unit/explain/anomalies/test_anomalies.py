"""What stands out in sweeps that a person can read, and what does not."""

import numpy as np
import pytest
from scipy import stats

from tests.unit.analyze.workload_samples import Exchange, inputs
from tests.unit.explain.anomalies.sweeps import Rates, base, grid, sweep
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import Retransmitted
from whyperf.explain.anomalies import anomalies_of
from whyperf.explain.anomalies.curves import Curve, curves_of
from whyperf.explain.anomalies.evidence import known_of
from whyperf.explain.anomalies.standing_out import _p_value
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, CyclePlace, Losses, Pattern, Phase
from whyperf.explain.wording.anomalies import cycle, off

DROP: Rates = {5120: (20, 20.2), 6144: (20, 20.1), 7168: (15, 15.1), 8192: (20, 20.2), 9216: (20, 20.1)}


def explained(cell: str, cycle: list[CyclePlace], losses: Losses | None = None) -> CellExplanation:
    """What is known of a cell whose log has one phase."""
    phase = Phase(
        begin_ns=0,
        end_ns=10**9,
        payloads=[(place.payload_bytes, place.times) for place in cycle],
        acks_per_turn=1.0,
        waits="",
        ratio=1.0,
        words="",
        turn=cycle,
        turns=100,
    )
    pattern = Pattern(trial="log01", connection=0, phases=[phase], words="So it goes.", losses=losses)
    return CellExplanation(
        cell=cell,
        trial="log01",
        rate_bps=None,
        dominant_state=None,
        missing=[],
        budgets=[],
        patterns=[pattern],
        verdicts=[],
        headline="",
    )


def test_the_error_of_a_point_is_its_deviation_over_the_root_of_its_trials() -> None:
    """10, 12 and 11 Mbit/s have the mean 11 and the deviation 1."""
    found = sweep(dict.fromkeys((1024, 2048, 3072, 4096, 5120), (10, 12)))
    (curve,) = curves_of(found.cells, found.varied)
    assert curve.errors == pytest.approx(np.full(5, 1 / 11 / np.sqrt(3)))


def test_a_drop_is_compared_with_its_neighbors() -> None:
    (found,) = anomalies_of(sweep(DROP))
    assert (found.kind, found.level, found.cell, found.neighbors) == ("drop", 7168, "c0003", ["c0002", "c0004"])
    assert found.ratio is not None
    assert round(found.ratio, 2) == 0.75
    assert found.code == "drop"
    assert found.values["place"] == "write size 7,168 bytes"
    assert (found.values["rate"], found.values["off"], found.values["lost"]) == ("15.1 Mbit/s", "25 %", "5.02 Mbit/s")
    assert round((found.lost_rate or 0) / 1e6, 2) == 5.02
    assert found.differences[-1].code == "no_log_here"
    assert found.cause is Cause.NOT_KNOWN


def test_a_wide_drop_is_one() -> None:
    (found,) = anomalies_of(sweep({**DROP, 6656: (15.4, 15.5), 7680: (15.5, 15.6)}))
    assert found.level == 7168
    assert found.values["shared"] == "6,656 to 7,680 bytes"


def test_a_rise_is_no_anomaly() -> None:
    assert anomalies_of(sweep({1000: 10, 2000: 20, 4000: 40, 8000: 80, 16000: 160})) == []


def test_less_than_a_tenth_is_no_anomaly() -> None:
    assert anomalies_of(sweep({**DROP, 7168: (18.5, 18.6)})) == []


def test_what_trials_spread_over_is_no_anomaly() -> None:
    noisy: Rates = dict.fromkeys(range(1000, 9000, 1000), (16, 18, 20, 22, 24))
    assert anomalies_of(sweep({**noisy, 4000: (13, 15, 17, 19, 21)})) == []


def test_of_many_random_sweeps_hardly_any_stands_out() -> None:
    random = np.random.default_rng(7)
    rates: dict[str, Rates] = {
        str(number): {level: tuple(random.normal(20, 2, 5)) for level in range(1000, 17000, 1000)}
        for number in range(30)
    }
    found = anomalies_of(grid(rates, "write_size_bytes", "window_bytes"))
    assert len(found) <= 2


@pytest.mark.parametrize(("trials", "found"), [(1, 0), (2, 0), (3, 1)])
def test_fewer_than_three_trials_show_no_anomaly(trials: int, found: int) -> None:
    summary = sweep(DROP)
    cells = [cell.model_copy(update={"trials": trials}) for cell in summary.cells]
    assert len(anomalies_of(summary.model_copy(update={"cells": cells}))) == found


def test_one_trial_per_cell_of_the_model_is_reported() -> None:
    (found,) = anomalies_of(sweep({1: 20, 2: 20, 3: 12, 4: 20, 5: 20}))
    assert found.words.endswith("One trial per setting: the spread of the rates is not known.")


def test_a_fall_that_stays_is_a_drop_with_one_neighbor() -> None:
    found = anomalies_of(
        sweep({8192: (20, 20.1), 16384: (22, 22.1), 32768: (23, 23.1), 40960: (6, 6.1), 52428: (5.8, 6)})
    )
    assert [(anomaly.kind, anomaly.level, anomaly.neighbors) for anomaly in found if anomaly.kind == "drop"] == [
        ("drop", 40960, ["c0003"])
    ]
    assert (found[0].code, found[0].values["off"], found[0].values["lost"]) == ("fall", "74 %", "17.0 Mbit/s")


SIZES = (64, 128, 256, 512, 1024, 2048, 3072, 4096, 5120, 6144, 8192, 9148)


@pytest.mark.parametrize("levels", [SIZES, SIZES[4:], SIZES[::-2][::-1]])
def test_a_smooth_fall_is_no_drop(levels: tuple[int, ...]) -> None:
    """Transactions that take a fixed time and one for each byte, and a rate that falls ever less."""
    assert anomalies_of(sweep({size: 1e3 / (1 + size / 1000) for size in levels})) == []
    assert anomalies_of(sweep({size: 10 + 1e3 / size for size in levels})) == []
    # From a knee on a rate may fall steadily.
    assert not [found for found in anomalies_of(sweep({size: 1e3 / max(1024, size) for size in levels}))
                if found.kind == "drop"]  # fmt: skip


def test_a_drop_within_a_smooth_fall_stands_out() -> None:
    stays: Rates = {size: (0.7 if size >= 3072 else 1) * 1e3 / (1 + size / 1000) for size in SIZES}
    assert [(found.kind, found.level) for found in anomalies_of(sweep(stays))] == [("drop", 3072)]


def test_a_fall_over_two_levels_is_no_trend() -> None:
    rates: Rates = {1024: 20.0, 2048: 20.1, 4096: 20.2, 8192: 14.0, 16384: 9.0, 32768: 9.1, 65536: 9.0}
    assert [found.level for found in anomalies_of(sweep(rates))] == [8192, 16384]
    # At the end of a curve, too.
    last: Rates = dict(list(rates.items())[:5])
    assert 16384 in {found.level for found in anomalies_of(sweep(last))}


def test_the_same_in_most_settings_is_reported_once_and_never_for_another_host() -> None:
    rates = {str(window): DROP for window in (4096, 8192, 16384, 32768)}
    (found,) = anomalies_of(grid(rates, "write_size_bytes", "window_bytes"))
    assert found.values["levels"] == "window 8,192, 16,384 and 32,768 bytes"
    assert found.others == ["c0008", "c0013", "c0018"]
    hosts = anomalies_of(grid(dict.fromkeys(("a", "b", "c", "d"), DROP), "write_size_bytes", "hosts"))
    assert len(hosts) == 4


def test_a_ridge_is_reported_once_with_its_extent() -> None:
    """Of eight windows three neighbors have a drop, which moves by a level: at fewer settings than make a rule."""
    flat: Rates = dict.fromkeys((1024, 2048, 3072, 4096, 5120, 6144), (20, 20.1))
    rates = {str(window): flat for window in range(4096, 36864, 4096)}
    rates |= {
        "8192": {**flat, 3072: (15, 15.1)},
        "12288": {**flat, 3072: (12, 12.1)},
        "16384": {**flat, 4096: (16, 16.1)},
    }
    (found,) = [
        rate
        for rate in anomalies_of(grid(rates, "write_size_bytes", "window_bytes"))
        if rate.factor == "write_size_bytes"
    ]
    assert found.values["rate"] == "12.1 Mbit/s"
    assert found.values["levels"] == "write size 3,072 and 4,096 bytes, window 8,192 and 16,384 bytes"


def test_a_cell_is_reported_once_and_casts_no_shadow_on_the_other_axis() -> None:
    """One low cell in a flat map: a drop along both axes, next to which nothing is a peak."""
    flat: Rates = dict.fromkeys((1024, 2048, 3072, 4096, 5120, 6144), (20, 20.1))
    rates = {str(window): flat for window in (4096, 8192, 16384, 32768, 65536)}
    found = anomalies_of(grid({**rates, "16384": {**flat, 3072: (8, 8.1)}}, "write_size_bytes", "window_bytes"))
    assert [(anomaly.kind, anomaly.others) for anomaly in found] == [("drop", [])]


def test_what_loses_most_is_first() -> None:
    """A third of a high rate is more than half of a low one."""
    rates: Rates = {
        1024: (4, 4.1),
        2048: (2, 2.1),
        3072: (4, 4.1),
        8192: (30, 30.1),
        9216: (20, 20.1),
        10240: (30, 30.1),
    }
    assert [rate.level for rate in anomalies_of(sweep(rates)) if rate.kind == "drop"] == [9216, 2048]


def test_other_causes_are_no_ridge() -> None:
    held = [CyclePlace(payload_bytes=1024, held_by="small", released_by="ack"), CyclePlace(payload_bytes=6144)]
    even = [CyclePlace(payload_bytes=4096)]
    lost = Losses(kinds={"timeout": 5}, timeout_wait_ns=9 * 10**8, lost_in_receiver=5, lost_on_path=0)
    summary = grid({"4096": DROP, "8192": DROP}, "write_size_bytes", "window_bytes")
    again = Retransmitted(ratio=0.12)
    cells = [
        cell.model_copy(update={"retransmitted_segments": again}) if cell.id == "c0008" else cell
        for cell in summary.cells
    ]
    logs = [
        explained(cell.id, held if cell.id == "c0003" else even, lost if cell.id == "c0008" else None) for cell in cells
    ]
    found = anomalies_of(summary.model_copy(update={"cells": cells}), logs)
    assert {anomaly.cause for anomaly in found} == {Cause.WRITE_WINDOW_MISMATCH, Cause.RECEIVER_LOSS}


def test_peaks_at_even_distances_are_reported_once() -> None:
    rates: Rates = {level: (30, 30.1) if level % 4096 == 0 else (20, 20.1) for level in range(1024, 17409, 1024)}
    (found,) = [rate for rate in anomalies_of(sweep(rates)) if rate.kind == "peak"]
    assert found.values["levels"] == "write size 8,192, 12,288 and 16,384 bytes (every 4,096 bytes)"


def test_a_plateau_begins_where_two_lines_meet() -> None:
    (found,) = anomalies_of(sweep({4096: 10, 8192: 20, 16384: 40, 32768: 41, 65536: 41, 131072: 40.5}, "window_bytes"))
    assert (found.kind, found.level) == ("plateau", 16384)
    assert found.values["rate"] == "40.8 Mbit/s"


def test_a_knee_rises_less_behind_it() -> None:
    (found,) = anomalies_of(sweep({4096: 10, 8192: 20, 16384: 40, 32768: 47, 65536: 55, 131072: 64}, "window_bytes"))
    assert (found.kind, found.level) == ("knee", 16384)


def test_what_differs_is_evidence_and_makes_the_cause() -> None:
    held = [CyclePlace(payload_bytes=1024, held_by="small", released_by="ack"), CyclePlace(payload_bytes=6144)]
    even = [CyclePlace(payload_bytes=4096, times=2)]
    cells = [explained("c0002", even), explained("c0003", held), explained("c0004", even)]
    (found,) = anomalies_of(sweep(DROP), cells)
    assert found.cause is Cause.WRITE_WINDOW_MISMATCH
    small = next(difference for difference in found.differences if difference.code == "small_waits")
    assert (small.value, small.values["usual_ratio"], small.values["neighbors"]) == (0.5, 0.0, "6,144 and 8,192 bytes")
    assert found.because.startswith("Here 50 % of the packets wait for an ACK")
    assert found.because.endswith(
        "Cycle here: send 1,024 B, send 6,144 B, 1 ACK per cycle; at 6,144 bytes: send 4,096 B "
        "twice, 1 ACK per cycle; at 8,192 bytes: send 4,096 B twice, 1 ACK per cycle."
    )
    assert found.words.endswith(found.because)


def test_of_requests_and_responses_no_segment_size_is_computed() -> None:
    """The goodput has both directions, and the segments are those of one."""
    (exchange,) = summarize_inputs(inputs(Exchange())).cells
    assert "segment_bytes" not in known_of(exchange, None)
    (stream,) = base().cells
    assert "segment_bytes" in known_of(stream, None)


def test_a_timer_makes_it_a_delayed_ack() -> None:
    held = [CyclePlace(payload_bytes=1024, held_by="small", released_by="ack", ack_reason="delayed_timer")]
    even = [CyclePlace(payload_bytes=4096)]
    cells = [explained("c0002", even), explained("c0003", held), explained("c0004", even)]
    assert anomalies_of(sweep(DROP), cells)[0].cause is Cause.NAGLE_DELAYED_ACK


def test_losses_in_the_receiver_are_its_cause() -> None:
    cycle = [CyclePlace(payload_bytes=9148)]
    lost = Losses(kinds={"timeout": 5}, timeout_wait_ns=9 * 10**8, lost_in_receiver=5, lost_on_path=0)
    cells = [explained("c0003", cycle, lost), explained("c0002", cycle), explained("c0004", cycle)]
    again: dict[float, dict[str, object]] = {7168: {"retransmitted_segments": Retransmitted(ratio=0.12)}}
    (found,) = anomalies_of(sweep(DROP, changes=again), cells)
    assert found.cause is Cause.RECEIVER_LOSS
    assert [difference.value for difference in found.differences if difference.code == "retransmitted_ratio"] == [0.12]


def test_without_a_sweep_nothing_stands_out() -> None:
    assert anomalies_of(base()) == []


@pytest.mark.parametrize(
    ("freedom", "errors", "expected"),
    [
        (4, [0.05, 0.1, 0.02], 2 * stats.t.sf(np.log(1.2) / np.hypot(0.05, 0.1), 4)),
        (4, [0.05, 0.02, 0.1], 2 * stats.t.sf(np.log(1.2) / np.hypot(0.05, 0.1), 4)),
        (4, [0.0, 0.0, 0.0], 0.0),
        (4, [np.nan, 0.1, 0.1], None),
        (0, [0.05, 0.1, 0.1], None),
    ],
)
def test_the_probability_of_a_ratio_by_students_t(freedom: int, errors: list[float], expected: float | None) -> None:
    """The error is that of the point and of the neighbor that varies most."""
    levels = np.array([1.0, 2.0, 3.0])
    curve = Curve("main", "window_bytes", (), levels, levels, np.array(errors), freedom, "bit/s")
    for ratio in (1.2, 1 / 1.2):
        found = _p_value(curve, 0, (1, 2), ratio)
        assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("payloads", "acks", "text"),
    [
        ([(1448, 1)], 1.0, "send 1,448 B"),
        ([(1448, 2)], 0.0, "send 1,448 B twice"),
        ([(1448, 2)], 1.04, "send 1,448 B twice, 1 ACK per cycle"),
        ([(1448, 2)], 1.06, "send 1,448 B twice, 1.1 ACKs per cycle"),
        ([(1448, 2)], 2.0, "send 1,448 B twice, 2 ACKs per cycle"),
        ([(1448, 1)], 2.0, "send 1,448 B, 2 ACKs per cycle"),
    ],
)
def test_a_cycle_in_few_words(payloads: list[tuple[int, int]], acks: float, text: str) -> None:
    phase = explained("c0001", []).patterns[0].phases[0]
    assert cycle(phase.model_copy(update={"payloads": payloads, "acks_per_turn": acks})) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.1, "10 %"), (0.1, "90 %"), (0.09, "a factor of 11"), (1.99, "99 %"), (2.0, "a factor of 2.0"), (0.5, "50 %")],
)
def test_how_far_a_ratio_is_from_1(ratio: float, text: str) -> None:
    assert off(ratio) == text
