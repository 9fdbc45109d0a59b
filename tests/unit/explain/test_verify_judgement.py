"""Confirmed, refuted or undecided: from pairs of rates and the gain that was predicted."""

import pytest

from whyperf.explain.verify import Looks, Pair, PredictedGain, judge, worth_gain


def pairs_with(*gains: float) -> list[Pair]:
    return [Pair(block, 100.0, 100.0 * gain) for block, gain in enumerate(gains, start=1)]


def all_at_once(count: int) -> Looks:
    return Looks(count, count)


@pytest.mark.parametrize(
    ("gains", "predicted", "outcome"),
    [
        ((3.9, 4.0, 4.1, 4.0, 4.2, 3.8), 4.0, "confirmed"),
        ((1.7, 1.8, 1.7, 1.8, 1.7, 1.8), 4.0, "confirmed"),  # the cause, though not the size of its gain
        ((1.5, 1.6, 1.7, 1.5, 1.6, 1.7), 4.0, "undecided"),  # around what is worth the claim
        ((1.5, 1.45, 1.5, 1.4, 1.5, 1.5), 4.0, "refuted"),  # under a third of it
        ((0.99, 1.0, 1.01, 1.0, 1.02, 0.98), 1.5, "refuted"),
        ((1.0, 1.0, 1.0, 1.0, 1.0, 1.0), None, "refuted"),
        ((1.2, 1.21, 1.19, 1.2, 1.2, 1.22), None, "confirmed"),
        ((0.6, 1.9, 0.7, 1.6, 0.8, 1.9), 1.5, "undecided"),  # noise
        ((1.06, 1.07, 1.06, 1.07, 1.06, 1.07), 1.1, "confirmed"),  # a small claim, kept
        ((1.01, 1.0, 1.01, 1.0, 1.01, 1.0), 1.1, "refuted"),
        ((0.5, 0.5, 0.5, 0.5, 0.5, 0.5), 1.3, "refuted"),
        ((4.0, 4.0, 4.0, 4.0, 4.0), 4.0, "undecided"),  # five pairs give no interval of 95 %
        ((1.02, 1.03, 1.02, 1.9, 1.95, 1.98), 1.8, "undecided"),  # perhaps nothing
        ((2.0, 2.1, 1.9, 2.0, 0.02, 2.1, 2.0, 1.9, 2.0, 2.1, 2.0, 2.0), 2.0, "confirmed"),  # one wild pair
    ],
)
def test_the_outcome_follows_from_gain_interval_and_prediction(
    gains: tuple[float, ...], predicted: float | None, outcome: str
) -> None:
    found, _ = judge(pairs_with(*gains), PredictedGain(predicted), all_at_once(len(gains)))
    assert found.outcome == outcome
    assert found.code.startswith(outcome) or found.code in {"too_few", "no_pairs"}
    assert found.words == f"{found.cause_words} {found.prediction_words}".rstrip()
    assert found.pairs == len(gains)
    if len(gains) >= 6:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= (found.measured_gain or 0) <= found.high


@pytest.mark.parametrize(
    ("claimed", "worth"), [(None, 1.1), (0.8, 1.1), (1.0, 1.1), (1.1, 1.0488), (1.21, 1.1), (4.0, 1.5874), (1000.0, 10)]
)
def test_a_larger_claim_wants_more_and_a_small_one_no_more_than_it_claims(claimed: float | None, worth: float) -> None:
    assert worth_gain(claimed) == pytest.approx(worth, rel=1e-4)


