"""The findings of the experiments: the answer, how it is known, and what was tried."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Literal

from pydantic import Field

from whyperf.analyze.spread import FrozenModel
from whyperf.explain.causes import ANOTHER, GENERAL, Cause
from whyperf.explain.decide import MIN_PROBABILITY
from whyperf.explain.experiments.beliefs import Slower
from whyperf.explain.experiments.goals import RATE_NAME
from whyperf.explain.experiments.ladder import DOUBLES, MATTERS, Ladder
from whyperf.explain.experiments.outcomes import RAISES_FROM, Gains
from whyperf.explain.experiments.tries import UNDOES_CAUSE, WITHOUT, Planned
from whyperf.explain.explanation import CauseProbability, Change, Evidence, Level, Verdict

FORMAT = 1

Known = Literal["proved", "seen", "likely", "not_known", "nothing_raises", "nothing"]
"""Basis of an answer: a remedy raised the rate; the kernel counts the cause where it happens; the evidence speaks
for it; neither; neither, and nothing tried raises the rate; or nothing is to be removed, as far as is known."""
Outcome = Literal["raises", "same", "lowers", "open"]


class Tried(FrozenModel):
    """An experiment and its outcome.

    Gains are rates with the change over those of the original, or latencies of the original over those with it; the
    ends of the interval hold at every look. `parts` are the names of experiments that were made together. `is_of_path`
    says that it changed what only the embedded testbed has in its hands. `halves` are causes whose limit it made half
    as high: the rate falls as much where one of them limits. `losses_end` and `queue_empties` are what a slower pace
    shows, and `has_queue` whether something waits in the original; None where it does not show.
    """

    name: str
    factors: dict[str, Level]
    outcome: Outcome
    gain: float
    low: float
    high: float
    pairs: int
    relieves: list[str]
    is_remedy: bool
    is_of_path: bool = False
    halves: list[str] = Field(default_factory=list)
    losses_end: bool | None = None
    queue_empties: bool | None = None
    has_queue: bool | None = None
    parts: list[str] = Field(default_factory=list)


class Answer(FrozenModel):
    """Why a load is not faster.

    `causes` are what limits it, the first one alone where that is one; where it is not known, the most probable ones.
    `tried` is the name of the experiment that proves it.
    """

    known: Known
    causes: list[str]
    probability: float | None = None
    tried: str = ""
    factors: dict[str, Level] = Field(default_factory=dict)
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    claim: str = ""
    evidence: list[Evidence] = Field(default_factory=list)
    change: Change | None = None


class Why(FrozenModel):
    """The whole of it: the JSON of `whyperf why --json` and of `why.json` next to a result. Fields are only added.

    `goal` is what was to be better: `rate`, or a percentile of the transactions' latency, such as `p99`. `rate` is what
    it was at the first look, in `unit` (bit/s or transactions/s, ns of a latency), `original` the same of the original
    in the trials of the experiments. `seconds` were spent on `trials`. `ended` says why no more was tried: `certain`,
    `nothing_to_learn`, `budget`, `stopped` by the user, `failed` because a host was lost, `void` because no trial of
    the original had a rate, or `not_repeated` because a command could not be run again. `spared` names experiments that
    were left out because others may use the path.
    """

    format: int = FORMAT
    experiment: str
    cell: str
    unit: str
    rate: float | None
    original: float | None
    answer: Answer
    tried: list[Tried]
    probabilities: list[CauseProbability]
    is_reproduced: bool = True
    trials: int = 0
    seconds: float = 0.0
    ended: Literal["certain", "nothing_to_learn", "budget", "stopped", "failed", "void", "not_repeated"] = "certain"
    experiments: str = ""
    goal: str = RATE_NAME
    spared: tuple[str, ...] = ()

    @property
    def is_of_rate(self) -> bool:
        """True where the rate was to be better."""
        return self.goal == RATE_NAME


LIKELY_FROM = 0.85
"""The probability from which on a cause that no experiment takes away is named."""
SEEMS_FROM = 0.5
"""The same of one whose remedy raised the rate, but not often enough to be certain."""
SHOWN_BY_PACE = frozenset({Cause.SMALL_QUEUE, Cause.POLICER})
"""Cases of a general cause that experiments at another pace show, so that they are causes of their own."""
LIKE_A_CASE = {Cause.BOTTLENECK: {Cause.LOCAL_QUEUE}}
"""Causes that no experiment separates from a general one: no pace does a full queue of the host from the path's."""
ONE_CAUSE = {of: sorted((cases | LIKE_A_CASE.get(of, set())) - SHOWN_BY_PACE) for of, cases in GENERAL.items()}
"""General causes with the cases that count as one with them, unless one case is most of it."""
KIND_OF_ALL = 0.6
"""The part of the probability of a general cause and its cases from which on one of them is named."""
MAX_CANDIDATES = 3
"""Causes that are named where none is known."""


