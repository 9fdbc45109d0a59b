"""Arguments that several commands take, in the same words."""

from typing import Annotated

import typer

from whyperf.cli.commands import completion

ExperimentArgument = Annotated[
    str | None,
    typer.Argument(
        help="Result folder, or its name in results/. Default: the latest result.",
        autocompletion=completion.experiments,
    ),
]
"""The experiment that a command shows; `experiments.find_experiment` finds it."""
