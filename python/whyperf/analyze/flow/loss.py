"""Segments out of order."""

import numpy as np
import polars as pl

from whyperf.analyze.flow.relative import Ints, rows_by_stream

Ranges = list[tuple[int, int]]
"""Octets from first to last (exclusive), ascending."""


def count_out_of_order(log: pl.DataFrame) -> int:
    """Packets with payload that arrived while payload before them was missing: what the kernel counts as
    `tcpi_rcv_ooopack` (`tcp_data_queue_ofo`, net/ipv4/tcp_input.c). What came already is not out of order.

    `log` is of `read_log` with connection, direction, sequence and payload_bytes. A hole that the
    log never fills is taken for a lost event, not for a lost segment.
    """
    arrived = log.filter((pl.col("direction") == "in") & (pl.col("payload_bytes") > 0))
    start = arrived["sequence"].to_numpy()
    end = start + arrived["payload_bytes"].to_numpy()
    streams = rows_by_stream(arrived["connection"].to_numpy())
    return sum(_count_out_of_order(start[rows], end[rows]) for _, rows in streams)


def _count_out_of_order(start: Ints, end: Ints) -> int:
    """Of one connection, rows in the order of arrival."""
    reach = np.append(start[:1], np.maximum.accumulate(end)[:-1])
    events = np.flatnonzero(start != reach)
    if events.size == 0:
        return 0
    arrivals = np.stack([events, start[events], end[events], reach[events]], axis=1).tolist()
    _, never_filled = _reassemble(arrivals, [])
    count, _ = _reassemble(arrivals, never_filled)
    return count


def _reassemble(arrivals: list[list[int]], ignored: Ranges) -> tuple[int, Ranges]:
    """Packets out of order and the holes left open. `arrivals` are the packets that do not start at the highest end so
    far: number, start, end, that highest end. Holes within `ignored` are none.
    """
    count, before = 0, 0
    holes: Ranges = []
    for number, start, end, reach in arrivals:
        if holes:
            # Those between went on beyond the hole, one after another.
            count += number - before - 1
        before = number
        if start > reach:
            torn = _without([(reach, start)], ignored)
            count += bool(torn or holes)
            holes += torn
        else:
            count += bool(holes) and start > holes[0][0]
            holes = _without(holes, [(start, end)])
    return count, holes


def _without(ranges: Ranges, taken: Ranges) -> Ranges:
    """`ranges` less `taken`; both ascending and apart."""
    for first, last in taken:
        if not ranges or ranges[-1][1] <= first or last <= ranges[0][0]:
            continue
        pieces = (piece for low, high in ranges for piece in ((low, min(high, first)), (max(low, last), high)))
        ranges = [(low, high) for low, high in pieces if low < high]
    return ranges
