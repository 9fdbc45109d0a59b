"""`whyperf explain`: where the time went, why, and what to change."""

from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument

NAME = "explain"
EXAMPLE = (
    "Examples: whyperf explain · whyperf explain results/window-sweep-4f69ee --cell c0003 · whyperf explain --json · "
    "whyperf explain --verify --pairs 10"
)


def command(
    experiment: ExperimentArgument = None,
    trial: Annotated[
        str | None, typer.Argument(help="One trial, such as log01-c0001; of each cell the best without.")
    ] = None,
    cell: Annotated[str | None, typer.Option(help="One cell, such as c0003.")] = None,
    *,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Make a verdict's change, measure it in pairs with the original, and judge."),
    ] = False,
    verdict: Annotated[
        int | None,
        typer.Option(
            min=1, help="Which verdict to verify; the first that a plan can change without.", show_default=False
        ),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(min=1, max=1000, help="Pairs of trials to verify with at first; fewer than 6 decide nothing."),
    ] = 6,
    most: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            help="Pairs at most, where the first do not decide: 16, or --pairs if more.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="With --verify: contact the hosts of a result made elsewhere without asking."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON, with budgets and all evidence.")] = False,
) -> int:
    """Says why the rate is what it is, on what evidence, and what to change.

    A sweep has one line per cell; --cell prints one in full. --verify makes the change in a plan,
    never on the host for good; stopped, the same command resumes.
    """
    from whyperf.cli.exits import UsageError  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.experiments import find_experiment  # noqa: PLC0415
    from whyperf.cli.output.explanation import print_explanation  # noqa: PLC0415

    found = find_experiment(experiment)
    if not verify:
        if verdict is not None:
            raise UsageError("--verdict chooses what --verify tries; give --verify too")
        if yes:
            raise UsageError("--yes lets --verify contact hosts; give --verify too")
        return print_explanation(found, trial, cell, as_json=json)
    from whyperf.cli.workflows.verify import looks_asked, print_verification  # noqa: PLC0415 - as above

    looks = looks_asked(pairs, most)
    return print_verification(found, trial, cell, verdict, looks, as_json=json, may_contact=yes)
