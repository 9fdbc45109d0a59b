"""What verdicts are worth by those that were given before any rule had been mended on them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lab.truth.calibration.__main__ import FirstLook, first_looks, with_first_looks
from lab.truth.calibration.residuals import Claimed
from whyperf.explain.calibration.tables import Confidence, RuleRecord

TUNED = Confidence(
    source="a test",
    date="2026-11-23",
    rules=(
        RuleRecord(level="counters", code="", verdicts=100, right=100),
        RuleRecord(level="counters", code="bottleneck", verdicts=8, right=8),
        RuleRecord(level="counters", code="bottleneck.regrown", verdicts=4, right=3),
    ),
)


def claim(situation: str, *, is_right: bool) -> Claimed:
    return Claimed(
        source="a record", situation=situation, level="counters", number=1, code="bottleneck", cause="bottleneck",
        basis="", certainty=0.9, is_right=is_right, model_gain=None, measured_gain=None, predicted_gain=None, low=None,
        high=None, confidence="high",
    )  # fmt: skip


def test_a_first_look_counts_once_and_a_verdict_of_today_half_of_that() -> None:
    looks = [FirstLook("counters", name, "bottleneck", is_right) for name, is_right in (("a", True), ("b", False))]
    found = with_first_looks(TUNED, looks, [claim("a", is_right=True), claim("b", is_right=False)])
    counts = {rule.code: (rule.right, rule.verdicts) for rule in found.rules}
    assert counts == {"": (1, 2), "bottleneck": (5, 6), "bottleneck.regrown": (1.5, 2)}


def test_a_situation_counts_once_however_often_it_was_measured() -> None:
    looks = [FirstLook("counters", name, "bottleneck", is_right=name == "a") for name in ("a", "b", "b")]
    found = with_first_looks(TUNED, looks, [claim("a", is_right=True), claim("b", is_right=False)])
    whole = next(rule for rule in found.rules if not rule.code)
    assert (whole.right, whole.verdicts) == (1, 2)


def test_a_look_counts_for_the_variant_that_is_named_today() -> None:
    looks = [FirstLook("counters", "a", "bottleneck", is_right=False)]
    today = replace(claim("a", is_right=False), code="bottleneck.regrown")
    counts = {rule.code: (rule.right, rule.verdicts) for rule in with_first_looks(TUNED, looks, [today]).rules}
    assert counts == {"": (0, 1), "bottleneck": (4, 4), "bottleneck.regrown": (1.5, 3)}


@pytest.mark.parametrize(("is_right_now", "right"), [(True, 0.5), (False, 0.0)])
def test_what_was_wrong_and_is_mended_counts_half(is_right_now: bool, right: float) -> None:
    looks = [FirstLook("counters", "b", "bottleneck", is_right=False)]
    found = with_first_looks(TUNED, looks, [claim("b", is_right=is_right_now)])
    assert next(rule.right for rule in found.rules if not rule.code) == right


def test_only_named_causes_of_what_counts_are_read(tmp_path: Path) -> None:
    row = {
        "of": "deep",
        "part": "situation",
        "dose": 0,
        "level": "user",
        "first": "pause",
        "outcome": "first",
        "counts": True,
    }
    others = [row | {"first": "not_known"}, row | {"counts": False}, row | {"level": "run"}]
    file = tmp_path / "look.json"
    file.write_text(json.dumps({"diagnoses": [row, *others]}))
    assert first_looks(file) == [FirstLook("user", "deep-situation", "pause", is_right=True)]
