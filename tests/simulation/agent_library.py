"""The agent's state machines (crates/session), loaded as a library: crates/session/examples/simulated.rs."""

import ctypes
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Another library than the one that is built from this tree.
LIBRARY = "WHYPERF_SIMULATED_AGENT"
_NEVER = 2**64 - 1


def target_folder(tree: Path) -> Path:
    """Where cargo builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", tree / "target"))


def build(tree: Path = ROOT) -> Path:
    """Build the library of a source tree; where it lies."""
    argv = ["cargo", "build", "--quiet", "--locked", "--workspace", "--example", "simulated"]
    subprocess.run([*argv, "--message-format", "short"], cwd=tree, check=True)
    return target_folder(tree) / "debug" / "examples" / "libsimulated.so"


@cache
def _library() -> ctypes.CDLL:
    path = os.environ.get(LIBRARY)
    library = ctypes.CDLL(path if path else str(build()))
    pointer, size, time = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
    for name, result, arguments in (
        ("agent_new", pointer, [ctypes.c_uint32]),
        ("agent_free", None, [pointer]),
        ("agent_bytes", None, [pointer, ctypes.c_char_p, size]),
        ("agent_event", ctypes.c_bool, [pointer, time, ctypes.c_char_p, size]),
        ("agent_poll", size, [pointer, time]),
        ("agent_timeout", time, [pointer]),
        ("agent_frame", size, [pointer, time, ctypes.POINTER(ctypes.c_uint64)]),
        ("agent_output", pointer, [pointer]),
        ("agent_closed_grace", time, []),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def closed_grace_ns() -> int:
    """How long after its pipe closed an agent ends whatever it does."""
    return int(_library().agent_closed_grace())


class Machine:
    """The state machines of one agent."""

    def __init__(self, pid: int) -> None:
        self._library = _library()
        self._agent = self._library.agent_new(pid)
        self._due = ctypes.c_uint64()

    def free(self) -> None:
        """Give its memory back; it is not used afterwards."""
        self._library.agent_free(self._agent)

    def handle_bytes(self, data: bytes) -> None:
        self._library.agent_bytes(self._agent, data, len(data))

    def handle(self, now_ns: int, event: str, **fields: Any) -> None:
        data = json.dumps({"event": event, **fields}).encode()
        assert self._library.agent_event(self._agent, now_ns, data, len(data)), (event, fields)

    def poll_action(self, now_ns: int) -> dict[str, Any] | None:
        length = self._library.agent_poll(self._agent, now_ns)
        return json.loads(self._output(length)) if length else None

    def timeout_ns(self) -> int | None:
        due_ns = int(self._library.agent_timeout(self._agent))
        return None if due_ns == _NEVER else due_ns

    def poll_frame(self, now_ns: int) -> bytes | int | None:
        """The next frame; or when one is due; None where none comes any more."""
        length = self._library.agent_frame(self._agent, now_ns, ctypes.byref(self._due))
        if length:
            return self._output(length)
        return None if self._due.value == _NEVER else self._due.value

    def _output(self, length: int) -> bytes:
        return ctypes.string_at(self._library.agent_output(self._agent), length)