def answer_of(ladder: Ladder, verdicts: Sequence[Verdict]) -> Answer:
    """The answer as of now; `verdicts` are those of the evidence alone, for what they say of their causes."""
    if (best := ladder.proved) is not None:
        return _by_remedy("proved", ladder, [best], ladder.gains[best.name], verdicts)
    if parts := _together(ladder):
        whole = next(each for each in ladder.tries if each.parts and set(each.parts) >= {part.name for part in parts})
        return _by_remedy("proved", ladder, parts, ladder.gains[whole.name], verdicts)
    if (seeming := _seeming(ladder)) is not None:
        return _by_remedy("likely", ladder, [seeming], ladder.gains[seeming.name], verdicts)
    ranked = _ranked(ladder.beliefs)
    first, probability = ranked[0]
    verdict = _verdict_of(first, verdicts)
    if probability >= LIKELY_FROM and (verdict is not None or first not in {ANOTHER, Cause.CAPACITY}):
        # Without a verdict it is experiments that speak for it.
        counted = verdict is not None and any("counted" in evidence.code for evidence in verdict.evidence)
        return _unproved("seen" if counted else "likely", [first], probability, verdict)
    if first in {ANOTHER, Cause.CAPACITY} and not _is_open(ladder):
        return _unproved("nothing", [name for name, _ in ranked[:1] if name != ANOTHER], probability, verdict)
    names = [name for name, _ in ranked if name != ANOTHER][:MAX_CANDIDATES]
    return _unproved(
        "not_known" if _is_open(ladder) or not ladder.gains else "nothing_raises", names, probability, None
    )


def _ranked(beliefs: Mapping[str, float]) -> list[tuple[str, float]]:
    """The causes by their probability; what is general and its cases are one cause, by the name of the general one
    unless one case is most of them.
    """
    shares = dict(beliefs)
    for general, cases in ONE_CAUSE.items():
        kinds = [str(kind) for kind in (general, *cases)]
        whole = sum(shares.pop(kind) for kind in kinds)
        first = max(kinds, key=lambda kind: beliefs[kind])
        shares[first if beliefs[first] >= KIND_OF_ALL * whole else str(general)] = whole
    return sorted(shares.items(), key=lambda each: (-each[1], each[0]))


def _seeming(ladder: Ladder) -> Planned | None:
    """The remedy that seems to raise the rate most, and was not repeated often enough: of the most probable cause, or
    by more than noise ever does, unless the load itself is another one by now.
    """
    found = [each for each in ladder.tries if each.is_remedy and not each.parts and each.name in ladder.gains]
    raising = [each for each in found if ladder.gains[each.name].gain >= RAISES_FROM]
    first = max(raising, key=lambda each: ladder.gains[each.name].gain, default=None)
    if first is None:
        return None
    is_probable = ladder.beliefs[_most_probable(ladder.beliefs, first)] >= SEEMS_FROM
    is_large = ladder.gains[first.name].low >= DOUBLES and not ladder.has_fallen
    return first if is_probable or is_large else None


def _by_remedy(
    known: Known, ladder: Ladder, parts: Sequence[Planned], gains: Gains, verdicts: Sequence[Verdict]
) -> Answer:
    causes = [_shown_by(ladder.beliefs, part) for part in parts]
    verdict = _verdict_of(causes[0], verdicts)
    return Answer(
        known=known,
        causes=causes,
        probability=min(1.0, sum(ladder.beliefs[_most_probable(ladder.beliefs, part)] for part in parts)),
        tried="+".join(part.name for part in parts),
        factors={name: level for part in parts for name, level in part.factors.items()},
        gain=gains.gain,
        low=gains.low,
        high=gains.high,
        pairs=gains.pairs,
        claim=verdict.claim if verdict is not None else "",
        evidence=verdict.evidence if verdict is not None else [],
        change=verdict.change if verdict is not None else None,
    )


