"""Bins say of their rows what the rows say."""

import binascii
import zlib

import numpy as np
import numpy.typing as npt
import pytest

from tests.whole.report.flow.flow_tracks import track
from whyperf.record import RecordError
from whyperf.report.flow import levels
from whyperf.report.flow.packs import Name, pack_all, planes
from whyperf.report.flow.tiles import row_ranges


def unplaned(content: bytes, rows: int, width: int) -> npt.NDArray[np.int64]:
    """The numbers whose planes `content` begins with."""
    made = np.zeros((rows, 8), np.uint8)
    for index in range(width):
        if content[0] == 0:
            made[:, index], content = content[1], content[2:]
        else:
            made[:, index], content = np.frombuffer(content[1 : 1 + rows], np.uint8), content[1 + rows :]
    return made.view(np.int64).ravel()


@pytest.mark.parametrize("values", [[0, 1, 255, 256, 70_000], [5, 5, 5], [2**47, 0], [9], []])
def test_planes_keep_numbers(values: list[int]) -> None:
    content = b"".join(planes(np.array(values, np.int64), 6))
    assert unplaned(content, len(values), 6).tolist() == values


def test_few_sizes_are_reported_exactly_and_many_in_classes() -> None:
    few = levels.sizes(track(500))
    assert few.bounds == ((7, 7), (100, 100), (1448, 1448), (65160, 65160))
    assert [int(few.bits[size]) for size in (0, 7, 100, 1448, 65160)] == [0, 1, 2, 4, 8]
    many = track(500)
    many.payload_bytes[:] = np.arange(500) * 3
    kinds = levels.sizes(many)
    assert len(kinds.bounds) == 64
    for size in (3, 699, 1497):
        kind = int(kinds.bits[size]).bit_length() - 1
        low, high = kinds.bounds[kind]
        assert low <= size <= high
    assert kinds.bits[0] == 0


def test_a_packet_that_no_kernel_sends_takes_no_memory() -> None:
    logged = track(10)
    logged.payload_bytes[3] = 2**32 - 1
    with pytest.raises(
        RecordError, match=r"a packet of 4,294,967,295 bytes, and Linux has at most 524,280; do not trust"
    ):
        levels.sizes(logged)


@pytest.mark.parametrize("rows", [1, 2, 300, 5000])
def test_bins_hold_every_row_once_with_last_lowest_and_highest(rows: int) -> None:
    logged = track(rows)
    content = levels.top(logged, levels.sizes(logged))
    parts, bins = np.frombuffer(content[:8], np.uint32)
    assert parts == 1
    numbers = unplaned(content[8:], bins, 2)
    width = -(-(int(logged.time_ns[-1]) - int(logged.time_ns[0]) + 1) // levels.TOP_BINS)
    expected = (logged.time_ns - logged.time_ns[0]) // width
    assert numbers.tolist() == sorted(set(expected.tolist()))
    content = content[8 + _length(content[8:], bins, 2) :]
    lengths = unplaned(content, bins, 4)
    assert lengths.sum() == rows
    content = content[_length(content, bins, 4) :]
    again = unplaned(content, bins, 4)
    assert again.sum() == (logged.reason_code >= 16).sum()
    content = content[_length(content, bins, 4) :]
    read = []
    for _ in range(3):
        read.append(unplaned(content, bins, 4))
        content = content[_length(content, bins, 4) :]
    last, low, high = read[0], read[0] - read[1], read[0] + read[2]
    for index, number in enumerate(numbers):
        values = logged.unacked_bytes[expected == number]
        assert (last[index], low[index] % 2**32, high[index] % 2**32) == (values[-1], values.min(), values.max())


def _length(content: bytes, rows: int, width: int) -> int:
    """Bytes that some planes take."""
    at = 0
    for _ in range(width):
        at += 2 if content[at] == 0 else 1 + rows
    return at


def test_tiles_cover_all_rows() -> None:
    parts = row_ranges(70_000)
    assert [part.start for part in parts] == [0, 32768, 65536]
    assert parts[-1].stop == 70_000
    assert row_ranges(0) == []


def test_blocks_come_out_in_order_and_whole() -> None:
    contents = [(Name(0, "r", index), bytes([index]) * 1000) for index in range(40)]
    packed = list(pack_all(iter(contents)))
    assert [name for name, _ in packed] == [name for name, _ in contents]
    assert [zlib.decompress(binascii.a2b_base64(text)) for _, text in packed] == [content for _, content in contents]
