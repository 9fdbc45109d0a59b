"""Medians of cut times against a product-limit estimator written out."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.analyze.transports.adapting import Wait
from whyperf.analyze.transports.summary import duration

WAITS = st.lists(st.builds(Wait, st.integers(1, 12).map(float), st.booleans()), min_size=1, max_size=25)


def product_limit_median(waits: list[Wait]) -> float | None:
    """Kaplan and Meier in exact fractions: the first time at which half or less are still waiting."""
    surviving = Fraction(1)
    for time in sorted({wait.seconds for wait in waits if wait.reached}):
        at_risk = sum(wait.seconds >= time for wait in waits)
        surviving *= 1 - Fraction(sum(wait.reached and wait.seconds == time for wait in waits), at_risk)
        if surviving <= Fraction(1, 2):
            return time
    return None


@given(WAITS)
def test_the_median_is_that_of_the_product_limit_estimator(waits: list[Wait]) -> None:
    found = duration(waits)
    assert found.median_s == product_limit_median(waits)
    assert (found.count, found.cut_count) == (len(waits), sum(not wait.reached for wait in waits))


@given(WAITS)
def test_the_interval_holds_the_median(waits: list[Wait]) -> None:
    found = duration(waits)
    if found.median_s is not None:
        assert found.low_s is None or found.low_s <= found.median_s
        assert found.high_s is None or found.high_s >= found.median_s


def test_by_hand() -> None:
    waits = [Wait(1, reached=True), Wait(2, reached=False), Wait(3, reached=True), Wait(4, reached=True)]
    # 3/4 after 1 s, then 2 are at risk: 3/8 after 3 s.
    assert duration(waits).median_s == pytest.approx(3)
    assert duration([Wait(5, reached=False)] * 3).median_s is None
    assert duration([]).count == 0
