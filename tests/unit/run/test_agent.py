"""The controller's side of a pipe, against small programs in the agent's place."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pytest

from whyperf import __version__
from whyperf.run.agents import agent as agent_module
from whyperf.run.agents.agent import Agent
from whyperf.run.agents.inbox import MAX_MESSAGES, MAX_PROGRESS, TABLE_BYTES, TablePiece
from whyperf.run.errors import PipeClosedError, RunError

PIECE_BYTES = 1 << 20
PIECES = 200
SOON_S = 5.0
#: By docs/reference/protocol.md: how soon a stopped agent is noticed.
NOTICED_S = 3.0

#: Greets, then does what each request's name says.
PROGRAM = """
import json, os, struct, sys, threading, time, zlib
lock, sent = threading.RLock(), 0
def send(kind, payload):
    global sent
    with lock:
        header = struct.pack(">2sBBIII", b"WP", 3, kind, len(payload), sent, zlib.crc32(payload))
        sent += 1
        sys.stdout.buffer.write(header + struct.pack(">I", zlib.crc32(header)) + payload + b"\\n")
        sys.stdout.buffer.flush()
def say(identifier, **body):
    send(1, json.dumps({"id": identifier, "body": body}).encode())
def beat():
    while True:
        time.sleep(0.5)
        say(0, reply="alive")
threading.Thread(target=beat, daemon=True).start()
while header := sys.stdin.buffer.read(20):
    message = json.loads(sys.stdin.buffer.read(struct.unpack(">2sBBIIII", header)[3] + 1))
    identifier, name = message["id"], message["body"]["request"]
    if name == "hello":
        say(identifier, reply="hello", version=VERSION, pid=os.getpid())
    elif name == "start":
        say(identifier, reply="table", name="segments", bytes=PIECES * PIECE_BYTES)
        for _ in range(PIECES):
            send(2, bytes(PIECE_BYTES))
            time.sleep(PAUSE_S)
        say(identifier, reply="done")
    elif name == "say":
        send(1, message["body"]["text"].encode())
    elif name == "flood":
        for _ in range(message["body"]["count"]):
            send(1, message["body"]["text"].encode())
        say(identifier, reply="done")
    elif name == "goodbye":
        with lock:
            say(identifier, reply="goodbye", frames_count=sent)
        break
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


COMMAND = Path(sys.executable).name
START: Any = {"request": "start"}


def test_a_large_table_never_lies_in_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    with agent(tmp_path) as far:
        replies = far.stream(START, SOON_S)
        assert next(replies) == {"reply": "table", "name": "segments", "bytes": PIECES * PIECE_BYTES}
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
        for reply in far.stream(START, timeout_s=1.5):
            taken.append(type(reply))
            if reply == {"reply": "done"}:
                break
    assert taken.count(TablePiece) == PIECES


def test_a_table_nobody_reads_does_not_keep_the_agent_from_ending_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a host as busy as can be, too.
    monkeypatch.setattr("whyperf.run.agents.agent._EXIT_GRACE_S", 60.0)
    far = agent(tmp_path)
    next(far.stream(START, SOON_S))
    time.sleep(0.3)
    far.close()
    # It read the end of its pipe and left by itself, rather than being killed.
    assert (tmp_path / "left").exists()


def test_a_request_after_a_table_that_was_given_up_is_answered(tmp_path: Path) -> None:
    with agent(tmp_path) as far:
        next(far.stream(START, SOON_S))
        time.sleep(0.3)
        assert far.call({"request": "abort"}) == {"reply": "done"}


def test_closing_ends_who_waits_for_a_reply(tmp_path: Path) -> None:
    far = agent(tmp_path)
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            far.call(cast("Any", {"request": "nothing"}), timeout_s=60)
        except PipeClosedError as error:
            caught.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    far.close()
    waiting.join(SOON_S)
    assert [str(error) for error in caught] == ["far: the agent said goodbye"]


