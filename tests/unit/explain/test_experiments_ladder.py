"""What experiments come next, what they say of the causes, and when it is enough: on loads with a known limit."""

import math
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.decide import CANDIDATES
from whyperf.explain.experiments import tries
from whyperf.explain.experiments.answer import answer_of, outcome_of, tried_of
from whyperf.explain.experiments.beliefs import (
    MIN_AGAIN,
    Sign,
    Slower,
    information,
    prior_of,
    signs_likelihood,
    slower_of,
    updated,
)
from whyperf.explain.experiments.goals import PAIRS_OF_PERCENTILES, SPREAD_OF_PERCENTILES
from whyperf.explain.experiments.ladder import AT_ONCE, ORIGINAL, Ladder
from whyperf.explain.experiments.outcomes import MOST, RAISES_FROM, Gains, gains_of, likelihood
from whyperf.explain.experiments.tries import THIRD, THIRDS, TOGETHER, TRIES, WITHOUT, Planned
from whyperf.explain.explanation import CauseProbability
from whyperf.explain.wording.experiments import answer_words

NOISE = 0.04
GAIN = 2.0
BLOCKS = 24
SINGLE = [Planned(each.name, {"think_us": 0}, each.relieves, each.is_remedy) for each in TRIES]
REMEDIES = [each for each in SINGLE if each.is_remedy]


def together(remedies: list[Planned]) -> list[Planned]:
    """Several of them at once: each is possible."""
    return tries.together(remedies, lambda _: True)


OF_PERCENTILES: Mapping[str, Any] = {"prior_spread": SPREAD_OF_PERCENTILES, "pairs": PAIRS_OF_PERCENTILES}


class Load:
    """A load with limits: its rate is that of the lowest one that an experiment does not take away."""

    def __init__(self, ceilings: Mapping[Cause, float], seed: int, noise: float = NOISE) -> None:
        """Without any of them the rate is 1, and each is a part of that."""
        self.ceilings = ceilings
        self.spread = noise
        self.noise = Random(seed)

    def rate(self, tried: Planned | None) -> float:
        """Of a trial."""
        left = [of for cause, of in self.ceilings.items() if tried is None or cause not in tried.relieves]
        return min([1.0, *left]) * math.exp(self.noise.gauss(0, self.spread))


def climbed(load: Load, tries: list[Planned], prior: Mapping[str, float], **asked: Any) -> tuple[Ladder, int]:
    """The ladder at its end, and the number of trials."""
    ladder = Ladder(tries, dict(prior), **asked)
    rates: dict[int, dict[str, float | None]] = {}
    for block in range(1, BLOCKS + 1):
        following = ladder.following()
        if not following:
            break
        assert len(following) <= AT_ONCE
        rates[block] = {ORIGINAL: load.rate(None), **{each.name: load.rate(each) for each in following}}
        ladder.see(rates)
    return ladder, sum(map(len, rates.values()))


def certain(cause: str, probability: float) -> list[CauseProbability]:
    """Evidence that speaks for one cause."""
    return [CauseProbability(cause=cause, probability=probability), CauseProbability(cause=ANOTHER, probability=0.05)]


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda each: each.name)
def test_each_remedy_is_proved_where_the_evidence_points_elsewhere(remedy: Planned) -> None:
    """The evidence is for sure of another cause, which nothing here can take away."""
    cause = remedy.relieves[0]
    load = Load({cause: 1 / GAIN}, seed=1)
    ladder, trials = climbed(load, REMEDIES + together(REMEDIES), prior_of(certain(Cause.POLICER, 0.9)))
    answer = answer_of(ladder, [])
    assert answer.known == "proved"
    proved = next(each for each in REMEDIES if each.name == answer.tried)
    assert cause in proved.relieves
    assert answer.low is not None
    assert answer.high is not None
    assert RAISES_FROM <= answer.low <= GAIN <= answer.high
    assert trials <= (1 + AT_ONCE) * BLOCKS / 2


