"""`whyperf explain`: where the time went, why, and what to change."""

from typing import Annotated

import typer

from whyperf.cli.commands.arguments import (
    BUDGET_S,
    GOAL,
    AllowOption,
    BudgetOption,
    ClusterOption,
    ExperimentArgument,
    GoalOption,
    WithoutKeysOption,
)

NAME = "explain"
EXAMPLE = (
    "Examples: whyperf explain · whyperf explain results/window-sweep-4f69ee --cell c0003 · whyperf explain --json · "
    "whyperf explain --try --verdict 2. The words are explained in docs/background/explain.md."
)


def command(
    experiment: ExperimentArgument = None,
    trial: Annotated[
        str | None,
        typer.Argument(help="One trial, such as log01-c0001. Default: the trial with the most evidence of each cell."),
    ] = None,
    cell: Annotated[str | None, typer.Option(help="Explain only this cell, such as c0003, in full.")] = None,
    *,
    try_: Annotated[
        bool,
        typer.Option(
            "--try",
            "--verify",
            help="Find the limit by experiments: change one setting after the other for a second, as whyperf why does.",
        ),
    ] = False,
    verdict: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --try: make only the change of this verdict, by its number.", show_default=False
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="With --try: how often a change must raise the rate to be proved, at most 24. Default: 2, "
            "and 4 for a percentile.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[int | None, typer.Option(min=1, max=1000, hidden=True, help="Has no effect.")] = None,
    budget: BudgetOption = BUDGET_S,
    allow: AllowOption = False,
    goal: GoalOption = GOAL,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="With --try: do not ask before measuring for a result that was made elsewhere.",
        ),
    ] = False,
    cluster: ClusterOption = "none",
    cluster_without_keys: WithoutKeysOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every cause with all its evidence, and where the time went.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON, with all budgets and evidence.")] = False,
) -> int:
    """Explains what limits the rate, with evidence, and what to change.

    A sweep has one line per cell; --cell prints one in full.
    --try changes a setting for its own trials only, never permanently. --verify is another name of it.
    """
    from whyperf.cli.exits import UsageError, say  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.experiments import find_experiment, note_origin  # noqa: PLC0415
    from whyperf.cli.output.explanation import print_explanation  # noqa: PLC0415
    from whyperf.cluster import HERE, choice_of  # noqa: PLC0415

    where = choice_of(cluster, without_keys=cluster_without_keys)
    if where != HERE and (try_ or trial is not None or cell is not None):
        raise UsageError("--cluster shares the cells of a whole result; leave out the trial, --cell and --try")
    found = find_experiment(experiment)
    note_origin(found.folder, is_made_here=found.is_made_here)
    if where != HERE and found.plan.watched is not None:
        raise UsageError("--cluster is not for watched connections, whose trials refer to each other; leave it out")
    if most is not None:
        say("--most has no effect: a change is tried until it is certain, or until the --budget is used")
    if not try_:
        wanted = None if goal == GOAL else goal
        for option, given in (("--verdict", verdict), ("--pairs", pairs), ("--goal", wanted), ("--yes", yes or None)):
            if given is not None:
                raise UsageError(f"{option} is of --try; give --try too")
        return print_explanation(found, trial, cell, as_json=json, everything=everything, cluster=where)
    from whyperf.cli.inputs.goals import asked_goal  # noqa: PLC0415 - as above
    from whyperf.cli.workflows.why import show_why  # noqa: PLC0415 - as above

    return show_why(
        found,
        budget,
        allows_harm=allow,
        as_json=json,
        cell=cell,
        trial=trial,
        verdict=verdict,
        pairs=pairs or 0,
        may_contact=yes,
        goal=asked_goal(goal),
    )
