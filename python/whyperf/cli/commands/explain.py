"""`whyperf explain`: where the time went, why, and what to change."""

from typing import Annotated

import typer

from whyperf.cli.commands.arguments import (
    BUDGET_S,
    AllowOption,
    BudgetOption,
    ClusterOption,
    ExperimentArgument,
    WithoutKeysOption,
)

NAME = "explain"
EXAMPLE = (
    "Examples: whyperf explain · whyperf explain results/window-sweep-4f69ee --cell c0003 · whyperf explain --json · "
    "whyperf explain --verify --pairs 10. The words are explained in docs/background/explain.md."
)


def command(
    experiment: ExperimentArgument = None,
    trial: Annotated[
        str | None,
        typer.Argument(help="One trial, such as log01-c0001. Default: the trial with the most evidence of each cell."),
    ] = None,
    cell: Annotated[str | None, typer.Option(help="Explain only this cell, such as c0003, in full.")] = None,
    *,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Test a verdict: measure its change in pairs with the original, and confirm or refute the cause.",
        ),
    ] = False,
    verdict: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of the verdict to verify. Default: the first whose change a plan can make; every candidate "
            "if the limit is not known.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(min=1, max=1000, help="Pairs of trials to verify with at first; fewer than 6 cannot decide."),
    ] = 6,
    most: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="Maximum number of pairs, if the first ones do not decide. Default: 16, or --pairs if larger.",
            show_default=False,
        ),
    ] = None,
    try_: Annotated[
        bool,
        typer.Option(
            "--try",
            help="Find the limit by experiments: change one setting after the other for a second, as whyperf why does.",
        ),
    ] = False,
    budget: BudgetOption = BUDGET_S,
    allow: AllowOption = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="With --verify or --try: do not ask before contacting the hosts of a result that was made elsewhere.",
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
    --verify changes a setting for its own trials only, never permanently.
    The same command resumes an interrupted --verify.
    """
    from whyperf.cli.exits import UsageError  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.experiments import find_experiment  # noqa: PLC0415
    from whyperf.cli.output.explanation import print_explanation  # noqa: PLC0415
    from whyperf.cluster import HERE, choice_of  # noqa: PLC0415

    where = choice_of(cluster, without_keys=cluster_without_keys)
    if where != HERE and (verify or trial is not None or cell is not None):
        raise UsageError("--cluster shares the cells of a whole result; leave out the trial, --cell and --verify")
    found = find_experiment(experiment)
    if where != HERE and found.plan.watched is not None:
        raise UsageError("--cluster is not for watched connections, whose trials refer to each other; leave it out")
    if try_:
        if verify or trial is not None or where != HERE:
            raise UsageError("--try makes its own experiments with a cell; leave out --verify, --cluster and the trial")
        from whyperf.cli.workflows.why import show_why  # noqa: PLC0415 - as above

        return show_why(found, budget, allows_harm=allow, as_json=json, cell=cell, may_contact=yes)
    if not verify:
        if verdict is not None:
            raise UsageError("--verdict chooses what --verify tries; give --verify too")
        if yes:
            raise UsageError("--yes lets --verify or --try contact hosts; give one of them too")
        return print_explanation(found, trial, cell, as_json=json, everything=everything, cluster=where)
    from whyperf.cli.workflows.verify import looks_asked, print_verification  # noqa: PLC0415 - as above

    looks = looks_asked(pairs, most)
    return print_verification(found, trial, cell, verdict, looks, as_json=json, everything=everything, may_contact=yes)
