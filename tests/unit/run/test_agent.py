"""The controller's side of a pipe, against small programs in the agent's place."""

import sys
import textwrap
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from whyperf import __version__
from whyperf.run.agent import Agent
from whyperf.run.errors import PipeClosedError
from whyperf.run.inbox import TABLE_BYTES, TablePiece

PIECE_BYTES = 1 << 20
PIECES = 200
SOON_S = 5.0

#: Greets, then does what each request's name says.
PROGRAM = """
import json, os, struct, sys, time
def send(kind, payload):
    sys.stdout.buffer.write(struct.pack(">2sBBI", b"WP", 1, kind, len(payload)) + payload)
    sys.stdout.buffer.flush()
def say(identifier, **body):
    send(1, json.dumps({"id": identifier, "body": body}).encode())
while header := sys.stdin.buffer.read(8):
    message = json.loads(sys.stdin.buffer.read(struct.unpack(">2sBBI", header)[3]))
    identifier, name = message["id"], message["body"]["request"]
    if name == "hello":
        say(identifier, reply="hello", version=VERSION)
    elif name == "start":
        say(identifier, reply="table", name="segments")
        for _ in range(PIECES):
            send(2, bytes(PIECE_BYTES))
            time.sleep(PAUSE_S)
        say(identifier, reply="done")
    elif name == "abort":
        say(identifier, reply="done")
    elif name == "end":
        os._exit(STATUS)
    elif name == "die":
        os.kill(os.getpid(), 9)
open(LEFT, "w").close()
"""


def agent(folder: Path, *, pause_s: float = 0.0, host: str | None = None, status: int = 0) -> Agent:
    values = {
        "VERSION": __version__,
        "PIECES": PIECES,
        "PIECE_BYTES": PIECE_BYTES,
        "PAUSE_S": pause_s,
        "STATUS": status,
        "LEFT": str(folder / "left"),
    }
    heading = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    return Agent("far", [sys.executable, "-c", heading + textwrap.dedent(PROGRAM)], shares_clock=True, host=host)


def test_a_large_table_never_lies_in_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    with agent(tmp_path) as far:
        replies = far.stream({"request": "start"}, SOON_S)
        assert next(replies) == {"reply": "table", "name": "segments"}
        # Slower than the agent: it fills whatever will hold it.
        time.sleep(0.5)
        received = 0
        for reply in replies:
            if not isinstance(reply, TablePiece):
                break
            received += len(reply.data)
    assert received == PIECES * PIECE_BYTES
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 2 * TABLE_BYTES


def test_a_slow_table_is_no_hang(tmp_path: Path) -> None:
    # 200 pieces of 10 ms each: longer in all than the time a reply may take.
    with agent(tmp_path, pause_s=0.01) as far:
        taken = []
        for reply in far.stream({"request": "start"}, timeout_s=1.5):
            taken.append(type(reply))
            if reply == {"reply": "done"}:
                break
    assert taken.count(TablePiece) == PIECES


def test_a_table_nobody_reads_does_not_keep_the_agent_from_ending_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a host as busy as can be, too.
    monkeypatch.setattr("whyperf.run.agent._EXIT_GRACE_S", 60.0)
    far = agent(tmp_path)
    next(far.stream({"request": "start"}, SOON_S))
    time.sleep(0.3)
    far.close()
    # It read the end of its pipe and left by itself, rather than being killed.
    assert (tmp_path / "left").exists()


def test_a_request_after_a_table_that_was_given_up_is_answered(tmp_path: Path) -> None:
    with agent(tmp_path) as far:
        next(far.stream({"request": "start"}, SOON_S))
        time.sleep(0.3)
        assert far.call({"request": "abort"}) == {"reply": "done"}


def test_closing_ends_who_waits_for_a_reply(tmp_path: Path) -> None:
    far = agent(tmp_path)
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            far.call({"request": "nothing"}, timeout_s=60)
        except PipeClosedError as error:
            caught.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    far.close()
    waiting.join(SOON_S)
    assert [str(error) for error in caught] == ["the far agent ended with status 0"]


@pytest.mark.parametrize(
    ("request_name", "host", "status", "says"),
    [
        ("die", None, 0, "the far agent was killed by signal 9"),
        ("end", None, 3, "the far agent ended with status 3"),
        ("die", "host7", 0, "the ssh to host7 was killed by signal 9, and the far agent ended with it"),
        ("end", "host7", 255, "the far agent is gone: it was killed on host7, or the ssh to there broke"),
        ("end", "host7", 3, "the far agent ended with status 3"),
    ],
)
def test_how_an_agent_ended_is_told_as_far_as_it_is_known(
    tmp_path: Path, request_name: str, host: str | None, status: int, says: str
) -> None:
    with agent(tmp_path, host=host, status=status) as far, pytest.raises(PipeClosedError) as caught:
        far.call({"request": request_name})
    assert str(caught.value) == says
