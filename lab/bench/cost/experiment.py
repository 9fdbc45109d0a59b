"""Measures an experiment on the embedded testbed, with samples, and reads its figures as `whyperf compare` does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.cost.classes import OWN_TRACING
from whyperf.compare import Source
from whyperf.compare.costs import CostTable
from whyperf.plan import Level, Plan, build
from whyperf.profile import Profile, parse
from whyperf.profile.profile_document import PROFILE_HZ
from whyperf.record import Experiment
from whyperf.run import Kind, Session, Target, keep_places, run_plan
from whyperf.wire import ReplyProgress

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The amount that is measured: the full proof, or a short try whose figures show only that it works."""

    is_quick: bool
    folder: Path

    def of(self, full: int, quick: int) -> int:
        """A number of trials, blocks or pairs."""
        return quick if self.is_quick else full


class Watcher:
    """Prints trials that fail, and calls `on_finished` after each."""

    def __init__(self, on_finished: Callable[[], None] = lambda: None) -> None:
        """With what is called after each trial."""
        self._on_finished = on_finished

    def on_message(self, text: str) -> None:
        """Prints what is worth a line."""
        print(text)

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """Nothing: a part prints its rows when it is done."""

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """Nothing, as above."""

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """Prints why a trial failed."""
        self._on_finished()
        if status != "complete":
            print(f"{trial}: {status}: {reason}")


def profile_of(text: str, name: str) -> Profile:
    """The profile of a text, on the embedded testbed."""
    return parse(f'about = "Proof of the cost budget."\n[testbed]\nkind = "veth"\n{text}', name=name, where=name)


def planned(profile: Profile, trials: int, evidence: Level = "counters") -> Plan:
    """The plan: so many blocks, with stack samples in all trials."""
    return build(profile, trials=trials, evidence=evidence, profile_hz=PROFILE_HZ)


def measured(
    plan: Plan,
    profile: Profile,
    folder: Path,
    on_ready: Callable[[str], None] = lambda _: None,
    on_finished: Callable[[], None] = lambda: None,
) -> Experiment:
    """Measures all trials; `on_ready` is called with the cell before the load of each starts.

    Raises:
        RunError: the testbed cannot be built, or an agent is gone.
        RecordError: the record cannot be written.
    """
    with Experiment.create(folder, plan, profile.text) as experiment, Session(plan, Target(Kind.VETH)) as session:
        keep_places(session, experiment)
        session.on_ready = on_ready
        run_plan(session, experiment, Watcher(on_finished), lambda _: None)
    return experiment


@dataclass(frozen=True)
class SideCosts:
    """The cost per transaction of a side of a cell in each block, in cycles: in total and by class.

    `without_sampling` is the total without the time that taking samples took, which is counted, too.
    """

    totals: Mapping[int, float]
    without_sampling: Mapping[int, float]
    classes: Mapping[str, Mapping[int, float]]

    def of_class(self, name: str) -> Mapping[int, float]:
        """The cost of a class; 0 where no sample has it."""
        return self.classes.get(name, dict.fromkeys(self.totals, 0.0))


def side_costs(source: Source, cell: str, role: str) -> SideCosts:
    """The cost per transaction of a side.

    Raises:
        LookupError: the cell has no samples of it, or counts no transactions.
    """
    table = (source.result.costs or {}).get((cell, role))
    if table is None or table.kbytes_each is None:
        raise LookupError(f"cell {cell} has no cost per transaction of the {role}")
    each = table.per_transaction()
    blocks = [source.result.blocks[trial] for trial in each.trials]

    def by_block(values: Floats) -> dict[int, float]:
        return dict(zip(blocks, values.tolist(), strict=True))

    names = dict.fromkeys(name for name, _ in each.rows)
    # The row of the class that is no function.
    own = [place for row, place in each.rows.items() if row == (OWN_TRACING, None)]
    totals = each.costs.sum(axis=0)
    return SideCosts(
        by_block(totals),
        by_block(totals - each.costs[own].sum(axis=0)),
        {name: by_block(_class_costs(each, name)) for name in names},
    )


def _class_costs(table: CostTable, name: str) -> Floats:
    rows = [place for (of, _), place in table.rows.items() if of == name]
    found: Floats = table.costs[rows].sum(axis=0)
    return found


def mean_difference(dose: Mapping[int, float], none: Mapping[int, float]) -> float:
    """The mean over the blocks that have both of the value with a dose less that without.

    Raises:
        LookupError: no block has both.
    """
    common = dose.keys() & none.keys()
    if not common:
        raise LookupError("no block has a trial with the dose and one without")
    return sum(dose[block] - none[block] for block in common) / len(common)


def tsc_hz(experiment: Experiment) -> float:
    """The rate of the time stamp counter, which whyperf's TSC cycles are counted in.

    Raises:
        LookupError: no trial was completed.
    """
    for manifest in experiment.trials().measured.values():
        for host in manifest.model_dump()["hosts"].values():
            if host.get("tsc_hz"):
                return float(host["tsc_hz"])
    raise LookupError("no trial was completed")


def windows_ns(experiment: Experiment) -> dict[str, tuple[int, int]]:
    """The instants of CLOCK_MONOTONIC between which the samples of each trial were taken, on this one machine."""
    found = {}
    for trial, manifest in experiment.trials().measured.items():
        report = manifest.model_dump()["hosts"]["near"]["evidence"]["profile"]
        found[trial] = (int(report["start_mono_ns"]), int(report["end_mono_ns"]))
    return found


def cells_by(plan: Plan, factor: str) -> Mapping[object, str]:
    """Cells by their level of a factor."""
    return {cell.factors[factor]: cell.id for cell in plan.cells}


def levels_text(levels: Sequence[object]) -> str:
    """Levels as TOML."""
    return "[" + ", ".join(map(str, levels)) + "]"
