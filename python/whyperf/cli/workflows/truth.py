"""The truth experiments, step by step: plan, measure, explain, grade, print."""

import shlex
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.live.progress import duration
from whyperf.cli.streams import print_json
from whyperf.cli.workflows import dry_run
from whyperf.cli.workflows.trials import stopped
from whyperf.plan import TimeLeft
from whyperf.record import Experiment, planned_folder
from whyperf.run import Burner, Kind, Observer, Session, Target, allowed_kind, run_plan
from whyperf.truth import Catalog, load_catalog, plan_truth, roles_of
from whyperf.truth.page import with_figures

#: The number of trials is fixed: no stop rule here.
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
    verify: bool = False


def find_truth(wanted: Wanted) -> int:
    """Does what was wanted; returns the exit code: 3 where a bar is missed."""
    if wanted.page is not None:
        _with_figures(wanted.page, "")
    catalog = load_catalog()
    if wanted.only:
        catalog = catalog.named(list(wanted.only))
    profile, plan = plan_truth(catalog, short=wanted.short, seed=wanted.seed, trials=wanted.trials)
    if wanted.dry_run:
        return dry_run.show(plan, as_json=wanted.as_json)
    kind, reason = allowed_kind(None)
    if kind is not Kind.VETH:
        raise UsageError(f"truth experiments need the embedded testbed, and that network namespaces: {reason}")
    folder = wanted.out or planned_folder(plan)
    with interrupts.handled(), Experiment.create(folder, plan, profile.text) as experiment:
        try:
            _measure(experiment, catalog, wanted)
        except KeyboardInterrupt:
            raise stopped(experiment, named=True) from None
        except BaseException:
            experiment.discard_if_empty()
            raise
        return _print(experiment, catalog, wanted)


def _print(experiment: Experiment, catalog: Catalog, wanted: Wanted) -> int:
    """Explains, grades and prints; returns the exit code."""
    # Imported here: judging needs libraries that load for a second.
    from whyperf.analyze import summarize  # noqa: PLC0415
    from whyperf.cli.output.truth import print_grades, print_proofs  # noqa: PLC0415
    from whyperf.cli.workflows.truth_proofs import prove  # noqa: PLC0415
    from whyperf.explain.experiment import explain_experiment  # noqa: PLC0415
    from whyperf.truth.figures import figures, figures_of_proofs  # noqa: PLC0415
    from whyperf.truth.grade import grade  # noqa: PLC0415
    from whyperf.truth.page import as_json, markdown  # noqa: PLC0415

    rates = {cell.id: cell.goodput_bps.median for cell in summarize(experiment).cells}
    logged = {cell for block in experiment.plan.log_blocks for cell in block}
    # The plan has what is to be predicted: a baseline, and the rate of the emulated path.
    explained = explain_experiment(experiment, cells=logged, rates=rates, by_plan=False)
    grades = grade(catalog, experiment.plan, rates, explained)
    proofs = prove(experiment, catalog, grades, explained, as_json=wanted.as_json) if wanted.verify else []
    if wanted.as_json:
        print_json(as_json(grades, _about(experiment), proofs))
    else:
        print_grades(grades)
        print_proofs(proofs)
    if wanted.page is not None:
        text = _with_figures(wanted.page, markdown(grades, _about(experiment).values(), proofs))
        wanted.page.write_text(text, encoding="utf-8")
    bars = [*figures(grades), *figures_of_proofs(proofs)]
    return DOUBTFUL if any(bar.holds is False for bar in bars) else DONE


def _about(experiment: Experiment) -> dict[str, str]:
    """Where, when and how it was measured."""
    near = experiment.hosts()["near"]
    return {
        "where": f"{near['kernel']}, {len(near['cpus'])} CPUs, the embedded testbed",
        "when": f"{datetime.now():%Y-%m-%d}",
        "how": f"`whyperf {shlex.join(sys.argv[1:])}`",
    }


def _with_figures(path: Path, figures: str) -> str:
    """The page with these figures in it.

    Raises:
        UsageError: it cannot be read, or has no place for them; raised before anything is measured.
    """
    try:
        return with_figures(path.read_text(encoding="utf-8"), figures)
    except OSError as error:
        raise UsageError(
            f"--page: cannot read {path}: {(error.strerror or '').lower()}; name a file that is there"
        ) from None
    except ValueError as error:
        raise UsageError(f"--page: {path}: {error}") from None


def _measure(experiment: Experiment, catalog: Catalog, wanted: Wanted) -> None:
    """Measures what the record lacks."""
    plan = experiment.plan
    missing = experiment.missing_trials()
    if not missing:
        return
    seconds = TimeLeft(plan).seconds(trial.cell for trial in missing)
    say(f"{len(missing)} of {plan.trials_count} trials to make, about {duration(seconds)}; the same command resumes")
    # Imported here: it loads what a mistake does not need.
    from whyperf.cli.live.display import watcher_for  # noqa: PLC0415

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
