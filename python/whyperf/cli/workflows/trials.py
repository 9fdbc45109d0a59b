"""Makes the trials that a record lacks, on hosts or on the model, until the stop rule is satisfied."""

from collections.abc import Sequence
from contextlib import ExitStack
from shlex import quote
from typing import TYPE_CHECKING

from whyperf.analyze.text import count
from whyperf.cli.durations import duration
from whyperf.cli.exits import Stopped, say
from whyperf.cli.live.connecting import said_to_connect
from whyperf.cli.output.formats import OutputFormat
from whyperf.cli.workflows.preload import Preload
from whyperf.cluster import Workers
from whyperf.plan import Plan, PlannedTrial, TimeLeft, cells_wanting
from whyperf.record import INTERRUPTED, Damaged, Experiment, Manifest, Trials, known_cost
from whyperf.run import Session, Target, keep_places, run_plan

if TYPE_CHECKING:
    import polars as pl

    from whyperf.analyze.read.inputs import Inputs
    from whyperf.cli.live.intervals import PrintedLine
    from whyperf.explain.experiments.goals import Goal

#: A measurement that lasts so long says so before it begins.
LONG_S = 120.0


def measure_missing_trials(
    experiment: Experiment,
    target: Target,
    *,
    as_json: bool,
    output: OutputFormat | None = None,
    report: bool = False,
    closing: ExitStack | None = None,
) -> "Sequence[PrintedLine]":
    """Measures what the record lacks; returns the interval lines of a single trial.

    `output` is for these lines; `report` says that a page of the result is made next. With `closing`, agents are still
    ending when this returns, and `closing` waits for them.
    """
    total = experiment.plan.trials_count
    not_made = experiment.missing_trials()
    goodputs = Goodputs(experiment)
    missing = goodputs.wanted(not_made)
    if len(not_made) < total:
        to_go = f"{len(missing)} to go" if missing else "nothing is missing"
        say(f"{experiment.folder} has {total - len(not_made)} of {total} trials; {to_go}")
    if not missing:
        return ()
    seconds = TimeLeft(experiment.plan).seconds(trial.cell for trial in missing)
    if seconds >= LONG_S:
        number = count(len(missing), "trial")
        say(f"{number} to make, about {duration(seconds)}; stopped at any time, the same command resumes")
    # Imported here: showing loads libraries, and a mistake is answered before.
    from whyperf.cli.live.display import watcher_for  # noqa: PLC0415

    preload = Preload(report=report)
    if len(missing) == 1:
        preload.resume()
    with ExitStack() as ending:
        with said_to_connect(target.destinations, by_ssh=target.is_by_ssh):
            session = ending.enter_context(Session(experiment.plan, target))
        session.on_ready = lambda _: preload.pause()
        session.on_left_silently = say
        for pair, reason in session.lost_pairs.reasons.items():
            near_host, far_host = experiment.plan.pairs[pair]
            say(f"{near_host} → {far_host} takes no part, the others go on: {reason}")
        keep_places(session, experiment)
        near = next(iter(session.facts.values()))
        cost = known_cost(near["hostname"], near["kernel"])
        if cost is not None:
            experiment.write_probe_cost(cost)
        with watcher_for(
            experiment.plan, missing, as_json=as_json, output=output, on_measured=preload.resume
        ) as watcher:
            run_plan(session, experiment, watcher, goodputs.of)
        if closing is not None:
            session.hang_up()
            closing.push(ending.pop_all())
        return watcher.measured


def simulate_missing_trials(experiment: Experiment, *, as_json: bool, workers: Workers | None = None) -> None:
    """Simulates what the record lacks, here or on workers."""
    from whyperf.simulate import Known, hosts_facts, simulate_plan  # noqa: PLC0415 - a measurement needs none
    from whyperf.simulate.request import user_profiles  # noqa: PLC0415 - as above

    plan = experiment.plan
    missing = experiment.missing_trials()
    if len(missing) < plan.trials_count:
        say(f"{experiment.folder} has {plan.trials_count - len(missing)} of {plan.trials_count} trials")
    to_make = {planned.id for planned in missing}
    known = Known(plan, Goodputs(experiment).of, [planned for planned in plan.trials() if planned.id not in to_make])
    # Imported here, as above.
    from whyperf.cli.live.display import watcher_for  # noqa: PLC0415

    for end, facts in hosts_facts(plan, user_profiles(plan)).items():
        experiment.write_host(end, facts)
    with watcher_for(plan, missing, as_json=as_json) as watcher:
        simulate_plan(experiment, watcher, known, missing, workers)


