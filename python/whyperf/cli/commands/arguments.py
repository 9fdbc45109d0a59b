"""Arguments that several commands take, in the same words."""

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, TypeVar

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
"""The option that `cluster.choice_of` asks for."""

BUDGET_S = 30
"""The time that a reader waits."""
BudgetOption = Annotated[float, typer.Option(min=2, max=3600, metavar="S", help="Seconds for experiments, at most.")]
"""The time that `whyperf why` may try; the answer may come earlier."""

AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow", help="Let experiments load the path to a far host with more than the load itself asks for."
    ),
]
"""Permission for what others who use the path might feel."""


GOAL = "rate"
"""The figure that is to be better unless somebody says otherwise."""
GoalOption = Annotated[
    str,
    typer.Option(
        metavar="GOAL",
        help="What experiments are to make better: rate, or a percentile of the latency of transactions, such as p50, "
        "p99 or p99.9.",
    ),
]
"""The goal that `whyperf why` asks about; `goals.asked_goal` reads it."""


R = TypeVar("R")


def with_arguments(more: Sequence[inspect.Parameter], *, behind: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Gives a function arguments that are data, behind one of its own; it gets them in its `**` arguments."""

    def decorate(of: Callable[..., R]) -> Callable[..., R]:
        parameters: list[inspect.Parameter] = []
        for each in inspect.signature(of).parameters.values():
            if each.kind is not each.VAR_KEYWORD:
                parameters += [each.replace(kind=each.KEYWORD_ONLY), *(more if each.name == behind else ())]
        vars(of)["__signature__"] = inspect.Signature(parameters)
        return of

    return decorate


def with_arguments_of(
    of: Callable[..., Any], left_out: Collection[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Gives a command the arguments of a function, but those `left_out`, before its own ones that are keywords alone.

    The command gets those of the function in its `**` arguments.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = inspect.signature(command).parameters.values()
        taken = [each for name, each in inspect.signature(of).parameters.items() if name not in left_out]
        parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in taken]
        parameters += [each for each in own if each.kind is each.KEYWORD_ONLY]
        signature = inspect.Signature(parameters, return_annotation=int)
        vars(command)["__signature__"] = signature
        command.__annotations__.clear()
        command.__annotations__.update({each.name: each.annotation for each in parameters} | {"return": int})
        return command

    return decorate