@pytest.mark.parametrize("is_limited", [False, True])
def test_what_was_asked_for_is_made_as_often_as_was_asked_for(*, is_limited: bool) -> None:
    """However little it can show: the load's own settings exclude the cause."""
    named = [each for each in REMEDIES if each.name == "no-delay"]
    prior = prior_of(certain(Cause.POLICER, 0.6), named[0].relieves)
    load = Load({Cause.NAGLE_DELAYED_ACK: 1 / GAIN} if is_limited else {}, seed=1)
    ladder, _ = climbed(load, named, prior, excluded=named[0].relieves, pairs=6, named={"no-delay"})
    assert ladder.gains["no-delay"].pairs == 6
    assert (answer_of(ladder, []).known == "proved") is is_limited
    # Nobody would have made it otherwise.
    assert not Ladder(named, prior, named[0].relieves).following()


def test_nothing_is_proved_of_a_load_that_nothing_limits() -> None:
    prior = prior_of(certain(Cause.TINY_WRITES, 0.6))
    known = [answer_of(climbed(Load({}, seed), SINGLE + together(REMEDIES), prior)[0], []).known for seed in range(100)]
    # Each interval errs in 1 % at each look at most.
    assert known.count("proved") <= 2


def test_a_proof_does_not_end_it_where_all_remedies_raise_the_rate_more() -> None:
    """Two limits at once: the first proof may be of the lesser one."""
    lesser, greater = (next(each for each in REMEDIES if each.name == name) for name in ("offloads", "send-buffer"))
    ladder = Ladder([lesser, greater, *together([lesser, greater])], prior_of(certain(Cause.OFFLOADS_OFF, 0.9)))
    ladder.see({1: {ORIGINAL: 1.0, lesser.name: 1.5, TOGETHER: 3.0}, 2: {ORIGINAL: 1.0, lesser.name: 1.5}})
    assert ladder.proved == lesser
    assert ladder.following() == (greater,)
    rates = {ORIGINAL: 1.0, lesser.name: 1.5, greater.name: 2.9, TOGETHER: 3.0}
    ladder.see(dict.fromkeys((1, 2), rates))
    assert (ladder.proved, ladder.is_certain) == (greater, True)
    # Once more, for a narrower interval.
    assert ladder.following() == (greater,)
    ladder.see(dict.fromkeys((1, 2, 3), rates))
    assert not ladder.following()


@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_a_noisy_percentile_proves_nothing_of_a_load_that_nothing_limits(spread: float) -> None:
    """Latencies of a tail spread more than rates; what is taken for the spread at first is more, too."""
    loads, known = 100, []
    for seed in range(loads):
        load = Load({}, seed, spread)
        ladder, _ = climbed(load, SINGLE, prior_of(certain(Cause.TINY_WRITES, 0.6)), **OF_PERCENTILES)
        known.append(answer_of(ladder, []).known)
    # The error of all looks at a load, and the standard error of a count of as many loads.
    error = 0.05
    assert known.count("proved") <= error * loads + math.sqrt(error * (1 - error) * loads)


def test_a_percentile_is_proved_to_fall() -> None:
    """As speeds: with the remedy the latency is 1 %."""
    load = Load({Cause.NAGLE_DELAYED_ACK: 0.01}, 1, noise=0.3)
    ladder, _ = climbed(load, REMEDIES, prior_of(certain(Cause.ROUND_TRIP, 0.9)), **OF_PERCENTILES)
    answer = answer_of(ladder, [])
    assert (answer.known, answer.causes) == ("proved", [Cause.NAGLE_DELAYED_ACK])
    assert answer.low is not None
    assert answer.high is not None
    assert RAISES_FROM < answer.low < 100 < answer.high


def test_a_trial_without_a_figure_is_none() -> None:
    ladder = Ladder(REMEDIES, prior_of([]))
    ladder.see({1: {ORIGINAL: 1.0, "larger-writes": None, "no-delay": 2.0}})
    assert set(ladder.gains) == {"no-delay"}


def test_two_limits_at_once_are_found_by_what_all_remedies_bring() -> None:
    """Both are as near, so that neither remedy alone raises the rate."""
    load = Load({Cause.RECEIVE_BUFFER: 0.4, Cause.TINY_WRITES: 0.4}, seed=3)
    remedies = [each for each in REMEDIES if each.name in {"receive-window", "larger-writes", "no-delay", "offloads"}]
    ladder, _ = climbed(load, remedies + together(remedies), prior_of([]))
    answer = answer_of(ladder, [])
    assert answer.known == "proved"
    assert set(answer.tried.split("+")) == {"receive-window", "larger-writes"}
    assert set(answer.causes) == {Cause.RECEIVE_BUFFER, Cause.TINY_WRITES}


