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
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from whyperf import __version__
from whyperf.run.agents import agent as agent_module
from whyperf.run.agents import pulse
from whyperf.run.agents.agent import Agent
from whyperf.run.agents.inbox import TablePiece
from whyperf.run.errors import NoAnswerError, PipeClosedError, RunError

PIECE_BYTES = 1 << 20
PIECES = 40
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
print(open(SAID).read(), end="", file=sys.stderr, flush=True)
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
    elif name == "goodbye":
        with lock:
            say(identifier, reply="goodbye", frames_count=sent)
        break
    elif name == "abort":
        say(identifier, reply="done")
    elif name == "end":
        os._exit(0)
    elif name == "die":
        os.kill(os.getpid(), 9)
open(LEFT, "w").close()
"""


def agent(folder: Path, *, pause_s: float = 0.0, host: str | None = None, says: Path = Path(os.devnull)) -> Agent:
    values = {
        "SAID": str(says),
        "VERSION": __version__,
        "PIECES": PIECES,
        "PIECE_BYTES": PIECE_BYTES,
        "PAUSE_S": pause_s,
        "LEFT": str(folder / "left"),
    }
    heading = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    return Agent("far", [sys.executable, "-c", heading + textwrap.dedent(PROGRAM)], shares_clock=True, host=host)


START: Any = {"request": "start"}


def test_a_slow_table_is_no_hang(tmp_path: Path) -> None:
    # 40 pieces of 50 ms each: longer in all than the time a reply may take.
    with agent(tmp_path, pause_s=0.05) as far:
        taken = []
        for reply in far.stream(START, timeout_s=1.5):
            taken.append(type(reply))
            if reply == {"reply": "done"}:
                break
    assert taken.count(TablePiece) == PIECES


def test_what_comes_gives_no_more_time_than_there_is_in_all(tmp_path: Path) -> None:
    with agent(tmp_path, pause_s=0.05) as far:
        end_s = time.monotonic() + 0.4
        with pytest.raises(NoAnswerError, match="the far agent did not end start in time"):
            for _ in far.stream(START, SOON_S, lambda: end_s):
                pass


def test_what_comes_before_an_answer_gives_no_more_time(tmp_path: Path) -> None:
    with agent(tmp_path, pause_s=0.05) as far:
        # 40 pieces of 50 ms each.
        far.post(START)
        with pytest.raises(NoAnswerError, match="did not answer abort within 0 s"):
            far.call({"request": "abort"}, timeout_s=0.4)


def test_the_true_offset_of_a_clock_is_within_its_uncertainty(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(_: Agent, __: object) -> dict[str, int]:
        # All of the time passes before the clock is read.
        time.sleep(0.005)
        return {"mono_ns": time.monotonic_ns(), "realtime_ns": 0}

    monkeypatch.setattr(Agent, "call", call)
    far = Agent.__new__(Agent)
    far.shares_clock = False
    found = far.clock()
    # Both sides read the same clock here: its offset is 0.
    assert abs(found.offset_ns) <= found.uncertainty_ns


def test_clocks_are_compared_with_a_slow_host_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns, calls = 0, 0

    def call(_: Agent, __: object) -> dict[str, int]:
        nonlocal now_ns, calls
        now_ns, calls = now_ns + round(0.9 * agent_module.DEFAULT_TIMEOUT_S * 1e9), calls + 1
        return {"mono_ns": now_ns, "realtime_ns": 0}

    monkeypatch.setattr(Agent, "call", call)
    monkeypatch.setattr(agent_module, "time", SimpleNamespace(monotonic_ns=lambda: now_ns))
    far = Agent.__new__(Agent)
    far.shares_clock = False
    far.clock()
    assert calls == 2


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


def test_of_what_a_command_says_a_message_has_the_end(tmp_path: Path) -> None:
    """However much that is: it comes from another host."""
    said = tmp_path / "said"
    said.write_text("x" * 5_000_000 + "the end")
    with pytest.raises(PipeClosedError, match=r"xthe end$") as caught:
        Agent("far", ["sh", "-c", f"cat {said} >&2"], shares_clock=True)
    assert len(str(caught.value)) < 1500


def test_what_a_command_says_is_kept_in_no_file(tmp_path: Path) -> None:
    """A far host could fill the disk with it."""
    said = tmp_path / "said"
    said.write_text("x" * 5_000_000 + "the end")
    with agent(tmp_path, says=said) as far:
        assert Path(f"/proc/{far.pid}/fd/2").stat().st_size == 0
        with pytest.raises(PipeClosedError, match=r"xthe end$"):
            far.call(cast("Any", {"request": "die"}))


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
    ("host", "status", "says"),
    [
        (None, -9, "the far agent was killed by signal 9"),
        (None, 3, "the far agent ended with status 3"),
        ("host7", -9, "the ssh to host7 was killed by signal 9, and the far agent ended with it"),
        ("host7", 255, "the far agent is gone: it was killed on host7, or the ssh to there broke"),
        ("host7", 3, "the far agent on host7 ended with status 3"),
    ],
)
def test_how_an_agent_ended_is_reported_as_far_as_it_is_known(host: str | None, status: int, says: str) -> None:
    assert agent_module._how_it_ended("far", host, status, "ssh") == says


@pytest.mark.parametrize(
    ("request_name", "host", "says"),
    [
        ("die", None, "the far agent was killed by signal 9"),
        # Pipes that lose the status end with 0.
        ("end", "host7", "the pipe to host7 was cut after 1 frames (SIZE bytes): the far agent on host7 ended with"),
    ],
)
def test_an_agent_that_is_gone_ends_who_waits(tmp_path: Path, request_name: str, host: str | None, says: str) -> None:
    with agent(tmp_path, host=host) as far, pytest.raises(PipeClosedError) as caught:
        far.call(cast("Any", {"request": request_name}))
    # Its process id is in the message.
    assert re.sub(r"\(\d+ bytes\)", "(SIZE bytes)", str(caught.value)).startswith(says)


# More than a pipe holds, too.
@pytest.mark.parametrize("more_bytes", [0, 1_000_000])
def test_an_agent_that_is_stopped_is_named_within_3_s_and_ended(tmp_path: Path, more_bytes: int) -> None:
    far = agent(tmp_path)
    os.kill(far.pid, signal.SIGSTOP)
    since = time.monotonic()
    with pytest.raises(PipeClosedError, match=r"^the far agent was silent for 2\.\d s: ") as caught:
        far.call(cast("Any", {"request": "nothing", "more": "x" * more_bytes}), timeout_s=60)
    far.close()
    assert time.monotonic() - since < NOTICED_S
    assert "\n" not in str(caught.value)
    assert not Path(f"/proc/{far.pid}").exists()


def test_only_a_far_agent_may_be_late_and_only_while_the_load_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent(tmp_path) as near, agent(tmp_path, host="host7") as far:
        assert not far._may_be_late()
        for either in (near, far):
            either.load_moved()
        assert [near._may_be_late(), far._may_be_late()] == [False, True]
        monkeypatch.setattr(agent_module, "_LOAD_MOVES_S", 0.0)
        assert not far._may_be_late()


@pytest.mark.parametrize(
    ("slices_s", "late_until_s", "silent_after_s"),
    [
        # Waiting is counted in slices of 0.25 s; after 2.2 s of silence the agent counts as stopped.
        ([0.25] * 100, 0.0, 2.25),
        # A controller that was stopped for an hour counts two slices.
        ([0.25, 3600.0] + [0.25] * 100, 0.0, 3601.75),
        # While the load fills the network, it may be late.
        ([0.25] * 100, 5.0, 5.0),
    ],
)
def test_silence_is_what_was_waited_for(
    slices_s: list[float], late_until_s: float, silent_after_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, slices = 0.0, iter(slices_s)

    def poll(_timeout_ms: float) -> list[int]:
        nonlocal now_s
        now_s += next(slices)
        return []

    no_data = SimpleNamespace(register=lambda *_: None, poll=poll)
    monkeypatch.setattr(pulse, "select", SimpleNamespace(poll=lambda: no_data, POLLIN=1))
    monkeypatch.setattr(pulse, "time", SimpleNamespace(monotonic=lambda: now_s))
    with pytest.raises(pulse.SilentError):
        pulse.Pulse(0, lambda: True, lambda: now_s < late_until_s).readinto(bytearray(1))
    assert now_s == silent_after_s


def test_an_answer_that_is_none_names_its_agent(tmp_path: Path) -> None:
    body = json.dumps({"id": 2, "body": {"reply": "clock", "mono_ns": 1}})
    with agent(tmp_path) as far, pytest.raises(RunError, match=r"^far: .*clock\.realtime_ns is wrong: field required"):
        far.call(cast("Any", {"request": "say", "text": body}))


def test_an_answer_to_another_request_is_named(tmp_path: Path) -> None:
    done = json.dumps({"id": 3, "body": {"reply": "done"}})
    with agent(tmp_path) as far:
        far._send(cast("Any", {"request": "say", "text": done}))
        with pytest.raises(RunError, match="the far agent answered clock with done"):
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
