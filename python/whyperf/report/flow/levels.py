"""Bins, which are drawn where single rows are narrower than a pixel.

U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", PVLDB 7(10), 2014: of
all points in a pixel column only the first, last, lowest and highest matter to a line. Here lines
are steps: a step runs from the last value before a column to the first one in it, which lies between
the lowest and the highest. So the last, lowest and highest are enough.

There are two levels. The top level has bins over the whole track. Below it every tile has its own
bins over its own time, so that a burst of a million rows in a quiet hour gets enough of them.
Empty bins are left out. `tile.js` reads the packed bins.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from whyperf.record import RecordError
from whyperf.report.flow.packs import planes
from whyperf.report.flow.terms import RETRANSMITTED
from whyperf.report.flow.track import Counts, Track

TOP_BINS = 4096
TILE_BINS = 512
GROUP = 16
"""Tiles whose bins are packed together."""

MASK_BITS = 64

MAX_SIZE = 8 * 65_535
"""Payload of a packet at most, in bytes: GSO_MAX_SIZE of include/linux/netdevice.h."""

RUN = 1 << 18
"""Rows whose sizes are looked up at once."""

Masks = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Sizes:
    """The kinds of payload, at max_size 64: exact sizes if there are no more, otherwise classes of equal width.

    `bounds` are the smallest and largest size of each kind; `bits` has the bit of every size.
    """

    bounds: tuple[tuple[int, int], ...]
    bits: Masks


def sizes(track: Track) -> Sizes:
    """The kinds of payload on `track`.

    Raises:
        RecordError: a packet has more than `MAX_SIZE`, and each byte of the largest takes memory here and in the page.
    """
    max_size = int(track.payload_bytes.max(initial=0))
    if max_size > MAX_SIZE:
        raise RecordError(
            f"the log has a packet of {max_size:,} bytes, and Linux has at most {MAX_SIZE:,}; do not trust this result"
        )
    seen = np.zeros(max_size + 1, np.bool_)
    seen[track.payload_bytes] = True
    seen[0] = False
    found = np.flatnonzero(seen)
    kinds = np.zeros(max_size + 1, np.uint64)
    if len(found) <= MASK_BITS:
        kinds[found] = np.uint64(1) << np.arange(len(found), dtype=np.uint64)
        return Sizes(tuple((int(size), int(size)) for size in found), kinds)
    classes = found * MASK_BITS // (max_size + 1)
    kinds[found] = np.uint64(1) << classes.astype(np.uint64)
    edges = [-(-kind * (max_size + 1) // MASK_BITS) for kind in range(MASK_BITS + 1)]
    bounds = [(low, after - 1) for low, after in pairwise(edges)]
    return Sizes(tuple(bounds), kinds)


def top(track: Track, kinds: Sizes) -> bytes:
    """The bins over the whole track."""
    return _packed([_bins(track, slice(0, len(track)), TOP_BINS)], track, kinds)


def group(track: Track, kinds: Sizes, tiles: list[slice]) -> bytes:
    """The bins of some consecutive tiles."""
    return _packed([_bins(track, rows, TILE_BINS) for rows in tiles], track, kinds)


@dataclass(frozen=True)
class _Bins:
    """Non-empty bins: their numbers, the first row of each, and the row after the last."""

    numbers: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.intp]
    stop: int


def _bins(track: Track, rows: slice, count: int) -> _Bins:
    times = track.time_ns[rows]
    # Whole ns, rounded up: the page computes the same edges.
    width = -(-(int(times[-1]) - int(times[0]) + 1) // count)
    edges = np.searchsorted(times, times[0] + width * np.arange(count + 1))
    filled = np.flatnonzero(edges[1:] > edges[:-1])
    return _Bins(filled.astype(np.uint16), rows.start + edges[filled], rows.stop)


def _packed(parts: list[_Bins], track: Track, kinds: Sizes) -> bytes:
    counts = np.array([len(parts), *(len(part.numbers) for part in parts)], np.uint32)
    numbers = np.concatenate([part.numbers for part in parts])
    starts = np.concatenate([part.starts for part in parts])
    first, stop = int(starts[0]), parts[-1].stop
    starts -= first
    rows = slice(first, stop)
    lengths = np.diff(starts, append=stop - first).astype(np.uint32)
    packed = [*planes(numbers, 2), *planes(lengths, 4)]
    packed += planes(
        np.add.reduceat((track.reason_code[rows] >= RETRANSMITTED).view(np.uint8), starts, dtype=np.uint32), 4
    )
    for values in (track.unacked_bytes[rows], track.advertised_bytes[rows]):
        packed += _steps(values, starts, lengths)
    sent, received = _masks(track, kinds, first, starts, lengths)
    packed += [*planes(sent, 8), *planes(received, 8)]
    return b"".join((counts.tobytes(), *packed))


def _steps(values: Counts, starts: npt.NDArray[np.intp], lengths: Counts) -> list[bytes]:
    last = values[starts + lengths - 1]
    lowest, highest = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return [*planes(last, 4), *planes(last - lowest, 4), *planes(highest - last, 4)]


def _masks(
    track: Track, kinds: Sizes, first: int, starts: npt.NDArray[np.intp], lengths: Counts
) -> tuple[Masks, Masks]:
    """The kinds of payload in each bin, sent and received; some bins at a time, to save memory."""
    sent, received = np.zeros(len(starts), np.uint64), np.zeros(len(starts), np.uint64)
    ends = starts + lengths
    bins = 0
    while bins < len(starts):
        stop = max(bins + 1, int(np.searchsorted(ends, starts[bins] + RUN, side="right")))
        rows = slice(first + int(starts[bins]), first + int(ends[stop - 1]))
        masks, out = kinds.bits[track.payload_bytes[rows]], track.out[rows]
        within = starts[bins:stop] - starts[bins]
        sent[bins:stop] = np.bitwise_or.reduceat(masks * out, within)
        received[bins:stop] = np.bitwise_or.reduceat(masks * ~out, within)
        bins = stop
    return sent, received
