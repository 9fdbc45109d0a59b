"""Conditions of `--fail-if`."""

import pytest

from tests.whole.report.compare import drawn_comparisons as made
from whyperf.compare.comparison import CellPair, DifferenceTest
from whyperf.compare.limits import LimitError, exceeded, limit_of, without_row


def pair(ratio: float | None, p_value: float | None = 0.001, *, is_significant: bool = True) -> CellPair:
    """A pair whose goodput, copying and whole cost have this ratio."""
    of = DifferenceTest(difference=1.0, p_value=p_value, is_significant=is_significant)
    changed = {"ratio": ratio, "is_ratio_tested": True, "test": of}
    copy = made.cost_class("copy", [made.function("_copy_from_iter", 1, 1)]).model_copy(update=changed)
    side = made.side("sender", [copy]).model_copy(update=changed)
    goodput = made.figure("goodput", 1, 1).model_copy(update=changed)
    return made.cell_pair(sides=[side]).model_copy(update={"quantities": (goodput,)})


@pytest.mark.parametrize("row", ["goodput", "copy.sender", "cost.sender"])
@pytest.mark.parametrize(
    ("condition", "ratio", "holds"),
    [
        ("<0.97", 0.96, True), ("<0.97", 0.97, False), ("<=0.97", 0.97, True), (">1.1", 1.2, True),
        (">1.1", 1.1, False),
        (">=1.1", 1.1, True), (" < 97 %", 0.96, True), ("<97%", 0.98, False), (">1e-1", 0.5, True),
    ],
)  # fmt: skip
def test_a_ratio_beyond_the_limit_fails(row: str, condition: str, ratio: float, holds: bool) -> None:
    found = exceeded([limit_of(f"{row}{condition}")], [pair(ratio)])
    assert [entry.value for entry in found] == ([ratio] if holds else [])


def test_a_difference_that_is_not_significant_does_not_fail() -> None:
    limit = limit_of("goodput<0.97")
    assert not exceeded([limit], [pair(0.5, 0.3, is_significant=False)])
    # With one trial each, the ratio is all there is.
    assert exceeded([limit], [pair(0.5, None, is_significant=False)])


def test_a_row_that_no_pair_has_is_named() -> None:
    limits = [limit_of("goodput<0.97"), limit_of("latency_p99>1.1"), limit_of("ip.receiver>2")]
    assert [limit.row for limit in without_row(limits, [pair(1.0)])] == ["latency_p99", "ip.receiver"]
    assert [limit.row for limit in without_row(limits[:1], [pair(None)])] == ["goodput"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("goodput", "is no condition"), ("goodput=1", "is no condition"), ("<0.9", "is no condition"),
        ("godput<0.9", "did you mean goodput"), ("copy<1", "there is no row copy"), ("goodput<0", "above 0"),
        ("goodput<1.2.3", "is no number"), ("goodput>9999", "up to 1000"),
    ],
)  # fmt: skip
def test_other_texts_are_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(LimitError, match=sentence):
        limit_of(text)
