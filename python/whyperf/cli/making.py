"""Makes the trials that a record lacks, on hosts or on the model, and says how an interrupted one goes on."""

from collections.abc import Callable

from whyperf.analyze.quantity import count
from whyperf.cli.exits import Stopped, say
from whyperf.cli.goodput import Goodputs
from whyperf.cli.progress import duration
from whyperf.plan import PlannedTrial, TimeLeft
from whyperf.record import INTERRUPTED, Experiment, known_cost
from whyperf.run import Session, Target, run_plan
from whyperf.simulate import Known, hosts_facts, simulate_plan
from whyperf.simulate.request import user_profiles

#: A measurement that lasts so long says so before it begins.
WORTH_TELLING_S = 120.0

Wants = Callable[[PlannedTrial, Callable[[str], None]], bool]
"""Whether a trial is wanted still; what it finds worth a line it says by the second argument."""


def measure_missing_trials(
    experiment: Experiment, target: Target, *, as_json: bool, wants: Wants = lambda *_: True
) -> None:
    """Measures what the record lacks, as long as it is wanted."""
    total = experiment.plan.trials_count
    not_made = experiment.missing_trials()
    goodputs = Goodputs(experiment)
    missing = goodputs.wanted(not_made)
    if missing and not wants(missing[0], lambda _: None):
        missing = []
    if len(not_made) < total:
        to_go = f"{len(missing)} to go" if missing else "nothing is missing"
        say(f"{experiment.folder} has {total - len(not_made)} of {total} trials; {to_go}")
    if not missing:
        return
    seconds = TimeLeft(experiment.plan).seconds(trial.cell for trial in missing)
    if seconds >= WORTH_TELLING_S:
        number = count(len(missing), "trial")
        say(f"{number} to make, about {duration(seconds)}; stopped at any time, the same command resumes")
    # Imported here: showing loads libraries, and a mistake is answered before.
    from whyperf.cli.watch import watcher_for  # noqa: PLC0415

    with Session(experiment.plan, target) as session:
        for host, facts in session.facts.items():
            experiment.write_host(host, facts)
        near = session.facts["near"]
        cost = known_cost(near["hostname"], near["kernel"])
        if cost is not None:
            experiment.write_probe_cost(cost)
        if session.testbed is not None:
            experiment.write_testbed(session.testbed)
        with watcher_for(experiment.plan, missing, as_json=as_json) as watcher:
            run_plan(session, experiment, watcher, goodputs.of, lambda trial: wants(trial, watcher.on_message))


def simulate_missing_trials(experiment: Experiment, *, as_json: bool, blocks: int | None = None) -> None:
    """Simulates what the record lacks, of so many blocks."""
    plan = experiment.plan
    missing = [trial for trial in experiment.missing_trials() if blocks is None or trial.block <= blocks]
    if len(missing) < plan.trials_count:
        say(f"{experiment.folder} has {plan.trials_count - len(missing)} of {plan.trials_count} trials")
    to_make = {planned.id for planned in missing}
    known = Known(plan, Goodputs(experiment).of, [one for one in plan.trials() if one.id not in to_make])
    # Imported here, as above.
    from whyperf.cli.watch import watcher_for  # noqa: PLC0415

    for end, facts in hosts_facts(plan, user_profiles(plan)).items():
        experiment.write_host(end, facts)
    with watcher_for(plan, missing, as_json=as_json) as watcher:
        simulate_plan(experiment, watcher, known, missing)


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
    shows = f"`whyperf show {folder}` shows what there is"
    say(f"whyperf: stopped; {made} of {total} trials are in {folder}{partial}; {how}, {shows}")
    return Stopped()
