"""Commands in forks of a process that has loaded the libraries: their time goes to runs and not to imports."""

import importlib
import multiprocessing
import os
import sys
import time
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.e2e import host_state
from tests.e2e.warm_command import MAINS

#: What a fork of the controller has loaded already.
PRELOAD = ["whyperf.cli.app", "whyperf.run", "whyperf.cli.output.result", "whyperf.cli.output.explanation"]


class Forks:
    """Starts commands. The environment of this process is theirs, as it was when the first one started."""

    def __init__(self, mark: str) -> None:
        """Starts the process that forks; `mark` is what all processes carry (`host_state`)."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOAD)
        first = self._context.Process(target=time.sleep, args=(0,))
        first.start()
        first.join()
        #: Processes that stay, and are not of a run.
        self.standing = {process.pid for process in host_state.processes(mark)}

    def start(self, arguments: list[str], folder: Path, said: Path) -> ForkServerProcess:
        """Starts a program with arguments in a folder; what it prints goes to `said`."""
        fork = self._context.Process(target=_command, args=(arguments, folder, said), daemon=True)
        fork.start()
        return fork

    @staticmethod
    def end() -> None:
        """Ends the process that forks."""
        forkserver._forkserver._stop()  # type: ignore[attr-defined]
        resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


def _command(arguments: list[str], folder: Path, said: Path) -> None:
    program, *given = arguments
    main = importlib.import_module(MAINS[program]).main
    os.chdir(folder)
    output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.exit(main(given))
