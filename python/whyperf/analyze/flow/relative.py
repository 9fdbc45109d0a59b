"""Sequence numbers made relative and unwrapped.

A raw number has 32 bits and begins anywhere (RFC 9293 section 3.4.1). Two segments that follow each
other on a connection in one direction are less than 2 GiB apart, so their signed 32-bit difference
is the true one; the sum of the differences never wraps.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Raw = NDArray[np.uint32]


def stream_of(connection: Raw, is_out: NDArray[np.bool_]) -> Raw:
    """A number for each connection and direction, shape (n,): twice the connection, plus 1 outgoing."""
    return connection * np.uint32(2) + is_out.astype(np.uint32)


def rows_by_stream(stream: Raw) -> Iterator[tuple[int, NDArray[np.uint32] | slice]]:
    """Each stream with its rows, in their order."""
    if stream.size == 0:
        return
    if (stream == stream[0]).all():
        yield int(stream[0]), slice(None)
        return
    order = np.argsort(stream, kind="stable").astype(np.uint32)
    grouped = stream[order]
    starts = np.flatnonzero(grouped[1:] != grouped[:-1]) + 1
    for rows in np.split(order, starts):
        yield int(stream[rows[0]]), rows


def unwrap(raw: Raw, stream: Raw, base: dict[int, int]) -> Ints:
    """`raw` minus its stream's `base`, beyond 32 bits, shape (n,); rows of a stream in the order of time."""
    result = np.empty(raw.size, dtype=np.int64)
    for name, rows in rows_by_stream(stream):
        result[rows] = _one(raw[rows], base[name])
    return result


def _one(raw: Raw, base: int) -> Ints:
    """One stream: its first number is within 2 GiB of the base."""
    steps = np.empty(raw.size, dtype=np.int64)
    steps[1:] = np.diff(raw).view(np.int32)
    steps[0] = ((int(raw[0]) - base + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
    return np.cumsum(steps, out=steps)


def count_new(start: Ints, end: Ints) -> int:
    """Octets of the ranges [start, end), shape (n,) each, every octet once."""
    if start.size == 0:
        return 0
    before = _reach_before(start, end)
    if (start > before).any() or start.min() < start[0]:
        # With a hole, or something before the first, the highest end so far does not show what is new.
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
        before = _reach_before(start, end)
    return int(np.maximum(end - np.maximum(start, before), 0).sum())


def _reach_before(start: Ints, end: Ints) -> Ints:
    """The highest end before each range; of the first, its own start."""
    reach = np.empty_like(end)
    reach[0] = start[0]
    np.maximum.accumulate(end[:-1], out=reach[1:])
    return reach