ALONE = [each for each in REMEDIES if sum(each.relieves[0] in other.relieves for other in REMEDIES) == 1]
"""Remedies of which no other takes away the same limit."""


@pytest.mark.parametrize("limits", [1, 2])
def test_what_matters_of_many_remedies_is_narrowed_down(limits: int) -> None:
    """A third of them at a time: one limit takes half of a minute at most, and two are found at all."""
    for seed in range(10):
        remedies = Random(seed).sample(ALONE, 9)
        wanted = {each.name: each.relieves[0] for each in remedies[:limits]}
        load = Load(dict.fromkeys(wanted.values(), 0.5), seed)
        ladder, trials = climbed(load, remedies + together(remedies), prior_of(certain(Cause.POLICER, 0.6)))
        answer = answer_of(ladder, [])
        assert (answer.known, set(answer.tried.split("+"))) == ("proved", set(wanted))
        assert trials <= 24 * limits


def test_two_remedies_of_one_limit_in_two_thirds_are_tried_alone() -> None:
    """The rate falls without none of the thirds then, and that says nothing."""
    both = [each for each in REMEDIES if Cause.NAGLE_DELAYED_ACK in each.relieves]
    assert len(both) == 2
    remedies = [both[0], *ALONE[:7], both[1]]
    load = Load({Cause.NAGLE_DELAYED_ACK: 0.4}, seed=2)
    ladder, trials = climbed(load, remedies + together(remedies), prior_of(certain(Cause.POLICER, 0.6)))
    answer = answer_of(ladder, [])
    assert (answer.known, answer.causes) == ("proved", [Cause.NAGLE_DELAYED_ACK])
    assert trials <= 24


def test_what_fails_ends_the_narrowing_down() -> None:
    ladder = Ladder(ALONE[:9] + together(ALONE[:9]), prior_of([]))
    ladder.see({1: {ORIGINAL: 1.0, TOGETHER: 3.0}})
    ladder.leave_out(TOGETHER)
    assert all(not each.parts for each in ladder.following())


def test_a_third_without_which_nothing_changes_is_not_looked_at() -> None:
    remedies = ALONE[:9]
    ladder = Ladder(remedies + together(remedies), prior_of([]))
    first = {ORIGINAL: 1.0, TOGETHER: 3.0}
    ladder.see({1: first})
    thirds = [f"{WITHOUT}{THIRD}{number + 1}" for number in range(THIRDS)]
    assert [each.name for each in ladder.following()] == thirds
    ladder.see({1: first, 2: {ORIGINAL: 1.0, **dict(zip(thirds, (3.0, 1.0, 3.0), strict=True))}})
    assert {each.name for each in ladder.following()} == {each.name for each in remedies[3:6]}


def test_what_goes_round_a_cause_proves_it_only_where_it_is_the_only_probable_one() -> None:
    others = [each for each in SINGLE if not each.is_remedy]
    load = Load({Cause.RANDOM_LOSS: 0.4}, seed=5)
    sure, _ = climbed(load, others, prior_of(certain(Cause.RANDOM_LOSS, 0.9)))
    assert answer_of(sure, []).causes == [Cause.RANDOM_LOSS]
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.RANDOM_LOSS, Cause.REORDERING)]
    unsure, _ = climbed(load, others, prior_of(two))
    assert answer_of(unsure, []).known == "not_known"
    assert {Cause.RANDOM_LOSS, Cause.REORDERING} <= set(answer_of(unsure, []).causes)


def test_what_raised_the_rate_is_repeated_at_once_and_said_until_then() -> None:
    ladder = Ladder(REMEDIES, prior_of(certain(Cause.TINY_WRITES, 0.4)))
    ladder.see({1: {ORIGINAL: 1.0, "larger-writes": 8.0, "no-delay": 1.0, "quick-ack": 1.0}})
    assert [each.name for each in ladder.following()] == ["larger-writes"]
    answer = answer_of(ladder, [])
    assert (answer.known, answer.causes, answer.tried) == ("likely", [Cause.TINY_WRITES], "larger-writes")
    assert answer.gain == pytest.approx(8.0)
    assert "and not proved. The rate was 8.00 ×" in answer_words(answer)


