"""A conversation with `whyperf-agent serve`, frame by frame, as docs/reference/protocol.md describes it.

Written from that page and not with the controller's code, so that the two are checked against each other.
"""

import hashlib
import json
import os
import select
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from whyperf import __version__

AGENT = Path(sys.executable).parent / "whyperf-agent"
MESSAGE, TABLE = 1, 2
TOKEN = "5a" * 32
#: What the trial's connections present that are not encrypted.
PLAIN_TOKEN = hashlib.sha256(b"whyperf plain" + TOKEN.encode()).hexdigest()
SECOND_NS = 1_000_000_000
#: How long a busy host may take for an answer, and for a short load.
PATIENCE_S = 60.0
#: What an agent says that has nothing else to say.
ALIVE = {"reply": "alive"}

Body = dict[str, Any]


def frame(
    payload: bytes, kind: int = MESSAGE, version: int = 3, length: int | None = None, *, number: int = 0
) -> bytes:
    """A frame, or one that lies about itself."""
    length = len(payload) if length is None else length
    header = b"WP" + struct.pack(">BBIII", version, kind, length, number, zlib.crc32(payload))
    return header + struct.pack(">I", zlib.crc32(header)) + payload + b"\n"


def message(request: str, identifier: int = 1, **fields: Any) -> bytes:
    """The frame of a request, of which the first is number 0 and has the identifier 1."""
    return frame(json.dumps({"id": identifier, "body": {"request": request} | fields}).encode(), number=identifier - 1)


def trial(opening: str = "listen", role: str = "receiver", **changes: Any) -> Body:
    """What `prepare` asks: a short transfer over the loopback, with changes."""
    spec: Body = {
        "trial": "001-c0001",
        "host": "far" if opening == "listen" else "near",
        "token": TOKEN,
        "role": role,
        "opening": opening,
        "listen_address": "127.0.0.1" if opening == "listen" else None,
        "listen_port": 0,
        "connections_count": 1,
        "write_size_bytes": 8192,
        "read_size_bytes": 8192,
        "read_wait": "poll",
        "stop": {"by": "bytes", "payload_bytes": 100_000},
        "interval_ns": 100_000_000,
        "deadline_ns": 60 * SECOND_NS,
        "socket": {
            "window_bytes": None,
            "send_buffer_bytes": None,
            "receive_buffer_bytes": None,
            "no_delay": False,
            "quick_ack": False,
            "congestion_control": "cubic" if changes.get("transport", "tcp") in {"tcp", "mptcp"} else None,
            "mss_bytes": None,
        },
        "pin_cpus": [],
        "own_cpus": [],
    }
    spec["socket"] |= changes.pop("socket", {})
    return spec | changes


def forever(**changes: Any) -> Body:
    """Changes that make a trial run until somebody ends it."""
    phases = {"warmup_ns": 0, "measure_ns": 600 * SECOND_NS, "cooldown_ns": 0}
    return {"stop": {"by": "duration"} | phases, "deadline_ns": 700 * SECOND_NS} | changes


