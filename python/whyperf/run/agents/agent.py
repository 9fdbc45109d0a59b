"""A conversation with one agent: requests out, replies and tables in."""

import errno
import io
import json
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeAlias, overload

from whyperf import __version__, wire
from whyperf.run.agents import frames
from whyperf.run.agents.inbox import Inbox, TablePiece
from whyperf.run.agents.last_words import LastWords
from whyperf.run.agents.pipes.binary import RUN, RUN_ID
from whyperf.run.agents.pipes.calls import ATTEMPTS, SSH_FAILED, entrance, note_reached, wait_s, was_turned_away
from whyperf.run.agents.pulse import Pulse, SilentError
from whyperf.run.agents.replies import ANSWERS, understood
from whyperf.run.errors import AgentError, Fault, NoAnswerError, PipeClosedError, PipeFaultError, RunError

DEFAULT_TIMEOUT_S = 30.0
"""The time that a reply may take where nothing else is said."""

_Ordered: TypeAlias = wire.RequestCarryPath | wire.RequestBeginPath | wire.RequestAbort | wire.RequestEndWatch
"""The requests that are answered by `done`."""

_HELLO_TIMEOUT_S = 20.0
"""The time that an agent may take until it greets, the start of its pipe included."""
_GOODBYE_S = 2.0
"""The time that an agent may take to undo everything and to say goodbye, until its pipe is closed all the same."""
_ASKS_AFTER_S = 5.0
"""The time that the controller waits for a reply until it sends another request, by which a lost one is noticed."""
_EXIT_GRACE_S = 3.0
_READ_BYTES = 256 << 10
_LAST_LETTERS = 1000
"""The number of letters that a message has of what a pipe's command said last."""
_LOAD_MOVES_S = 1.0
"""So long after it was heard of, the load counts as moving: some intervals of progress."""
_CLOCK_EXCHANGES = 8


@dataclass(frozen=True)
class Clock:
    """An agent's CLOCK_MONOTONIC against the controller's, and against real time.

    ``offset_ns`` is the agent's minus the controller's, right within ``uncertainty_ns``: half of the shortest of
    several round trips (Cristian 1989).
    """

    offset_ns: int
    uncertainty_ns: int
    mono_ns: int
    realtime_ns: int


def _how_it_ended(label: str, host: str | None, status: int, command: str) -> str:
    """The end of an agent, known from the status of its process, or of the ``command`` of the pipe to its ``host``."""
    if host is not None and status < 0:
        return f"the {command} to {host} was killed by signal {-status}, and the {label} agent ended with it"
    if host is not None and status == SSH_FAILED:
        return f"the {label} agent is gone: it was killed on {host}, or the {command} to there broke"
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"the {label} agent {how}" if host is None else f"the {label} agent on {host} {how}"


