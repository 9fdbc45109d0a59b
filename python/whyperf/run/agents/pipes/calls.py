"""Single calls of a pipe's command: bounded in number and time, and repeated where a server was only too busy."""

import os
import random
import re
import selectors
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from whyperf.run.agents.last_words import LastWords
from whyperf.run.errors import RunError

SSH_FAILED = 255
"""The status that ssh(1) ends with when it broke, or when what ran there was killed."""
IDLE_S = 25.0
"""So long without a byte in either direction, and a call has failed."""
MAX_CALL_S, MIN_INPUT_BYTES_PER_S = 60.0, 16 << 10
"""The time a call may take, in addition to what its input takes at this rate: no agent is copied over a slower path."""
MAX_OUTPUT_BYTES = 1 << 20
"""Longest output of a call that is read."""
MAX_AT_ONCE = 8
"""Calls to one host that connect at once: sshd(8) drops connections from the tenth on (MaxStartups 10:30:100)."""
ATTEMPTS = 8
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 4.0

_TURNED_AWAY = re.compile(
    r"kex_exchange_identification|ssh_exchange_identification|banner exchange|Connection (?:reset|closed) by"
)
"""The words that ssh(1) prints where the server dropped a connection before anybody logged in."""
_REFUSED = re.compile(r"Connection refused")
_FINAL = re.compile(r"Permission denied|Too many authentication failures|Host key verification failed")
"""Errors that a repeated try would only make worse."""

_lock = threading.Lock()
_entrances: dict[str, threading.BoundedSemaphore] = {}
_reached: set[str] = set()


@dataclass(frozen=True)
class Call:
    """A call that has ended: its status as `subprocess` has it, what it printed, and the end of its standard error."""

    status: int
    output: bytes
    errors: str

    @property
    def lines(self) -> list[str]:
        """The lines of its standard output, without spaces around them."""
        return [line.strip() for line in self.output.decode(errors="replace").splitlines()]

    @property
    def last_line(self) -> str:
        """The last thing that it said on standard error, or how it ended."""
        lines = self.errors.strip().splitlines()
        if lines:
            return lines[-1].strip()
        return f"killed by signal {-self.status}" if self.status < 0 else f"status {self.status}"


class IdleError(RunError):
    """A call that neither took nor gave a byte for too long, or took too long in all."""


@contextmanager
def entrance(host: str | None) -> Iterator[None]:
    """Holds one of the places of those that connect to ``host``; a local agent needs none."""
    if host is None:
        yield
        return
    with _lock:
        places = _entrances.setdefault(host, threading.BoundedSemaphore(MAX_AT_ONCE))
    with places:
        yield


def note_reached(host: str) -> None:
    """Note that a connection to the host has succeeded: one that is refused from now on meets a busy server."""
    with _lock:
        _reached.add(host)


def was_turned_away(host: str, status: int, errors: str) -> bool:
    """True where a server dropped the connection before anybody logged in, and may accept it a little later."""
    if status != SSH_FAILED or _FINAL.search(errors):
        return False
    if _REFUSED.search(errors):
        with _lock:
            return host in _reached
    return _TURNED_AWAY.search(errors) is not None


def wait_s(attempt: int) -> float:
    """The time to wait after a try that was turned away, the first being number 0; with jitter."""
    longest_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0**attempt)
    return random.uniform(longest_s / 2, longest_s)


def call(argv: list[str], host: str, data: bytes = b"") -> Call:
    """Run a command with ``data`` as its input. It is repeated where the host's server turned it away.

    Raises:
        IdleError: nothing moved for `IDLE_S`, or it took too long in all.
        RunError: the command is not there.
    """
    for attempt in range(ATTEMPTS):
        with entrance(host):
            done = _call_once(argv, data)
        if not was_turned_away(host, done.status, done.errors):
            break
        if attempt < ATTEMPTS - 1:
            time.sleep(wait_s(attempt))
    if done.status == 0:
        note_reached(host)
    return done


def _call_once(argv: list[str], data: bytes) -> Call:
    last_words = LastWords()
    try:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=last_words.input)
    except OSError as error:
        raise RunError(f"starting {argv[0]}: {error.strerror}") from error
    finally:
        last_words.input.close()
    try:
        output = _exchanged(process, data)
        status = process.wait(IDLE_S)
    except subprocess.TimeoutExpired:
        raise IdleError(f"nothing came for {IDLE_S:.0f} s") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            _close(stream)
    return Call(status, output, last_words.text())


def _exchanged(process: "subprocess.Popen[bytes]", data: bytes) -> bytes:
    """Write the input and read the output, until the output ends.

    Raises:
        IdleError: nothing moved for too long, or it took too long in all.
    """
    longest_s = MAX_CALL_S + len(data) / MIN_INPUT_BYTES_PER_S
    end_s = time.monotonic() + longest_s
    assert process.stdin is not None
    assert process.stdout is not None
    output = bytearray()
    left = memoryview(data)
    with selectors.DefaultSelector() as selector:
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdout, selectors.EVENT_READ)
        if data:
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            _close(process.stdin)
        while len(output) < MAX_OUTPUT_BYTES:
            left_s = end_s - time.monotonic()
            ready = selector.select(max(0.0, min(left_s, IDLE_S)))
            if left_s <= 0:
                raise IdleError(f"it goes on after {longest_s:.0f} s")
            if not ready and left_s > IDLE_S:
                raise IdleError(f"nothing came for {IDLE_S:.0f} s")
            for key, _ in ready:
                if key.fileobj is process.stdout:
                    piece = os.read(process.stdout.fileno(), 64 << 10)
                    if not piece:
                        return bytes(output)
                    output += piece
                else:
                    left = _written(process.stdin, left)
                    if not left:
                        selector.unregister(process.stdin)
                        _close(process.stdin)
    return bytes(output)


def _written(stream: IO[bytes], left: memoryview) -> memoryview:
    """Write what the pipe takes; what is left. A command that has closed its input takes nothing more."""
    try:
        return left[os.write(stream.fileno(), left[: 64 << 10]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[len(left) :]


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        return
