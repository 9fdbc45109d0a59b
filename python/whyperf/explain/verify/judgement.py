"""Whether a verdict names the cause, and whether it predicted the gain: two answers from the same pairs of trials.

The cause is confirmed where its change brings a gain worth the claim. The prediction is right where the measured
interval meets the predicted one. A cause may be confirmed whose gain was predicted wrong by far.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

from whyperf.analyze.text import si
from whyperf.explain.model import Value, Verification
from whyperf.explain.verify.looks import MIN_PAIRS, Looks
from whyperf.explain.wording.verifications import with_text

#: A claim that names no figure promises this much.
WORTH_GAIN = 1.10
#: Share of a large claim's logarithm that is worth it.
WORTH_PART = 1 / 3

#: The original is not reproduced where its rate is so many times the recorded one, or so small a part of it. Guests of
#: a host that share its CPUs change a rate by less.
MAX_CHANGE = 2

Outcome = Literal["confirmed", "refuted", "undecided"]


class Pair(NamedTuple):
    """Rates of the original and of the changed cell in the same block, in one unit, each above 0."""

    block: int
    original: float
    changed: float

    @property
    def gain(self) -> float:
        """1 is no change."""
        return self.changed / self.original


class PredictedGain(NamedTuple):
    """A verdict's predicted gain, most likely between `low` and `high`; without `gain` these leave it open."""

    gain: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def claimed(self) -> float | None:
        """What the verdict claims at least: its gain, or where that is open the low end."""
        return self.low if self.gain is None else self.gain


class Judged(NamedTuple):
    """A verification so far, and whether more pairs are wanted."""

    verification: Verification
    is_settled: bool


class _Measured(NamedTuple):
    gain: float
    low: float
    high: float


def judge(
    pairs: Sequence[Pair],
    predicted: PredictedGain,
    looks: Looks,
    *,
    tried: int | None = None,
    change: str = "the change",
    experiment: str = "",
    recorded: float | None = None,
    unit: str = "bit/s",
) -> Judged:
    """Marks a verdict's cause and its prediction from pairs of rates measured in the same block.

    All of it is as of the last look reached. The gain is the Hodges-Lehmann estimate of the pairs' ratios on a
    logarithmic scale, its interval one that holds at every look (see `looks`). The cause is *confirmed* where the whole
    interval lies above the gain that is worth the claim (`worth_gain`), *refuted* where it lies below, else
    *undecided*. Nothing is judged where the original does not reach the rate any more that was explained, or reaches
    much more.

    Args:
        pairs: those with a result, by block.
        predicted: of the verdict.
        looks: after how many blocks to judge.
        tried: blocks that were measured, with a result or without; all where not said.
        change: what was changed, for the sentence.
        experiment: where the pairs are kept.
        recorded: the rate of the explained cell in the unit of the pairs, where it is known; `unit` is its name.
    """
    from whyperf.explain.verify.signed_ranks import center  # noqa: PLC0415 - printing what was judged needs no numpy

    tried = looks.most if tried is None else tried
    reached = [look for look in looks.at if look <= tried]
    seen = [pair for pair in pairs if pair.block <= (reached[-1] if reached else tried)]
    now = median(pair.original for pair in seen) if seen and reached else None
    if now is not None and recorded and not 1 / MAX_CHANGE <= now / recorded <= MAX_CHANGE:
        values: dict[str, Value] = {
            "change": change,
            "tried_pairs": reached[-1],
            "now": si(now, unit),
            "recorded": si(recorded, unit),
        }
        found = Verification(
            code="not_reproduced",
            values=values,
            outcome="undecided",
            predicted_gain=predicted.gain,
            predicted_low=predicted.low,
            predicted_high=predicted.high,
            measured_gain=None,
            low=None,
            high=None,
            pairs=len(seen),
            words="",
            experiment=experiment,
        )
        return Judged(with_text(found), is_settled=True)
    measured = _measured(seen, looks, reached)
    outcome = _outcome(measured, predicted.claimed)
    gains = [math.log(pair.gain) for pair in seen]
    is_final = tried >= looks.most
    most = reached[-1] if reached else tried
    verification = with_text(
        Verification(
            code=_code(outcome, bool(seen), measured, is_final=is_final),
            values={
                "change": change,
                "tried_pairs": most,
                "fewest_pairs": MIN_PAIRS,
                "max_pairs": looks.most,
                "worth_times": worth_gain(predicted.claimed),
            },
            outcome=outcome,
            predicted_gain=predicted.gain,
            predicted_low=predicted.low,
            predicted_high=predicted.high,
            is_as_predicted=_is_as_predicted(measured, predicted),
            measured_gain=math.exp(center(gains)) if gains else None,
            low=measured.low if measured else None,
            high=measured.high if measured else None,
            pairs=len(seen),
            words="",
            experiment=experiment,
        )
    )
    return Judged(verification, outcome != "undecided" or is_final)


def _is_as_predicted(measured: _Measured | None, predicted: PredictedGain) -> bool | None:
    """Whether the two intervals meet; None where either is not known, or what was measured may be no gain at all."""
    if predicted.gain is None or predicted.low is None or predicted.high is None or measured is None:
        return None
    if measured.high < predicted.low or predicted.high < measured.low:
        return False
    return None if measured.low <= 1 < predicted.low else True


def worth_gain(claimed: float | None) -> float:
    """The gain that is worth a claim: 10 %, or the cube root of a large claim, or the square root of a small one."""
    if claimed is None or claimed <= 1:
        return WORTH_GAIN
    return max(math.pow(claimed, WORTH_PART), min(WORTH_GAIN, math.sqrt(claimed)))


def _measured(seen: Sequence[Pair], looks: Looks, reached: Sequence[int]) -> _Measured | None:
    from whyperf.explain.verify.signed_ranks import center, repeated_interval  # noqa: PLC0415 - as above

    taken = looks.taken([sum(pair.block <= look for pair in seen) for look in reached])
    gains = [math.log(pair.gain) for pair in seen]
    interval = repeated_interval(gains, taken) if taken and gains else None
    if interval is None:
        return None
    return _Measured(math.exp(center(gains)), math.exp(interval[0]), math.exp(interval[1]))


def _outcome(measured: _Measured | None, claimed: float | None) -> Outcome:
    if measured is None:
        return "undecided"
    worth = worth_gain(claimed)
    return "confirmed" if measured.low > worth else "refuted" if measured.high < worth else "undecided"


def _code(outcome: Outcome, has_pairs: bool, measured: _Measured | None, *, is_final: bool) -> str:
    """The sentence about the cause in the catalog."""
    if measured is None:
        return "too_few" if has_pairs else "no_pairs"
    if outcome != "undecided":
        return outcome
    return "undecided_final" if is_final else "undecided_open"
