"""Whether the change did what the verdict foretold: a gain measured in pairs against the one predicted."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

from whyperf.analyze.intervals import FEWEST_TRIALS, median_intervals
from whyperf.analyze.quantity import count, percent, significant
from whyperf.explain.model import Verification

#: A claim that names no figure promises this much.
WORTH_GAIN = 1.10
#: Part of the predicted gain's logarithm that confirms a claim, and below which it is refuted.
CONFIRMS = 1 / 2
REFUTES = 1 / 3

Outcome = Literal["confirmed", "refuted", "undecided"]
#: A gain and the ends of its interval.
Measured = tuple[float | None, float | None, float | None]


def judge(
    pairs: Sequence[tuple[float, float]],
    predicted_gain: float | None,
    *,
    asked: int,
    seed: int,
    change: str = "the change",
    experiment: str = "",
) -> Verification:
    """Marks a verdict from pairs of rates measured in the same block.

    The gain is the median of the pairs' ratios, its interval a bootstrap over the pairs (see `analyze.intervals`).
    *Confirmed*: the whole interval lies above 1, and the gain is at least half of the predicted one on a logarithmic
    scale, so that a prediction of 4 wants 2. *Refuted*: the whole interval lies below a gain worth the claim, 10 % or
    a third of the prediction. *Undecided*: neither, or fewer than three pairs.

    Args:
        pairs: rates of the original and of the changed cell, in one unit, each above 0.
        predicted_gain: of the verdict; None or 1 and below where it names none.
        asked: pairs that were planned.
        seed: of the bootstrap.
        change: what was changed, for the sentence.
        experiment: where the pairs are kept.
    """
    ratios = [changed / original for original, changed in pairs]
    gain = median(ratios) if ratios else None
    ((low, high),) = median_intervals([ratios], seed)
    measured = (gain, low, high)
    outcome = _outcome(measured, predicted_gain) if len(ratios) >= FEWEST_TRIALS else "undecided"
    return Verification(
        outcome=outcome,
        predicted_gain=predicted_gain,
        measured_gain=gain,
        low=low,
        high=high,
        pairs=len(ratios),
        words=_words(outcome, measured, predicted_gain, _pairs_text(len(ratios), asked), change),
        experiment=experiment,
    )


def thresholds(predicted_gain: float | None) -> tuple[float, float]:
    """The least gain that confirms a claim, and the gain below which it is refuted; the second is never the larger."""
    if predicted_gain is None or predicted_gain <= 1:
        return WORTH_GAIN, WORTH_GAIN
    confirms = predicted_gain**CONFIRMS
    # A small prediction is not refuted by what would confirm it.
    return confirms, max(predicted_gain**REFUTES, min(WORTH_GAIN, confirms))


def _outcome(measured: Measured, predicted_gain: float | None) -> Outcome:
    gain, low, high = measured
    if gain is None or low is None or high is None:
        return "undecided"
    confirms, refutes = thresholds(predicted_gain)
    if low > 1 and gain >= confirms:
        return "confirmed"
    return "refuted" if high < refutes else "undecided"


def _pairs_text(pairs: int, asked: int) -> str:
    return count(pairs, "pair") if pairs == asked else f"{pairs} of {count(asked, 'pair')}"


def _words(outcome: Outcome, measured: Measured, predicted_gain: float | None, pairs: str, change: str) -> str:
    gain, low, high = measured
    if gain is None:
        return f"Undecided: with {change} {pairs} have a result."
    told = f"with {change} the rate was {gain_text(gain)}"
    if low is None or high is None:
        return f"Undecided: {told} in {pairs}, which tells no interval."
    interval = f"{significant(low)} to {significant(high)} times in {pairs}"
    expected = "" if predicted_gain is None else f"; {gain_text(predicted_gain)} was predicted"
    reason = {
        "confirmed": "",
        "refuted": ", and that is no gain worth the claim",
        "undecided": ", which neither confirms nor refutes the claim; more pairs may (--pairs)",
    }[outcome]
    return f"{outcome.capitalize()}: {told} ({interval}){expected}{reason}."


def gain_text(gain: float) -> str:
    """A gain as it is read: `2.3 times as high`, `the same`, `3 % higher`."""
    if math.isclose(gain, 1, abs_tol=0.005):
        return "the same"
    if gain >= 1.5 or gain <= 0.5:
        return f"{significant(gain)} times as high"
    return f"{percent(abs(gain - 1))} {'higher' if gain > 1 else 'lower'}"
