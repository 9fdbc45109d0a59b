"""Pipes that cut, stall, change and lose: a conversation is complete, or ends soon with a sentence that names the host.

`make test-pipes` makes `RUNS` of each fault; `make test` makes one.
"""

import io
import os
import random
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

from tests.protocol.pipe_talk import trial
from whyperf.run.agents import agent as agent_module
from whyperf.run.agents import pipes
from whyperf.run.agents.agent import Agent
from whyperf.run.agents.inbox import TablePiece
from whyperf.run.errors import RunError

HOST = "h7"
RUNS = int(os.environ.get("WHYPERF_PIPE_RUNS", "100"))
#: By the task: no run hangs longer than this.
MAX_S = 30.0
#: About what a conversation takes in each direction, so that most faults come inside it.
OUTPUT_BYTES, INPUT_BYTES = 60_000, 1_000
#: The agent that is pushed is longer than what kubectl passes at once.
KUBECTL_CUT_BYTES = 192 << 10
PADDED_BYTES = 500_000

#: Faults, and whether a conversation may come to its end all the same.
FAULTS = {
    "none": True,
    "lines": True,
    "banner": True,
    "delay": True,
    "lost-status": True,
    "no-close": True,
    "cut-input": True,
    "serve-cut-input": False,
    "serve-cut-output": False,
    "cut-output": False,
    "serve-stall": False,
    "serve-flip-output": False,
    "serve-flip-input": False,
    "serve-drop-output": False,
    "serve-drop-input": False,
    "serve-repeat-output": False,
    "serve-repeat-input": False,
}
#: What may be said of a fault, in addition to the host's name.
SAYS = {
    "serve-cut-input": "was cut (after|inside)",
    "serve-cut-output": "was cut (after|inside)",
    "cut-output": "was cut (after|inside)|cannot keep the agent",
    "serve-stall": "was silent for|did not answer hello",
    "serve-flip-output": "damaged frame|protocol version|not whyperf's protocol|lost or repeated",
    "serve-flip-input": "damaged frame|protocol version|not whyperf's protocol",
    "serve-drop-output": "damaged frame|lost or repeated|not whyperf's protocol|did not answer hello|was cut",
    "serve-drop-input": "damaged frame|lost or repeated|not whyperf's protocol|did not answer|was cut",
    "serve-repeat-output": "damaged frame|lost or repeated",
    "serve-repeat-input": "damaged frame|lost or repeated|not whyperf's protocol",
}


@dataclass(frozen=True)
class Ended:
    """How a conversation ended: with the tables of both sides, or a sentence; and how long it took."""

    tables: dict[str, pl.DataFrame]
    sentence: str
    seconds: float
    said_goodbye: bool


def argument(fault: str, rng: random.Random) -> str:
    """The fault with a number drawn for it."""
    name = fault.removeprefix("serve-")
    most = INPUT_BYTES if name.endswith("-input") else OUTPUT_BYTES
    number = {
        "cut-input": KUBECTL_CUT_BYTES if fault == "cut-input" else rng.randrange(most),
        # Between looking for the agent and the end of the conversation.
        "cut-output": rng.choice((rng.randrange(200), rng.randrange(most))),
        "banner": rng.randint(1, 3),
        "delay": rng.randint(1, 300),
    }.get(name, rng.randrange(most))
    return fault if name in {"none", "lines", "lost-status", "no-close"} else f"{fault}:{number}"


def padded_agent(folder: Path) -> Path:
    """An agent that is as long as a pipe's cut needs it, and starts the real one."""
    path = folder / "agent"
    real = shlex.quote(str(pipes.agent_binary()))
    path.write_bytes(f'#!/bin/sh\nexec {real} "$@"\nexit\n'.encode() + os.urandom(PADDED_BYTES))
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for homes of the far host, with an agent to be pushed to the first one."""
    folder = tmp_path_factory.mktemp("far")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHYPERF_AGENT", str(padded_agent(folder)))
        patch.setenv("HOME", str(folder))
        patch.delenv("XDG_CACHE_HOME", raising=False)
        yield folder


@contextmanager
def home_for(fault: str, folder: Path) -> Iterator[None]:
    """Has the agent be pushed once more where the fault is in that, too."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(dir=folder) as fresh:
        if not fault.startswith("serve-"):
            patch.setenv("HOME", fresh)
        yield


def via(fault: str) -> str:
    """The command of a pipe with this fault."""
    program = shlex.quote(str(Path(__file__).with_name("faulty_pipe.py")))
    return f"{shlex.quote(sys.executable)} -S -E {program} {fault} {{host}}"


def conversation(fault: str) -> Ended:
    """A trial between an agent of this host and one behind a faulty pipe."""
    began_s = time.monotonic()
    tables: dict[str, pl.DataFrame] = {}
    sentence, said_goodbye = "", False
    try:
        with ExitStack() as opened:
            near = opened.enter_context(Agent("near", pipes.local(), shares_clock=True))
            argv = pipes.by_name(via(fault)).argv(HOST)
            far = Agent("far", argv, shares_clock=True, host=HOST)
            with far:
                # As a session does it: what the near agent says then is not why.
                far.when_lost(near.interrupt)
                far.clock()
                tables = measured(near, far)
            said_goodbye = far.said_goodbye
    except RunError as error:
        sentence = str(error)
    return Ended(tables, sentence, time.monotonic() - began_s, said_goodbye)


