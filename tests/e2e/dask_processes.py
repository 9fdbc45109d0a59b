"""A Dask scheduler and its workers, as a site would start them: processes that a test can kill."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from distributed import Security

START_S = 60.0
QUIET = {"DASK_LOGGING__DISTRIBUTED": "critical"}


@dataclass
class DaskProcesses:
    """A scheduler, and workers of one thread."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """The files of keys in Dask's configuration, as environment of a scheduler, a worker or a command."""
        tls = Security.temporary().get_tls_config_for_role("client")  # type: ignore[no-untyped-call]
        files = {}
        for name in ("ca_file", "cert", "key"):
            files[name] = str(self.folder / name)
            Path(files[name]).write_text(tls[name])
        roles = {
            f"{role}__{name}": files[name] for role in ("client", "scheduler", "worker") for name in ("cert", "key")
        }
        return {
            f"DASK_DISTRIBUTED__COMM__TLS__{key.upper()}": file
            for key, file in ({"ca_file": files["ca_file"]} | roles).items()
        }

    @property
    def address(self) -> str:
        """The scheduler's address, once it has one."""
        file = self.folder / "scheduler.json"
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                return str(json.loads(file.read_text())["address"])
            except (FileNotFoundError, ValueError):
                time.sleep(0.05)
        raise TimeoutError(f"the scheduler has written no {file}")

    def start(
        self, module: str, *options: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """`dask scheduler` or `dask worker`."""
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *options],
            env={**os.environ, **QUIET, **self.keys, **self.environment, **(environment or {})},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def worker(self, *options: str, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
        """One more worker; without `--nanny` its process is the worker itself."""
        nanny = () if "--nanny" in options else ("--no-nanny",)
        own = (self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", *nanny, *options)
        return self.start("dask_worker", *own, environment=environment)


@contextmanager
def dask_processes(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[DaskProcesses]:
    """A scheduler without workers; all of it ends with the block."""
    folder.mkdir(exist_ok=True)
    started = DaskProcesses(folder, environment or {})
    # Every name is free to be taken by another test, and so is every port.
    options = (
        "--protocol",
        "tls",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(folder / "scheduler.json"),
    )
    try:
        started.start("dask_scheduler", *options)
        yield started
    finally:
        for process in reversed(started.processes):
            # With what it started: each is the first of its session.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
