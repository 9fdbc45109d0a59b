"""Intervals of gains: what predictions of the same class missed by."""

from collections.abc import Iterator

import pytest

from whyperf.explain.calibration.tables import GainClass, Gains, instead
from whyperf.explain.limits.gain import Gain
from whyperf.explain.limits.joint import calibrated
from whyperf.explain.wording.catalog import statement


def of(level: str, basis: str, low: float, median: float, high: float) -> GainClass:
    return GainClass(level=level, basis=basis, residuals=20, low=low, median=median, high=high)


TABLE = Gains(
    source="a test",
    date="2026-01-01",
    coverage=0.8,
    classes=(of("segments", "line", 0.9, 0.95, 1.0), of("segments", "", 0.5, 1.0, 2.0), of("", "", 0.2, 1.0, 4.0)),
)


@pytest.fixture(autouse=True)
def _table() -> Iterator[None]:
    with instead(TABLE):
        yield


@pytest.mark.parametrize(
    ("level", "basis", "interval"),
    [
        ("segments", "full_link", (9.0, 9.5, 10.0)),
        # A class of too few residuals takes its level's, and a level without any what is known of all.
        ("segments", "exchange", (5.0, 10.0, 20.0)),
        ("user", "full_link", (2.0, 10.0, 40.0)),
    ],
)
def test_an_interval_is_that_of_the_narrowest_class_with_enough_residuals(
    level: str, basis: str, interval: tuple[float, float, float]
) -> None:
    found = calibrated(Gain(10.0, 1.0, 100.0, statement(basis)), level)
    assert (found.low, found.ratio, found.high) == pytest.approx(interval)


def test_a_removed_limit_never_lowers_the_rate() -> None:
    found = calibrated(Gain(1.02, 1.0, 1.2, statement("full_link")), "segments")
    assert (found.low, found.ratio) == (1.0, 1.0)
    assert found.high == pytest.approx(1.02)


def test_a_rate_that_is_given_is_no_estimate_to_correct() -> None:
    given = Gain(10.0, 8.0, 10.0, statement("emulated_path"))
    assert calibrated(given, "segments") == given


def test_a_path_whose_rate_nothing_shows_may_be_full_already() -> None:
    assert calibrated(Gain(10.0, 8.0, 15.0, statement("unseen_link")), "counters").low == 1.0
