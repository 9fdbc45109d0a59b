"""An agent that lies: `python lying_agent.py LIE AGENT …` runs the agent and changes one kind of what it says.

Reads and writes frames as docs/reference/protocol.md describes them.
"""

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

MESSAGE, TABLE = 1, 2
Say = Callable[[int, bytes], None]


def read(stream: BinaryIO) -> tuple[int, bytes] | None:
    """A frame, or None at the end."""
    header = stream.read(8)
    if len(header) < 8:
        return None
    return header[3], stream.read(int.from_bytes(header[4:], "big"))


def lie(name: str, kind: int, payload: bytes, say: Say) -> None:
    """Passes a frame on, changed where the lie is about it."""
    if kind == TABLE:
        say(kind, payload + b"more" if name == "long_table" else payload)
        return
    message: dict[str, Any] = json.loads(payload)
    body = message["body"]
    match name, body["reply"]:
        case "note_without_key", "finished":
            body["notes"] = [{"note": "buffer_cut", "buffer": "send", "requested_bytes": 1}]
        case "huge_clock", "clock":
            body["mono_ns"] = 2**70
        case "missing_field", "finished":
            del body["payload_bytes"]
        case "no_finish", "finished":
            return
        case "nesting", "finished":
            say(MESSAGE, b'{"id": %d, "body": ' % message["id"] + b"[" * 200_000 + b"]" * 200_000 + b"}")
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

        def say(kind: int, payload: bytes) -> None:
            sys.stdout.buffer.write(struct.pack(">2sBBI", b"WP", 2, kind, len(payload)) + payload)
            sys.stdout.buffer.flush()

        try:
            while (frame := read(agent.stdout)) is not None:  # type: ignore[arg-type]
                lie(name, *frame, say)
        except BrokenPipeError:
            agent.kill()
    return agent.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