def stopped(experiment: Experiment, *, named: bool) -> Stopped:
    """Prints what an interrupted run leaves and how to resume it; returns the exception that ends the command.

    The same command finds a `named` folder again; a quick one has a time in its name.
    """
    if experiment.discard_if_empty():
        say("whyperf: stopped before the first trial was done; nothing is left behind")
        return Stopped()
    manifests, total, folder = experiment.trials().manifests, experiment.plan.trials_count, experiment.folder
    made = sum(manifest.status != INTERRUPTED for manifest in manifests.values())
    partial = ", and a partial one" if made < len(manifests) else ""
    how = "the same command resumes" if named else f"the same command with --out {folder} resumes"
    shows = f"`whyperf show {quote(str(folder))}` shows what there is"
    say(f"whyperf: stopped; {made} of {total} trials are in {folder}{partial}; {how}, {shows}")
    return Stopped()


#: The tables from which a goodput is made.
TABLES = ("flows", "intervals", "transactions")


class Goodputs:
    """Goodputs by trial: those recorded before are read together, later ones when they are asked for."""

    _tables: tuple[str, ...] = TABLES

    def __init__(self, experiment: Experiment) -> None:
        """Nothing is read before it is needed: most plans have a fixed number of trials."""
        self._experiment = experiment
        self._known: dict[str, float | None] | None = None

    def of(self, trial: str) -> float | None:
        """Goodput in bit/s; None where the trial failed, is damaged or has none."""
        if self._known is None:
            self._known = self._read(self._experiment.trials())
        if trial not in self._known:
            found = self._experiment.trial(trial)
            trials = Trials({}, [found]) if isinstance(found, Damaged) else Trials({trial: found}, [])
            self._known |= {trial: None} | self._read(trials)
        return self._known[trial]

    def wanted(self, missing: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """The missing trials of cells that the stop rule has not ended."""
        plan = self._experiment.plan
        if plan.stop.interval_width is None:
            return list(missing)
        to_make = {trial.id for trial in missing}
        goodputs: dict[str, list[float]] = {}
        tried: dict[str, int] = {}
        for trial in plan.trials():
            if trial.is_extra or trial.id in to_make:
                continue
            tried[trial.cell] = tried.get(trial.cell, 0) + 1
            goodput = self.of(trial.id)
            if goodput is not None:
                goodputs.setdefault(trial.cell, []).append(goodput)
        wanting = cells_wanting(plan, goodputs, tried)
        return [trial for trial in missing if trial.is_extra or trial.cell in wanting]

    def _read(self, trials: Trials) -> dict[str, float | None]:
        # Imported here: a plan with a fixed number of trials does not need it before the end.
        from whyperf.analyze.measures.goodput import measure  # noqa: PLC0415
        from whyperf.analyze.read.assemble import assemble  # noqa: PLC0415
        from whyperf.record import read_table  # noqa: PLC0415

        manifests: dict[str, Manifest] = trials.manifests
        if not manifests:
            return {}
        tables = {name: read_table(self._experiment, name, trials=manifests) for name in self._tables}
        damaged = [(entry.trial, entry.reason) for table in tables.values() for entry in table.damaged]
        documents = [manifest.model_dump() for manifest in manifests.values()]
        frames = {name: table.frame for name, table in tables.items()}
        inputs = assemble(self._experiment.plan.model_dump(), documents, frames, damaged)
        measured = measure(inputs.trials, inputs.flows, inputs.intervals, inputs.transactions)
        return self._rates(inputs, measured)

    def _rates(self, _: "Inputs", measured: "pl.DataFrame") -> dict[str, float | None]:
        return dict(zip(measured["trial"].to_list(), measured["goodput_bps"].to_list(), strict=True))


class SpeedsByTrial(Goodputs):
    """The same of what experiments are to make better."""

    def __init__(self, experiment: Experiment, goal: "Goal") -> None:
        """As of goodputs."""
        super().__init__(experiment)
        self._goal = goal
        self._tables = (*TABLES, *goal.tables)

    def by_sweep(self, plan: Plan) -> dict[int, dict[str, float | None]]:
        """The speeds of the trials that were made so far, by block and by the name of the cell's sweep."""
        made = self._experiment.trials().manifests
        sweeps = {cell.id: cell.sweep for cell in plan.cells}
        known = self._known = self._known or {}
        if new := {name: manifest for name, manifest in made.items() if name not in known}:
            known |= dict.fromkeys(new) | self._read(Trials(new, []))
        found: dict[int, dict[str, float | None]] = {}
        for trial in plan.trials():
            if trial.id in made:
                found.setdefault(trial.block, {})[sweeps[trial.cell]] = known[trial.id]
        return found

    def _rates(self, inputs: "Inputs", measured: "pl.DataFrame") -> dict[str, float | None]:
        return self._goal.speeds(self._experiment.plan, inputs, measured)
