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

ClusterOption = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        help="Dask workers that share the work: none, local, slurm or kubernetes (with :N for N workers), or the "
        "address of a scheduler, such as tcp://host:8786.",
    ),
]
"""Where the work is done; `cluster.choice_of` reads it."""
