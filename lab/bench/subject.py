"""Runs whyperf: its own testbed, agents and record, one trial per run."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from lab.bench.namespaces import End, Ends, anchor
from lab.bench.plan import Cell, Setting, ToolRun
from lab.bench.sample import Running
from lab.bench.tools import ToolError
from whyperf.analyze import read_inputs
from whyperf.analyze.trials import measure_trials
from whyperf.plan import Level, Plan, PlannedTrial, build
from whyperf.profile import parse
from whyperf.record import Experiment
from whyperf.run import Session, Target
from whyperf.run.trial import run_trial

PROFILE = """
about = "The benchmark's cells, for whyperf."
[testbed]
kind = "veth"
[fixed]
duration_s = {setting.measure_s}
warmup_s = {setting.warmup_s}
near_cpus = "{setting.sender_cpu}"
"""

SWEEP = """
[[sweep]]
name = "{name}"
[sweep.fixed]
far_cpus = "{far_cpu}"
connections = {cell.connections}
{asked}
"""

ASKED = {
    "stream": """write_size_bytes = {size}
read_size_bytes = {size}""",
    "small": """write_size_bytes = {size}
read_size_bytes = {size}
no_delay = true""",
    "rr": """workload = "rr"
request_size_bytes = {size}
response_size_bytes = {size}
no_delay = true""",
    "crr": """workload = "crr"
request_size_bytes = {size}
response_size_bytes = {size}
no_delay = true""",
    "udp": """workload = "udp-stream"
datagram_size_bytes = {size}""",
}
"""The way that a load of the benchmark is asked of whyperf."""
#: From here on a few threads carry the connections of a stream.
MANY = 16
#: The peers watch nothing; what the evidence costs is measured by `whyperf doctor --probe-cost`.
EVIDENCE: Level = "user"


@dataclass(frozen=True)
class Trial:
    """A trial under way."""

    name: str
    experiment: Experiment
    manifest: Future[dict[str, Any]]

    counts_transactions: bool
    """True where the figure is transactions a second."""

    def rate(self) -> float:
        """Waits for the end; the figure as the analysis finds it in the record.

        Raises:
            ToolError: the trial failed.
        """
        manifest = self.manifest.result()
        if manifest["status"] != "complete":
            raise ToolError(f"whyperf failed: {manifest['reason']}")
        measured = measure_trials(read_inputs(self.experiment))
        rows = measured.transactions if self.counts_transactions else measured.trials
        column = "transactions_per_s" if self.counts_transactions else "goodput_bps"
        return float(rows.filter(pl.col("trial") == self.name)[column].item())


class Subject:
    """whyperf, ready to run."""

    def __init__(self, session: Session, experiment: Experiment) -> None:
        """Uses the session's testbed, on which the peers run too."""
        self._session = session
        self._experiment = experiment

    @contextlib.contextmanager
    def start(self, _ends: Ends, run: ToolRun, _setting: Setting) -> Iterator[Running]:
        """Runs the trial the way `whyperf run` does, record included."""
        cell = next(cell for cell in self._session.plan.cells if cell.sweep == sweep_name(run.cell))
        planned = PlannedTrial(f"{run.pair + 1:03d}-{cell.id}", run.pair + 1, cell.id, EVIDENCE)

        def measure() -> dict[str, Any]:
            with self._experiment.begin_trial(planned.id) as writer:
                manifest = run_trial(self._session, planned, cell, writer, lambda _host, _progress: None)
                writer.commit(manifest)
            return manifest

        with ThreadPoolExecutor(1) as pool:
            yield Trial(planned.id, self._experiment, pool.submit(measure), run.cell.counts_transactions)


def sweep_name(cell: Cell) -> str:
    """The sweep that holds a cell alone."""
    place = "-one-cpu" if cell.is_on_one_cpu else ""
    return f"{cell.workload}-{cell.connections}-{cell.size_bytes}{place}"


def plan(setting: Setting, cells: tuple[Cell, ...], pairs: int) -> tuple[Plan, str]:
    """The plan of all cells, and the text of its profile."""
    text = PROFILE.format(setting=setting)
    for cell in cells:
        asked = ASKED[cell.workload].format(size=cell.size_bytes)
        if cell.connections >= MANY and cell.workload == "stream":
            asked += '\nio_model = "epoll"'
        if cell.workload != "udp":
            asked += f'\ncongestion_control = "{setting.congestion_control}"'
            asked += f"\nwindow_bytes = {setting.window_bytes}" if setting.window_bytes else ""
        text += SWEEP.format(name=sweep_name(cell), cell=cell, far_cpu=setting.far_cpu(cell), asked=asked)
    return build(parse(text, name="bench", where="bench"), trials=pairs), text


@contextlib.contextmanager
def testbed(setting: Setting, cells: tuple[Cell, ...], pairs: int, folder: Path) -> Iterator[tuple[Ends, Subject]]:
    """The testbed both whyperf and its peers run on, held by whyperf's own session."""
    decided, text = plan(setting, cells, pairs)
    with (
        Session(decided, Target()) as session,
        Experiment.create(folder, decided, text) as experiment,
        contextlib.ExitStack() as anchors,
    ):
        built = session.testbed
        assert built is not None
        near, far = (
            End(
                host=label,
                netns=built[label]["netns"],
                device=built[label]["device"],
                address=built[label]["ipv4"],
                proc=anchors.enter_context(anchor(built[label]["netns"])),
            )
            for label in ("near", "far")
        )
        yield Ends(near, far), Subject(session, experiment)
