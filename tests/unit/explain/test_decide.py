"""The decision: what each limit takes and would bring, and how probable that makes its cause."""

import math
from collections.abc import Sequence

import pytest

from tests.unit.explain.situations import situations
from whyperf.explain.calibration.tables import Weights, weights
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.decide import (
    CANDIDATES,
    FEATURES,
    MAX_GAIN,
    MIN_PROBABILITY,
    MIN_SHARE,
    UNFOUND,
    Candidate,
    as_ranked,
    candidates_of,
    level_of,
    probabilities,
)
from whyperf.explain.limits.gain import gain
from whyperf.explain.limits.judge import judged
from whyperf.explain.limits.limit import Limit
from whyperf.explain.trial_facts import Facts

POLICER = Candidate(Cause.POLICER, 0.5)


def test_without_weights_all_are_as_probable() -> None:
    equal = probabilities([POLICER], "segments", Weights())
    assert equal == pytest.approx(dict.fromkeys(CANDIDATES, 1 / len(CANDIDATES)))


@pytest.mark.parametrize(
    ("given", "level", "found", "likely"),
    [
        ({"levels": {"policer": {"segments": 50.0}}}, "segments", [POLICER], {"policer"}),
        ({"levels": {"policer": {"segments": 50.0}}}, "user", [POLICER], set()),
        ({"levels": {"policer": {"": 50.0}}}, "user", [POLICER], {"policer"}),
        ({"features": {"share": 100.0}}, "user", [POLICER], {"policer"}),
        # The weights of a cause are on top of those of all.
        ({"features": {"share": 100.0}, "own": {"policer": {"share": -100.0}}}, "user", [POLICER], set()),
        # A cause that takes nothing has no figures, and no level: all of them are as likely.
        ({"levels": {"policer": {"": 50.0}}, "own": {"policer": {"share": 100.0}}}, "user", [], set()),
        ({"features": {UNFOUND: -50.0}}, "user", [], {ANOTHER}),
    ],
)
def test_probabilities_are_those_of_the_weights(
    given: dict[str, object], level: str, found: Sequence[Candidate], likely: set[str]
) -> None:
    probable = probabilities(found, level, Weights.model_validate(given))
    assert {name for name, value in probable.items() if value > 0.9} == likely
    assert sum(probable.values()) == pytest.approx(1)


def test_a_gain_that_nothing_predicts_is_no_gain_of_1() -> None:
    unknown, none, double = (Candidate(Cause.BOTTLENECK, 0.5, ratio).features for ratio in (None, 1.0, 2.0))
    assert (unknown["gain.missing"], none["gain.missing"]) == (1, 0)
    assert (unknown["gain.none"], none["gain.none"], double["gain.none"]) == (0, 1, 0)
    assert double["gain"] == pytest.approx(math.log(2))
    assert double["gain.share"] == pytest.approx(math.log(2) / 2)


def test_a_ceiling_speaks_by_how_far_from_the_rate_it_is() -> None:
    near, above, below, unknown = (
        Candidate(Cause.BOTTLENECK, 0.5, ceiling=ceiling).features for ceiling in (1.0, 2.0, 0.5, None)
    )
    assert (near["ceiling"], near["ceiling.missing"], unknown["ceiling.missing"]) == (0, 0, 1)
    assert above["ceiling"] == pytest.approx(below["ceiling"]) == pytest.approx(math.log(2))


def test_no_share_and_no_gain_outweighs_all_others() -> None:
    least, whole = Candidate(Cause.POLICER, 1e-9, 0.5).features, Candidate(Cause.POLICER, 1.0, 1e9).features
    assert (least["share.log"], whole["share.log"]) == (math.log(MIN_SHARE), 0)
    assert least["gain"] == 0
    assert whole["gain"] == pytest.approx(math.log(MAX_GAIN))


def test_a_part_of_the_time_brings_no_more_than_the_rest_allows() -> None:
    assert Candidate(Cause.POLICER, 0.5, 15.0).features["gain"] == pytest.approx(math.log(2))


def test_of_each_cause_the_limit_that_takes_most_is_weighed() -> None:
    double = gain(2.0, 1.5, "cpu")
    found = [
        Limit(Cause.RANDOM_LOSS, 0.2, gain=double),
        Limit(Cause.RANDOM_LOSS, 0.4),
        Limit(Cause.PAUSE, 0.3, gain=double, ceiling=1.1),
        Limit(Cause.NOT_KNOWN, 0.9),
    ]
    assert candidates_of(found) == [Candidate(Cause.RANDOM_LOSS, 0.4), Candidate(Cause.PAUSE, 0.3, 2.0, 1.1)]


def test_a_ranking_is_of_what_is_not_next_to_nothing_and_knows_what_has_evidence() -> None:
    ranked = as_ranked({"bottleneck": 0.3, "policer": 0.69, "pause": MIN_PROBABILITY / 2}, [POLICER])
    assert [(each.cause, each.is_found) for each in ranked] == [("policer", True), ("bottleneck", False)]


def test_checked_in_weights_are_of_what_there_is() -> None:
    known = weights()
    assert known.features.keys() <= {*FEATURES, UNFOUND}
    assert known.levels.keys() | known.own.keys() <= set(CANDIDATES)
    assert {name for own in known.own.values() for name in own} <= set(FEATURES)


def test_each_side_of_another_program_is_a_level_of_its_own() -> None:
    assert level_of(Facts("a trial", level="user", watched_sides="sender")) == "user.sender"
    assert level_of(Facts("a trial", level="user")) == "user"


def test_all_ranked_causes_of_a_trial_add_up_to_one() -> None:
    for situation in situations()[::20]:
        ranked = [each.probability for each in judged(situation.facts, situation.setup).probabilities]
        assert sum(ranked) == pytest.approx(1, abs=0.15)
        assert ranked == sorted(ranked, reverse=True)
