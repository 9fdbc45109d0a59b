"""The decision: what is observed, and how probable it makes each cause."""

import pytest

from tests.unit.explain.situations import situations
from whyperf.explain.causes import Cause
from whyperf.explain.decide import ANOTHER, Candidate, features, level_of, probabilities
from whyperf.explain.observe import NAMED, observe
from whyperf.explain.rules.judge import judged
from whyperf.explain.trial_facts import Facts

MOST_OBSERVATIONS = 150


def test_observations_have_names_of_their_own_and_are_few() -> None:
    names = [named.name for named in NAMED]
    assert len(names) == len(set(names)) <= MOST_OBSERVATIONS
    assert {named.side for named in NAMED} == {"sender", "receiver", "both"}


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
    assert known["segments"] > known["counters"] >= known["user"]


def test_probabilities_are_those_of_the_weights() -> None:
    observed = observe(Facts("a trial", connections=4), NAMED)
    candidates = [Candidate(Cause.RANDOM_LOSS, 0.5, 0.9), Candidate(Cause.BOTTLENECK, 0.5, 0.9)]
    assert probabilities(candidates, observed, "segments", {}) == pytest.approx([1 / 3] * 3)
    by_cause = probabilities(candidates, observed, "segments", {"cause.bottleneck@segments": 50.0})
    assert by_cause == pytest.approx([0, 1, 0])
    assert probabilities(candidates, observed, "user", {"cause.bottleneck@segments": 50.0}) == pytest.approx(
        [1 / 3] * 3
    )
    by_family = probabilities(candidates, observed, "user", {"loss.connections": 50.0})
    assert by_family == pytest.approx([1, 0, 0], abs=1e-4)


def test_a_gain_that_nothing_predicts_is_no_gain_of_1() -> None:
    observed = observe(Facts("a trial"), NAMED)
    unknown, none, double = (
        features(Candidate(Cause.BOTTLENECK, 0.5, 0.9, gain), observed, "user") for gain in (None, 1.0, 2.0)
    )
    assert (unknown["gain.missing"], none["gain.missing"]) == (1, 0)
    assert (unknown["gain.none"], none["gain.none"], double["gain.none"]) == (0, 1, 0)
    assert double["gain"] == pytest.approx(0.693, abs=0.001)


def test_each_side_of_another_program_is_a_level_of_its_own() -> None:
    assert level_of(Facts("a trial", level="user", watched_sides="sender")) == "user.sender"
    assert level_of(Facts("a trial", level="user")) == "user"


def test_all_chances_of_a_trial_add_up_to_one() -> None:
    for situation in situations()[::20]:
        chances = judged(situation.facts, situation.setup).chances
        assert sum(chance.probability for chance in chances) == pytest.approx(1, abs=0.01)
        assert [chance.probability for chance in chances] == sorted(
            (chance.probability for chance in chances), reverse=True
        )
        assert ANOTHER in {chance.cause for chance in chances}