@pytest.mark.parametrize("has_fallen", [False, True])
def test_a_large_gain_says_nothing_next_to_an_original_that_fell(*, has_fallen: bool) -> None:
    """The report of losses in bursts: the original stood still in its trial, and what was tried next to it did not."""
    offloads = next(each for each in REMEDIES if each.name == "offloads")
    ladder = Ladder([offloads], prior_of(certain(Cause.POLICER, 0.7)), has_fallen=has_fallen)
    ladder.see({1: {ORIGINAL: 0.0, "offloads": 2e6}})
    assert answer_of(ladder, []).known == ("not_known" if has_fallen else "likely")


@pytest.mark.parametrize(
    ("name", "looks_like", "cause"),
    [
        ("no-asked-rate", Cause.SLOW_WRITER, Cause.ASKED_RATE),
        ("path-with-queue", Cause.BURST_LOSS, Cause.SMALL_QUEUE),
        ("receive-window", Cause.WRITE_WINDOW_MISMATCH, Cause.WRITE_WINDOW_MISMATCH),
    ],
)
def test_a_remedy_that_undoes_a_setting_names_it(name: str, looks_like: Cause, cause: Cause) -> None:
    ladder = Ladder(REMEDIES, prior_of(certain(looks_like, 0.9)))
    ladder.see({block: {ORIGINAL: 1.0, name: 5.0} for block in (1, 2, 3)})
    answer = answer_of(ladder, [])
    assert (answer.known, answer.causes, answer.tried) == ("proved", [cause], name)


def test_losses_are_one_cause_unless_one_kind_is_most_of_them() -> None:
    three = [Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.PATH_LOSS]
    alike = Ladder([], prior_of([CauseProbability(cause=cause, probability=0.3) for cause in three]))
    assert answer_of(alike, []).causes[0] == Cause.PATH_LOSS
    bursts = Ladder([], prior_of(certain(Cause.BURST_LOSS, 0.6)))
    assert answer_of(bursts, []).causes[0] == Cause.BURST_LOSS


def test_an_interval_holds_the_gain_at_every_look() -> None:
    """Five looks at pairs of the same load with a change of nothing: 95 % of the intervals hold it each time."""
    noise, missed = Random(7), 0
    for _ in range(400):
        rates: dict[str, list[float]] = {ORIGINAL: [], "a": [], "b": []}
        is_missed = False
        for _ in range(5):
            for of in rates.values():
                of.append(math.exp(noise.gauss(0, 0.1)))
            found = gains_of(rates, ORIGINAL)["a"]
            is_missed = is_missed or not (found.low <= 1 <= found.high)
        missed += is_missed
    assert missed <= 0.05 * 400 + 3 * math.sqrt(0.05 * 0.95 * 400)


def test_gains_are_of_all_trials_of_the_original() -> None:
    found = gains_of({ORIGINAL: [1.0, 4.0], "a": [4.0]}, ORIGINAL)["a"]
    assert found.gain == pytest.approx(2.0)
    assert found.pairs == 1
    assert gains_of({"a": [4.0]}, ORIGINAL) == {}


def test_an_outcome_speaks_for_what_it_relieves_and_a_useless_one_shows_nothing() -> None:
    raised, same = Gains(math.log(1.8), 0.05, 2, 0.15), Gains(0.0, 0.05, 2, 0.15)
    assert likelihood(raised, 0.8) > 8 * likelihood(raised, 0.05)
    assert likelihood(replace(raised, mean=math.log(4)), 0.8) > 50 * likelihood(replace(raised, mean=math.log(4)), 0.05)
    assert likelihood(same, 0.05) > 3 * likelihood(same, 0.8)
    prior = prior_of(certain(Cause.TINY_WRITES, 0.3))
    writes = next(each for each in REMEDIES if each.name == "larger-writes")
    assert updated(prior, [writes], {writes.name: raised})[Cause.TINY_WRITES] > 0.9 > prior[Cause.TINY_WRITES]
    assert updated(prior, [writes], {writes.name: same})[Cause.TINY_WRITES] < prior[Cause.TINY_WRITES]
    nothing = Planned("nothing", {}, (), is_remedy=False)
    assert information(prior, [nothing]) == pytest.approx(0.0, abs=1e-9)
    assert information(prior, [writes]) > 0.05
    assert sum(prior.values()) == pytest.approx(1.0)
    assert set(prior) == set(CANDIDATES)