@pytest.mark.parametrize(
    ("request_name", "host", "status", "says"),
    [
        ("die", None, 0, "the far agent was killed by signal 9"),
        ("end", None, 3, "the far agent ended with status 3"),
        ("die", "host7", 0, f"the {COMMAND} to host7 was killed by signal 9, and the far agent ended with it"),
        ("end", "host7", 255, f"the far agent is gone: it was killed on host7, or the {COMMAND} to there broke"),
        ("end", "host7", 3, "the far agent on host7 ended with status 3"),
        # Pipes that lose the status end with 0.
        (
            "end",
            "host7",
            0,
            "the pipe to host7 was cut after 1 frames (SIZE bytes): the far agent on host7 ended with status 0",
        ),
    ],
)
def test_how_an_agent_ended_is_reported_as_far_as_it_is_known(
    tmp_path: Path, request_name: str, host: str | None, status: int, says: str
) -> None:
    with agent(tmp_path, host=host, status=status) as far, pytest.raises(PipeClosedError) as caught:
        far.call(cast("Any", {"request": request_name}))
    # Its process id is in the message.
    assert re.sub(r"\(\d+ bytes\)", "(SIZE bytes)", str(caught.value)) == says


def test_an_agent_that_is_stopped_is_named_within_3_s_and_ended(tmp_path: Path) -> None:
    far = agent(tmp_path)
    os.kill(far.pid, signal.SIGSTOP)
    since = time.monotonic()
    with pytest.raises(PipeClosedError, match=r"^the far agent was silent for 2\.\d s: ") as caught:
        far.call(cast("Any", {"request": "nothing"}), timeout_s=60)
    far.close()
    assert time.monotonic() - since < NOTICED_S
    assert "\n" not in str(caught.value)
    assert not Path(f"/proc/{far.pid}").exists()


def test_a_load_that_fills_the_network_of_an_ssh_ends_no_agent(tmp_path: Path) -> None:
    with agent(tmp_path, host="host7") as far:
        os.kill(far.pid, signal.SIGSTOP)
        until = time.monotonic() + 2 * NOTICED_S
        while time.monotonic() < until:
            far.load_moved()
            time.sleep(0.1)
        os.kill(far.pid, signal.SIGCONT)
        # What it said meanwhile comes, and it is as good as before.
        assert far.call({"request": "abort"})["reply"]


def test_a_far_agent_is_given_up_when_the_load_no_longer_moves(tmp_path: Path) -> None:
    far = agent(tmp_path, host="host7")
    far.load_moved()
    os.kill(far.pid, signal.SIGSTOP)
    with pytest.raises(PipeClosedError, match="silent"):
        far.call(cast("Any", {"request": "nothing"}), timeout_s=60)
    far.close()


def test_a_large_request_to_a_stopped_agent_does_not_wait_for_it(tmp_path: Path) -> None:
    far = agent(tmp_path)
    os.kill(far.pid, signal.SIGSTOP)
    since = time.monotonic()
    # More than a pipe holds.
    with pytest.raises(PipeClosedError, match="silent"):
        far.call(cast("Any", {"request": "nothing", "more": "x" * 1_000_000}), timeout_s=60)
    assert time.monotonic() - since < NOTICED_S
    far.close()


#: A controller that says whether its agent answers after some time.
CONTROLLER = """
import sys, time
from pathlib import Path
from tests.unit.run.test_agent import agent
with agent(Path(sys.argv[1])) as far:
    print("ready", flush=True)
    time.sleep(1)
    print(far.call({"request": "abort"}), flush=True)
"""


