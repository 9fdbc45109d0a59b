"""Confidence is how often such verdicts were right, and too little of it is "not known"."""

from collections.abc import Iterator

import pytest

from tests.unit.explain.test_rules import facts
from whyperf.explain.calibration.tables import Confidence, Gains, RuleRecord, instead
from whyperf.explain.causes import Cause
from whyperf.explain.rules import Finding, judge
from whyperf.explain.rules.confidence import confidence_in, right_ratio

TABLE = Confidence(
    source="a test",
    date="2026-01-01",
    rules=(
        RuleRecord(level="segments", code="", verdicts=100, right=90),
        RuleRecord(level="segments", code="receive_buffer", verdicts=40, right=40),
        RuleRecord(level="segments", code="receive_buffer.full", verdicts=3, right=1),
        RuleRecord(level="segments", code="slow_writer", verdicts=20, right=6),
        RuleRecord(level="segments", code="capacity", verdicts=2, right=2),
    ),
)
NO_GAINS = Gains(source="a test", date="2026-01-01", coverage=0.8)
WINDOW = {"shares": {"receive_window_buffer": 0.9}}


@pytest.fixture(autouse=True)
def _table() -> Iterator[None]:
    with instead(NO_GAINS, TABLE):
        yield


def test_many_right_verdicts_are_worth_high_confidence_and_few_are_drawn_to_their_level() -> None:
    assert right_ratio("receive_buffer", "segments") == pytest.approx((40 + 4 * 0.896) / 44, abs=1e-3)
    # Two of two right are far from certain: the level's share weighs four verdicts.
    assert right_ratio("capacity", "segments") == pytest.approx((2 + 4 * 0.896) / 6, abs=1e-3)
    # A variant is drawn towards its cause.
    worse = right_ratio("receive_buffer.full", "segments")
    assert worse == pytest.approx((1 + 4 * right_ratio("receive_buffer", "segments")) / 7, abs=1e-3)
    # Without counts of its own it has its cause's, a rule without any its level's.
    assert right_ratio("receive_buffer.some", "segments") == right_ratio("receive_buffer", "segments")
    assert right_ratio("reordering", "segments") == right_ratio("", "segments")


@pytest.mark.parametrize(
    ("cause", "certainty", "word"),
    [
        (Cause.RECEIVE_BUFFER, 0.9, "high"),
        (Cause.RECEIVE_BUFFER, 0.55, "medium"),
        (Cause.RECEIVE_BUFFER, 0.45, "low"),
        (Cause.REORDERING, 0.9, "medium"),
        (Cause.SLOW_WRITER, 0.95, "low"),
    ],
)
def test_a_word_stands_for_a_share_of_right_verdicts_and_never_for_an_uncertain_finding(
    cause: Cause, certainty: float, word: str
) -> None:
    assert confidence_in(Finding(cause, 0.9, certainty, ()), "segments").word == word


def test_what_the_kernel_counts_is_worth_its_certainty_where_no_experiment_has_it() -> None:
    assert confidence_in(Finding(Cause.RECEIVER_LOSS, 0.9, 0.95, (), is_counted=True), "user").word == "high"
    assert confidence_in(Finding(Cause.RECEIVER_LOSS, 0.9, 0.95, ()), "user").word == "medium"


def test_a_rule_that_is_often_wrong_is_no_first_verdict() -> None:
    first, second = judge(facts({"shares": {"not_writing": 0.9}, "calls.asleep_ratio": 0.9}))[:2]
    assert (first.code, second.cause) == ("not_known.ranked", Cause.SLOW_WRITER)
    assert first.values["causes"] == ["slow_writer"]
    assert "--verify" in first.claim
    # The counter-case: a rule that is right stands first itself.
    trusted = judge(facts(WINDOW))
    assert (trusted[0].cause, trusted[0].confidence, trusted[0].certainty) == (Cause.RECEIVE_BUFFER, "high", 0.9)
