"""The command behind `--` of `whyperf watch`: it starts when the watch has begun, and nothing of it is changed.

It has the terminal, the standard streams, the environment and the folder of this process. A signal from the terminal
reaches it as it does without whyperf, because both are in one process group; one that another process sends to whyperf
is sent on. When it runs again, it has none of these streams and a group of its own, to which every signal is sent on.
"""

import errno
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, NoReturn, Self

from whyperf.cli.memory import unbound_memory

NOT_EXECUTABLE: Final = 126
NOT_FOUND: Final = 127
#: Of a command that a signal has ended, as shells report it.
BY_SIGNAL: Final = 128
#: Those that are sent on.
PASSED_ON: Final = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
)
#: `si_code` of a signal that the kernel sent, as it does for keys of a terminal (asm-generic/siginfo.h).
_BY_KERNEL: Final = 0x80
_SLICE_S: Final = 0.1
_GRACE_S: Final = 2.0
"""The time that a command has that is asked to end."""
_COERCED: Final = frozenset({"C.UTF-8", "C.utf8", "UTF-8"})
"""The values that Python sets LC_CTYPE to."""


class CommandError(Exception):
    """A command that cannot be started; `status` is the exit code that a shell would have."""

    def __init__(self, text: str, status: int) -> None:
        """Keep the sentence and the code."""
        super().__init__(text)
        self.status = status


def refuse_missing(command: Sequence[str]) -> None:
    """Refuses a command that a shell would not find, before anything is started.

    Raises:
        CommandError: it is not there, or cannot be executed.
    """
    name = command[0]
    if shutil.which(name) is not None:
        return
    if "/" in name and os.path.lexists(name):
        raise _cannot(name, errno.EACCES)
    found = next((folder for folder in os.get_exec_path() if os.path.lexists(f"{folder}/{name}")), None)
    raise _cannot(name, errno.ENOENT if found is None or "/" in name else errno.EACCES)


class WrappedCommand:
    """A process that waits until it may become the command. Make it before any thread is started.

    If this process ends before `release`, however that happens, the command is never started.
    """

    def __init__(self, command: Sequence[str], *, is_repeat: bool = False) -> None:
        """Start the process that waits; of a repeat nobody sees standard output and error, and its input is empty."""
        self._command, self._is_repeat = list(command), is_repeat
        self._is_released = self._is_closed = False
        self._status: int | None = None
        self._is_over = threading.Event()
        #: When a signal came last, by `time.monotonic`, in s.
        self.came_s: dict[int, float] = {}
        #: True once `wait` has ended it.
        self.is_late = False
        gate, self._gate = os.pipe()
        self._failure, failure = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        # From here on this process does not end by them, so that it can report how the command ended.
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        self.pid = os.fork()
        if self.pid == 0:
            self._become(gate, failure)
        if is_repeat:
            # A group of its own: what it starts is ended with it.
            with suppress(OSError):
                os.setpgid(self.pid, self.pid)
        os.close(gate)
        os.close(failure)
        self._passing = threading.Thread(target=self._pass_on, name="signals", daemon=True)
        self._passing.start()

    def release(self) -> None:
        """Let it become the command.

        Raises:
            CommandError: the kernel refuses to start it.
        """
        self._is_released = True
        # A key of the terminal may have ended it before; `wait` reports that.
        with suppress(BrokenPipeError):
            os.write(self._gate, b"!")
        if reason := os.read(self._failure, 16):
            raise _cannot(self._command[0], int(reason))

    def wait(self, within_s: float | None = None) -> int:
        """Wait until it has ended, and end it after so many s; returns its exit code, as a shell reports it."""
        if self._status is None:
            if within_s is not None:
                self._end_after(within_s)
            _, status = os.waitpid(self.pid, 0)
            code = os.waitstatus_to_exitcode(status)
            self._status = BY_SIGNAL - code if code < 0 else code
            self._is_over.set()
        return self._status

    def _end_after(self, within_s: float) -> None:
        process = os.pidfd_open(self.pid)
        try:
            for number, wait_s in ((signal.SIGTERM, within_s), (signal.SIGKILL, _GRACE_S)):
                if select.select([process], [], [], wait_s)[0]:
                    break
                self.is_late = True
                self._send(number)
            if self.is_late:
                # Of what it has started, too: its number is nobody else's before it is waited for.
                self._send(signal.SIGKILL)
        finally:
            os.close(process)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            (os.killpg if self._is_repeat else os.kill)(self.pid, number)

    def close(self) -> None:
        """Give up a command that was not released, and take signals as before."""
        if self._is_closed:
            return
        self._is_closed = True
        os.close(self._gate)
        os.close(self._failure)
        self.wait()
        self._passing.join()
        # What came too late for the command would end this process before it has printed anything.
        while signal.sigtimedwait(PASSED_ON, 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _become(self, gate: int, failure: int) -> NoReturn:
        """The command, in the process that waits. Nothing here may return or raise."""
        try:
            os.close(self._gate)
            os.close(self._failure)
            # Python ignores it; a command expects to be ended by it.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGINT, _as_before(signal.SIGINT))
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            if self._is_repeat:
                os.setpgid(0, 0)
            if os.read(gate, 1):
                if self._is_repeat:
                    _hide_streams()
                unbound_memory()
                os.execvpe(self._command[0], self._command, _environment())
        except OSError as error:
            with suppress(OSError):
                os.write(failure, str(error.errno or errno.ENOEXEC).encode())
        finally:
            # Whatever happened, there is no second whyperf.
            os._exit(NOT_FOUND)

    def _pass_on(self) -> None:
        """Sends on what another process has sent; what the terminal sent has reached the command already."""
        while not self._is_over.is_set():
            sent = signal.sigtimedwait(PASSED_ON, _SLICE_S)
            if sent is None:
                continue
            self.came_s[sent.si_signo] = time.monotonic()
            if (sent.si_code == _BY_KERNEL and not self._is_repeat) or sent.si_pid == self.pid:
                continue
            is_first = not self._is_released and not self._is_repeat
            if is_first and sent.si_signo in {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}:
                # Nothing was started yet: whoever waits for the watch to begin is stopped.
                os._exit(BY_SIGNAL + sent.si_signo)
            self._send(sent.si_signo)


def _hide_streams() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _environment() -> dict[str, str]:
    """The environment that this process was started with. In a C locale Python adds LC_CTYPE to its own (PEP 538)."""
    environment = dict(os.environ)
    if environment.get("LC_CTYPE") in _COERCED:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - in the moment before execve(2)
            if not any(entry.startswith(b"LC_CTYPE=") for entry in file.read().split(b"\0")):
                del environment["LC_CTYPE"]
    return environment


def _as_before(number: signal.Signals) -> "signal.Handlers | int":
    """Ignored where it was ignored when this process began, as under nohup; otherwise the default."""
    return signal.SIG_IGN if signal.getsignal(number) is signal.SIG_IGN else signal.SIG_DFL


def _cannot(name: str, number: int) -> CommandError:
    if number == errno.ENOENT:
        return CommandError(f"{name}: there is no such command", NOT_FOUND)
    return CommandError(f"{name} cannot be started: {os.strerror(number).lower()}", NOT_EXECUTABLE)
