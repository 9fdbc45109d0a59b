"""Whether the change did what the verdict foretold: a gain measured in pairs against the one predicted."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from whyperf.analyze.quantity import count, percent, significant
from whyperf.explain.model import Verification
from whyperf.explain.verify.looks import FEWEST_PAIRS, Looks, middle, repeated_interval

#: A claim that names no figure promises this much.
WORTH_GAIN = 1.10
#: Part of the predicted gain's logarithm that confirms a claim, and below which it is refuted.
CONFIRMS = 1 / 2
REFUTES = 1 / 3

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
    predicted_gain: float | None,
    looks: Looks,
    *,
    tried: int | None = None,
    change: str = "the change",
    experiment: str = "",
) -> Judged:
    """Marks a verdict from pairs of rates measured in the same block, as of the last look that was reached.

    The gain is the middle of the pairs' ratios on a logarithmic scale, its interval one that holds at every look (see
    `looks`). A line lies at a gain worth the claim: 10 %, or a third of the prediction as doublings go.
    *Confirmed*: the whole interval lies above that line, and the gain is at least half of the predicted one on a
    logarithmic scale, so that a prediction of 4 wants 2. *Refuted*: the whole interval lies below the line.
    *Undecided*: neither. Settled is also what lies between line and half of the prediction, whole: a gain, and not
    the one that was claimed.

    Args:
        pairs: those with a result, by block.
        predicted_gain: of the verdict; None or 1 and below where it names none.
        looks: after how many blocks to judge.
        tried: blocks that were measured, with a result or without; all where not said.
        change: what was changed, for the sentence.
        experiment: where the pairs are kept.
    """
    tried = looks.most if tried is None else tried
    reached = [look for look in looks.at if look <= tried]
    seen = [pair for pair in pairs if pair.block <= (reached[-1] if reached else tried)]
    measured = _measured(seen, looks, reached)
    outcome, is_settled = _outcome(measured, predicted_gain)
    is_settled = is_settled or tried >= looks.most
    gains = [math.log(pair.gain) for pair in seen]
    verification = Verification(
        outcome=outcome,
        predicted_gain=predicted_gain,
        measured_gain=math.exp(middle(gains)) if gains else None,
        low=measured.low if measured else None,
        high=measured.high if measured else None,
        pairs=len(seen),
        words="",
        experiment=experiment,
    )
    most = reached[-1] if reached else tried
    told = count(len(seen), "pair") if len(seen) == most else f"{len(seen)} of {count(most, 'pair')}"
    words = _words(verification, told, change, _why(outcome, measured, predicted_gain, looks, tried))
    return Judged(verification.model_copy(update={"words": words}), is_settled)


def beside_range(found: Verification, low: float | None, high: float | None) -> Verification:
    """The verification with whether what was measured meets the range that was predicted, if one was."""
    if low is None or high is None or found.low is None or found.high is None:
        return found
    meets = found.low <= high and low <= found.high
    between = f"{significant(low, 2)} to {significant(high, 2)}"
    told = f"That meets the predicted range of {between}." if meets else f"The predicted range of {between} is missed."
    update = {"predicted_low": low, "predicted_high": high, "is_as_predicted": meets, "words": f"{found.words} {told}"}
    return found.model_copy(update=update)


def thresholds(predicted_gain: float | None) -> tuple[float, float]:
    """The least gain that confirms a claim, and the gain below which it is refuted; the second is never the larger."""
    if predicted_gain is None or predicted_gain <= 1:
        return WORTH_GAIN, WORTH_GAIN
    confirms = predicted_gain**CONFIRMS
    # A small prediction is not refuted by what would confirm it.
    return confirms, max(predicted_gain**REFUTES, min(WORTH_GAIN, confirms))


def _measured(seen: Sequence[Pair], looks: Looks, reached: Sequence[int]) -> _Measured | None:
    taken = looks.taken([sum(pair.block <= look for pair in seen) for look in reached])
    gains = [math.log(pair.gain) for pair in seen]
    interval = repeated_interval(gains, taken) if taken and gains else None
    if interval is None:
        return None
    return _Measured(math.exp(middle(gains)), math.exp(interval[0]), math.exp(interval[1]))


def _outcome(measured: _Measured | None, predicted_gain: float | None) -> tuple[Outcome, bool]:
    """The outcome, and whether more pairs cannot be expected to change it."""
    if measured is None:
        return "undecided", False
    confirms, refutes = thresholds(predicted_gain)
    if measured.low > refutes and measured.gain >= confirms:
        return "confirmed", True
    if measured.high < refutes:
        return "refuted", True
    return "undecided", refutes < measured.low and measured.high < confirms


def _why(outcome: Outcome, measured: _Measured | None, predicted_gain: float | None, looks: Looks, tried: int) -> str:
    if outcome == "confirmed":
        return ""
    if outcome == "refuted":
        return ", and that is no gain worth the claim"
    if measured is None:
        return ""
    if _outcome(measured, predicted_gain)[1]:
        return ", which is a gain, and less than half of the one that was claimed"
    more = "more pairs may (--most)" if tried >= looks.most else f"up to {looks.most} pairs may"
    return f", which neither confirms nor refutes the claim; {more}"


def _words(found: Verification, pairs: str, change: str, why: str) -> str:
    if found.measured_gain is None:
        return f"Undecided: with {change} {pairs} have a result."
    told = f"with {change} the rate was {gain_text(found.measured_gain)}"
    if found.low is None or found.high is None:
        return f"Undecided: {told} in {pairs}, which tells no interval; {FEWEST_PAIRS} pairs can."
    interval = f"{significant(found.low)} to {significant(found.high)} times in {pairs}"
    predicted = found.predicted_gain
    expected = "" if predicted is None else f"; {gain_text(predicted)} was predicted"
    return f"{found.outcome.capitalize()}: {told} ({interval}){expected}{why}."


def gain_text(gain: float) -> str:
    """A gain as it is read: `2.3 times as high`, `the same`, `3 % higher`."""
    if math.isclose(gain, 1, abs_tol=0.005):
        return "the same"
    if gain >= 1.5 or gain <= 0.5:
        return f"{significant(gain)} times as high"
    return f"{percent(abs(gain - 1))} {'higher' if gain > 1 else 'lower'}"
