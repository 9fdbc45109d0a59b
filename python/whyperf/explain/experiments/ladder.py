"""Which experiments come next, and when it is enough.

Every block measures the original again, and next to it a few experiments: first what could show most, then, again and
again, what raised the rate, until its gain is certain. So the noise is that of the same minute.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from whyperf.explain.experiments.beliefs import (
    Beliefs,
    Sign,
    Slower,
    curious,
    information,
    keeps_pace,
    merged,
    slower_of,
    updated,
)
from whyperf.explain.experiments.outcomes import MOST, PRIOR_SPREAD, RAISES_FROM, Gains, gains_of
from whyperf.explain.experiments.tries import AFTER_REST, THIRD, TOGETHER, WITHOUT, Planned

ORIGINAL = "original"
AT_ONCE = 3
"""Experiments of a block: a quarter of the time goes to the original."""
MIN_PAIRS = 2
"""Pairs of a proof, where nobody asks for more: one alone may be an accident."""
EXPECTED_FROM, DOUBLES = 0.1, 2.0
"""The probability by the evidence below which one more pair is needed: noise surprises, too. It does not double a
rate: guests that share a host's CPUs change it by less."""
ALONE_FROM = 0.75
"""The probability from which on a cause is the only probable one: three to one. With 0.9 a load of single requests,
of which 8 at once are 5 times as fast, stayed unknown in three of four (own runs of `why rr`)."""
WIDE, MORE_PAIRS = 1.3, 2
"""The ratio of the ends of an interval from which on a proved gain is measured more often, and the most pairs for it.
With 3 pairs instead of 2 the interval of a quiet load is 1.2 wide instead of 1.3 (own runs)."""
WORTH_NATS = 0.01
"""The least that an experiment must be able to show: less changes no probability by a point."""
MATTERS = 1 / RAISES_FROM
"""The ratio at which what is missing from all remedies at once matters: the rate is so much lower without it."""
MAX_REPEATS = 8
"""Repetitions of an experiment whose outcome stays open."""

Rates = Mapping[int, Mapping[str, float | None]]
"""The rates of the trials that were made, by block and by the experiment's name; or other speeds, of which more is
better. None where a trial has none."""
Signs = Mapping[int, Mapping[str, Sign]]
"""The same of what the sending kernels counted."""


