"""The sharing of a path by flows: stability, fairness within a protocol, harm between protocols."""

import math

import numpy as np

from whyperf.analyze.steady.rates import Floats


def stability(bps: Floats) -> float | None:
    """S of a goodput over time: its standard deviation over its mean; 0 is a straight line.

    R. L. Cottrell et al., "Characterization and evaluation of TCP and UDP-based transport on real networks" (2005).
    The deviation is the sample's (n - 1). None for fewer than two values or a mean of 0.
    """
    if bps.size < 2 or not bps.mean() > 0:
        return None
    return float(bps.std(ddof=1) / bps.mean())


def fairness(bps: Floats) -> float | None:
    """Jain's index F = (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has all.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource allocation in shared
    computer systems", DEC TR-301 (1984). None for fewer than two flows, or when nothing moved.
    """
    largest = float(bps.max(initial=0.0))
    if bps.size < 2 or largest <= 0:
        return None
    # Squares of very small or large values alone would not fit in a float. A power of two rounds nothing.
    parts = np.ldexp(bps, -math.frexp(largest)[1])
    return float(parts.sum() ** 2 / (bps.size * (parts * parts).sum()))


def goodput_harm(alone_bps: float, together_bps: float) -> float | None:
    """The harm of a competitor to a flow's goodput: (alone - together) / alone; 1 is all of it, below 0 a benefit.

    R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's fairness index: setting the bar for the deployment of
    congestion control algorithms", HotNets (2019), for "more is better".
    """
    return (alone_bps - together_bps) / alone_bps if alone_bps > 0 else None


def rtt_harm(alone_s: float, together_s: float) -> float | None:
    """The same for a round-trip time, of which less is better: (together - alone) / together."""
    return (together_s - alone_s) / together_s if together_s > 0 else None


def mean(values: Floats) -> float | None:
    """The mean; None of nothing."""
    return float(np.mean(values)) if values.size else None
