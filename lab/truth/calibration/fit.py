"""Makes the table of gains of `explain/calibration` from the claims of truth experiments, and says how well it does.

A table is made from some records and judged on others: on other situations, not only on other trials of the same.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from lab.truth.calibration.residuals import Claimed
from whyperf.explain.calibration.tables import GainClass, Gains
from whyperf.explain.limits.joint import OWN_INTERVAL, family_of

COVERAGE = 0.8
"""Share of measured gains that intervals should hold."""
MIN_RESIDUALS = 9
"""The fewest with which both limits of an interval of 80 % are order statistics: 0.9 * (n + 1) <= n."""
MAX_NUMBER = 2
"""Verdicts whose gains are compared, from the first on; and joint gains."""


def fitted_gains(claims: Iterable[Claimed], *, source: str, date: str, coverage: float = COVERAGE) -> Gains:
    """Quantiles of the residuals: of each level and basis family, of each level, of each family, of all."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for claim in claims:
        if claim.number > MAX_NUMBER or claim.basis in OWN_INTERVAL:
            continue
        if (residual := claim.residual) is not None:
            family = family_of(claim.basis)
            for key in {(claim.level, family), (claim.level, ""), ("", family), ("", "")}:
                found[key].append(residual)
    classes = [_class(*key, sorted(found[key]), coverage) for key in sorted(found) if len(found[key]) >= MIN_RESIDUALS]
    return Gains(source=source, date=date, coverage=coverage, classes=tuple(classes))


def _class(level: str, basis: str, residuals: Sequence[float], coverage: float) -> GainClass:
    """The conformal interval: the order statistics that leave out half of the rest on each side."""
    number, side = len(residuals), (1 - coverage) / 2
    high = min(number, math.ceil((1 - side) * (number + 1)))
    low = max(1, number + 1 - high)
    ends = [math.exp(found) for found in (residuals[low - 1], median(residuals), residuals[high - 1])]
    return GainClass(
        level=level,
        basis=basis,
        residuals=number,
        low=round(ends[0], 3),
        median=round(ends[1], 3),
        high=round(ends[2], 3),
    )


@dataclass(frozen=True)
class Quality:
    """The quality of the printed intervals of a level: `coverage` and `median_error` as ratios, `median_width` as
    high over low; `open` gains were not predicted.
    """

    level: str
    compared: int
    open: int
    coverage: float | None
    median_width: float | None
    median_error: float | None


def quality_of(claims: Iterable[Claimed], level: str) -> Quality:
    """Of the claims of one level whose gain was measured."""
    known = [claim for claim in claims if claim.level == level and claim.number <= MAX_NUMBER and claim.measured_gain]
    whole = [(claim, claim.measured_gain or 0.0) for claim in known if claim.predicted_gain is not None]
    bounds = [(claim.low or 0.0, claim.high or 0.0, measured) for claim, measured in whole]
    inside = [low <= measured <= high for low, high, measured in bounds]
    return Quality(
        level=level,
        compared=len(whole),
        open=len(known) - len(whole),
        coverage=sum(inside) / len(inside) if inside else None,
        median_width=median(high / low for low, high, _ in bounds if low) if bounds else None,
        median_error=median(abs((claim.predicted_gain or 0.0) / measured - 1) for claim, measured in whole)
        if whole
        else None,
    )


def as_toml(table: Gains) -> str:
    """The table as its file has it, one class a line."""
    content = table.model_dump()
    rows = content.pop("classes")
    head = [f"{key} = {_value(value)}" for key, value in content.items()]
    lines = [f"  {{ {', '.join(f'{key} = {_value(value)}' for key, value in row.items())} }}," for row in rows]
    return "\n".join((*head, "classes = [", *lines, "]", ""))


def _value(value: object) -> str:
    return json.dumps(value)
