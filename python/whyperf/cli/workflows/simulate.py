"""A simulation, step by step: understand, plan, ask the model, record, judge, print."""

from dataclasses import dataclass
from pathlib import Path

from whyperf.cli.exits import say
from whyperf.cli.inputs.question import understand
from whyperf.cli.live import interrupts
from whyperf.cli.output.formats import Format, OutputFormat
from whyperf.cli.workflows import dry_run
from whyperf.cli.workflows.trials import simulate_missing_trials, stopped
from whyperf.cluster import HERE, Choice, connected
from whyperf.plan import MODEL, build
from whyperf.profile import Overrides
from whyperf.record import Experiment, planned_folder
from whyperf.run import RunError
from whyperf.run.errors import Fault
from whyperf.simulate import refuse_unknown


@dataclass(frozen=True)
class Order:
    """Everything the command line asked of `whyperf model simulate`."""

    question: str
    overrides: Overrides
    only: tuple[str, ...]
    trials: int | None
    wants_log: bool
    seed: int | None
    dry_run: bool
    out: Path | None
    output: OutputFormat
    cluster: Choice = HERE


def simulate(order: Order) -> int:
    """Does what was ordered; returns the exit code."""
    profile, host = understand(order.question, None)
    if host is not None:
        problem = f'there is no profile or workload "{order.question}"; `whyperf list` names them'
        raise RunError(problem, Fault.USAGE)
    plan = build(
        profile,
        only=order.only,
        seed=order.seed,
        trials=order.trials,
        evidence="segments" if order.wants_log else None,
        target=MODEL,
        overrides=order.overrides,
    )
    try:
        refuse_unknown(plan)
    except OSError as error:
        raise RunError(f"cannot read the host {error.filename}: {error.strerror}", Fault.USAGE) from None
    if order.dry_run:
        return dry_run.show(plan, as_json=order.output.format is Format.JSON)
    for warning in plan.warnings:
        say(warning)
    folder = order.out or planned_folder(plan)
    with interrupts.handled(held=True) as stops, Experiment.create(folder, plan, profile.text) as experiment:
        try:
            stops.release()
            with connected(order.cluster if experiment.missing_trials() else HERE, say) as workers:
                simulate_missing_trials(experiment, as_json=order.output.is_for_programs, workers=workers)
        except KeyboardInterrupt:
            raise stopped(experiment, named=True) from None
        except BaseException:
            experiment.discard_if_empty()
            raise
        # Imported here: judging needs libraries that load for a second; a mistake is answered before.
        from whyperf.cli.output import result  # noqa: PLC0415

        return result.print_result(experiment, order.output)
