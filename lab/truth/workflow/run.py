"""The truth experiments, step by step: plan, measure, explain, grade, print."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lab.disturb.disturber import Disturber, places_of
from lab.disturb.tools import lacks
from lab.truth import FILES, Catalog, load_catalog, plan_truth, roles_of
from lab.truth.catalog import Name
from lab.truth.output.page import with_figures
from lab.truth.situation import Half
from lab.truth.workflow.on_model import simulated_part
from whyperf.cli.durations import duration
from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.streams import print_json
from whyperf.cli.workflows import dry_run
from whyperf.cli.workflows.trials import simulate_missing_trials, stopped
from whyperf.cluster import HERE, Choice, Workers, connected
from whyperf.disturb.orders import Place
from whyperf.plan import MODEL, PlannedTrial, TimeLeft
from whyperf.profile import Profile
from whyperf.record import Experiment, planned_folder
from whyperf.run import Kind, Observer, Session, Target, allowed_kind, keep_places, run_plan

#: The number of trials is fixed: no stop rule here.
_NO_GOODPUT = None


@dataclass(frozen=True)
class Wanted:
    """Everything the command line asked of `whyperf-lab truth`."""

    only: tuple[str, ...]
    short: bool
    trials: int
    seed: int
    out: Path | None
    page: Path | None
    dry_run: bool
    as_json: bool
    catalog: Name = "causes"
    half: Half | None = None
    #: Of the model, which then takes the place of the testbed.
    hosts: str = ""
    cluster: Choice = HERE

    @property
    def mark(self) -> str:
        """The name of the section of a page that has the results."""
        # A half alone is one of the field catalog.
        catalog = None if self.catalog == "causes" or (self.catalog == "field" and self.half) else self.catalog
        parts = ("truth", "model" if self.hosts else None, catalog, self.half)
        return " ".join(part for part in parts if part)


def find_truth(wanted: Wanted) -> int:
    """Does what was wanted; returns the exit code: 3 where a bar is missed."""
    if wanted.half is not None and wanted.catalog not in {"field", "unseen"}:
        raise UsageError("--half is of the field catalog; add --catalog field, or --catalog unseen")
    if wanted.page is not None:
        _with_figures(wanted.page, "", wanted.mark)
    catalog = _wanted_catalog(wanted)
    profile, plan = plan_truth(catalog, short=wanted.short, seed=wanted.seed, trials=wanted.trials, hosts=wanted.hosts)
    if wanted.dry_run:
        return dry_run.show(plan, as_json=wanted.as_json)
    if not wanted.hosts:
        kind, reason = allowed_kind(None)
        if kind is not Kind.VETH:
            raise UsageError(f"truth experiments need the embedded testbed, and that network namespaces: {reason}")
    folder = wanted.out or planned_folder(plan)
    with interrupts.handled(), Experiment.create(folder, plan, profile.text) as experiment:
        refuse_other_disturbances(experiment, profile)
        with making_trials(experiment):
            if wanted.hosts:
                return _on_model(experiment, catalog, wanted)
            measure(experiment, catalog, as_json=wanted.as_json)
        return _print(experiment, catalog, wanted)


def _wanted_catalog(wanted: Wanted) -> Catalog:
    """The experiments that were asked for and can be made; messages name the others."""
    catalog = load_catalog(FILES[wanted.catalog])
    if wanted.half is not None:
        catalog = catalog.halved(wanted.half)
    if wanted.only:
        catalog = catalog.named(list(wanted.only))
    if wanted.hosts:
        return simulated_part(catalog, wanted.hosts, wanted.only, short=wanted.short)
    return catalog if wanted.dry_run else possible(catalog)


def _on_model(experiment: Experiment, catalog: Catalog, wanted: Wanted) -> int:
    """Simulates what the record lacks and prints, on the workers that were asked for; returns the exit code."""
    with connected(wanted.cluster, say) as workers:
        simulate_missing_trials(experiment, as_json=wanted.as_json, workers=workers)
        say(f"Explaining the logs of the model of {wanted.hosts} in {experiment.folder}")
        return _print(experiment, catalog, wanted, workers)


@contextmanager
def making_trials(experiment: Experiment) -> Iterator[None]:
    """While trials are made: a stop prints how to resume, and a record without any trial is removed."""
    try:
        yield
    except KeyboardInterrupt:
        raise stopped(experiment, named=True) from None
    except BaseException:
        experiment.discard_if_empty()
        raise


def refuse_other_disturbances(experiment: Experiment, profile: Profile) -> None:
    """Refuses to resume a record whose trials were disturbed otherwise: a plan has no disturbances.

    Raises:
        UsageError: they were.
    """
    if experiment.profile_text != profile.text:
        raise UsageError(f"{experiment.folder} was measured with other disturbances; name another folder with --out")


def possible(catalog: Catalog) -> Catalog:
    """The catalog without the situations that this host cannot disturb; a message names each with the reason."""
    impossible = {
        situation.name: reason
        for situation in catalog.situation
        if (reason := lacks(found for ingredient in situation.ingredient for found in ingredient.disturb))
    }
    for reason in dict.fromkeys(impossible.values()):
        names = [name for name, other in impossible.items() if other == reason]
        say(f"Not measured: {', '.join(names)}: {reason}")
    if impossible and len(impossible) == len(catalog.situation):
        raise UsageError("this host can measure none of these situations")
    return catalog.without(set(impossible))


def _print(experiment: Experiment, catalog: Catalog, wanted: Wanted, workers: Workers | None = None) -> int:
    """Explains, here or on workers, grades and prints; returns the exit code."""
    # Imported here: judging needs libraries that load for a second.
    from lab.truth.figures import figures  # noqa: PLC0415
    from lab.truth.grade import grade  # noqa: PLC0415
    from lab.truth.level_figures import tallies  # noqa: PLC0415
    from lab.truth.output.level_tables import print_levels  # noqa: PLC0415
    from lab.truth.output.page import as_json, markdown  # noqa: PLC0415
    from lab.truth.output.terminal import print_grades  # noqa: PLC0415
    from lab.truth.workflow.levels import diagnose  # noqa: PLC0415
    from whyperf.analyze import summarize  # noqa: PLC0415
    from whyperf.cli.output.explanation import explaining_on  # noqa: PLC0415
    from whyperf.explain.experiment import explain_experiment  # noqa: PLC0415

    rates = {cell.id: cell.goodput_bps.median for cell in summarize(experiment).cells}
    each = explaining_on(workers)
    found = diagnose(experiment, catalog, rates, each)
    logged = {cell for block in experiment.plan.log_blocks for cell in block} if wanted.catalog == "causes" else set()
    # The plan has what is to be predicted: a baseline, and the rate of the emulated path.
    explained = explain_experiment(experiment, cells=logged, rates=rates, by_plan=False, explain_each=each)
    grades = grade(catalog, experiment.plan, rates, explained)
    if wanted.as_json:
        print_json(as_json(grades, _about(experiment), found))
    else:
        if grades:
            print_grades(grades)
        print_levels(found, catalog.situation)
    if wanted.page is not None:
        section = markdown(grades, _about(experiment).values(), found, catalog.situation)
        wanted.page.write_text(_with_figures(wanted.page, section, wanted.mark), encoding="utf-8")
    bars = [bar.holds for bar in figures(grades)]
    if catalog.situation:
        bars += [tally.holds for tally in tallies(found)]
    return DOUBTFUL if False in bars else DONE


def _about(experiment: Experiment) -> dict[str, str]:
    """Where, when and how it was measured."""
    near = experiment.hosts()["near"]
    is_model = experiment.plan.target == MODEL
    of_testbed = f"{near['kernel']}, {len(near['cpus'])} CPUs, the embedded testbed"
    return {
        "where": f"the model of {experiment.plan.cells[0].factors['hosts']}" if is_model else of_testbed,
        "when": f"{datetime.now():%Y-%m-%d}",
        "how": f"`whyperf-lab {shlex.join(sys.argv[1:])}`",
    }


def _with_figures(path: Path, figures: str, mark: str) -> str:
    """The page with these figures in it.

    Raises:
        UsageError: it cannot be read, or has no place for them; raised before anything is measured.
    """
    try:
        return with_figures(path.read_text(encoding="utf-8"), figures, mark)
    except OSError as error:
        raise UsageError(
            f"--page: cannot read {path}: {(error.strerror or '').lower()}; name a file that is there"
        ) from None
    except ValueError as error:
        raise UsageError(f"--page: {path}: {error}") from None


def measure(
    experiment: Experiment, catalog: Catalog, *, as_json: bool, wants: Callable[[PlannedTrial], bool] = lambda _: True
) -> None:
    """Measures what the record lacks of the trials that are wanted."""
    plan = experiment.plan
    missing = [trial for trial in experiment.missing_trials() if wants(trial)]
    if not missing:
        return
    seconds = TimeLeft(plan).seconds(trial.cell for trial in missing)
    say(f"{len(missing)} trials to make, about {duration(seconds)}; the same command resumes")
    # Imported here: it loads what a mistake does not need.
    from whyperf.cli.live.display import watcher_for  # noqa: PLC0415

    with Session(plan, Target(Kind.VETH)) as session:
        keep_places(session, experiment)
        with watcher_for(plan, missing, as_json=as_json) as watcher:
            disturber = _disturber(watcher, session, catalog)
            session.disturb = disturber.disturb
            run_plan(session, experiment, disturber, lambda _: _NO_GOODPUT, wants)


def _disturber(watcher: Observer, session: Session, catalog: Catalog) -> Disturber:
    """Disturbs the trials of the cells that the catalog says so of."""
    cells = {cell.sweep: cell for cell in session.plan.cells}
    disturbed = {cells[role.sweep].id: role.disturbances for role in roles_of(catalog) if role.sweep in cells}

    def places(cell: str) -> dict[str, Place]:
        return places_of(session, session.plan.cell(cell))

    return Disturber(watcher, disturbed, places)
