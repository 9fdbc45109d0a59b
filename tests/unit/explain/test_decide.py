"""The decision: what is observed, and how probable it makes each cause."""

from collections.abc import Sequence

import pytest

from lab.truth.levels import View
from tests.unit.explain.situations import situations
from whyperf.explain.calibration.weights import Weights, weights
from whyperf.explain.causes import Cause
from whyperf.explain.decide import CANDIDATES, FEATURES, Candidate, level_of, probabilities, scaled
from whyperf.explain.observe import NAMED, Observation, observe
from whyperf.explain.rules.judge import judged
from whyperf.explain.trial_facts import Facts

MAX_OBSERVATIONS = 150


def test_observations_have_names_of_their_own_and_are_few() -> None:
    names = [named.name for named in NAMED]
    assert len(names) == len(set(names)) <= MAX_OBSERVATIONS


def test_what_nobody_saw_is_missing_with_a_reason() -> None:
    observed = observe(Facts("a trial"), NAMED)
    assert observed.keys() == {named.name for named in NAMED}
    thread, asked = observed["sender.cpu.thread"], observed["load.asked"]
    assert (thread.value, asked.value) == (None, None)
    assert "does not have it" in thread.missing
    assert "the load has none" in asked.missing


def test_every_level_has_the_same_names_and_a_log_has_more_values() -> None:
    seen = {situation.view: observe(situation.facts, NAMED) for situation in situations()}
    assert len({frozenset(observed) for observed in seen.values()}) == 1
    known = {view: sum(found.value is not None for found in observed.values()) for view, observed in seen.items()}
    assert known[View.SEGMENTS] > known[View.COUNTERS] >= known[View.USER]


def test_probabilities_are_those_of_the_weights() -> None:
    shown = scaled(observe(Facts("a trial", connections=4), NAMED))
    equal = probabilities([], shown, "segments", Weights())
    assert equal == pytest.approx(dict.fromkeys(CANDIDATES, 1 / len(CANDIDATES)))

    def likely(level: str = "user", found: Sequence[Candidate] = (), **weights: object) -> set[str]:
        probable = probabilities(found, shown, level, Weights.model_validate(weights))
        return {name for name, value in probable.items() if value > 0.9}

    assert likely("segments", levels={"bottleneck": {"segments": 50.0}}) == {"bottleneck"}
    assert likely("user", levels={"bottleneck": {"segments": 50.0}}) == set()
    assert likely("user", levels={"bottleneck": {"": 50.0}}) == {"bottleneck"}
    assert likely(observations={"random_loss": {"connections": 50.0}}) == {"random_loss"}
    # What is missing says nothing.
    assert likely(observations={"random_loss": {"link.used": 50.0}}) == set()
    policer = Candidate(Cause.POLICER, 0.5, 0.9)
    assert likely(found=[policer], features={"found": 50.0}) == {"policer"}
    assert likely(found=[policer], features={"open": 50.0}) == set()


def test_sizes_are_weighed_by_what_they_allow() -> None:
    seen = {
        (name, shown)
        for situation in situations()[:50]
        for name, shown in scaled(observe(situation.facts, NAMED)).items()
    }
    names = {name for name, _ in seen}
    assert "ceiling.window" in names
    assert not {"rate", "window.announced", "link.rate", "sender.buffer"} & names
    # No value outweighs all others.
    assert max(abs(shown) for _, shown in seen) < 4


def test_what_speaks_against_a_cause_is_as_far_below_zero() -> None:
    (bursts,) = (named for named in NAMED if named.name == "loss.bursts")
    shown = {value: scaled({"": Observation(bursts, value)})[""] for value in (-50.0, -1.0, 0.0, 1.0, 50.0)}
    assert list(shown.values()) == sorted(set(shown.values()))
    assert shown[0.0] == 0


def test_a_gain_that_nothing_predicts_is_no_gain_of_1() -> None:
    unknown, none, double = (Candidate(Cause.BOTTLENECK, 0.5, 0.9, gain).features for gain in (None, 1.0, 2.0))
    assert (unknown["gain.missing"], none["gain.missing"]) == (1, 0)
    assert (unknown["gain.none"], none["gain.none"], double["gain.none"]) == (0, 1, 0)
    assert double["gain"] == pytest.approx(0.693, abs=0.001)


def test_checked_in_weights_are_of_what_there_is() -> None:
    known, names = weights(), {named.name for named in NAMED}
    assert known.features.keys() <= set(FEATURES)
    assert known.levels.keys() | known.observations.keys() <= set(CANDIDATES)
    assert {name for of in known.observations.values() for name in of} <= names


def test_each_side_of_another_program_is_a_level_of_its_own() -> None:
    assert level_of(Facts("a trial", level="user", watched_sides="sender")) == "user.sender"
    assert level_of(Facts("a trial", level="user")) == "user"


def test_all_ranked_causes_a_trial_add_up_to_one() -> None:
    for situation in situations()[::20]:
        probabilities = judged(situation.facts, situation.setup).probabilities
        assert sum(each.probability for each in probabilities) == pytest.approx(1, abs=0.15)
        assert [each.probability for each in probabilities] == sorted(
            (each.probability for each in probabilities), reverse=True
        )
