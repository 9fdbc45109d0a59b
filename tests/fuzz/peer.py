"""The agent's half of the protocol, asked what it takes for a frame or a message (`verdicts.rs` in crates/schema)."""

import atexit
import os
import struct
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TREE = Path(__file__).parents[2]


@dataclass(frozen=True)
class Verdict:
    """How many frames or messages there are, and what is wrong with the rest."""

    count: int
    text: str

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return self.text == "end"


def binary() -> Path:
    """The program; `cargo test` builds it, and so does `cargo build --example verdicts`."""
    return Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target")) / "debug" / "examples" / "verdicts"


def ask(kind: str, data: bytes) -> Verdict:
    """What the agent takes: `f` frames, `q` a request, `r` a reply."""
    asked = _peer()
    assert asked.stdin is not None
    assert asked.stdout is not None
    asked.stdin.write(struct.pack(">cI", kind.encode(), len(data)) + data)
    asked.stdin.flush()
    line = asked.stdout.readline().decode(errors="replace").rstrip("\n")
    assert line, f"the agent's half ended with {asked.wait()}"
    count, _, text = line.partition(" ")
    return Verdict(int(count), text)


@cache
def _peer() -> "subprocess.Popen[bytes]":
    asked = subprocess.Popen([str(binary())], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(_end, asked)
    return asked


def _end(asked: "subprocess.Popen[bytes]") -> None:
    for stream in (asked.stdin, asked.stdout):
        if stream is not None:
            stream.close()
    asked.wait()
