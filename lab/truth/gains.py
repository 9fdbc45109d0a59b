"""Compares the gains that verdicts on doses predict with the gains measured by removing the cause.

A dose is measured with its cause and, in its baseline, without it. The ratio of the two rates is the gain that the
verdict's change should bring. It is compared only where the change restores the baseline. Some changes do something
else: eight exchanges at once instead of a shorter path, or twice the link rate instead of four times. Only a trial of
such a change could show its gain.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from whyperf.explain.explanation import Change, Verdict

#: A prediction with at most this error counts as correct.
NEAR = 0.20
#: Doses with a gain up to this are mild.
MILD = 20.0
#: Levels that mean the same: the factor is not set.
_NOTHING = {"none", "default", 0}


@dataclass(frozen=True)
class Prediction:
    """The gain that a verdict predicts, its interval from `low` to `high`, and the measured gain."""

    predicted: float
    low: float | None
    high: float | None
    measured: float

    @property
    def error_ratio(self) -> float:
        """The error as a ratio of the measured gain."""
        return abs(self.predicted / self.measured - 1)

    @property
    def is_inside(self) -> bool:
        """True where the measured gain is in the predicted interval."""
        return self.low is not None and self.high is not None and self.low <= self.measured <= self.high


def prediction_of(
    verdict: Verdict | None, measured: float | None, factors: Mapping[str, object], baseline: Mapping[str, object]
) -> Prediction | None:
    """The gain that the correct verdict on a dose predicts.

    None where it predicts none, or where its change does not restore the baseline.

    Args:
        verdict: the first correct one.
        measured: the baseline's rate over the dose's.
        factors: the factors of the dose that inject its cause.
        baseline: all factors of its baseline.
    """
    if verdict is None or verdict.predicted_gain is None or not measured or not restores(verdict, factors, baseline):
        return None
    return Prediction(verdict.predicted_gain, verdict.predicted_low, verdict.predicted_high, measured)


def restores(verdict: Verdict, factors: Mapping[str, object], baseline: Mapping[str, object]) -> bool:
    """True where the verdict's change makes the baseline of a dose whose `factors` inject its cause."""
    change = verdict.change or Change()
    if not change.factors:
        # A plan cannot make the change: the prediction is the rate without the cause.
        return True
    # A workload with a think time of 0 equals the workload without one.
    named = {name for name in factors if not (name == "workload" and "think_us" in factors)}
    now = {**factors, **change.factors}
    return all(_is_same(now[name], baseline.get(name, "none")) for name in named)


def _is_same(level: object, other: object) -> bool:
    return level == other or (level in _NOTHING and other in _NOTHING)


def median_error(predictions: Iterable[Prediction]) -> float | None:
    """The median error; None without any."""
    errors = [prediction.error_ratio for prediction in predictions]
    return median(errors) if errors else None
