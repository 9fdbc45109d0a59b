"""Frames on the pipe, the controller's half of crates/schema/src/frame.rs.

A frame is ``b"WP"``, the protocol version, a kind, four big-endian 32-bit numbers, the payload, and the end of a line.
The numbers are the payload's length, the frame's number in its direction, the payload's CRC-32, and the CRC-32 of the
header before it.
"""

import struct
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from whyperf.run.errors import Fault, PipeClosedError, PipeFaultError, RunError

PROTOCOL_VERSION = 3
MAX_PAYLOAD_BYTES = 4 << 20
MAX_GREETING_BYTES = 64 << 10
"""Bytes that a login shell or a pipe's command may print before the first frame."""
KIND_MESSAGE = 1
KIND_TABLE = 2

_HEADER = struct.Struct(">2sBBIIII")
HEADER_BYTES = _HEADER.size
_CHECKED_BYTES = 16
_MAGIC = b"WP"
_TERMINATOR = b"\n"
_KINDS = frozenset({KIND_MESSAGE, KIND_TABLE})
_FIRST_PRINTABLE = 32
_SHOWN_CHARACTERS = 120


@dataclass(frozen=True)
class Frame:
    """One frame: its kind and payload."""

    kind: int
    payload: bytes


def encode(payload: bytes, number: int, kind: int = KIND_MESSAGE) -> bytes:
    """Frame a payload of at most ``MAX_PAYLOAD_BYTES`` as the ``number``-th of its direction, from 0."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise RunError(f"a message of {len(payload)} bytes is over the pipe's limit", Fault.INTERNAL)
    fields = (_MAGIC, PROTOCOL_VERSION, kind, len(payload), number, zlib.crc32(payload))
    header = _HEADER.pack(*fields, 0)[:_CHECKED_BYTES]
    return header + zlib.crc32(header).to_bytes(4) + payload + _TERMINATOR


class FrameReader:
    """Reads the frames of one pipe, and refuses what is not the next one, whole."""

    def __init__(self, stream: BinaryIO) -> None:
        """``stream`` is buffered, and blocks until there is something."""
        self._stream = stream
        #: Frames read so far, and their bytes.
        self.frames_count = 0
        self.byte_count = 0
        #: The text that came before the first frame.
        self.greeting = ""

    def read(self) -> Frame | None:
        """Read the next frame, or None where the pipe ends between two frames.

        Raises:
            RunError: something else than whyperf's protocol came.
            PipeFaultError: the pipe lost, repeated or changed a frame.
            PipeClosedError: the pipe ended inside a frame.
        """
        header = self._stream.read(HEADER_BYTES) if self.frames_count else self._first_header()
        if not header:
            return None
        if header[: len(_MAGIC)] != _MAGIC[: len(header)]:
            raise self._damaged()
        is_whole = len(header) == HEADER_BYTES and zlib.crc32(header[:_CHECKED_BYTES]) == _last_number(header)
        if not is_whole and self.frames_count == 0 and header[2:3] not in {b"", bytes([PROTOCOL_VERSION])}:
            raise RunError(
                f"the agent speaks protocol version {header[2]}, this whyperf {PROTOCOL_VERSION}; "
                "install the same whyperf on both hosts"
            )
        if len(header) < HEADER_BYTES:
            raise self._cut(len(header), HEADER_BYTES)
        if not is_whole:
            raise self._damaged()
        _, _, kind, length, number, payload_checksum, _ = _HEADER.unpack(header)
        if length > MAX_PAYLOAD_BYTES or kind not in _KINDS:
            raise RunError(
                f"the agent sent a frame of kind {kind} and {length} bytes, which no version of whyperf does"
            )
        if number != self.frames_count:
            due = self.frames_count
            raise PipeFaultError(f"the pipe lost or repeated frames: frame {number} came where {due} was due")
        payload = self._stream.read(length)
        terminator = self._stream.read(1) if len(payload) == length else b""
        if not terminator:
            raise self._cut(HEADER_BYTES + len(payload), HEADER_BYTES + length + 1)
        if terminator != _TERMINATOR or zlib.crc32(payload) != payload_checksum:
            raise self._damaged()
        self.frames_count += 1
        self.byte_count += HEADER_BYTES + length + 1
        return Frame(kind, payload)

    def _damaged(self) -> PipeFaultError:
        return PipeFaultError(f"the pipe damaged frame {self.frames_count}, after {self.byte_count:,} bytes")

    def _cut(self, have_bytes: int, frame_bytes: int) -> PipeClosedError:
        return PipeClosedError(
            f"the pipe was cut inside frame {self.frames_count}, after {have_bytes:,} of {frame_bytes:,} bytes"
        )

    def _first_header(self) -> bytes:
        """The header of the first frame, without what a shell or a command printed before it; empty at the end."""
        seen = bytearray(self._stream.read(HEADER_BYTES))
        while len(seen) < HEADER_BYTES or not _is_header(seen[-HEADER_BYTES:]):
            piece = self._stream.read(1) if len(seen) >= HEADER_BYTES else b""
            if not piece and (not seen or _start_of_header(seen)):
                return _start_of_header(seen)
            if not piece or len(seen) > MAX_GREETING_BYTES:
                raise RunError(
                    f"the pipe carries something that is not whyperf's protocol: {_shown(bytes(seen))!r} "
                    "(does the remote shell print a greeting?)"
                )
            seen += piece
        self.greeting = _shown(bytes(seen[:-HEADER_BYTES]))
        return bytes(seen[-HEADER_BYTES:])


def _last_number(header: bytes) -> int:
    return int.from_bytes(header[_CHECKED_BYTES:])


def _is_header(header: bytearray) -> bool:
    """True if this is the header of a frame, of whatever version: no greeting has characters that are none there."""
    return header[: len(_MAGIC)] == _MAGIC and all(code < _FIRST_PRINTABLE for code in header[2:4])


def _start_of_header(seen: bytearray) -> bytes:
    """The part of a header that ends what came; empty where there is none."""
    end = seen[-HEADER_BYTES:]
    at = end.rfind(_MAGIC)
    if at < 0:
        return _MAGIC[:1] if end.endswith(_MAGIC[:1]) else b""
    return bytes(end[at:]) if _is_header(end[at:]) else b""


def _shown(text: bytes) -> str:
    """The start of what is no frame."""
    shown = text.decode(errors="replace").strip()
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
