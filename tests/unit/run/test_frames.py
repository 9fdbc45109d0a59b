"""The controller's half of the frames."""

import io
import struct
import zlib

import pytest

from whyperf.run import PipeClosedError, RunError
from whyperf.run.agents.frames import (
    HEADER_BYTES,
    KIND_MESSAGE,
    KIND_TABLE,
    MAX_GREETING_BYTES,
    MAX_PAYLOAD_BYTES,
    Frame,
    FrameReader,
    encode,
)


def reader(data: bytes) -> FrameReader:
    return FrameReader(io.BufferedReader(io.BytesIO(data)))


def resealed(data: bytearray) -> bytes:
    """A frame whose header was changed by whoever made it."""
    data[16:20] = struct.pack(">I", zlib.crc32(data[:16]))
    return bytes(data)


def test_a_frame_comes_out_as_it_went_in() -> None:
    data = encode(b'{"id": 1}', 0) + encode(b"", 1) + encode(b"rows", 2, KIND_TABLE)
    frames = reader(data)
    assert frames.read() == Frame(KIND_MESSAGE, b'{"id": 1}')
    assert frames.read() == Frame(KIND_MESSAGE, b"")
    assert frames.read() == Frame(KIND_TABLE, b"rows")
    assert frames.read() is None
    assert (frames.frames_count, frames.byte_count, frames.greeting) == (3, len(data), "")


def test_a_frame_is_what_the_agent_takes_for_one() -> None:
    # The same bytes as in crates/schema/src/frame.rs. They end a line, so that a pipe of lines passes them on.
    assert encode(b"{}", 5) == b"WP\x03\x01\0\0\0\x02\0\0\0\x05\xa3\xa6\xbf\x43\x1e\xc0\xf1\xba{}\n"


@pytest.mark.parametrize(
    "greeting",
    [
        b"Welcome to host7\n",
        b"W",
        b"WP is no frame: WPWP",
        b'Defaulted container "a" out of: a, b\r\n' * 100,
        b"\xff\x00\n" * 20_000,
    ],
)
def test_a_greeting_before_the_first_frame_is_skipped_and_kept(greeting: bytes) -> None:
    frames = reader(greeting + encode(b"{}", 0) + encode(b"[]", 1))
    assert frames.read() == Frame(KIND_MESSAGE, b"{}")
    assert frames.read() == Frame(KIND_MESSAGE, b"[]")
    assert frames.read() is None
    assert frames.greeting[:10] == greeting.decode(errors="replace").strip()[:10]


@pytest.mark.parametrize("greeting", [b"Welcome to host7\n", b"!", b"Last login: today"])
def test_a_greeting_without_a_frame_is_shown(greeting: bytes) -> None:
    with pytest.raises(RunError, match="greeting") as error:
        reader(greeting).read()
    assert greeting.decode().strip() in str(error.value)


def test_a_greeting_without_end_is_refused() -> None:
    with pytest.raises(RunError, match=r"not whyperf's protocol: 'y y y .*…'"):
        reader(b"y " * MAX_GREETING_BYTES + encode(b"{}", 0)).read()


def test_a_greeting_between_frames_is_damage() -> None:
    frames = reader(encode(b"{}", 0) + b"Broken pipe\n" + encode(b"{}", 1))
    frames.read()
    with pytest.raises(RunError, match=rf"the pipe damaged frame 1, after {HEADER_BYTES + 3} bytes"):
        frames.read()


@pytest.mark.parametrize("before", [b"", b"Welcome\n"])
@pytest.mark.parametrize("version", [2, 4])
def test_another_version_says_what_to_do(version: int, before: bytes) -> None:
    # The frame of version 2 has a header of 8 bytes.
    data = encode(b"{}", 0)[:2] + bytes([version]) + b"\x01\0\0\0\x20" + b'{"id":0,"body":{"reply":"alive"}}'
    with pytest.raises(RunError, match=rf"protocol version {version}.*install the same whyperf on both hosts"):
        reader(before + data).read()


@pytest.mark.parametrize("kept", range(1, HEADER_BYTES + 3))
@pytest.mark.parametrize("before", [b"", b"Welcome\n", encode(b"before", 0)])
def test_half_a_frame_is_a_pipe_that_was_cut(kept: int, before: bytes) -> None:
    number = 1 if before.startswith(b"WP") else 0
    frames = reader(before + encode(b"{}", number)[:kept])
    if number:
        frames.read()
    with pytest.raises(PipeClosedError, match=rf"cut inside frame {number}, after {kept} of (20|23) bytes"):
        frames.read()


@pytest.mark.parametrize("numbers", [(0, 2), (0, 0), (0, 1, 0), (1,)])
def test_frames_that_are_lost_or_come_twice_are_noticed(numbers: tuple[int, ...]) -> None:
    frames = reader(b"".join(encode(b"{}", number) for number in numbers))
    for _ in numbers[:-1]:
        frames.read()
    due = len(numbers) - 1
    with pytest.raises(RunError, match=rf"lost or repeated frames: frame {numbers[-1]} came where {due} was due"):
        frames.read()


def test_every_bit_counts() -> None:
    first, second = encode(b"first", 0), encode(b"second", 1)
    for bit in range(len(second) * 8):
        changed = bytearray(second)
        changed[bit // 8] ^= 1 << (bit % 8)
        # Bytes that come later are never awaited: a wrong length would hang.
        frames = reader(first + bytes(changed))
        assert frames.read() == Frame(KIND_MESSAGE, b"first")
        with pytest.raises(RunError, match="the pipe damaged frame 1"):
            frames.read()


def test_a_length_over_the_limit_is_refused_before_it_is_read() -> None:
    data = bytearray(encode(b"{}", 0))
    data[4:8] = (MAX_PAYLOAD_BYTES + 1).to_bytes(4, "big")
    with pytest.raises(RunError, match="no version of whyperf"):
        reader(resealed(data)).read()
    with pytest.raises(RunError, match="over the pipe's limit"):
        encode(bytes(MAX_PAYLOAD_BYTES + 1), 0)


def test_a_kind_that_nobody_has_is_refused() -> None:
    data = bytearray(encode(b"{}", 0))
    data[3] = 3
    with pytest.raises(RunError, match="frame of kind 3"):
        reader(resealed(data)).read()
