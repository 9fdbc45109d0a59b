"""The evidence of an outcome on the causes: a change that takes away the limit raises the rate, any other leaves it.

The logarithm of the rate with the change over the rate without is normal around the true one. That is 0 where the
change does nothing, anything from 10 % up where it takes away the limit, and anything below where it does harm: a
mixture of the three for each cause, and Bayes' rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erf, exp, log, pi, sqrt
from statistics import mean

RAISES_FROM = 1.10
"""A user sees a difference of this size; half of it is what guests of one host do to each other (tests/e2e)."""
SURE_FROM = 1.05
"""That half: a gain whose interval lies above it, and that a user sees, is none of the noise."""
MOST = 20.0
"""Ratios of rates beyond it say no more."""

RAISED_IF_RELIEVED, RAISED_ELSE = 0.8, 0.05
"""Shares of changes that raised the rate: of those that undo the limiting cause, and of others. Where a change undoes
the limit, the next one may be as near."""
LOWERED_IF_RELIEVED, LOWERED = 0.04, 0.08
"""The same of those that lowered it: 5 of 118 and 19 of 228 (seeds 20261401, 20261403, 20261501 and 20261503)."""
RAISED_BY_MORE = 0.5
"""The same of four times the connections and of another congestion control, where something else limits: they raised
the rate in 12 of 23 such situations (seed 20261203), because both share a path in another way."""
RAISED_IN_PART = 0.4
"""The same of a path twice as fast, or of datagrams, where what limits holds up a part of the time, or TCP alone: they
raised the rate in 10 of 24 such situations (seed 20261203 and the first look at the reports)."""
DOUBLES_FROM = 2.2
"""The gain from which on a change at least doubles the rate: twice, and as much as a user sees."""
DOUBLED_IF_RELIEVED, DOUBLED_ELSE = 0.5, 0.1
"""Parts of the changes that raise the rate that double it: 56 of 118 of those that undo the limit, 1 of 12 of others
(seeds 20261401, 20261403, 20261501 and 20261503)."""
HALF_FROM, HALF_TO = 0.4, 0.65
"""The rate with half of a limit over the one without: a half, as far as the kernel's bookkeeping allows."""
HALVED, HALVED_ELSE, IN_PART = 0.8, 0.05, 0.15
"""Shares of changes that halved the rate: of those that make the limit half as high, of others; and of others that
lowered it less, because what has half now is the next limit. All three are assumptions."""
OFTEN = RAISED_IN_PART
"""The least of these shares of a change that takes something of the limit away."""
RAISED_TOGETHER = 0.12
"""The same of many changes at once, none of which undoes the limit by its description."""

MIN_SPREAD = 0.02
"""Of the logarithm of the rates of trials one after the other, on a quiet host (docs/laboratory/accuracy.md)."""
PRIOR_SPREAD, PRIOR_WEIGHT = 0.06, 3.0
"""The spread taken before anything was repeated, and as how many repetitions it counts."""
Z_AT_LOOKS = 2.576
"""The normal quantile for 99 %: five looks of 1 % each err in 5 % (Bonferroni)."""


@dataclass(frozen=True)
class Gains:
    """The results of the trials of an experiment next to those of the original.

    Attributes:
        mean: of the logarithms of its rates, less that of the original's.
        error: its standard error, of both.
        pairs: how many trials of it there are.
        half: half the width of an interval that holds at every look, of the logarithm.
    """

    mean: float
    error: float
    pairs: int
    half: float

    @property
    def gain(self) -> float:
        """The rate with the change over the rate without."""
        return exp(self.mean)

    @property
    def is_sure(self) -> bool:
        """True where the change certainly raises the rate."""
        return self.gain >= RAISES_FROM and self.low >= SURE_FROM

    @property
    def low(self) -> float:
        """The lower end of an interval that holds at every look; `high` is the upper one."""
        return exp(self.mean - self.half)

    @property
    def high(self) -> float:
        """The upper end."""
        return exp(self.mean + self.half)


def gains_of(
    rates: Mapping[str, Sequence[float]], original: str, prior_spread: float = PRIOR_SPREAD
) -> dict[str, Gains]:
    """The gains of each experiment over the `original`, from rates, or other speeds, that are all above 0.

    The spread of the logarithms is that within all of them together, and what is expected of it counts a little.
    """
    logs = {name: [log(rate) for rate in of] for name, of in rates.items() if of}
    if original not in logs:
        return {}
    squares = sum((each - mean(of)) ** 2 for of in logs.values() for each in of)
    freedom = sum(len(of) - 1 for of in logs.values())
    spread = max(MIN_SPREAD, sqrt((squares + PRIOR_WEIGHT * prior_spread**2) / (freedom + PRIOR_WEIGHT)))
    base = logs.pop(original)
    quantile = _student(freedom + PRIOR_WEIGHT)
    errors = {name: spread * sqrt(1 / len(of) + 1 / len(base)) for name, of in logs.items()}
    return {
        name: Gains(mean(of) - mean(base), errors[name], len(of), quantile * errors[name]) for name, of in logs.items()
    }


def _student(freedom: float) -> float:
    """Student's t at `Z_AT_LOOKS` (Abramowitz and Stegun, 26.7.5, two terms)."""
    z = Z_AT_LOOKS
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def likelihood(found: Gains, raised: float) -> float:
    """The density of the mean of these gains where a change raises the rate with that probability.

    One that raises it often doubles it often, too, and seldom lowers it.
    """
    doubled, lowered = doubled_where(raised), lowered_where(raised)
    value, error = min(log(MOST), max(-log(MOST), found.mean)), found.error
    same = exp(-0.5 * (value / error) ** 2) / (error * sqrt(2 * pi))
    more = _between(value, error, log(RAISES_FROM), log(DOUBLES_FROM))
    twice = _between(value, error, log(DOUBLES_FROM), log(MOST))
    above = doubled * twice + (1 - doubled) * more
    below = _between(value, error, -log(MOST), -log(RAISES_FROM))
    return raised * above + lowered * below + max(0.0, 1 - raised - lowered) * same


def doubled_where(raised: float) -> float:
    """The probability that a change which raises the rate doubles it, where it raises it with that probability."""
    return DOUBLED_IF_RELIEVED if raised >= OFTEN else DOUBLED_ELSE


def lowered_where(raised: float) -> float:
    """The probability that a change lowers the rate where it raises it with that probability."""
    return LOWERED_IF_RELIEVED if raised >= OFTEN else LOWERED


def likelihood_of_half(found: Gains, *, is_limit: bool) -> float:
    """The same of a change that makes something half as high, where that is the limit, or where it is not."""
    value, error = max(-log(MOST), found.mean), found.error
    half = _between(value, error, log(HALF_FROM), log(HALF_TO))
    less = _between(value, error, log(HALF_TO), -log(RAISES_FROM))
    same = exp(-0.5 * (value / error) ** 2) / (error * sqrt(2 * pi))
    if is_limit:
        rest = (1 - HALVED) / 2
        return HALVED * half + rest * less + rest * same
    return HALVED_ELSE * half + IN_PART * less + (1 - HALVED_ELSE - IN_PART) * same


def _between(value: float, error: float, low: float, high: float) -> float:
    """The density of a normal measurement of what is anywhere between two ends."""
    return max(_MIN_DENSITY, (_phi((value - low) / error) - _phi((value - high) / error)) / (high - low))


_MIN_DENSITY = 1e-6
"""Nothing is impossible: a load of another program may come in between."""


def _phi(value: float) -> float:
    return (1 + erf(value / sqrt(2))) / 2
