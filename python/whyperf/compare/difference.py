"""Tests whether the trials of two cells differ: Student's t, paired by block or Welch's, and the false-discovery rate.

Assumption: means of a few trials are about normal. Rates often have a long tail; then the variance is large, and a
difference is found too seldom rather than too often. Counting alone makes values differ (samples of stacks, bins of a
histogram), so no variance is taken to be below that (`floor`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyperf.compare.comparison import DifferenceTest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FALSE_DISCOVERY_RATE = 0.05
"""Part of the differences called significant that may be none, on average."""
CONFIDENCE = 0.95

_ROUNDING = 1e-9
"""Differences below this part of the values are those of floating-point numbers."""


@dataclass(frozen=True)
class Sample:
    """Figures of the trials of a cell: `values` has a row a figure and a column a trial.

    `floors` are the variances that a single value of each figure has by counting alone.
    """

    values: "Floats"
    floors: "Floats"

    @property
    def means(self) -> "Floats":
        """The mean of each figure over the trials."""
        found: Floats = self.values.mean(axis=1)
        return found


def differences_of(a: Sample, b: Sample, *, is_paired: bool) -> list[DifferenceTest]:
    """The difference of the means of each figure, its interval and its p-value.

    Without interval and p-value where a cell has one trial.

    With `is_paired`, columns at the same place were measured in the same block.

    W. S. Gosset ("Student"), Biometrika 6 (1908) 1-25; B. L. Welch, Biometrika 34 (1947) 28-35, with his degrees of
    freedom.
    """
    import numpy as np  # noqa: PLC0415 - printing a stored comparison needs none
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - takes long to load

    differences = b.means - a.means
    if min(a.values.shape[1], b.values.shape[1]) < 2:
        return [DifferenceTest(difference=value, is_paired=is_paired) for value in differences.tolist()]
    errors, freedom = _paired_errors(a, b) if is_paired else _welch_errors(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stdtr(freedom, -np.abs(differences) / errors)
    is_none = np.abs(differences) <= _ROUNDING * np.maximum(np.abs(a.means), np.abs(b.means))
    p_values = np.where(is_none, 1.0, np.where(errors > 0, p_values, 0.0))
    margins = stdtrit(freedom, (1 + CONFIDENCE) / 2) * errors
    columns = (differences, differences - margins, differences + margins, p_values)
    return [
        DifferenceTest(difference=difference, low=low, high=high, p_value=p_value, is_paired=is_paired)
        for difference, low, high, p_value in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _paired_errors(a: Sample, b: Sample) -> "tuple[Floats, Floats]":
    """Standard errors of the mean differences, and their degrees of freedom."""
    import numpy as np  # noqa: PLC0415 - as above

    differences = b.values - a.values
    count = differences.shape[1]
    variances = np.maximum(differences.var(axis=1, ddof=1), a.floors + b.floors)
    return np.sqrt(variances / count), np.full(len(differences), count - 1.0)


def _welch_errors(a: Sample, b: Sample) -> "tuple[Floats, Floats]":
    import numpy as np  # noqa: PLC0415 - as above

    counts = [sample.values.shape[1] for sample in (a, b)]
    parts = [
        np.maximum(sample.values.var(axis=1, ddof=1), sample.floors) / count
        for sample, count in zip((a, b), counts, strict=True)
    ]
    total = parts[0] + parts[1]
    below = sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(total > 0, total**2 / below, sum(counts) - 2.0)
    return np.sqrt(total), freedom


def significant(p_values: Sequence[float | None]) -> list[bool]:
    """Which of the differences are significant, tested together; those without a p-value are not.

    Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57 (1995) 289-300.
    """
    known = sorted(value for value in p_values if value is not None)
    passed = [value for rank, value in enumerate(known, start=1) if value <= FALSE_DISCOVERY_RATE * rank / len(known)]
    limit = max(passed, default=-1.0)
    return [value is not None and value <= limit for value in p_values]
