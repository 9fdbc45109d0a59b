"""Fitting the weights of the decision."""

from random import Random

import numpy as np
import pytest

from lab.situations.evidence import Weighed
from lab.situations.fitting import fit, left_out, log_likelihood, outcome, predicted
from whyperf.explain.decide import ANOTHER


def row(number: int, shown: float, right: int) -> Weighed:
    """Of two candidates the one is right that `shown` speaks for."""
    of = ({"cause.one": 1.0, "loss.rtt": shown}, {"cause.two": 1.0, "link.rtt": shown}, {f"cause.{ANOTHER}": 1.0})
    names = ("one", "two", ANOTHER)
    return Weighed(f"s{number}", "user", names, of, tuple(right == place for place in range(3)), False, "wrong")


def rows_of(seed: int) -> list[Weighed]:
    rng = Random(seed)
    shown = [rng.uniform(-1, 1) for _ in range(400)]
    return [row(number, value, 0 if value > 0 else 1) for number, value in enumerate(shown)]


def test_what_speaks_for_a_cause_gets_its_weight() -> None:
    rows = rows_of(1)
    weights = fit(rows)
    assert weights["loss.rtt"] > 1 > -1 > weights["link.rtt"]
    assert predicted(row(0, 0.9, 0), weights)[0] > 0.9
    assert predicted(row(0, -0.9, 1), weights)[1] > 0.9


def test_situations_left_out_are_judged_as_well() -> None:
    rows = rows_of(2)
    probable = left_out(rows)
    assert np.mean([found.argmax() == np.argmax(each.right) for each, found in zip(rows, probable, strict=True)]) > 0.9
    assert log_likelihood(rows, probable) > np.log(1 / 3)


def test_what_shows_nothing_says_nothing() -> None:
    rng = Random(3)
    rows = [row(number, rng.uniform(-1, 1), rng.choice((0, 1))) for number in range(400)]
    shares = np.mean([found[:2] for found in left_out(rows)], axis=0)
    assert shares == pytest.approx([0.5, 0.5], abs=0.1)


@pytest.mark.parametrize(
    ("probable", "right", "is_undisturbed", "worth"),
    [
        ((0.9, 0.05, 0.05), 0, False, "right"),
        ((0.9, 0.05, 0.05), 1, False, "wrong"),
        ((0.5, 0.4, 0.1), 1, False, "candidate"),
        ((0.1, 0.1, 0.8), 2, False, "not_known"),
        # To name nothing is right where nothing limits.
        ((0.1, 0.1, 0.8), 2, True, "right"),
        ((0.9, 0.05, 0.05), 2, True, "wrong"),
    ],
)
def test_what_a_decision_is_worth(
    probable: tuple[float, float, float], right: int, is_undisturbed: bool, worth: str
) -> None:
    of = ({}, {}, {})
    names = ("one", "two", ANOTHER)
    weighed = Weighed("s", "user", names, of, tuple(right == place for place in range(3)), is_undisturbed, "")
    assert outcome(weighed, np.array(probable), 0.7) == worth