def test_single_requests_are_limited_by_their_answers_where_more_at_once_are_faster() -> None:
    """The evidence knows nothing of a short path; the load itself waits for each answer."""
    waiting = [each for each in TRIES if each.name in {"more-requests", "quick-ack", "four-times-the-connections"}]
    tried = [
        Planned(each.name, {}, each.relieves, is_remedy=each.is_remedy, raises_else=each.raises_else)
        for each in waiting
    ]
    load = Load({Cause.ROUND_TRIP: 0.2}, seed=1, noise=0.1)
    ladder, _ = climbed(load, tried, prior_of(certain(Cause.RECEIVER_CPU, 0.3), chosen=tries.chosen(tried)))
    answer = answer_of(ladder, [])
    assert (answer.known, answer.causes) == ("proved", [Cause.ROUND_TRIP])
    assert tries.chosen([]) == frozenset()


def test_an_outcome_in_a_word() -> None:
    assert outcome_of(Gains(math.log(2), 0.05, 3, 0.15)) == "raises"
    assert outcome_of(Gains(math.log(0.5), 0.05, 3, 0.15)) == "lowers"
    assert outcome_of(Gains(0.01, 0.02, 3, 0.05)) == "same"
    assert outcome_of(Gains(math.log(1.3), 0.2, 1, 0.6)) == "open"
    # One pair of a noisy load excludes nothing, also where both rates are the same.
    assert outcome_of(Gains(0.0, 0.1, 1, 0.3)) == "open"


def test_what_was_tried_is_listed_by_its_gain() -> None:
    ladder, _ = climbed(Load({Cause.TINY_WRITES: 0.5}, seed=2), REMEDIES, prior_of([]))
    tried = tried_of(ladder)
    assert [each.gain for each in tried] == sorted((each.gain for each in tried), reverse=True)
    assert Cause.TINY_WRITES in tried[0].relieves


PACED, HALF_PACED, QUARTER_PACED = (
    Planned(name, {"pacing_rate_bps": rate}, (), is_remedy=False, pace=pace)
    for name, rate, pace in (
        ("paced-at-80-percent", 1, 0.8),
        ("paced-at-half", 2, 0.5),
        ("paced-at-a-quarter", 3, 0.25),
    )
)
LOSING, CLEAN = Sign(50, 1000, 0.08), Sign(0, 1000, 0.03)


def test_a_slower_pace_separates_sending_too_much_from_random_loss() -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.RANDOM_LOSS, Cause.POLICER)]
    ladder = Ladder([PACED], prior_of(two))
    assert ladder.following() == (PACED,)
    rates = {block: {ORIGINAL: 1.0, PACED.name: 0.8} for block in (1, 2)}
    ladder.see(rates, {1: {ORIGINAL: LOSING, PACED.name: replace(CLEAN, round_trip_s=0.08)}})
    assert ladder.slower[PACED.name] == Slower(losses_end=True, queue_empties=False)
    assert ladder.beliefs[Cause.POLICER] > 0.7 > 3 * ladder.beliefs[Cause.RANDOM_LOSS]
    ladder.see(rates, {1: {ORIGINAL: LOSING, PACED.name: replace(LOSING, round_trip_s=0.08)}})
    assert ladder.beliefs[Cause.RANDOM_LOSS] > 0.7 > 3 * ladder.beliefs[Cause.POLICER]
    (tried,) = tried_of(ladder)
    assert (tried.losses_end, tried.queue_empties) == (False, False)


@pytest.mark.parametrize("rate", [0.4, 1.1], ids=["the path is slower at times", "the pace holds nothing back"])
def test_a_pace_that_is_not_kept_shows_nothing_and_a_slower_one_comes_next(rate: float) -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.RANDOM_LOSS, Cause.POLICER)]
    ladder = Ladder([PACED, HALF_PACED, QUARTER_PACED], prior_of(two))
    assert ladder.following() == (PACED,)
    losing = replace(LOSING, round_trip_s=None)
    ladder.see({1: {ORIGINAL: 1.0, PACED.name: rate}}, {1: {ORIGINAL: losing, PACED.name: losing}})
    assert ladder.slower[PACED.name].losses_end is False
    assert ladder.beliefs == pytest.approx(ladder.prior)
    assert HALF_PACED in ladder.following()
    assert QUARTER_PACED not in ladder.following()
    clean = replace(CLEAN, round_trip_s=None)
    ladder.see(
        {1: {ORIGINAL: 1.0, PACED.name: rate, HALF_PACED.name: 0.5}},
        {1: {ORIGINAL: losing, PACED.name: losing, HALF_PACED.name: clean}},
    )
    assert ladder.beliefs[Cause.POLICER] > 0.7 > 3 * ladder.beliefs[Cause.RANDOM_LOSS]
    assert QUARTER_PACED not in ladder.following()