def measured(near: Agent, far: Agent) -> dict[str, pl.DataFrame]:
    """A transfer of some payload, with the tables of both sides."""
    request: Any = {"request": "prepare", **trial()}
    port = far.call(request)["port"]
    request = {"request": "prepare", **trial("connect", "sender")}
    near.call(request)
    assert port is not None
    near.call({"request": "connect", "address": "127.0.0.1", "port": port, "echo_port": None})
    started = [(agent, agent.stream({"request": "start", "at_mono_ns": 0})) for agent in (far, near)]
    first = [next(replies) for _, replies in started]
    found: dict[str, pl.DataFrame] = {}
    for (agent, replies), reply in zip(started, first, strict=True):
        found |= {f"{name}.{agent.label}": table for name, table in received([reply, *until_done(reply, replies)])}
    return found


def until_done(reply: Any, replies: Iterator[Any]) -> Iterator[Any]:
    """The replies that follow, up to the last one."""
    while isinstance(reply, TablePiece) or reply["reply"] != "done":
        reply = next(replies)
        yield reply


def received(replies: list[Any]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The tables among the replies, each as long as announced and readable."""
    announced: list[tuple[str, int]] = []
    contents: list[bytes] = []
    for reply in replies:
        if isinstance(reply, TablePiece):
            contents[-1] += reply.data
        elif reply["reply"] == "table":
            announced.append((reply["name"], reply["bytes"]))
            contents.append(b"")
    for (name, size), content in zip(announced, contents, strict=True):
        assert len(content) == size, name
        yield name, pl.read_parquet(io.BytesIO(content))


def assert_complete_or_named(fault: str, asked: str) -> Ended:
    """What holds of every conversation."""
    ended = conversation(asked)
    assert ended.seconds < MAX_S, (asked, ended)
    if not ended.sentence:
        assert ended.tables["flows.far"]["payload_bytes"].to_list() == [100_000], asked
        assert ended.tables["flows.near"]["payload_bytes"].to_list() == [100_000], asked
    if FAULTS[fault]:
        assert ended.sentence == "", (asked, ended.sentence)
        assert ended.said_goodbye, asked
    elif ended.sentence:
        assert HOST in ended.sentence, (asked, ended.sentence)
        assert pl.Series([ended.sentence]).str.contains(SAYS[fault]).all(), (asked, ended.sentence)
    return ended


@pytest.mark.parametrize("fault", FAULTS)
def test_a_conversation_is_complete_or_ends_with_a_sentence(
    fault: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_module, "_HELLO_TIMEOUT_S", 4.0)
    rng = random.Random(f"short {fault}")
    with home_for(fault, home):
        assert_complete_or_named(fault, argument(fault, rng))


@pytest.mark.slow
@pytest.mark.timeout(RUNS * MAX_S)
@pytest.mark.parametrize("fault", FAULTS)
def test_many_conversations_are_complete_or_end_with_a_sentence(fault: str, home: Path) -> None:
    rng = random.Random(f"long {fault}")
    counts = {"complete": 0, "named": 0}
    longest_s = 0.0
    for _ in range(RUNS):
        with home_for(fault, home):
            ended = assert_complete_or_named(fault, argument(fault, rng))
        counts["named" if ended.sentence else "complete"] += 1
        longest_s = max(longest_s, ended.seconds)
    print(f"{fault}: {counts}, longest {longest_s:.1f} s")
    # Many of the numbers of bytes that are drawn lie inside a conversation.
    assert FAULTS[fault] or counts["named"] > RUNS / 4


def child_of(pid: int) -> int:
    """The only child of a process."""
    (children,) = [path.read_text() for path in Path(f"/proc/{pid}/task/{pid}").glob("children")]
    return int(children)


@pytest.mark.usefixtures("home")
def test_an_agent_that_is_killed_behind_a_pipe_without_a_status_is_named() -> None:
    with Agent("far", pipes.by_name(via("lost-status")).argv(HOST), shares_clock=True, host=HOST) as far:
        os.kill(child_of(far.pid), signal.SIGKILL)
        with pytest.raises(RunError, match=r"the pipe to h7 was cut after \d+ frames \([\d,]+ bytes\)"):
            far.call({"request": "clock"})


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_agent_that_does_not_answer_the_goodbye_is_named(is_stopped: bool) -> None:
    with Agent("far", pipes.by_name(via("no-close")).argv(HOST), shares_clock=True, host=HOST) as far:
        if is_stopped:
            os.kill(child_of(far.pid), signal.SIGSTOP)
    assert (far.left_silently is not None) == is_stopped
    assert HOST in (far.left_silently or HOST)
