"""Frames on the pipe, the controller's half of crates/schema/src/frame.rs.

A frame is ``b"WP"``, the protocol version, a kind, the payload's length as a big-endian 32-bit number, and the payload.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

from whyperf.run.errors import Fault, PipeClosedError, RunError

PROTOCOL_VERSION = 2
MAX_PAYLOAD_BYTES = 4 << 20
KIND_MESSAGE = 1
KIND_TABLE = 2

_HEADER = struct.Struct(">2sBBI")
_MAGIC = b"WP"


@dataclass(frozen=True)
class Frame:
    """One frame: its kind and payload."""

    kind: int
    payload: bytes


def encode(payload: bytes) -> bytes:
    """Frame a message. The payload has at most ``MAX_PAYLOAD_BYTES``."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise RunError(f"a message of {len(payload)} bytes is over the pipe's limit", Fault.INTERNAL)
    return _HEADER.pack(_MAGIC, PROTOCOL_VERSION, KIND_MESSAGE, len(payload)) + payload


def read(stream: BinaryIO) -> Frame | None:
    """Read the next frame, or None where the pipe ends between two frames.

    Raises:
        RunError: something else than whyperf's protocol came.
        PipeClosedError: the pipe ended inside a frame.
    """
    header = stream.read(_HEADER.size)
    if not header:
        return None
    if header[: len(_MAGIC)] != _MAGIC[: len(header)]:
        shown = (header + _rest_of_line(stream)).decode(errors="replace").strip()
        raise RunError(
            f"the pipe carries something that is not whyperf's protocol: {shown!r} "
            "(does the remote shell print a greeting?)"
        )
    if len(header) < _HEADER.size:
        raise PipeClosedError("the pipe closed inside a frame")
    _, version, kind, length = _HEADER.unpack(header)
    if version != PROTOCOL_VERSION:
        raise RunError(
            f"the agent speaks protocol version {version}, this whyperf {PROTOCOL_VERSION}; "
            "install the same whyperf on both hosts"
        )
    if length > MAX_PAYLOAD_BYTES or kind not in {KIND_MESSAGE, KIND_TABLE}:
        raise RunError(f"the agent sent a frame of kind {kind} and {length} bytes, which no version of whyperf does")
    payload = stream.read(length)
    if len(payload) < length:
        raise PipeClosedError("the pipe closed inside a frame")
    return Frame(kind, payload)


def _rest_of_line(stream: BinaryIO) -> bytes:
    """Read a little more of what is not the protocol, to show it."""
    peek = getattr(stream, "peek", None)
    text: bytes = peek(60) if peek else b""
    return text.split(b"\n")[0][:60]
