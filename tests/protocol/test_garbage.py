"""What is not the protocol ends the agent with one sentence, whatever it is."""

import json
import os
import random
import subprocess
from collections.abc import Callable

import pytest

from tests.protocol.pipe_talk import AGENT, TABLE, Talk, frame, message
from whyperf import __version__

StartTalk = Callable[..., Talk]

HELLO = message("hello", version=__version__)


def refusal(talk: Talk, data: bytes) -> str:
    """Sends bytes and the end of the pipe; returns the agent's one sentence, printed and as a message."""
    talk.write(data)
    talk.close_input()
    status, said = talk.end()
    assert status == 1, (status, said)
    assert "panicked" not in said, said
    lines = [line for line in said.splitlines() if line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("whyperf-agent: "), lines
    return lines[0]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"Last login: Mon Nov 16\n", "not whyperf's protocol: \"Last login"),
        (b"\xff" * 4096, "not whyperf's protocol"),
        (frame(b"{}", version=2), "protocol version 2"),
        (frame(b"{}", kind=3), "unknown kind 3"),
        (frame(b"", length=(4 << 20) + 1), "over the limit of 4194304 bytes"),
        (frame(b"{}", kind=TABLE), "only agents do"),
        (frame(b"\xff\xfe"), "not a request"),
        (frame(b"{}"), "missing field"),
        (frame(json.dumps({"id": 1, "body": {"request": "fly"}}).encode()), "fly"),
        (frame(json.dumps({"id": -1, "body": {"request": "clock"}}).encode()), "not a request"),
        (frame(b'{"id":1,"body":' + b"[" * 100_000), "not a request"),
        (message("hello", version=__version__, more=1), "more"),
        (message("connect", address="127.0.0.1", port=65536), "65536"),
        (message("prepare"), "missing field"),
        (HELLO[:5], "cut inside frame 0, after 5 of 20 bytes"),
        (HELLO[:-3], "cut inside frame 0"),
        (HELLO[:-2] + b"!\n", "damaged frame 0 after 0 bytes"),
        (HELLO[:7] + b"\xff" + HELLO[8:], "damaged frame 0"),
    ],
)
def test_each_kind_of_garbage_is_named(talk: StartTalk, data: bytes, sentence: str) -> None:
    assert sentence in refusal(talk(), data)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (HELLO, "frame 0 came where 1 was due"),
        (message("clock", 3), "frame 2 came where 1 was due"),
        (b"Broken pipe, the rest is lost\n", "not whyperf's protocol: \"Broken pipe"),
        (message("clock", 2)[:-2] + b"!\n", f"damaged frame 1 after {len(HELLO)} bytes"),
    ],
)
def test_what_a_pipe_adds_loses_or_changes_is_named(talk: StartTalk, data: bytes, sentence: str) -> None:
    agent = talk().hello()
    agent.write(data)
    answered, reply = agent.read()
    assert (answered, reply["reply"]) == (0, "error")
    assert sentence in reply["text"]
    assert agent.end()[0] == 1


def test_an_agent_does_not_panic_though_nobody_reads_its_standard_error() -> None:
    """Its controller may be gone, and it undoes what it did all the same."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as errors:
        done = subprocess.run([AGENT, "serve"], input=b"x" * 64, stdout=subprocess.DEVNULL, stderr=errors, check=False)
    assert done.returncode == 1


@pytest.mark.parametrize("seed", range(6))
def test_random_bytes_never_panic_and_never_hang(talk: StartTalk, seed: int) -> None:
    rng = random.Random(seed)
    data = rng.randbytes(rng.choice([1, 3, 8, 60, 5_000, 200_000]))
    refusal(talk(), data)


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_conversation_never_panics_and_never_hangs(talk: StartTalk, seed: int) -> None:
    rng = random.Random(1000 + seed)
    bytes_ = bytearray(HELLO + message("clock", 2) + message("abort", 3) + message("remove_testbed", 4))
    for _ in range(rng.randint(1, 4)):
        bytes_[rng.randrange(len(bytes_))] = rng.randrange(256)
    agent = talk()
    agent.write(bytes(bytes_))
    agent.close_input()
    status, said = agent.end()
    assert status in {0, 1}, (status, said)
    assert "panicked" not in said
    assert len([line for line in said.splitlines() if line]) == status
