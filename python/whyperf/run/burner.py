"""A program that only computes, on the CPUs of one side, while trials of chosen cells run: an injected load."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from whyperf.run.observer import Observer
from whyperf.wire import ReplyProgress

#: Computes until its parent is gone, so that nothing stays after kill -9. The loop between two looks takes about a
#: millisecond.
_PROGRAM = """
import os, sys
parent = int(sys.argv[1])
os.sched_setaffinity(0, {int(cpu) for cpu in sys.argv[2:]})
while os.getppid() == parent:
    for _ in range(20000):
        pass
"""
_END_WAIT_S = 5.0


class Burner(Observer):
    """Watches as another observer does, and keeps computing programs on each CPU of a burning cell's end."""

    def __init__(self, observer: Observer, burning: Mapping[str, int], cpus: Callable[[str], Sequence[int]]) -> None:
        """`burning` says how many programs each CPU of a cell gets; `cpus` which CPUs those are."""
        self._observer = observer
        self._burning = burning
        self._cpus = cpus
        self._programs: list[subprocess.Popen[bytes]] = []

    def on_message(self, text: str) -> None:
        """Pass on."""
        self._observer.on_message(text)

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """Start the programs of the cell."""
        self.end()
        for cpu in [*self._cpus(cell)] * self._burning[cell] if cell in self._burning else ():
            # A session of its own each: the kernel shares a CPU between sessions first (sched(7), autogroup).
            argv = [sys.executable, "-S", "-c", _PROGRAM, str(os.getpid()), str(cpu)]
            self._programs.append(
                subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
            )
        self._observer.on_trial_started(trial, cell, done, total)

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """Pass on."""
        self._observer.on_progress(host, progress)

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """End the programs."""
        self.end()
        self._observer.on_trial_finished(trial, status, reason)

    def end(self) -> None:
        """End the programs; nothing where there are none."""
        for program in self._programs:
            program.kill()
        for program in self._programs:
            program.wait(_END_WAIT_S)
        self._programs.clear()
