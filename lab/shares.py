"""The interval of a share."""

from math import sqrt

Z95 = 1.959964
"""Of the normal distribution: 95 % lie within so many standard deviations."""


def wilson(number: int, of: int) -> tuple[float, float]:
    """The ends of the 95 % interval of a share (Wilson, JASA 1927), as ratios; all of it where there is nothing.

    It takes the single outcomes as independent.
    """
    if not of:
        return 0.0, 1.0
    share = number / of
    middle = (share + Z95**2 / (2 * of)) / (1 + Z95**2 / of)
    half = Z95 * sqrt(share * (1 - share) / of + Z95**2 / (4 * of**2)) / (1 + Z95**2 / of)
    return max(0.0, middle - half), min(1.0, middle + half)
