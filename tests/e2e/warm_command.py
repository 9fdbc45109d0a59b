"""`whyperf` in forks of a process that has loaded all its modules, which takes longer than most runs of the tests.

`python -m tests.e2e.warm_command` is that process: a request a line on standard input, and on standard output the
process id of the fork and, in a second line, how it ended. What a user starts is a process of its own; the tests
of streams, signals and kills start it as a user does.
"""

import ctypes
import importlib
import json
import os
import pkgutil
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.host_state import MARK

TREE = Path(__file__).parents[2]
#: The module of each program's `main`.
MAINS = {"whyperf": "whyperf.cli", "whyperf-lab": "lab.app"}
#: Of clone(2): a network namespace.
CLONE_NEWNET = 0x40000000


class WarmCommand:
    """Starts commands, one at a time."""

    def __init__(self) -> None:
        """Nothing runs before the first command."""
        self._process: subprocess.Popen[str] | None = None
        self._read = b""
        self._lock = threading.Lock()

    def run(
        self,
        arguments: list[str],
        *,
        folder: Path,
        streams: tuple[Path, Path],
        environment: Mapping[str, str],
        netns: str | None,
        timeout_s: float,
    ) -> int:
        """The exit code of a command, whose first word is its program; its two streams are files.

        Raises:
            subprocess.TimeoutExpired: the command did not end, and was killed.
        """
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "streams": [str(stream) for stream in streams],
            "environment": dict(environment),
            "netns": netns,
        }
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            try:
                # Before the first answer it loads the libraries, which takes a minute on an overloaded host.
                pid = int(self._line(process, timeout_s=300))
            except TimeoutError:
                # Its late answer must not be taken for one to the next request.
                process.kill()
                raise subprocess.TimeoutExpired(arguments, 300) from None
            try:
                return os.waitstatus_to_exitcode(int(self._line(process, timeout_s)))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._line(process, timeout_s=60)
                raise subprocess.TimeoutExpired(arguments, timeout_s) from None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            # It outlives the test, and carries no test's mark.
            environment = {name: value for name, value in os.environ.items() if name != MARK}
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(
                command, cwd=TREE, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
            self._read = b""
        return self._process

    def _line(self, process: subprocess.Popen[str], timeout_s: float) -> str:
        """The next line. It may have come with the one before it, so none is left in a buffer that nobody waits for."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._read:
                if not selector.select(timeout_s):
                    raise TimeoutError
                received = os.read(process.stdout.fileno(), 4096)
                assert received, "the process that forks has ended"
                self._read += received
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()


def load_all() -> None:
    """Loads every module of whyperf but that which loads Dask: Dask reads the environment when it is loaded."""
    package = importlib.import_module("whyperf")
    for module in pkgutil.walk_packages(package.__path__, "whyperf."):
        if not module.name.endswith(("__main__", "cluster.without_http")):
            importlib.import_module(module.name)


def command(request: dict[str, Any]) -> int:
    """Runs the command in this process, a fork."""
    program, *arguments = request["arguments"]
    main = importlib.import_module(MAINS[program]).main
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    for descriptor, path in enumerate(("/dev/null", *request["streams"])):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o600), descriptor)
    if (netns := request["netns"]) is not None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(os.open(netns, os.O_RDONLY | os.O_CLOEXEC), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns", netns)
    sys.argv = [program, *arguments]
    return int(main(arguments))


def serve() -> None:
    """Forks for each request until the input ends."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    # Nothing else reads or writes there.
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    load_all()
    for line in requests:
        pid = os.fork()
        if pid == 0:
            os.close(requests.fileno())
            os.close(answers.fileno())
            code = 70
            try:
                code = command(json.loads(line))
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        answers.write(f"{pid}\n")
        _, status = os.waitpid(pid, 0)
        answers.write(f"{status}\n")


WARM = WarmCommand()
if __name__ == "__main__":
    serve()
