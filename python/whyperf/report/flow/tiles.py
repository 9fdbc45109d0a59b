"""Tiles: ranges of rows, packed so that a page can hold or load every point of a log.

Values are stored as differences from a prediction. The differences are mostly 0, which packs well. The predictions are:

- a sequence number follows the payload before it in its direction;
- an acknowledgment, a window and a size equal the one before;
- unacknowledged bytes are the sent bytes less the acknowledged ones.

For that, the rows of a tile are split by direction, outgoing rows first. `tile.js` is the inverse: change both.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.report.flow.packs import planes
from whyperf.report.flow.track import Counts, Times, Track

ROWS = 32768
"""Rows of a tile: about 200 KB packed, about 10 ms to load."""

HEADER = struct.Struct("<II11d")


@dataclass(frozen=True)
class Tile:
    """A range of rows: its times, the drawn values before its first row, and its bytes."""

    rows: int
    start_ns: int
    end_ns: int
    unacked_before: int
    advertised_before: int
    content: bytes


@dataclass
class _Direction:
    """The state of one direction: last sequence number, payload, acknowledgment and window."""

    sequence: int = 0
    payload: int = 0
    acknowledgment: int = 0
    window: int = 0


@dataclass
class _State:
    """The state of a track between two tiles: both directions, highest payload byte, highest acknowledged byte."""

    out: _Direction
    into: _Direction
    end: int = 0
    acked: int = 0

    def header(self, rows: int, out_rows: int, start_ns: int) -> bytes:
        numbers = [value for side in (self.out, self.into) for value in vars(side).values()]
        return HEADER.pack(rows, out_rows, start_ns, *numbers, self.end, self.acked)


def tiles(track: Track) -> Iterator[Tile]:
    """All tiles of `track` in order; each costs about 2 ms."""
    state = _State(_Direction(), _Direction())
    unacked = advertised = 0
    for rows in row_ranges(len(track)):
        start_ns, end_ns = int(track.time_ns[rows.start]), int(track.time_ns[rows.stop - 1])
        yield Tile(rows.stop - rows.start, start_ns, end_ns, unacked, advertised, _content(track, rows, state))
        unacked, advertised = int(track.unacked_bytes[rows.stop - 1]), int(track.advertised_bytes[rows.stop - 1])


def row_ranges(rows: int) -> list[slice]:
    """The rows of each tile of a track."""
    return [slice(first, min(first + ROWS, rows)) for first in range(0, rows, ROWS)]


def _content(track: Track, rows: slice, state: _State) -> bytes:
    """Packs some rows and advances `state` past them."""
    out = track.out[rows]
    out_rows, in_rows = np.flatnonzero(out), np.flatnonzero(~out)
    header = state.header(len(out), len(out_rows), int(track.time_ns[rows.start]))
    time_steps = np.diff(track.time_ns[rows], prepend=track.time_ns[rows.start])
    ends = np.full(len(out), state.end, np.int64)
    acked = np.full(len(out), state.acked, np.int64)
    sequences, acknowledgments, windows = [], [], []
    for picked, side, is_data in (
        (out_rows, state.out, track.data_is_out),
        (in_rows, state.into, not track.data_is_out),
    ):
        payload = track.payload_bytes[rows][picked]
        follows = np.concatenate(([side.payload], payload))[: len(picked)].astype(np.int64)
        unpredicted = _steps(track.sequence[rows][picked], side.sequence, follows)
        acks = _steps(track.acknowledgment[rows][picked], side.acknowledgment)
        windows.append(_steps(track.window_bytes[rows][picked], side.window))
        sequences.append(unpredicted)
        acknowledgments.append(acks)
        if not len(picked):
            continue
        sequence = side.sequence + np.cumsum(unpredicted + follows)
        acknowledged = side.acknowledgment + np.cumsum(acks, dtype=np.int64)
        if is_data:
            ends[picked] = sequence + payload
        else:
            acked[picked] = acknowledged
        side.sequence, side.payload = int(sequence[-1]), int(payload[-1])
        side.acknowledgment, side.window = int(acknowledged[-1]), int(track.window_bytes[rows][picked[-1]])
    ends, acked = np.maximum.accumulate(ends), np.maximum.accumulate(acked)
    state.end, state.acked = int(ends[-1]), int(acked[-1])
    unpredicted_bytes = (track.unacked_bytes[rows] - (ends - acked)).astype(np.int32)
    split = np.concatenate((out_rows, in_rows))
    packed = [
        *planes(time_steps, 6),
        *planes(out.view(np.uint8), 1),
        *planes(track.context_code[rows], 1),
        *planes(track.reason_code[rows], 1),
        *planes(track.flags[rows], 1),
        *planes(unpredicted_bytes, 4),
        *planes(_steps(track.cwnd_segments[rows], 0), 4),
        *planes(np.concatenate(sequences), 4),
        *planes(np.concatenate(acknowledgments), 4),
        *planes(np.concatenate(windows), 4),
        *planes(track.payload_bytes[rows][split], 4),
        *planes(track.gso_size_bytes[rows][split], 2),
        *planes(track.wire_segments[rows][split], 2),
    ]
    return b"".join((header, *packed))


def _steps(values: Counts, before: int, follows: Times | None = None) -> npt.NDArray[np.int32]:
    """Differences between successive values modulo 2^32, less the predicted `follows`."""
    if not len(values):
        return np.empty(0, np.int32)
    steps = np.diff(values, prepend=np.uint32(before % 2**32))
    if follows is not None:
        steps -= follows.astype(np.uint32)
    return steps.view(np.int32)
