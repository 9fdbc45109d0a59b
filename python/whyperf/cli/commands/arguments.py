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

WindowForOption = Annotated[
    str | None,
    typer.Option(
        "--window-for",
        metavar="RATE",
        help="Print the window that the latency of rr needs at this rate, such as 10G. Default: the path's rate, where "
        "it is known.",
    ),
]
"""The rate for which a window is computed; `formats.window_rate` reads it."""

ClusterOption = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        help="Dask workers that share the work: none, local, slurm or kubernetes (with :N for N workers), or the "
        "address of a scheduler, such as tls://host:8786.",
    ),
]
"""Where the work is done; `cluster.choice_of` reads it."""

WithoutKeysOption = Annotated[
    bool,
    typer.Option(
        "--cluster-without-keys",
        help="Accept a scheduler without keys (tcp://…, kubernetes): who reaches its port can run commands here.",
    ),
]
"""What `cluster.choice_of` asks for."""
