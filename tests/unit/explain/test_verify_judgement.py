"""Confirmed, refuted or undecided: from pairs of rates and the gain that was predicted."""

import pytest

from whyperf.explain.verify import Looks, Pair, judge, thresholds
from whyperf.explain.verify.judgement import beside_range


def pairs_with(*gains: float) -> list[Pair]:
    return [Pair(block, 100.0, 100.0 * gain) for block, gain in enumerate(gains, start=1)]


def all_at_once(count: int) -> Looks:
    return Looks(count, count)


@pytest.mark.parametrize(
    ("gains", "predicted", "outcome"),
    [
        ((3.9, 4.0, 4.1, 4.0, 4.2, 3.8), 4.0, "confirmed"),
        ((2.1, 2.2, 2.1, 2.2, 2.1, 2.2), 4.0, "confirmed"),  # half of the way, as doublings go
        ((1.7, 1.8, 1.7, 1.8, 1.7, 1.8), 4.0, "undecided"),  # a gain, and not the one that was claimed
        ((1.5, 1.45, 1.5, 1.4, 1.5, 1.5), 4.0, "refuted"),  # under a third of it
        ((0.99, 1.0, 1.01, 1.0, 1.02, 0.98), 1.5, "refuted"),
        ((1.0, 1.0, 1.0, 1.0, 1.0, 1.0), None, "refuted"),
        ((1.2, 1.21, 1.19, 1.2, 1.2, 1.22), None, "confirmed"),
        ((0.6, 1.9, 0.7, 1.6, 0.8, 1.9), 1.5, "undecided"),  # noise
        ((1.06, 1.07, 1.06, 1.07, 1.06, 1.07), 1.1, "confirmed"),  # a small claim, kept
        ((1.01, 1.0, 1.01, 1.0, 1.01, 1.0), 1.1, "refuted"),
        ((0.5, 0.5, 0.5, 0.5, 0.5, 0.5), 1.3, "refuted"),
        ((4.0, 4.0, 4.0, 4.0, 4.0), 4.0, "undecided"),  # five pairs tell no interval of 95 %
        ((1.02, 1.03, 1.02, 1.9, 1.95, 1.98), 1.8, "undecided"),  # half of the way, and perhaps nothing
        ((2.0, 2.1, 1.9, 2.0, 0.02, 2.1, 2.0, 1.9, 2.0, 2.1, 2.0, 2.0), 2.0, "confirmed"),  # one wild pair
    ],
)
def test_the_outcome_follows_from_gain_interval_and_prediction(
    gains: tuple[float, ...], predicted: float | None, outcome: str
) -> None:
    found, _ = judge(pairs_with(*gains), predicted, all_at_once(len(gains)))
    assert found.outcome == outcome
    assert found.words.lower().startswith(outcome)
    assert found.pairs == len(gains)
    if len(gains) >= 6:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= (found.measured_gain or 0) <= found.high


@pytest.mark.parametrize("predicted", [None, 0.8, 1.0, 1.01, 1.05, 1.1, 1.21, 1.5, 3.0, 100.0])
def test_no_gain_both_confirms_and_refutes(predicted: float | None) -> None:
    confirms, refutes = thresholds(predicted)
    assert 1 < refutes <= confirms


def test_pairs_without_a_result_are_told() -> None:
    found, _ = judge(pairs_with(2.0, 2.0, 2.1), 2.0, all_at_once(6))
    assert "3 of 6 pairs" in found.words


def test_without_any_pair_it_is_undecided_and_says_so() -> None:
    found, _ = judge([], 2.0, all_at_once(6))
    assert (found.outcome, found.measured_gain, found.low, found.high) == ("undecided", None, None, None)
    assert "0 of 6 pairs have a result" in found.words


def test_the_sentence_has_both_gains_and_their_pairs() -> None:
    gains = pairs_with(2.2, 2.3, 2.4, 2.2, 2.4, 2.3)
    found, _ = judge(gains, 2.5, all_at_once(6), change="window_bytes = 65,536 bytes")
    assert found.words == (
        "Confirmed: with window_bytes = 65,536 bytes the rate was 2.30 times as high (2.20 to 2.40 times in "
        "6 pairs); 2.50 times as high was predicted."
    )


@pytest.mark.parametrize(
    ("low", "high", "is_as_predicted"), [(1.9, 2.5, True), (2.35, 3.0, True), (2.5, 3.0, False), (None, None, None)]
)
def test_the_predicted_range_is_held_against_the_measured_one(
    low: float | None, high: float | None, is_as_predicted: bool | None
) -> None:
    found, _ = judge(pairs_with(2.2, 2.3, 2.4, 2.2, 2.4, 2.3), 2.5, all_at_once(6))
    ranged = beside_range(found, low, high)
    assert ranged.is_as_predicted is is_as_predicted
    words = ranged.words.removeprefix(found.words)
    assert ("meets" in words, "missed" in words) == (is_as_predicted is True, is_as_predicted is False)


@pytest.mark.parametrize(
    ("gains", "predicted", "is_settled"),
    [
        ((4.0,) * 6, 4.0, True),
        ((1.0,) * 6, 4.0, True),
        ((0.7, 2.0, 0.9, 1.9, 0.8, 1.8), 4.0, False),
        ((1.7, 1.8, 1.7, 1.8, 1.7, 1.8), 4.0, True),  # a gain, less than the claim: more pairs would say the same
        ((4.0,) * 5, 4.0, False),
    ],
)
def test_pairs_are_wanted_until_it_is_settled(
    gains: tuple[float, ...], predicted: float | None, *, is_settled: bool
) -> None:
    assert judge(pairs_with(*gains), predicted, Looks(6, 16), tried=len(gains)).is_settled is is_settled


def test_pairs_beyond_a_look_wait_for_the_next() -> None:
    looks = Looks(6, 16)
    noisy = (0.7, 2.0, 0.9, 1.9, 0.8, 1.8)
    at_six, _ = judge(pairs_with(*noisy), 4.0, looks, tried=6)
    at_eight, _ = judge(pairs_with(*noisy, 1.0, 1.0), 4.0, looks, tried=8)
    assert at_eight == at_six
    at_nine, _ = judge(pairs_with(*noisy, 1.0, 1.0, 1.0), 4.0, looks, tried=9)
    assert at_nine.pairs == 9
    assert "up to 16 pairs may" in at_six.words


def test_an_undecided_one_at_its_most_is_settled_and_says_so() -> None:
    found = judge(pairs_with(*((0.5, 2.5) * 8)), 2.0, Looks(6, 16), tried=16)
    assert found.is_settled
    assert found.verification.outcome == "undecided"
    assert "more pairs may (--most)" in found.verification.words