def _started(argv: list[str], errors: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Starts a process with pipes.

    On some virtual machines about one execve(2) of a thousand fails with EFAULT, though all its addresses are valid.
    Nothing was started then, so it is tried once more.
    """

    def start() -> "subprocess.Popen[bytes]":
        # What this process handles itself is no business of the agent, which would inherit that it is blocked.
        blocked = signal.pthread_sigmask(signal.SIG_SETMASK, ())
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, RUN: RUN_ID},
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    try:
        return start()
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise
    return start()


class Agent:
    """An agent at the other end of a pipe. Closing the pipe ends the agent and everything it does."""

    #: The advice when it is lost.
    advice = "run the same command again, it resumes"

    def __init__(self, label: str, argv: list[str], *, shares_clock: bool, host: str | None = None) -> None:
        """Start ``argv``, which must become ``whyperf-agent serve``, and greet it.

        ``shares_clock`` says that the agent runs under the same kernel, so that both read the same CLOCK_MONOTONIC;
        ``host`` that ``argv`` is a pipe to there. A pipe that a busy server turns away is started again.

        Raises:
            RunError: it does not start, or is of another version.
        """
        self.label = label
        self.shares_clock = shares_clock
        self._host = host
        self._command = Path(argv[0]).name
        self._load_moved_s = -math.inf
        self._on_lost: Callable[[RunError], None] = lambda _: None
        self._lock = threading.Lock()
        for attempt in range(ATTEMPTS):
            try:
                with entrance(host):
                    self.version = self._greeted(argv)
                break
            except RunError:
                if attempt == ATTEMPTS - 1 or not self._was_turned_away:
                    raise
                time.sleep(wait_s(attempt))
        if host is not None:
            note_reached(host)

    def _greeted(self, argv: list[str]) -> str:
        """Start a process and greet it; its version."""
        self._is_greeted = False
        self._was_turned_away = False
        self._inbox = Inbox()
        self._frames_count = 0
        self._longest_bytes = 0
        self._is_leaving = False
        self._was_there = False
        #: True where the agent has undone everything and said so.
        self.said_goodbye = False
        self._ended: RunError | None = None
        self._last_words = LastWords()
        try:
            self._process = _started(argv, self._last_words.input)
        except OSError as error:
            raise RunError(f"starting {argv[0]}: {error.strerror}") from error
        finally:
            self._last_words.input.close()
        self._frames = frames.FrameReader(io.BytesIO())
        self._reader = threading.Thread(target=self._read, name=f"agent-{self.label}", daemon=True)
        self._reader.start()
        try:
            version = self.call({"request": "hello", "version": __version__}, _HELLO_TIMEOUT_S)["version"]
            self._is_greeted = True
        except BaseException:
            self.close()
            raise
        return version

    @property
    def pid(self) -> int:
        """Process id of the pipe's local end: the agent itself, or ssh."""
        return self._process.pid

    def when_lost(self, on_lost: Callable[[RunError], None]) -> None:
        """Have ``on_lost`` called with the reason, from another thread, when the agent is gone or cannot be used."""
        self._on_lost = on_lost
        if self._ended is not None:
            on_lost(self._ended)

    def load_moved(self) -> None:
        """Note that another agent has just moved payload to or from this one's host."""
        self._load_moved_s = time.monotonic()

    def interrupt(self, reason: RunError) -> None:
        """End every wait for this agent, now and later, with a reason that lies elsewhere."""
        self._inbox.interrupt(reason)

    @overload
    def call(self, request: wire.RequestHello, timeout_s: float = ...) -> wire.ReplyHello: ...
    @overload
    def call(self, request: wire.RequestClock, timeout_s: float = ...) -> wire.ReplyClock: ...
    @overload
    def call(self, request: wire.RequestDescribeHost, timeout_s: float = ...) -> wire.ReplyHost: ...
    @overload
    def call(self, request: wire.RequestListTransports, timeout_s: float = ...) -> wire.ReplyTransports: ...
    @overload
    def call(self, request: wire.RequestBuildTestbed, timeout_s: float = ...) -> wire.ReplyTestbed: ...
    @overload
    def call(self, request: wire.RequestPrepare, timeout_s: float = ...) -> wire.ReplyPrepared: ...
    @overload
    def call(self, request: wire.RequestConnect, timeout_s: float = ...) -> wire.ReplyConnected: ...
    @overload
    def call(self, request: wire.RequestDescribeOpening, timeout_s: float = ...) -> wire.ReplyOpening: ...
    @overload
    def call(self, request: _Ordered, timeout_s: float = ...) -> wire.ReplyDone: ...

    def call(self, request: wire.Request, timeout_s: float = DEFAULT_TIMEOUT_S) -> wire.Reply:
        """Send a request and return its one reply, which must come within ``timeout_s`` whatever else comes.

        Raises:
            AgentError: the agent refuses.
            PipeClosedError: the agent is gone.
        """
        end_s = time.monotonic() + timeout_s
        identifier = self._send(request)
        while isinstance(reply := self._receive(identifier, request["request"], timeout_s, end_s), TablePiece):
            pass
        return reply

    def stream(
        self,
        request: wire.Request,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        end_s: Callable[[], float] = lambda: math.inf,
        on_late: Callable[[NoAnswerError], None] | None = None,
    ) -> Iterator[wire.Reply | TablePiece]:
        """Send a request and yield its replies as they come, without end; ``timeout_s`` holds between replies.

        ``end_s`` is asked until when all of them must have come, whatever comes, by time.monotonic().
        ``on_late`` is called once instead of the error, and the reply has as much time again. While a `watch` is read
        so, it is ended by posting `end_watch`: a call would take its replies away.
        """
        identifier = self._send(request)
        while True:
            try:
                reply = self._receive(identifier, request["request"], timeout_s, time.monotonic() + timeout_s, end_s)
            except NoAnswerError as error:
                if on_late is None:
                    raise
                on_late(error)
                on_late = None
            else:
                yield reply

    def post(self, request: wire.Request) -> None:
        """Send a request whose reply nobody waits for. An agent that is gone has nothing to answer."""
        with suppress(RunError):
            self._send(request)

    def clock(self) -> Clock:
        """Compare the agent's clocks with the controller's."""
        best: Clock | None = None
        begun_ns = time.monotonic_ns()
        for _ in range(1 if self.shares_clock else _CLOCK_EXCHANGES):
            before_ns = time.monotonic_ns()
            if before_ns - begun_ns > DEFAULT_TIMEOUT_S * 1e9:
                break
            reply = self.call({"request": "clock"})
            after_ns = time.monotonic_ns()
            halfway_ns = (before_ns + after_ns) // 2
            offset_ns, uncertainty_ns = reply["mono_ns"] - halfway_ns, (after_ns - before_ns) // 2
            if self.shares_clock:
                offset_ns, uncertainty_ns = 0, 0
            if best is None or uncertainty_ns < best.uncertainty_ns:
                best = Clock(offset_ns, uncertainty_ns, reply["mono_ns"], reply["realtime_ns"])
        assert best is not None
        return best

    def hang_up(self) -> None:
        """Say goodbye, and leave it to `close` to wait until the agent is gone."""
        if self._is_leaving:
            return
        self._is_leaving = True
        self._was_there = self._is_greeted and self._ended is None
        self._on_lost = lambda _: None
        # An agent that is sending a table ends only once somebody reads on.
        self._inbox.close()
        with suppress(OSError, ValueError):
            self._write({"request": "goodbye", "frames_count": 0})
        if not self._is_greeted or self._ended is not None:
            # Nobody waits for an answer.
            self._close_input()

    def close(self) -> None:
        """Say goodbye, and wait until the agent has answered and is gone.

        Some pipes close in one direction only, or never by themselves, so an agent ends by the goodbye. One that does
        not answer ends when its pipe closes.
        """
        self.hang_up()
        self._reader.join(_GOODBYE_S)
        self._close_input()
        try:
            self._process.wait(_EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_EXIT_GRACE_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    @property
    def left_silently(self) -> str | None:
        """Why a closed agent, which was there until then, has not said that it undid everything; None if it has."""
        if self.said_goodbye or not self._was_there:
            return None
        return str(self._ended) if self._ended is not None else f"{self._where}: no answer to the goodbye"

    def __enter__(self) -> Self:
        """Use the agent in a with statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pipe."""
        self.close()

    def _close_input(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def _write(self, body: wire.Request, padded_bytes: int = 0) -> int:
        """Write a request as the next frame, with spaces behind it up to a length; its identifier."""
        assert self._process.stdin is not None
        with self._lock:
            number = self._frames_count
            if body["request"] == "goodbye":
                body["frames_count"] = number
            message: wire.RequestEnvelope = {"id": number + 1, "body": body}
            payload = json.dumps(message).encode().ljust(padded_bytes)
            frame = frames.encode(payload, number)
            self._frames_count += 1
            self._longest_bytes = max(self._longest_bytes, len(payload))
            self._process.stdin.write(frame)
            self._process.stdin.flush()
        return number + 1

    def _send(self, body: wire.Request) -> int:
        """Send a request; its identifier."""
        try:
            return self._write(body)
        except (OSError, ValueError) as error:
            # Its last message says more than that it is gone.
            self._inbox.close()
            self._reader.join(_EXIT_GRACE_S)
            raise self._ended or self._gone() from error

    def _receive(
        self, identifier: int, what: str, timeout_s: float, next_s: float, end_s: Callable[[], float] = lambda: math.inf
    ) -> wire.Reply | TablePiece:
        def late() -> NoAnswerError:
            missed = f"end {what} in time" if end_s() <= next_s else f"answer {what} within {timeout_s:.0f} s"
            return NoAnswerError(f"the {self._named} did not {missed}")

        padded_bytes = self._longest_bytes
        while True:
            left_s = min(next_s, end_s()) - time.monotonic()
            try:
                item = self._inbox.get(max(0.0, min(left_s, _ASKS_AFTER_S)))
            except TimeoutError:
                if left_s <= _ASKS_AFTER_S:
                    raise late() from None
                if self._is_greeted:
                    # If the pipe has lost the request, or a part of it, the agent notices it with the next frame.
                    with suppress(OSError, ValueError):
                        self._write({"request": "clock"}, padded_bytes)
                    padded_bytes = 0
                continue
            if isinstance(item, Exception):
                raise item
            if isinstance(item, TablePiece):
                if left_s > 0:
                    return item
                raise late()
            answered, reply = item
            if reply["reply"] == "error" and answered == identifier:
                raise AgentError(f"{self.label}: {reply['text']}", Fault(reply["fault"]))
            # Replies to an earlier request that was given up are not for this one.
            if answered == identifier:
                if time.monotonic() >= end_s():
                    raise late()
                if what in ANSWERS and reply["reply"] not in ANSWERS[what]:
                    raise RunError(f"the {self._named} answered {what} with {reply['reply']}")
                return reply
            if left_s <= 0:
                raise late()

    def _read(self) -> None:
        """Read frames until the pipe ends; the last item in the inbox is why."""
        self._ended = self._read_frames()
        self._inbox.put(self._ended)
        self._on_lost(self._ended)

    def _read_frames(self) -> RunError:
        """Read frames until the pipe ends, and return why it did."""
        assert self._process.stdout is not None
        stream = io.BufferedReader(
            Pulse(self._process.stdout.fileno(), self._must_speak, self._may_be_late), _READ_BYTES
        )
        self._frames = frames.FrameReader(stream)
        try:
            return self._until_goodbye() or self._gone()
        except SilentError as error:
            return self._silent(str(error))
        except PipeFaultError as error:
            return PipeFaultError(f"{self._where}: {error}")
        except PipeClosedError as error:
            return self._gone(str(error))
        except RunError as error:
            return RunError(f"{self._where}: {error}", error.fault)
        except (ValueError, OSError):
            return self._gone()

    def _until_goodbye(self) -> RunError | None:
        """Pass on what the agent says; its last word, or None where the pipe ends without one."""
        table = ""
        while (frame := self._frames.read()) is not None:
            if frame.kind == frames.KIND_TABLE:
                self._inbox.put(TablePiece(table, frame.payload))
                continue
            identifier, body = understood(frame.payload)
            if body["reply"] == "goodbye":
                return self._parted(body["frames_count"])
            if body["reply"] == "error" and identifier == 0:
                # What the agent says where it cannot go on.
                return PipeClosedError(f"{self._where}: {body['text']}", Fault(body["fault"]))
            if body["reply"] == "table":
                table = body["name"]
            if body["reply"] != "alive":
                self._inbox.put((identifier, body), len(frame.payload))
        return None

    def _must_speak(self) -> bool:
        """True where the agent should be sending heartbeats: not before it has greeted, unless it is stopped."""
        if self._is_greeted:
            return True
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return False

    def _may_be_late(self) -> bool:
        """True if the load may hold up heartbeats: over ssh, while the agent at the other end of the load moves it."""
        return self._host is not None and time.monotonic() - self._load_moved_s < _LOAD_MOVES_S

    @property
    def _where(self) -> str:
        return self.label if self._host is None else f"{self.label} on {self._host}"

    @property
    def _named(self) -> str:
        return f"{self.label} agent" if self._host is None else f"{self.label} agent on {self._host}"

    def _parted(self, frames_count: int) -> RunError:
        """The end of a conversation in which the agent has said goodbye."""
        came = self._frames.frames_count - 1
        if frames_count != came:
            return PipeFaultError(f"{self._where}: the agent sent {frames_count:,} frames, and {came:,} came")
        self.said_goodbye = True
        return PipeClosedError(f"{self._where}: the agent said goodbye")

    def _silent(self, how_long: str) -> PipeClosedError:
        """End an agent that says nothing; one that is stopped would never end by itself."""
        self._process.kill()
        where = "here" if self._host is None else f"on {self._host}"
        return PipeClosedError(
            f"the {self.label} agent was silent for {how_long}: it or its host {where} was stopped, or the way there "
            f"broke; {self.advice}"
        )

    def _gone(self, cut: str = "") -> PipeClosedError:
        """Say how the agent ended, in its own words where it left some; ``cut`` is how the pipe ended in a frame."""
        try:
            status = self._process.wait(_EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            return PipeClosedError(f"{self._where_cut()}, and its command goes on")
        lines = self._last_words.text().strip().splitlines()
        said = " ".join(line.strip() for line in lines[-3:])[-_LAST_LETTERS:]
        if not self._is_greeted:
            greeting = self._frames.greeting
            said = said or (f"it printed {greeting!r}" if greeting else "")
            if self._host is not None:
                self._was_turned_away = was_turned_away(self._host, status, said)
        how = _how_it_ended(self.label, self._host, status, self._command)
        if status == 0 or (cut and status > 0 and status != SSH_FAILED):
            # Some pipes end with status 0 whatever happened.
            how = f"{self._where_cut()}: {cut or how}"
        return PipeClosedError(how + (f": {said}" if said else ""))

    def _where_cut(self) -> str:
        """The pipe, and how much came through it."""
        to = f"the {self.label} agent" if self._host is None else self._host
        count, size = self._frames.frames_count, self._frames.byte_count
        return f"the pipe to {to} was cut after {count:,} frames ({size:,} bytes)"
