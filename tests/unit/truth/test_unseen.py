"""Counts of whole levels from situations on which no rule had been tuned."""

import pytest

from scripts.calibrate_diagnosis import with_unseen
from whyperf.explain.calibration.tables import Confidence, RuleRecord

TUNED = Confidence(
    source="a test",
    date="2026-11-23",
    rules=(
        RuleRecord(level="counters", code="", verdicts=100, right=100),
        RuleRecord(level="counters", code="bottleneck", verdicts=10, right=10),
        RuleRecord(level="user", code="", verdicts=50, right=50),
    ),
)


def test_a_level_has_the_counts_of_what_was_not_seen() -> None:
    found = {
        (rule.level, rule.code): (rule.right, rule.verdicts) for rule in with_unseen(TUNED, ["counters=38/43"]).rules
    }
    assert found == {("counters", ""): (38, 43), ("counters", "bottleneck"): (10, 10), ("user", ""): (50, 50)}


def test_a_count_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        with_unseen(TUNED, ["counters"])
