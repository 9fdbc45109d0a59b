"""The way of the truth experiments: plan, measure, explain, grade, tell."""

from dataclasses import dataclass
from pathlib import Path

from whyperf.cli import dry_run, interrupts
from whyperf.cli.exits import DONE, FAILED, UsageError, say
from whyperf.cli.measure import say_how_to_resume
from whyperf.cli.progress import duration
from whyperf.plan import TimeLeft
from whyperf.profile import ProfileError
from whyperf.record import Experiment, planned_folder
from whyperf.run import Burner, Kind, Observer, Session, Target, allowed_kind, run_plan
from whyperf.truth import Catalog, load_catalog, plan_truth, roles_of

#: Nothing here waits for a number of trials that is found on the way.
_NO_GOODPUT = None


@dataclass(frozen=True)
class Wanted:
    """Everything the command line asked of `whyperf truth`."""

    only: tuple[str, ...]
    short: bool
    trials: int
    seed: int
    out: Path | None
    page: Path | None
    dry_run: bool
    as_json: bool


def find_truth(wanted: Wanted) -> int:
    """Does what was wanted; returns the exit code: 3 where a bar is missed."""
    if wanted.page is not None and not wanted.page.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {wanted.page.absolute().parent}; make it, or name another file")
    catalog = load_catalog()
    if wanted.only:
        catalog = catalog.named(list(wanted.only))
    profile, plan = plan_truth(catalog, short=wanted.short, seed=wanted.seed, trials=wanted.trials)
    if wanted.dry_run:
        return dry_run.show(plan, as_json=wanted.as_json)
    kind, reason = allowed_kind(Kind.VETH)
    if kind is not Kind.VETH:
        raise ProfileError("", "", f"truth experiments need the embedded testbed: {reason}")
    folder = wanted.out or planned_folder(plan)
    with interrupts.handled(), Experiment.create(folder, plan, profile.text) as experiment:
        try:
            _measure(experiment, catalog, wanted)
        except KeyboardInterrupt:
            say_how_to_resume(experiment, named=True)
            return FAILED
        except BaseException:
            experiment.discard_if_empty()
            raise
        return DONE


def _measure(experiment: Experiment, catalog: Catalog, wanted: Wanted) -> None:
    """Measures what the record lacks."""
    plan = experiment.plan
    missing = experiment.missing_trials()
    if not missing:
        return
    seconds = TimeLeft(plan).seconds(trial.cell for trial in missing)
    say(
        f"{len(missing)} of {plan.trials_count} trials to make, about {duration(seconds)}; the same command resumes"
    )
    # Imported here: it loads what a mistake does not need.
    from whyperf.cli.watch import watcher_for  # noqa: PLC0415

    with Session(plan, Target(Kind.VETH)) as session:
        for host, facts in session.facts.items():
            experiment.write_host(host, facts)
        if session.testbed is not None:
            experiment.write_testbed(session.testbed)
        with watcher_for(plan, missing, as_json=wanted.as_json) as watcher:
            burner = _burner(watcher, session, catalog)
            try:
                run_plan(session, experiment, burner, lambda _: _NO_GOODPUT)
            finally:
                burner.end()


def _burner(watcher: Observer, session: Session, catalog: Catalog) -> Burner:
    """Loads the CPUs of an end in the cells that say so."""
    cells = {cell.sweep: cell for cell in session.plan.cells}
    burning = {cells[role.sweep].id: role for role in roles_of(catalog) if role.burner and role.sweep in cells}

    def cpus(cell: str) -> tuple[int, ...]:
        end = burning[cell].burner
        assert end is not None
        return session.cpus_for(session.plan.cell(cell).factors)[end].own

    return Burner(watcher, {cell: role.burners for cell, role in burning.items()}, cpus)
