"""Confirmed, refuted or undecided: from pairs of rates and the gain that was predicted."""

import pytest

from whyperf.explain.verify import judge, thresholds


def pairs_with(*gains: float) -> list[tuple[float, float]]:
    return [(100.0, 100.0 * gain) for gain in gains]


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
        ((4.0, 4.0), 4.0, "undecided"),  # two pairs tell no interval
    ],
)
def test_the_outcome_follows_from_gain_interval_and_prediction(
    gains: tuple[float, ...], predicted: float | None, outcome: str
) -> None:
    found = judge(pairs_with(*gains), predicted, asked=len(gains), seed=1)
    assert found.outcome == outcome
    assert found.words.lower().startswith(outcome)
    assert found.pairs == len(gains)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= (found.measured_gain or 0) <= found.high


@pytest.mark.parametrize("predicted", [None, 0.8, 1.0, 1.01, 1.05, 1.1, 1.21, 1.5, 3.0, 100.0])
def test_no_gain_both_confirms_and_refutes(predicted: float | None) -> None:
    confirms, refutes = thresholds(predicted)
    assert 1 < refutes <= confirms


def test_pairs_without_a_result_are_told() -> None:
    found = judge(pairs_with(2.0, 2.0, 2.1), 2.0, asked=6, seed=1)
    assert "3 of 6 pairs" in found.words


def test_without_any_pair_it_is_undecided_and_says_so() -> None:
    found = judge([], 2.0, asked=6, seed=1)
    assert (found.outcome, found.measured_gain, found.low, found.high) == ("undecided", None, None, None)
    assert "0 of 6 pairs have a result" in found.words


def test_the_sentence_has_both_gains_and_their_pairs() -> None:
    found = judge(pairs_with(2.2, 2.3, 2.4, 2.2, 2.4, 2.3), 2.5, asked=6, seed=1, change="window_bytes = 65,536 bytes")
    assert found.words == (
        "Confirmed: with window_bytes = 65,536 bytes the rate was 2.30 times as high (2.20 to 2.40 times in "
        "6 pairs); 2.50 times as high was predicted."
    )
