"""The process that runs other programs on one side of the testbed, and ends with all of them.

`lab.disturb.launching` starts it in the side's network namespace, as the first process of a process namespace of its
own: when it ends, the kernel kills everything that it started. It ends with its standard input, so also when the
controller is killed, and removes their folder then. An order that is not done yet does not hold it up. Each line of its
input is an order as JSON, and it answers each with a line.
"""

import json
import os
import resource
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

RUN_WAIT_S = 60.0
"""The time that a program that prepares something may take."""
LISTEN_WAIT_S = 20.0
"""The time that a server may take to listen."""
_LOOK_S = 0.02
_KILLED_S = 1.0
"""The time that a killed program may take to be gone."""
_SHOWN_CHARACTERS = 300
_KERNEL_THREADS = 2
"""The process of which all threads of the kernel are children."""
_LISTENS = "0A"
"""TCP_LISTEN in /proc/net/tcp (proc(5))."""


class LaunchError(Exception):
    """An order that failed, in a sentence."""


class Launcher:
    """The programs of one side. They run in a folder, and all that they print is in a file there."""

    def __init__(self, folder: Path) -> None:
        """None yet."""
        self._folder = folder
        # Their objects are kept: one that goes collects its process, so that nobody learns how that ended.
        self._started: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        self._running: subprocess.Popen[bytes] | None = None
        self._ending = threading.Lock()
        self._has_ended = False
        self._log = folder / f"output-{os.getpid()}-{time.monotonic_ns()}"
        self._others_before: dict[int, tuple[str, int]] = {}
        self._looked_s = 0.0

    def obey(self, order: dict[str, Any]) -> dict[str, object]:
        """Do what an order says, and return the answer.

        Raises:
            LaunchError: it cannot be done.
        """
        match order["do"]:
            case "run":
                self._run(order["argv"])
            case "start":
                self._start(order["argv"])
            case "listen":
                self._wait_for_port(order["port"])
            case "look":
                self._look()
            case "others":
                return self._others(order["of"])
            case "usage":
                return self._usage(order["ends"])
        return {}

    def end(self) -> None:
        """End the programs and remove their folder, which the other side may be doing, too.

        Any thread may call it. Who calls it second waits for the first.
        """
        with self._ending:
            self._has_ended = True
            running = self._running
            programs = [program for _, program in list(self._started.values())]
            programs += [running] if running is not None else []
            for program in programs:
                program.kill()
            for program in programs:
                program.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, argv: list[str]) -> None:
        try:
            with self._log.open("ab") as log, self._not_ended():
                running = subprocess.Popen(argv, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                self._running = running
        except OSError as error:
            raise LaunchError(f"{argv[0]}: {error}") from None
        try:
            running.wait(RUN_WAIT_S)
        except subprocess.TimeoutExpired as error:
            running.kill()
            running.wait()
            raise LaunchError(f"{argv[0]}: {error}") from None
        finally:
            self._running = None
        if running.returncode:
            raise LaunchError(f"{argv[0]} ended with {running.returncode}: {self._said()}")

    def _start(self, argv: list[str]) -> None:
        try:
            with self._log.open("ab") as log, self._not_ended():
                # The kernel shares a CPU between sessions first (sched(7), autogroup), as between programs of users.
                started = subprocess.Popen(
                    argv, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
                self._started[started.pid] = argv[0], started
        except OSError as error:
            raise LaunchError(f"{argv[0]}: {error.strerror}") from None

    @contextmanager
    def _not_ended(self) -> Iterator[None]:
        """Nothing ends meanwhile: a program that is started is known to `end`, or is not started at all."""
        with self._ending:
            if self._has_ended:
                raise LaunchError("the controller has ended")
            yield

    def _wait_for_port(self, port: int) -> None:
        deadline_s = time.monotonic() + LISTEN_WAIT_S
        while not is_listening(port):
            self._look()
            if time.monotonic() > deadline_s:
                raise LaunchError(f"nothing listens on port {port} after {LISTEN_WAIT_S:g} s: {self._said()}")
            time.sleep(_LOOK_S)

    def _look(self) -> None:
        """Refuses to go on without a program that has ended; collects also those whose parent has ended."""
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not ended:
                return
            if ended in self._started:
                name, program = self._started.pop(ended)
                program.returncode = os.waitstatus_to_exitcode(status)
                raise LaunchError(f"{name} ended with {program.returncode}: {self._said()}")

    def _others(self, own: int) -> dict[str, object]:
        """Number of CPUs that the processes not of `own` used since the last order like this, and the busiest."""
        before, before_s = self._others_before, self._looked_s
        now, now_s = cpu_ticks_outside(own), time.monotonic()
        self._others_before, self._looked_s = now, now_s
        used = {pid: ticks - before.get(pid, (name, 0))[1] for pid, (name, ticks) in now.items()} if before else {}
        if not used:
            return {"cpus": 0.0, "busiest": ""}
        scale = os.sysconf("SC_CLK_TCK") * (now_s - before_s)
        busiest = max(used, key=lambda pid: used[pid])
        return {"cpus": sum(used.values()) / scale, "busiest": f"{now[busiest][0]} (process {busiest})"}

    def _usage(self, ends: float) -> dict[str, object]:
        """The CPU time in s of all programs that were started and have ended, their own included.

        Those that still run may do so for `ends` s, and are killed then. Their orphans become this process's own.
        """
        deadline_s = time.monotonic() + ends
        is_killed = False
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if ended in self._started:
                self._started.pop(ended)[1].returncode = os.waitstatus_to_exitcode(status)
            if not ended:
                if time.monotonic() > deadline_s:
                    if is_killed:
                        break
                    for _, program in self._started.values():
                        program.kill()
                    is_killed, deadline_s = True, time.monotonic() + _KILLED_S
                time.sleep(_LOOK_S)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {"user_s": used.ru_utime, "system_s": used.ru_stime}

    def _said(self) -> str:
        """The text that the programs printed last."""
        text = self._log.read_bytes()[-_SHOWN_CHARACTERS:].decode(errors="replace") if self._log.exists() else ""
        return " ".join(text.split()) or "it printed nothing"


def is_listening(port: int) -> bool:
    """True where a socket of this network namespace listens on a port."""
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    return True
    return False


def cpu_ticks_outside(own: int) -> dict[int, tuple[str, int]]:
    """The name and the CPU time in ticks of each process but `own`, its descendants, and the kernel's threads."""
    parents: dict[int, int] = {}
    found: dict[int, tuple[str, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # It may have ended since.
        with suppress(OSError):
            name, _, rest = (folder / "stat").read_text().partition(" (")[2].rpartition(") ")
            fields = rest.split()
            parents[int(folder.name)] = int(fields[1])
            # utime and stime of proc(5).
            found[int(folder.name)] = name, int(fields[11]) + int(fields[12])

    def is_inside(process: int) -> bool:
        while process not in {own, _KERNEL_THREADS, 0}:
            process = parents.get(process, 0)
        return bool(process)

    return {process: cpu for process, cpu in found.items() if not is_inside(process)}


def main() -> int:
    """Serve orders until standard input ends: the folder and the CPUs are the arguments."""
    folder, cpus = Path(sys.argv[1]), {int(cpu) for cpu in sys.argv[2:]}
    if cpus:
        os.sched_setaffinity(0, cpus)
    # In /proc, mounted by the host, a process has its number there, which the controller can use.
    _answer({"process": int(str(Path("/proc/self").readlink()))})
    launcher = Launcher(folder)
    threading.Thread(target=_end_with_controller, args=(launcher,), daemon=True).start()
    for line in sys.stdin:
        try:
            _answer(launcher.obey(json.loads(line)))
        except LaunchError as error:
            _answer({"error": str(error)})
    launcher.end()
    return 0


def _end_with_controller(launcher: Launcher) -> None:
    """End everything, this process too, as soon as nobody can write to standard input any more."""
    waits = select.poll()
    # A hang-up is reported without being asked for (poll(2)); orders are for the other thread.
    waits.register(sys.stdin.fileno(), 0)
    waits.poll()
    launcher.end()
    os._exit(0)


def _answer(document: dict[str, object]) -> None:
    # A controller that was killed hears none; the end of standard input ends this process then.
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), json.dumps(document).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