@pytest.mark.parametrize(
    ("recorded", "code"),
    [(None, "refuted"), (100.0, "refuted"), (51.0, "refuted"), (199.0, "refuted"), (49.0, "not_reproduced"),
     (201.0, "not_reproduced")],
)  # fmt: skip
def test_nothing_is_judged_where_the_original_is_not_as_it_was_explained(recorded: float | None, code: str) -> None:
    pairs = pairs_with(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    found, is_settled = judge(pairs, PredictedGain(4.0, 3.0, 5.0), Looks(6, 16), tried=6, recorded=recorded)
    assert (found.code, found.measured_gain is None, is_settled) == (code, code == "not_reproduced", True)
    if code == "not_reproduced":
        assert (found.outcome, found.is_as_predicted, found.prediction_words) == ("undecided", None, "")
        assert found.words.startswith("Not reproduced: in 6 pairs the original has 100 bit/s, and had ")
        assert "Cause" not in found.words


def test_a_single_pair_does_not_show_that_the_original_has_changed() -> None:
    found, is_settled = judge(pairs_with(1.0), PredictedGain(4.0), Looks(6, 16), tried=1, recorded=1e9)
    assert (found.code, is_settled) == ("too_few", False)


def test_pairs_without_a_result_are_counted() -> None:
    found, _ = judge(pairs_with(2.0, 2.0, 2.1), PredictedGain(2.0), all_at_once(6))
    assert (found.code, found.pairs, found.values["tried_pairs"]) == ("too_few", 3, 6)


def test_without_any_pair_it_is_undecided_and_says_so() -> None:
    found, _ = judge([], PredictedGain(2.0), all_at_once(6))
    assert (found.outcome, found.measured_gain, found.low, found.high) == ("undecided", None, None, None)
    assert (found.code, found.values["tried_pairs"]) == ("no_pairs", 6)


MEASURED = (3.0, 3.1, 3.2, 2.8, 3.4, 3.1)


@pytest.mark.parametrize(
    ("predicted", "is_as_predicted"),
    [
        (PredictedGain(12.0, 8.0, 18.0), False),
        (PredictedGain(0.25, 0.2, 0.3), False),
        (PredictedGain(3.0, 2.0, 4.5), True),
        (PredictedGain(4.0, 3.35, 4.5), True),
        (PredictedGain(None, 2.0, 40.0), None),
        (PredictedGain(), None),
    ],
)
def test_whether_it_is_the_cause_and_whether_the_gain_is_as_predicted_are_two_answers(
    predicted: PredictedGain, is_as_predicted: bool | None
) -> None:
    found, _ = judge(pairs_with(*MEASURED), predicted, all_at_once(6), change="window_bytes = 65,536 bytes")
    assert found.outcome == "confirmed"
    assert found.values["change"] == "window_bytes = 65,536 bytes"
    assert (found.measured_gain, found.low, found.high) == pytest.approx((3.1, 2.8, 3.4), rel=1e-2)
    assert found.is_as_predicted is is_as_predicted
    assert (found.predicted_gain, found.predicted_low, found.predicted_high) == predicted


def test_noise_that_allows_no_gain_at_all_proves_no_prediction_right() -> None:
    found, _ = judge(pairs_with(0.6, 1.9, 0.7, 1.6, 0.8, 1.9), PredictedGain(1.5, 1.3, 1.7), all_at_once(6))
    assert (found.outcome, found.is_as_predicted) == ("undecided", None)


def test_of_a_gain_that_was_left_open_the_low_end_is_the_claim() -> None:
    wide = PredictedGain(None, 27.0, 1000.0)
    assert judge(pairs_with(*(2.9,) * 6), wide, all_at_once(6)).verification.outcome == "refuted"
    assert judge(pairs_with(*(3.1,) * 6), wide, all_at_once(6)).verification.outcome == "confirmed"


@pytest.mark.parametrize(
    ("gains", "predicted", "is_settled"),
    [
        ((4.0,) * 6, 4.0, True),
        ((1.0,) * 6, 4.0, True),
        ((0.7, 2.0, 0.9, 1.9, 0.8, 1.8), 4.0, False),
        ((1.7, 1.8, 1.7, 1.8, 1.7, 1.8), 4.0, True),
        ((4.0,) * 5, 4.0, False),
    ],
)
def test_pairs_are_wanted_until_it_is_settled(
    gains: tuple[float, ...], predicted: float | None, *, is_settled: bool
) -> None:
    assert judge(pairs_with(*gains), PredictedGain(predicted), Looks(6, 16), tried=len(gains)).is_settled is is_settled


def test_pairs_beyond_a_look_wait_for_the_next() -> None:
    looks = Looks(6, 16)
    noisy = (0.7, 2.0, 0.9, 1.9, 0.8, 1.8)
    at_six, _ = judge(pairs_with(*noisy), PredictedGain(4.0), looks, tried=6)
    at_eight, _ = judge(pairs_with(*noisy, 1.0, 1.0), PredictedGain(4.0), looks, tried=8)
    assert at_eight == at_six
    at_nine, _ = judge(pairs_with(*noisy, 1.0, 1.0, 1.0), PredictedGain(4.0), looks, tried=9)
    assert at_nine.pairs == 9
    assert (at_six.code, at_six.values["max_pairs"]) == ("undecided_open", 16)


def test_an_undecided_one_at_its_most_is_settled() -> None:
    found = judge(pairs_with(*((0.5, 2.5) * 8)), PredictedGain(2.0), Looks(6, 16), tried=16)
    assert found.is_settled
    assert found.verification.outcome == "undecided"
    assert found.verification.code == "undecided_final"