def test_a_controller_that_was_stopped_does_not_blame_its_agent(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", CONTROLLER, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as controller:
        assert controller.stdout is not None
        assert controller.stdout.readline() == b"ready\n"
        os.kill(controller.pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(controller.pid, signal.SIGCONT)
        assert controller.stdout.readline() == b"{'reply': 'done'}\n"


def test_who_waits_for_another_agent_learns_which_one_was_lost(tmp_path: Path) -> None:
    with agent(tmp_path) as far, agent(tmp_path) as other:
        other.when_lost(far.interrupt)
        os.kill(other.pid, signal.SIGKILL)
        with pytest.raises(PipeClosedError, match="was killed by signal 9"):
            far.call(cast("Any", {"request": "nothing"}), timeout_s=60)


CLOCK = {"reply": "clock", "mono_ns": 1, "realtime_ns": 1}
EVIDENCE: dict[str, object] = {
    "asked": "user",
    "got": "user",
    "reason": None,
    "missing": [],
    "logged_events_count": 0,
    "lost_events_count": [],
    "logged_calls_count": 0,
    "lost_calls_count": [],
    "missed_runs_count": 0,
    "unseen_segments_count": 0,
    "broken_off": None,
    "profile": None,
    "stages": None,
}
FINISHED = {
    "reply": "finished",
    "outcome": {"ended": "complete"},
    "payload_bytes": 1,
    "notes": [],
    "evidence": EVIDENCE,
}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            CLOCK | {"mono_ns": 2**70},
            "clock.mono_ns is wrong: input should be less than 4611686018427387904",
        ),
        (CLOCK | {"mono_ns": -1}, "clock.mono_ns is wrong"),
        (CLOCK | {"mono_ns": "1"}, "clock.mono_ns is wrong"),
        ({"reply": "clock", "mono_ns": 1}, "clock.realtime_ns is wrong: field required"),
        (FINISHED | {"notes": [{"count": 1}]}, "finished.notes.0 is wrong"),
        (
            FINISHED | {"notes": [{"note": "sampler_late"}]},
            "finished.notes.0.sampler_late.worst_ns is wrong",
        ),
        (FINISHED | {"outcome": {"ended": "failed"}}, "finished.outcome.failed.reason is wrong: field required"),
        (FINISHED | {"evidence": EVIDENCE | {"got": "all"}}, "finished.evidence.got is wrong"),
        ({"reply": "table", "name": "flows"}, "table.bytes is wrong: field required"),
        ({"reply": "fly"}, '"fly"'),
        ("[" * 200_000 + "]" * 200_000, 'not a message of an agent: \'{"id": '),
        ("1" * 900_000, "not a message of an agent"),
        ('"' + "x" * 1_100_000 + '"', "a message of 1,100,"),
    ],
)
def test_a_bad_answer_is_one_sentence(tmp_path: Path, body: object, says: str) -> None:
    text = f'{{"id": 2, "body": {body if isinstance(body, str) else json.dumps(body)}}}'
    with agent(tmp_path) as far, pytest.raises(RunError) as caught:
        far.call(cast("Any", {"request": "say", "text": text}))
    assert str(caught.value).startswith("far: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_an_answer_to_another_request_is_named(tmp_path: Path) -> None:
    done = json.dumps({"id": 3, "body": {"reply": "done"}})
    with agent(tmp_path) as far:
        far._send(cast("Any", {"request": "say", "text": done}))
        with pytest.raises(RunError, match="the far agent answered clock with done"):
            far.call({"request": "clock"})


PROGRESS = {
    "reply": "progress",
    "interval": 0,
    "phase": "measure",
    "start_mono_ns": 0,
    "end_mono_ns": 1,
    "payload_bytes": 0,
    "load_cpu_ns": 0,
    "retransmitted_segments": 0,
    "cwnd_segments": 0,
    "srtt_ns": 0,
    "announced_window_bytes": 0,
}


def test_a_flood_of_progress_takes_bounded_memory(tmp_path: Path) -> None:
    count = 10 * MAX_PROGRESS
    flood: Any = {"request": "flood", "count": count, "text": json.dumps({"id": 2, "body": PROGRESS})}
    tracemalloc.start()
    with agent(tmp_path) as far:
        far.post(flood)
        # Nobody takes anything while it lasts; its last message is none of progress.
        end = time.monotonic() + 60
        while len(far._inbox._items) <= MAX_PROGRESS:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert len(far._inbox._items) == MAX_PROGRESS + 1
        assert far.call({"request": "abort"}, timeout_s=60) == {"reply": "done"}
    # All of them would take more than 1 KB each.
    assert tracemalloc.get_traced_memory()[1] < count << 9
    tracemalloc.stop()


def test_a_flood_of_other_messages_ends_the_conversation(tmp_path: Path) -> None:
    flood: Any = {"request": "flood", "count": 2 * MAX_MESSAGES, "text": json.dumps({"id": 2, "body": CLOCK})}
    with agent(tmp_path) as far:
        far.post(flood)
        far._reader.join(60)
        with pytest.raises(RunError, match=r"^far: the agent sent over 10,000 messages that nobody asked for"):
            far.call({"request": "clock"})


@pytest.mark.parametrize(
    ("code", "failures", "starts"), [(errno.EFAULT, 1, True), (errno.EFAULT, 2, False), (errno.ENOENT, 1, False)]
)
def test_a_start_that_fails_for_a_page_of_its_own_is_tried_once_more(
    monkeypatch: pytest.MonkeyPatch, code: int, failures: int, *, starts: bool
) -> None:
    left = [OSError(code, os.strerror(code))] * failures

    def popen(*_: object, **__: object) -> str:
        if left:
            raise left.pop()
        return "process"

    monkeypatch.setattr(subprocess, "Popen", popen)
    with io.BytesIO() as errors:
        if starts:
            assert str(agent_module._started(["agent"], errors)) == "process"
        else:
            with pytest.raises(OSError, match=os.strerror(code)):
                agent_module._started(["agent"], errors)
