"""`whyperf model calibrate`: what a step costs on this host, so that the model can stand for it."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "calibrate"
EXAMPLE = (
    "Examples: whyperf model calibrate · whyperf model calibrate --out my-host.toml --trials 5 · "
    "whyperf model calibrate --steps · whyperf model simulate quick --hosts my-host.toml --what-if window=256k"
)
#: Generations of the search: where its loss no longer falls much.
GENERATIONS = 40


def command(  # noqa: PLR0917 - the command line
    grid: Annotated[
        str | None,
        typer.Argument(
            metavar="RESULT|PROFILE",
            help="An existing result that varies window and write size, or a profile to measure one with. "
            "Default: profile calibration.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="File for the calibrated host.")] = Path("calibrated.toml"),
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with all figures to this file.")] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Only time the steps and print them.")] = False,
    rounds: Annotated[int, typer.Option(min=3, max=1000, help="Number of times that each step is timed.")] = 15,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials per cell of the grid.")] = None,
    base: Annotated[str, typer.Option("--hosts", help="Host of the model to start from.")] = "linux-6.18+veth",
    generations: Annotated[
        int, typer.Option(min=1, max=1000, help="Generations of the search for the best fit.")
    ] = GENERATIONS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search and of the held-out points.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Fits the costs of the model to this host: times single steps, and measures a grid of windows and write sizes."""
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.workflows.calibrate import Wanted, calibrate  # noqa: PLC0415

    return calibrate(
        Wanted(
            grid=grid,
            out=out,
            html=html,
            steps_only=steps,
            rounds=rounds,
            trials=trials,
            base=base,
            generations=generations,
            seed=seed,
            as_json=json,
        )
    )