def _unproved(known: Known, causes: list[str], probability: float, verdict: Verdict | None) -> Answer:
    return Answer(
        known=known,
        causes=causes,
        probability=probability,
        claim=verdict.claim if verdict is not None else "",
        evidence=verdict.evidence if verdict is not None else [],
        change=verdict.change if verdict is not None else None,
    )


def _together(ladder: Ladder) -> list[Planned]:
    """The remedies that only together raise the rate, where that is certain: those without which all others do not."""
    by_name = {each.name: each for each in ladder.tries}
    whole = next((each for each in ladder.tries if each.parts and not each.name.startswith(WITHOUT)), None)
    gains = None if whole is None else ladder.gains.get(whole.name)
    if whole is None or gains is None or gains.pairs < ladder.pairs or not gains.is_sure:
        return []
    if len(whole.parts) == 2 and not all(name in ladder.gains for name in whole.parts):
        # One of them alone may do it.
        return []
    missed = []
    for name in whole.parts:
        without = ladder.gains.get(f"{WITHOUT}{name}")
        if len(whole.parts) == 2 or (without is not None and without.gain <= MATTERS * gains.gain):
            missed.append(by_name[name])
    return missed if len(missed) > 1 else []


def _shown_by(beliefs: Mapping[str, float], tried: Planned) -> str:
    """The cause that a remedy shows: the setting that it undoes, or the most probable of those that it takes away."""
    return str(tried.relieves[0]) if tried.name in UNDOES_CAUSE else _most_probable(beliefs, tried)


def _most_probable(beliefs: Mapping[str, float], tried: Planned) -> str:
    return str(max(tried.relieves, key=lambda cause: beliefs.get(str(cause), 0.0)))


def _is_open(ladder: Ladder) -> bool:
    """True where an experiment may have raised the rate after all."""
    return any(gains.high >= RAISES_FROM and gains.gain > 1 + (RAISES_FROM - 1) / 2 for gains in ladder.gains.values())


def _verdict_of(cause: str, verdicts: Sequence[Verdict]) -> Verdict | None:
    return next((verdict for verdict in verdicts if verdict.cause == cause), None)


def tried_of(ladder: Ladder) -> list[Tried]:
    """The experiments that were tried, in the order of the gains."""
    found = [(each, ladder.gains[each.name]) for each in ladder.tries if each.name in ladder.gains]
    return [
        Tried(
            name=each.name,
            factors=dict(each.factors),
            outcome=outcome_of(gains),
            gain=gains.gain,
            low=gains.low,
            high=gains.high,
            pairs=gains.pairs,
            relieves=[str(cause) for cause in each.relieves],
            is_remedy=each.is_remedy,
            is_of_path=each.is_of_path,
            halves=[str(cause) for cause in each.halves],
            **asdict(ladder.slower.get(each.name, Slower())),
            parts=list(each.parts),
        )
        for each, gains in sorted(found, key=lambda pair: -pair[1].gain)
    ]


def outcome_of(gains: Gains) -> Outcome:
    """The outcome that an interval shows."""
    if gains.low > 1 and gains.gain >= RAISES_FROM:
        return "raises"
    if gains.high < 1 and gains.gain <= 1 / RAISES_FROM:
        return "lowers"
    return "same" if gains.high < RAISES_FROM else "open"


def probabilities_of(ladder: Ladder, found: Sequence[CauseProbability]) -> list[CauseProbability]:
    """The probabilities after all experiments, the most probable first."""
    with_rule = {each.cause for each in found if each.is_found}
    ranked = sorted(ladder.beliefs.items(), key=lambda each: (-each[1], each[0]))
    return [
        CauseProbability(cause=name, probability=round(value, 4), is_found=name in with_rule)
        for name, value in ranked
        if value >= MIN_PROBABILITY
    ]
