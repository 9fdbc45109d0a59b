"""Gains that verdicts on doses predict, compared with the rates of their baselines."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from lab.truth.figures import figures
from lab.truth.gains import Prediction, median_error, prediction_of
from lab.truth.grade import Grade
from lab.truth.output.page import markdown
from tests.lab.unit.truth.explained_doses import HELD_OUT, graded, paced
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Change, Level, Verdict


def verdict(gain: float | None, **change: Level) -> Verdict:
    return Verdict(
        cause=Cause.PACING_RATE,
        claim="It is.",
        confidence="high",
        evidence=[],
        refuted_by="",
        change=Change(factors=change),
        predicted_gain=gain,
        predicted_low=None if gain is None else gain / 2,
        predicted_high=None if gain is None else gain * 2,
    )


def test_a_change_is_compared_where_it_restores_the_baseline() -> None:
    def is_compared(own: Mapping[str, object], baseline: Mapping[str, object], **change: Level) -> bool:
        return prediction_of(verdict(3, **change), 4, own, baseline) is not None

    paced, free = {"pacing_rate_bps": 1000}, {"pacing_rate_bps": "default"}
    assert is_compared(paced, free, pacing_rate_bps="default")
    assert not is_compared(paced, free, pacing_rate_bps=2000)
    short, long = paced | {"request_size_bytes": 64}, free | {"request_size_bytes": 512}
    assert not is_compared(short, long, pacing_rate_bps="default")
    assert is_compared({"path_loss": 0.01}, {"path_loss": "none"}, path_loss=0.0)
    assert is_compared({"think_us": 50, "workload": "computing"}, {"workload": "plain"}, think_us=0)
    # A plan cannot make the change: the prediction is the rate without the cause.
    assert is_compared(paced, free)
    assert prediction_of(verdict(None), 4, paced, free) is None


def test_the_error_is_a_ratio_of_the_measured_gain() -> None:
    off = [Prediction(8, 4, 16, 10), Prediction(30, 15, 60, 10), Prediction(10, 9, 11, 10)]
    assert [prediction.is_inside for prediction in off] == [True, False, True]
    assert median_error(off) == pytest.approx(0.2)
    assert median_error([]) is None


@pytest.fixture
def grades(tmp_path: Path) -> list[Grade]:
    """Three doses: a good prediction, a bad one, and a held-out dose without any."""
    predicted = {"paced-dose1": 9.0, "paced-dose2": 20.0, "paced-dose3": None}
    verdicts = {role: [verdict(gain, pacing_rate_bps="default")] for role, gain in predicted.items()}
    rates = {"paced-baseline": 10e6, "paced-dose1": 1e6, "paced-dose2": 2e6, "paced-dose3": 3e6}
    return graded(tmp_path, paced(1, 2) + HELD_OUT, verdicts, rates)


def test_a_dose_has_its_predicted_and_its_measured_gain(grades: list[Grade]) -> None:
    gains_of = [grade.prediction and (grade.prediction.predicted, grade.prediction.measured) for grade in grades]
    assert gains_of == [(9, 10), (20, 5), None]
    gains = next(figure for figure in figures(grades) if figure.key == "gains")
    assert (gains.count, gains.of, gains.holds) == (1, 2, True)


def test_the_page_shows_errors_and_intervals(grades: list[Grade]) -> None:
    page = markdown(grades, ["Linux"])
    # The errors are 10 % (9 for 10) and 300 % (20 for 5); the median is their mean.
    assert "| all doses | 155% | 1 of 2 |" in page
    assert "| first | 9.00 (4.5 to 18) | 10.0 |" in page
