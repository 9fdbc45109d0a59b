"""Fitting the weights of the decision."""

import dataclasses
import math
from collections import Counter
from random import Random

import pytest

from lab.situations.evidence import Weighed, limits_undisturbed
from lab.situations.fitting import fit, left_out, log_likelihood, outcome, predicted
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.decide import Candidate
from whyperf.explain.host_facts import HostFacts, Processors
from whyperf.explain.observe import NAMED, observe
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts


def row(number: int, shown: float, right: str) -> Weighed:
    """A trial in which two causes are found, and one observation separates them."""
    found = (Candidate(Cause.RANDOM_LOSS, 0.5, 0.9), Candidate(Cause.BOTTLENECK, 0.5, 0.9))
    return Weighed(f"s{number}", "user", "user", found, {"rtt": shown}, frozenset(), frozenset({right}), False, "wrong")


def rows_of(seed: int) -> list[Weighed]:
    rng = Random(seed)
    shown = [rng.uniform(-1, 1) for _ in range(400)]
    return [row(number, value, "random_loss" if value > 0 else "bottleneck") for number, value in enumerate(shown)]


def test_what_speaks_for_a_cause_gets_its_weight() -> None:
    weights = fit(rows_of(1))
    assert weights.observations["random_loss"]["rtt"] > 1 > -1 > weights.observations["bottleneck"]["rtt"]
    assert predicted(row(0, 0.9, "random_loss"), weights)["random_loss"] > 0.9
    assert predicted(row(0, -0.9, "bottleneck"), weights)["bottleneck"] > 0.9


def test_what_earlier_situations_gave_is_kept_on_top() -> None:
    base = fit(rows_of(1))
    few = [row(number, 0.9, "random_loss") for number in range(6)]
    on_top, alone = fit(few, base), fit(few)
    shown = row(0, -0.9, "bottleneck")
    assert predicted(shown, on_top)["bottleneck"] > 0.8 > predicted(shown, alone)["bottleneck"]


def test_situations_left_out_are_judged_as_well() -> None:
    rows = rows_of(2)
    probable = left_out(rows)
    worth = Counter(outcome(each, found, 0.5) for each, found in zip(rows, probable, strict=True))
    assert worth["right"] > 0.9 * len(rows)
    assert log_likelihood(rows, probable) > math.log(1 / 2)


def test_what_shows_nothing_says_nothing() -> None:
    rng = Random(3)
    rows = [row(number, rng.uniform(-1, 1), rng.choice(("random_loss", "bottleneck"))) for number in range(400)]
    mean = sum(found["random_loss"] for found in left_out(rows)) / len(rows)
    assert mean == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("probable", "right", "worth"),
    [
        ({"random_loss": 0.9, "policer": 0.1}, "random_loss", "right"),
        ({"bottleneck": 0.9, "random_loss": 0.1}, "random_loss", "wrong"),
        ({"bottleneck": 0.5, "random_loss": 0.4}, "random_loss", "candidate"),
        # What no rule finds is no verdict, and can be a candidate.
        ({"policer": 0.9, "random_loss": 0.1}, "policer", "candidate"),
        # To name nothing is right where nothing limits.
        ({"another": 0.8, "random_loss": 0.1}, "another", "right"),
        ({"another": 0.1, "random_loss": 0.9}, "another", "wrong"),
        ({"another": 0.4, "random_loss": 0.6}, "another", "right"),
    ],
)
def test_what_a_decision_is_worth(probable: dict[str, float], right: str, worth: str) -> None:
    weighed = dataclasses.replace(row(1, 0.5, right), is_undisturbed=right == ANOTHER)
    assert outcome(weighed, probable, 0.7) == worth


@pytest.mark.parametrize(
    ("group", "factors", "wanted", "limits"),
    [
        ("stream", {"path_rate_bps": 1_000_000}, 0.1, {ANOTHER, "bottleneck"}),
        ("stream", {"path_rate_bps": 1_000_000}, 0.95, {ANOTHER, "bottleneck", "capacity"}),
        ("stream", {}, 0.95, {ANOTHER, "capacity"}),
        ("requests", {"path_rate_bps": 1_000_000}, 0.1, {ANOTHER, "round_trip"}),
    ],
)
def test_a_load_that_nothing_disturbs_has_the_limits_of_its_situation(
    group: str, factors: dict[str, int], wanted: float, limits: set[str]
) -> None:
    facts = Facts("a trial", sender=HostFacts(processors=Processors(thread_ratio=wanted)))
    assert limits_undisturbed(group, Setup(factors), observe(facts, NAMED)) == limits