HALF_BUFFER = Planned(
    "half-receive-buffer", {"receive_buffer_bytes": 1}, (), is_remedy=False, halves=(Cause.RECEIVE_BUFFER,)
)


@pytest.mark.parametrize(("rate", "cause"), [(0.52, Cause.RECEIVE_BUFFER), (1.0, Cause.POLICER)])
def test_half_of_a_limit_halves_the_rate_and_half_of_nothing_leaves_it(rate: float, cause: Cause) -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.RECEIVE_BUFFER, Cause.POLICER)]
    ladder = Ladder([HALF_BUFFER], prior_of(two))
    assert ladder.following() == (HALF_BUFFER,)
    ladder.see({block: {ORIGINAL: 1.0, HALF_BUFFER.name: rate} for block in (1, 2)})
    assert ladder.beliefs[cause] > 0.7 > 2 * max(value for name, value in ladder.beliefs.items() if name != cause)
    # What lowers the rate is no proof.
    assert ladder.proved is None


def test_less_than_twice_enough_lowers_the_rate_in_part() -> None:
    """It says little: what has half now may be the next limit."""
    ladder = Ladder([HALF_BUFFER], prior_of(certain(Cause.POLICER, 0.6)))
    ladder.see({block: {ORIGINAL: 1.0, HALF_BUFFER.name: 0.8} for block in (1, 2)})
    assert ladder.beliefs[Cause.POLICER] == pytest.approx(ladder.prior[Cause.POLICER], abs=0.02)


RESTED = Planned(
    "after-a-rest", {"rest_s": 2.0}, (), is_remedy=False, may_raise=(Cause.POLICER, Cause.BOTTLENECK), cost=3.0
)


def test_a_load_that_fell_rests_first_and_a_bucket_of_tokens_shows() -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.RECEIVE_BUFFER, Cause.POLICER)]
    ladder = Ladder([RESTED, PACED, HALF_BUFFER], prior_of(two))
    assert ladder.following()[0] != RESTED
    ladder.has_fallen = True
    assert ladder.following()[0] == RESTED
    ladder.see({block: {ORIGINAL: 1.0, RESTED.name: 5.0} for block in (1, 2)})
    assert ladder.beliefs[Cause.POLICER] > 0.9
    assert ladder.proved is None
    # Without a warm-up, a load that has nothing to save up starts slowly.
    ladder.see({block: {ORIGINAL: 1.0, RESTED.name: 0.6} for block in (1, 2)})
    assert ladder.beliefs == pytest.approx(ladder.prior)


def test_the_remedy_of_the_only_probable_cause_is_tried_once_others_have_named_it() -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.RECEIVE_BUFFER, Cause.POLICER)]
    remedy = Planned("receive-window", {}, (Cause.RECEIVE_BUFFER,))
    ladder = Ladder([HALF_BUFFER, remedy], prior_of(two))
    ladder.see({block: {ORIGINAL: 1.0, HALF_BUFFER.name: 0.5} for block in (1, 2)})
    assert ladder.beliefs[Cause.RECEIVE_BUFFER] > 0.9
    assert ladder.following() == (remedy,)


def test_what_takes_longer_has_to_show_more() -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.RECEIVE_BUFFER, Cause.TINY_WRITES)]
    quick, slow = (Planned(name, {}, (Cause.TINY_WRITES,), cost=cost) for name, cost in (("quick", 1.0), ("slow", 3.0)))
    assert Ladder([slow, quick], prior_of(two)).following()[0] == quick


def test_a_queue_that_empties_is_that_of_a_bottleneck() -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK)]
    ladder = Ladder([PACED], prior_of(two))
    ladder.see({1: {ORIGINAL: 1.0, PACED.name: 0.8}}, {1: {ORIGINAL: LOSING, PACED.name: CLEAN}})
    assert ladder.slower[PACED.name] == Slower(losses_end=True, queue_empties=True)
    assert ladder.beliefs[Cause.BOTTLENECK] > 0.8


