"""`whyperf calibrate`: what a step costs on this host, so that the model can stand for it."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "calibrate"
EXAMPLE = (
    "Examples: whyperf calibrate · whyperf calibrate --out my-host.toml --trials 5 · "
    "whyperf calibrate --steps · whyperf simulate quick --hosts my-host.toml --what-if window=256k"
)
#: Generations of the search: where its loss no longer falls much.
GENERATIONS = 40


def command(  # noqa: PLR0917 - the command line
    grid: Annotated[
        str | None,
        typer.Argument(
            metavar="RESULT|PROFILE",
            help="A result over windows and write sizes that is there already, or a profile to measure one with; "
            "the profile calibration without.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The calibrated host.")] = Path("calibrated.toml"),
    html: Annotated[Path | None, typer.Option("--html", help="Writes a page with all figures to this file.")] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Only times the steps and prints them.")] = False,
    rounds: Annotated[int, typer.Option(min=3, max=1000, help="How often each step is timed.")] = 15,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials of every cell of the grid.")] = None,
    base: Annotated[str, typer.Option("--hosts", help="The host of the model to calibrate.")] = "linux-6.18+veth",
    generations: Annotated[int, typer.Option(min=1, max=1000, help="How long the fit searches.")] = GENERATIONS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search, and of what is held out.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Times single steps and a grid of windows and write sizes here, and fits the costs of the model to them."""
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