@dataclass
class Ladder:
    """The experiments of one load, and what they have shown so far.

    Attributes:
        tries: what can be tried.
        prior: what the evidence says of the causes.
        excluded: the causes that the load's own settings exclude.
        pairs: how often a change has to raise the rate before it is proved.
        named: experiments that were asked for: they are made that often, however little they can show.
        gains: of each experiment that was made.
        slower: what those at a slower pace show.
        beliefs: what is said of the causes after the experiments.
        chosen_by: the same where nothing that can be removed is excluded by the evidence alone.
        has_fallen: whether the original is much slower by now than it was at first.
        prior_spread: what is taken for the spread of the figures' logarithms before anything was repeated.
    """

    tries: Sequence[Planned]
    prior: Beliefs
    excluded: Collection[str] = ()
    pairs: int = MIN_PAIRS
    named: Collection[str] = ()
    gains: dict[str, Gains] = field(default_factory=dict)
    slower: dict[str, Slower] = field(default_factory=dict)
    beliefs: Beliefs = field(default_factory=dict)
    chosen_by: Beliefs = field(default_factory=dict)
    has_fallen: bool = False
    prior_spread: float = PRIOR_SPREAD

    def __post_init__(self) -> None:
        """Nothing was tried yet."""
        self._believe()

    def _believe(self) -> None:
        wider = curious(self.prior, self.tries, self.excluded)
        self.beliefs, self.chosen_by = (updated(of, self.tries, self.gains, self.slower) for of in (self.prior, wider))

    def see(self, rates: Rates, signs: Signs | None = None) -> None:
        """Takes in what was measured until now. A trial that moved nothing counts as one with a very low rate."""
        found: dict[str, list[float]] = {}
        moving = [rate for block in rates.values() for rate in block.values() if rate is not None and rate > 0]
        lowest = min(moving, default=0.0) / MOST
        for block in rates.values() if moving else ():
            for name, rate in block.items():
                if rate is not None:
                    found.setdefault(name, []).append(max(rate, lowest))
        self.gains = gains_of(found, ORIGINAL, self.prior_spread)
        seen = merged(signs or {})
        slower = [each.name for each in self.tries if each.is_slower]
        self.slower = {name: slower_of(seen.get(ORIGINAL, ()), seen.get(name, ())) for name in slower}
        self._believe()

    def leave_out(self, name: str) -> None:
        """Makes an experiment no more, and none that has it as a part."""
        self.tries = [each for each in self.tries if name != each.name and name not in each.parts]

    def following(self) -> tuple[Planned, ...]:
        """The experiments of the next block; none where it is enough."""
        wanted = self._to_prove()
        if wanted and all(self.gains[each.name].is_sure for each in wanted):
            # What raises the rate is repeated at once: the time may be over soon.
            return tuple(wanted)
        if not wanted and self.proved is not None:
            return tuple(self._rest_of(self.proved)[:AT_ONCE]) or self._narrower(self.proved)
        wanted = wanted or self._rested() or (self._alone() or self._narrowing() or self._remedies_first())[:AT_ONCE]
        rest = [each for each in self.tries if each not in wanted and self._may_show(each)]
        known = 0.0
        while rest and len(wanted) < AT_ONCE:
            worth = {each.name: information(self.chosen_by, [*wanted, each]) for each in rest}
            best = max(rest, key=lambda each: (worth[each.name] - known) / each.cost)
            if worth[best.name] - known < WORTH_NATS and best.name not in self.named:
                break
            known = worth[best.name]
            wanted.append(best)
            rest.remove(best)
        return tuple(wanted)

    @property
    def is_certain(self) -> bool:
        """True where a remedy is proved and no other may raise the rate more; its gain may be known better yet."""
        return not self._to_prove() and self.proved is not None and not self._rest_of(self.proved)

    def _narrower(self, proved: Planned) -> tuple[Planned, ...]:
        """The proved experiment, while its gain is known no better than a user wants to know it."""
        found = self.gains[proved.name]
        is_wide = found.high > WIDE * found.low
        return (proved,) if is_wide and found.pairs < self.pairs + MORE_PAIRS else ()

    def _rested(self) -> list[Planned]:
        """The experiment after a rest, where the load fell below its first rate: then something may have saved up."""
        return [each for each in self.tries if self.has_fallen and each.name == AFTER_REST and self._may_show(each)]

    def _rest_of(self, proved: Planned) -> list[Planned]:
        """The remedies that were not tried alone, where all together raise the rate more than what is proved: another
        one may raise it most."""
        whole = self._whole
        if whole is None or TOGETHER not in self.gains:
            return []
        if self.gains[proved.name].gain > min(MATTERS * self.gains[TOGETHER].gain, self.gains[TOGETHER].low):
            return []
        parts = [name for name in whole.parts if self._may_matter(name)]
        left = [each for each in self.tries if each.name in parts and each.name not in self.gains]
        return sorted(left, key=self._belief, reverse=True)

    def _belief(self, tried: Planned) -> float:
        return sum(self.chosen_by[str(cause)] for cause in tried.relieves)

    def _was_not_kept(self, paced: Planned) -> bool:
        found = self.gains.get(paced.name)
        return found is not None and not keeps_pace(paced, found)

    @property
    def proved(self) -> Planned | None:
        """The remedy that raises the rate most, where that is certain; where none does, what goes round the only
        cause that is probable.
        """
        sure = [each for each in self.tries if not each.parts and self._is_proved(each)]
        remedies = [each for each in sure if each.is_remedy] or [each for each in sure if self._goes_round(each)]
        return max(remedies, key=lambda each: self.gains[each.name].gain, default=None)

    def _goes_round(self, tried: Planned) -> bool:
        """True where an experiment takes away the limit of the only probable cause, and each remedy of it was tried."""
        cause = self._only_cause
        return cause is not None and cause in tried.relieves and not self._untried_remedies(cause)

    @property
    def _only_cause(self) -> str | None:
        first, probability = max(self.chosen_by.items(), key=lambda each: each[1])
        return first if probability >= ALONE_FROM else None

    def _untried_remedies(self, cause: str) -> list[Planned]:
        return [
            each
            for each in self.tries
            if each.is_remedy and not each.parts and cause in each.relieves and each.name not in self.gains
        ]

    def _remedies_first(self) -> list[Planned]:
        """The remedies of the only probable cause that were not tried: they prove it, whatever else shows."""
        cause = self._only_cause
        return [] if cause is None else self._untried_remedies(cause)

    def _to_prove(self) -> list[Planned]:
        """The remedies that may raise the rate most; where none does, all at once, and what goes round a cause."""
        remedies = self._remedies()
        best = max((self.gains[each.name].gain for each in remedies), default=1.0)
        if remedies:
            near = [each for each in remedies if self._is_open(each) and self.gains[each.name].high >= best]
        else:
            near = [each for each in self.tries if self._is_worth_repeating(each) and self._is_open(each)]
        near.sort(key=lambda each: -self.gains[each.name].gain)
        return near[:2]

    def _is_worth_repeating(self, tried: Planned) -> bool:
        """True where another pair says more than another experiment. All remedies together wait until it is narrowed
        down which of them it takes.
        """
        if not tried.parts:
            return self._goes_round(tried)
        return tried.name == TOGETHER and all(
            {name, f"{WITHOUT}{name}"} & self.gains.keys() for name in tried.parts if self._may_matter(name)
        )

    def _may_matter(self, name: str) -> bool:
        """False for a remedy that is not there, or without which the rate once was as high as with all.

        Where it is as high without any third, two thirds have a remedy of the same limit, so that all may matter.
        """
        if not any(each.name == name for each in self.tries):
            return False
        whole = self.gains.get(TOGETHER)
        lacking = [each for each in self.tries if each.name.startswith(WITHOUT) and each.name in self.gains]
        fell = [each for each in lacking if whole and self.gains[each.name].gain <= MATTERS * whole.gain]
        return not fell or all(each in fell for each in lacking if name not in each.parts)

    def _narrowing(self) -> list[Planned]:
        """The experiments that show which remedies it takes, where all together raise the rate and none is known to do
        it alone. First all but a third. Then each remedy, alone, of the thirds without which the rate fell. Then all
        but each of these.
        """
        whole = self._whole
        if whole is None or not self._raises(TOGETHER) or self._remedies():
            return []
        if self.gains[TOGETHER].low <= 1 and self.gains[TOGETHER].pairs < self.pairs:
            # One pair alone may be an accident.
            return [whole]
        matters = [name for name in whole.parts if self._may_matter(name)]
        alone = [each for each in self.tries if each.name in matters]
        alone.sort(key=self._belief, reverse=True)
        without = [each for each in self.tries if each.name in {f"{WITHOUT}{name}" for name in matters}]
        thirds = [each for each in self.tries if each.name.startswith(f"{WITHOUT}{THIRD}")]
        new = [[each for each in stage if each.name not in self.gains] for stage in (alone, thirds, without)]
        # As few as that are tried at once anyway.
        stages = new if len(new[0]) <= AT_ONCE else [new[1], new[0], new[2]]
        return next((stage for stage in stages if stage), [])

    @property
    def _whole(self) -> Planned | None:
        """All remedies together; None where they cannot be made, or one of them failed."""
        return next((each for each in self.tries if each.name == TOGETHER), None)

    def _raises(self, name: str) -> bool:
        found = self.gains.get(name)
        return found is not None and found.gain >= RAISES_FROM

    def _alone(self) -> list[Planned]:
        """The remedies that were not tried alone, where both of two together raise the rate."""
        whole = self._whole
        if whole is None or not self._raises(TOGETHER) or len(whole.parts) > 2:
            return []
        return [each for each in self.tries if each.name in whole.parts and each.name not in self.gains]

    def _remedies(self) -> list[Planned]:
        return [each for each in self.tries if each.is_remedy and not each.parts and self._raises(each.name)]

    def _is_open(self, tried: Planned) -> bool:
        """True where an experiment that may raise the rate was not made often enough to know."""
        found = self.gains.get(tried.name)
        if found is None or found.pairs >= max(MAX_REPEATS, self.pairs) or found.high < RAISES_FROM:
            return False
        return found.gain >= RAISES_FROM and not self._is_proved(tried)

    def _is_proved(self, tried: Planned) -> bool:
        found = self.gains.get(tried.name)
        if found is None or not found.is_sure:
            return False
        expected = sum(self.prior[str(cause)] for cause in tried.relieves) >= EXPECTED_FROM
        is_enough = expected or tried.name in self.named or found.low >= DOUBLES
        return found.pairs >= self.pairs + (0 if is_enough else 1)

    def _may_show(self, tried: Planned) -> bool:
        """True if an experiment is new, or left open whether it raises the rate."""
        if tried.name.startswith(WITHOUT):
            # They only narrow down what all remedies do.
            return False
        if tried.pace is not None and not all(
            self._was_not_kept(each) for each in self.tries if _is_faster(each, tried)
        ):
            return False
        found = self.gains.get(tried.name)
        if found is None:
            return True
        is_open = found.high >= RAISES_FROM and not found.is_sure
        return found.pairs < self.pairs and (is_open or tried.name in self.named)


def _is_faster(tried: Planned, than: Planned) -> bool:
    """True for an experiment of a pace between that of another and the rate."""
    return tried.pace is not None and than.pace is not None and tried.pace > than.pace
