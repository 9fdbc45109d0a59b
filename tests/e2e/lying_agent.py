"""An agent that lies: `python lying_agent.py LIE AGENT …` runs the agent and changes one kind of what it says.

Reads and writes frames as docs/reference/protocol.md describes them.
"""

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from itertools import count
from typing import Any, BinaryIO

MESSAGE, TABLE = 1, 2
Say = Callable[[int, bytes], None]


def read(stream: BinaryIO) -> tuple[int, bytes] | None:
    """A frame, or None at the end."""
    header = stream.read(20)
    if len(header) < 20:
        return None
    payload = stream.read(int.from_bytes(header[4:8], "big"))
    stream.read(1)
    return header[3], payload


def framed(number: int, kind: int, payload: bytes) -> bytes:
    """A frame."""
    header = struct.pack(">2sBBIII", b"WP", 3, kind, len(payload), number, zlib.crc32(payload))
    return header + struct.pack(">I", zlib.crc32(header)) + payload + b"\n"


def lie(name: str, kind: int, payload: bytes, say: Say) -> None:
    """Passes a frame on, changed where the lie is about it."""
    if kind == TABLE:
        say(kind, payload + b"more" if name == "long_table" else payload)
        return
    message: dict[str, Any] = json.loads(payload)
    body = message["body"]
    match name, body["reply"]:
        case "missing_field", "finished":
            del body["payload_bytes"]
        case "no_finish", "finished":
            return
        case "progress", "progress":
            for _ in range(400):
                say(MESSAGE, payload)
        case "other_kind", "table":
            body["name"] = {"flows": "intervals", "intervals": "flows"}.get(body["name"], body["name"])
        case "odd_name", "table":
            body["name"] = "../../etc/passwd"
    say(MESSAGE, json.dumps(message).encode())


def main(name: str, argv: list[str]) -> int:
    """Runs the agent until it ends."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None

        numbers = count()

        def say(kind: int, payload: bytes) -> None:
            sys.stdout.buffer.write(framed(next(numbers), kind, payload))
            sys.stdout.buffer.flush()

        try:
            while (frame := read(agent.stdout)) is not None:  # type: ignore[arg-type]
                lie(name, *frame, say)
        except BrokenPipeError:
            agent.kill()
    return agent.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