def test_a_queue_that_stays_is_that_of_others() -> None:
    two = [CauseProbability(cause=cause, probability=0.45) for cause in (Cause.PATH_LOSS, Cause.SHARED_BOTTLENECK)]
    ladder = Ladder([PACED], prior_of(two))
    queued = Sign(50, 1000, 0.08, least_s=0.03)
    ladder.see({1: {ORIGINAL: 1.0, PACED.name: 0.8}}, {1: {ORIGINAL: queued, PACED.name: queued}})
    assert ladder.slower[PACED.name] == Slower(losses_end=False, queue_empties=False, has_queue=True)
    assert ladder.beliefs[Cause.SHARED_BOTTLENECK] > ladder.beliefs[Cause.PATH_LOSS]
    short = Sign(50, 1000, 0.032, least_s=0.03)
    ladder.see({1: {ORIGINAL: 1.0, PACED.name: 0.8}}, {1: {ORIGINAL: short, PACED.name: short}})
    assert ladder.slower[PACED.name] == Slower(losses_end=False, queue_empties=False, has_queue=False)
    assert ladder.beliefs[Cause.PATH_LOSS] > 0.8


def test_of_two_remedies_each_is_tried_alone_before_both_are_blamed() -> None:
    parts = [Planned(name, {name: 1}, (cause,)) for name, cause in (("a", Cause.PACING_RATE), ("b", Cause.SMALL_MTU))]
    both = Planned(TOGETHER, {"a": 1, "b": 1}, (Cause.PACING_RATE, Cause.SMALL_MTU), parts=("a", "b"))
    ladder = Ladder([*parts, both], prior_of([]))
    blocks = {block: {ORIGINAL: 1.0, "a": 1.0, TOGETHER: 2.0} for block in range(1, 5)}
    ladder.see(blocks)
    assert [each.name for each in ladder.following()] == ["b"]
    assert answer_of(ladder, []).known != "proved"
    ladder.see({block: {**rates, "b": 1.0} for block, rates in blocks.items()})
    assert (answer_of(ladder, []).known, answer_of(ladder, []).tried) == ("proved", "a+b")


def test_signs_say_nothing_where_there_was_nothing_to_see() -> None:
    few = Sign(MIN_AGAIN - 1, 1000, None)
    assert slower_of([few], [CLEAN]) == Slower()
    assert slower_of([], [CLEAN]) == Slower()
    assert signs_likelihood(Slower(), Cause.POLICER) == 1


def test_a_trial_that_moved_nothing_is_a_very_low_rate() -> None:
    ladder = Ladder(REMEDIES, prior_of([]))
    ladder.see({1: {ORIGINAL: 0.0, "receive-window": 0.0, "send-buffer": 8.0}})
    assert ladder.gains["send-buffer"].gain > MOST / 2
    assert ladder.gains["receive-window"].gain == pytest.approx(1.0)
    ladder.see({1: {ORIGINAL: 0.0, "receive-window": 0.0}})
    assert ladder.gains == {}


def test_what_the_evidence_does_not_expect_needs_one_more_pair() -> None:
    rates = {block: {ORIGINAL: 1.0, "larger-writes": 1.6} for block in (1, 2)}
    surprised = Ladder(REMEDIES, prior_of(certain(Cause.POLICER, 0.9)))
    surprised.see(rates)
    assert surprised.proved is None
    assert [each.name for each in surprised.following()] == ["larger-writes"]
    surprised.see({**rates, 3: rates[1]})
    assert surprised.proved is not None
    expected = Ladder(REMEDIES, prior_of(certain(Cause.TINY_WRITES, 0.4)))
    expected.see(rates)
    assert expected.proved is not None


def test_what_is_left_out_is_no_part_of_others_either() -> None:
    """Where only all remedies together raise the rate, the one that cannot be made is not named."""
    remedies = [each for each in REMEDIES if each.name in {"receive-window", "larger-writes"}]
    ladder = Ladder(remedies + together(remedies), prior_of([]))
    ladder.leave_out("larger-writes")
    ladder.see({block: {ORIGINAL: 1.0, "receive-window": 1.0, TOGETHER: 3.0} for block in (1, 2, 3)})
    assert answer_of(ladder, []).known != "proved"
    assert not any("larger-writes" in (each.name, *each.parts) for each in ladder.tries)
