"""When the pairs of a verification are looked at, and an interval that holds at every look.

A trial costs seconds, so the pairs are judged after the first few, and more are measured only where that does not
decide. Who looks several times and stops when it suits him errs more often than each look says (P. Armitage, C. K.
McPherson and B. C. Rowe, JRSS A 132 (1969) 235-244). So the probability of an error is spent over the looks, in parts
that were laid down before (K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials",
Biometrika 70 (1983) 659-663), and each look's interval is as wide as its part asks: as repeated confidence intervals
(C. Jennison and B. W. Turnbull, JRSS B 51 (1989) 305-361) all of them together hold the gain in 95 % of verifications,
whenever one stops and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass

#: Probability that a side of some look's interval leaves out the gain: 95 % for both sides.
SIDE = 0.025
#: Part of it for the first look, from which on six pairs can decide something: 1/64 of all orders of signs is one.
OF_FIRST = 2 / 3
#: The fewest pairs of which any interval covers 95 %.
MIN_PAIRS = 6
#: Looks at a verification that goes on to its most.
LOOKS = 4
#: The most pairs with several looks: all signs of so many pairs are gone through.
MAX_WITH_LOOKS = 20


@dataclass(frozen=True)
class Looks:
    """After how many pairs a verification is judged: after `first`, then evenly until `most`."""

    first: int
    most: int

    @property
    def at(self) -> tuple[int, ...]:
        """The numbers of pairs, ascending; `most` alone where the steps would be none."""
        if self.first >= self.most:
            return (self.most,)
        steps = (self.first + round((self.most - self.first) * number / (LOOKS - 1)) for number in range(LOOKS))
        return tuple(sorted(set(steps)))

    def taken(self, pairs_at: Sequence[int]) -> tuple[tuple[int, float], ...]:
        """The looks that were taken: pairs there were, and what of the probability is spent until then.

        Args:
            pairs_at: pairs with a result, at each look so far. A look at no more pairs than the one before is none.
        """
        planned = self.at
        spent = [
            SIDE if look == planned[-1] else SIDE * (OF_FIRST + (1 - OF_FIRST) * number / (len(planned) - 1))
            for number, look in enumerate(planned)
        ]
        found: dict[int, float] = {}
        for pairs, until in zip(pairs_at, spent, strict=False):
            found.setdefault(pairs, until)
        return tuple(found.items())