class Talk:
    """An agent and what it says."""

    def __init__(self, *arguments: str) -> None:
        """Starts the agent."""
        self.process = subprocess.Popen(
            [str(AGENT), "serve", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._buffer = b""
        self._next_id = 1
        self._frames_count = 0

    def write(self, data: bytes) -> None:
        """Writes raw bytes; an agent that has ended takes none."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            return

    def send(self, request: str, **fields: Any) -> int:
        """Sends a request and returns its identifier."""
        identifier = self._next_id
        self._next_id += 1
        self.write(message(request, identifier, **fields))
        return identifier

    def ask(self, request: str, **fields: Any) -> Body:
        """Sends a request and returns its reply."""
        return self.reply_to(self.send(request, **fields))

    def reply_to(self, identifier: int, within_s: float = PATIENCE_S) -> Body:
        """The next message, which must answer that request."""
        answered, body = self.read(within_s)
        assert answered == identifier, (answered, body)
        return body

    def read(self, within_s: float = PATIENCE_S) -> tuple[int, Body]:
        """The next message but heartbeats; pieces of tables come as `{"piece": bytes}`."""
        while True:
            kind, payload = self.read_frame(within_s)
            if kind == TABLE:
                return 0, {"piece": payload}
            document = json.loads(payload)
            if document["body"] != ALIVE:
                return document["id"], document["body"]

    def read_frame(self, within_s: float = PATIENCE_S) -> tuple[int, bytes]:
        """The next frame: kind and payload."""
        header = self._take(20, within_s)
        assert header[:3] == b"WP\x03", header
        length, number, *checksums = struct.unpack(">IIII", header[4:])
        payload = self._take(length, within_s)
        assert (number, checksums) == (self._frames_count, [zlib.crc32(payload), zlib.crc32(header[:16])])
        assert self._take(1, within_s) == b"\n"
        self._frames_count += 1
        return header[3], payload

    def hello(self) -> "Talk":
        """Greets."""
        assert self.ask("hello", version=__version__)["reply"] == "hello"
        return self

    def finish(self, identifier: int, within_s: float = PATIENCE_S) -> tuple[Body, dict[str, bytes]]:
        """Reads a started trial to its end: the `finished` message and the tables."""
        finished: Body = {}
        tables: dict[str, bytes] = {}
        name = ""
        while True:
            _, body = self.read(within_s)
            match body.get("reply"):
                case None:
                    tables[name] += body["piece"]
                case "table":
                    name = body["name"]
                    tables[name] = b""
                case "finished":
                    finished = body
                case "done":
                    return finished, tables
                case "error":
                    raise AssertionError((identifier, body))

    def close_input(self) -> None:
        """Closes the controller's end of the agent's input; an agent that has ended does not take what is held back."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def end(self, within_s: float = PATIENCE_S) -> tuple[int, str]:
        """Waits until the agent has ended: its status and what it said on standard error."""
        assert self.process.stderr is not None
        status = self.process.wait(within_s)
        return status, self.process.stderr.read().decode(errors="replace")

    def kill(self) -> None:
        """Ends it whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue

    def _take(self, count: int, within_s: float) -> bytes:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        end = time.monotonic() + within_s
        while len(self._buffer) < count:
            left = end - time.monotonic()
            assert left > 0, f"nothing came within {within_s} s"
            if select.select([descriptor], [], [], left)[0]:
                piece = os.read(descriptor, 1 << 20)
                assert piece, f"the agent closed its pipe: {self.end()}"
                self._buffer += piece
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def opened(
    talk: Callable[..., Talk], sender: str = "near", address: str = "127.0.0.1", **changes: Any
) -> tuple[Talk, Talk, int]:
    """Both sides of a trial with all its connections open, and the far side's port; `sender` is near or far."""
    far, near = talk().hello(), talk().hello()
    far_role, near_role = ("receiver", "sender") if sender == "near" else ("sender", "receiver")
    port = far.ask("prepare", **trial("listen", far_role, **{"listen_address": address} | changes))["port"]
    assert near.ask("prepare", **trial("connect", near_role, **changes))["reply"] == "prepared"
    reply = near.ask("connect", address=address, port=port)
    assert reply == {"reply": "connected", "connections_count": changes.get("connections_count", 1)}
    return far, near, port


def ended(*agents: Talk) -> list[tuple[Body, dict[str, bytes]]]:
    """How a load ends on these sides, and its tables."""
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in agents]
    return [agent.finish(identifier) for agent, identifier in started]


def ran(*agents: Talk) -> list[tuple[Body, dict[str, bytes]]]:
    """What these sides report of a load that is complete."""
    ends = ended(*agents)
    assert [end["outcome"] for end, _ in ends] == [{"ended": "complete"}] * len(agents)
    return ends
