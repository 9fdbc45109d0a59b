"""Trials that are simulated together, here or on a worker: lines in, answers and the bytes of tables out.

What comes out depends on the lines alone: not on the host, the time, or how many threads or workers there are.
"""

import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from whyperf import __version__
from whyperf.cluster import Workers
from whyperf.cluster.versions import here
from whyperf.plan import PlannedTrial
from whyperf.record.scratch import task_folder
from whyperf.run import RunError
from whyperf.run.agents.pipes import agent_binary
from whyperf.simulate.agent import ask
from whyperf.wire import SimulatedTrial, Simulation

#: Writes the tables of a batch into a folder, and gives the answers in order, as they come.
Fill = Callable[[Path], Iterator[SimulatedTrial]]


@dataclass(frozen=True)
class Batch:
    """Trials with what the model is asked for each. One with a log or stage times is alone; others share a pack."""

    planned: tuple[PlannedTrial, ...]
    lines: tuple[Simulation, ...]

    @property
    def is_alone(self) -> bool:
        """True where it is one trial with a folder of its own: with the segment log, or stage times."""
        return self.planned[0].is_extra


@dataclass(frozen=True)
class Simulated:
    """The results of a worker: the answers, and the tables by the name of their file."""

    answers: tuple[SimulatedTrial, ...]
    tables: dict[str, bytes]


def simulated_here(batches: Iterable[Batch]) -> Iterator[tuple[Batch, Fill]]:
    """Each batch with what simulates it, by an agent with as many threads as there are CPUs."""
    for batch in batches:
        yield batch, _asking(batch)


def simulated_by(workers: Workers, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Fill]]:
    """Each batch with its results from a worker, in the order of the batches. Few are in memory at once.

    Raises:
        RunError: as `Workers.in_order`, or the agent there is of another version.
    """
    submitted: deque[Batch] = deque()

    def tasks() -> Iterator[tuple[Sequence[Simulation], bool, str]]:
        for batch in batches:
            submitted.append(batch)
            yield batch.lines, batch.is_alone, __version__

    for result in workers.in_order(simulate_lines, tasks()):
        yield submitted.popleft(), _writing(result)


def simulate_lines(lines: Sequence[Simulation], is_alone: bool, expected_version: str) -> Simulated:
    """Does the work of a worker: one thread, because the worker has as many tasks at a time as it may use CPUs.

    Raises:
        RunError: the agent is missing here, of another version, or ended early.
    """
    if (found := _agent_version()) != expected_version:
        raise RunError(
            f"whyperf-agent on the worker {here()} is of version {found}, and this host needs {expected_version}; "
            "install the same whyperf there"
        )
    with task_folder() as name:
        folder = Path(name)
        answers = tuple(ask(lines, *_options(is_alone), "--threads", "1", tables=folder))
        return Simulated(answers, {path.name: path.read_bytes() for path in sorted(folder.iterdir())})


@lru_cache(maxsize=1)
def _agent_version() -> str:
    try:
        binary = agent_binary()
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (RunError, OSError, subprocess.SubprocessError) as error:
        raise RunError(
            f"the worker {here()} cannot run whyperf-agent ({error}); install whyperf {__version__} there"
        ) from None
    return done.stdout.strip().removeprefix("whyperf-agent ")


def _options(is_alone: bool) -> tuple[str, ...]:
    return () if is_alone else ("--several",)


def _asking(batch: Batch) -> Fill:
    return lambda folder: ask(batch.lines, *_options(batch.is_alone), tables=folder)


def _writing(result: Simulated) -> Fill:
    def fill(folder: Path) -> Iterator[SimulatedTrial]:
        for name, content in result.tables.items():
            # Names are those of files, without a folder.
            (folder / Path(name).name).write_bytes(content)
        yield from result.answers

    return fill
