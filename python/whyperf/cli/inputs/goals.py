"""The goal of experiments, as `--goal` has it."""

from whyperf.cli.exits import UsageError
from whyperf.explain.experiments.goals import RATE, Goal, goal_of
from whyperf.plan import Plan


def asked_goal(text: str) -> Goal:
    """The goal of that name.

    Raises:
        UsageError: there is none.
    """
    try:
        return goal_of(text)
    except ValueError:
        raise UsageError(
            f"--goal {text}: name rate, or a percentile of the latency from the median on, such as p50, p99 or p99.9"
        ) from None


def refuse_goal(goal: Goal, plan: Plan) -> None:
    """Refuses a goal that the load of a plan does not have, before it is measured.

    Raises:
        UsageError: and why.
    """
    if goal == RATE:
        return
    from whyperf.explain.experiments.goals import Obstacle  # noqa: PLC0415 - most runs need none

    try:
        for cell in plan.cells:
            goal.refuse(plan, cell.id)
    except Obstacle as obstacle:
        raise UsageError(str(obstacle)) from None
