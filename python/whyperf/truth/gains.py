"""What verdicts on doses foretold of their change, beside what taking the cause away brought.

A dose is measured with its cause and, in its baseline, without: that is the gain which the verdict's change should
bring. It is compared where the change gives the baseline back. Where it does another thing (eight exchanges at once
instead of a shorter path, twice a line's rate instead of four times), trying the change alone could tell.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from whyperf.explain.model import Change, Verdict

#: Errors that are as good as right.
NEAR = 0.20
#: A gain up to here is a mild dose's.
MILD = 20.0
#: Levels that mean the same: not there at all.
_NOTHING = {"none", "default", 0}


@dataclass(frozen=True)
class Prediction:
    """The gain that a verdict foretold, from `low` to `high`, and the one that was measured."""

    predicted: float
    low: float | None
    high: float | None
    measured: float

    @property
    def error_ratio(self) -> float:
        """How far it was off, as a part of what was measured."""
        return abs(self.predicted / self.measured - 1)

    @property
    def is_inside(self) -> bool:
        """Whether what was measured lies in the interval that was told."""
        return self.low is not None and self.high is not None and self.low <= self.measured <= self.high


def prediction_of(
    verdict: Verdict | None, measured: float | None, factors: Mapping[str, object], baseline: Mapping[str, object]
) -> Prediction | None:
    """What the right verdict on a dose foretold; None where it foretold nothing, or not of the baseline.

    Args:
        verdict: the first that is right.
        measured: the baseline's rate over the dose's.
        factors: those of the dose that put its cause there.
        baseline: all of its baseline.
    """
    if verdict is None or verdict.predicted_gain is None or not measured or not _gives_back(verdict, factors, baseline):
        return None
    return Prediction(verdict.predicted_gain, verdict.predicted_low, verdict.predicted_high, measured)


def _gives_back(verdict: Verdict, factors: Mapping[str, object], baseline: Mapping[str, object]) -> bool:
    change = verdict.change or Change()
    if not change.factors:
        # Nothing that a plan could do: what is foretold is the rate without the cause.
        return True
    # A workload that thinks for no time is the one that does not think.
    named = {name for name in factors if not (name == "workload" and "think_us" in factors)}
    now = {**factors, **change.factors}
    return all(_is_same(now[name], baseline.get(name, "none")) for name in named)


def _is_same(level: object, other: object) -> bool:
    return level == other or (level in _NOTHING and other in _NOTHING)


def median_error(predictions: Iterable[Prediction]) -> float | None:
    """The median error; None without any."""
    errors = [one.error_ratio for one in predictions]
    return median(errors) if errors else None
