"""M4: the fewest points that draw the same line.

U. Jugel, Z. Jerzak, G. Hackenbroich, V. Markl, "M4: A Visualization-Oriented Time Series Data
Aggregation", PVLDB 7(10), 2014: of all points in a pixel column only the first, the last, a lowest
and a highest matter to a line drawn through them.
"""

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.flow.series import Times, Values

POINTS_PER_COLUMN = 4

Indices = NDArray[np.int64]


def m4(time_ns: Times, value: Values, start_ns: int, end_ns: int, columns: int) -> Indices:
    """Indices, ascending, of the points to draw between `start_ns` and `end_ns` (exclusive) on `columns` pixels.

    The last point before and the first after are among them, so that lines run to the edges. A view
    of at most 4 x `columns` points keeps every one.
    """
    low, high = (int(at) for at in np.searchsorted(time_ns, (start_ns, end_ns)))
    edges = np.arange(max(0, low - 1), min(time_ns.size, high + 1))
    if high - low <= POINTS_PER_COLUMN * columns:
        return edges
    # 63 bits hold the product up to a view of 26 days on 4,000 columns.
    column = (time_ns[low:high] - start_ns) * columns // (end_ns - start_ns)
    kept = extremes(column, value[low:high]) + low
    return np.unique(np.concatenate([edges[edges < low], kept, edges[edges >= high]]))


def extremes(bins: NDArray[np.int64], value: Values) -> Indices:
    """Of each bin its first, last, first lowest and first highest point: indices, ascending.

    `bins`, shape (n,), is ascending; `value` has the same shape.
    """
    if bins.size == 0:
        return np.empty(0, dtype=np.int64)
    starts = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
    stops = np.append(starts[1:], bins.size)
    kept = np.zeros(bins.size, dtype=np.bool_)
    kept[starts] = kept[stops - 1] = True
    for reduce in (np.minimum, np.maximum):
        hits = np.flatnonzero(value == np.repeat(reduce.reduceat(value, starts), stops - starts))
        kept[hits[np.searchsorted(hits, starts)]] = True
    return np.flatnonzero(kept)
