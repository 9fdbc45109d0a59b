"""M4: the fewest points that draw the same line.

U. Jugel, Z. Jerzak, G. Hackenbroich, V. Markl, "M4: A Visualization-Oriented Time Series Data
Aggregation", PVLDB 7(10), 2014: of all points in a pixel column only the first, the last, a lowest
and a highest matter to a line drawn through them.
"""

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.flow.series import Times, Values


def m4(time_ns: Times, value: Values, start_ns: int, end_ns: int, columns: int) -> NDArray[np.int64]:
    """Indices, ascending, of the points to draw between `start_ns` and `end_ns` (exclusive) on `columns` pixels.

    The last point before and the first after are among them, so that lines run to the edges. A view
    of at most 4 x `columns` points keeps every one.
    """
    raise NotImplementedError(time_ns, value, start_ns, end_ns, columns)
