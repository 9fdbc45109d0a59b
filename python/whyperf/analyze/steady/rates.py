"""A trial's total rate over time, from interval rows of all its connections."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cumulative(starts: Floats, ends: Floats, octets: Floats) -> tuple[Floats, Floats]:
    """Total octets moved until each edge of any row: (instants, totals), both ascending.

    Every row moves its octets at a constant rate, so the total is piecewise linear and its slope
    changes only at edges. Rows may overlap (connections) and leave gaps (no octets moved).
    """
    lengths = ends - starts
    solid = lengths > 0
    rates = octets[solid] / lengths[solid]
    instants = np.concatenate([starts[solid], ends[solid]])
    changes = np.concatenate([rates, -rates])
    order = np.argsort(instants, kind="stable")
    edges = instants[order]
    slopes = np.cumsum(changes[order])
    totals = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(edges))])
    return edges, totals


def rates_between(edges: Floats, starts: Floats, ends: Floats, octets: Floats) -> Floats:
    """Mean rate in bit/s in each of the n-1 spans between n ascending `edges` (ns)."""
    instants, totals = cumulative(starts, ends, octets)
    moved = np.diff(np.interp(edges, instants, totals))
    spans = np.diff(edges)
    result: Floats = moved * 8e9 / spans
    return result
