"""The plan of a ladder of experiments: the load as it was, and next to it each experiment, in blocks."""

from collections.abc import Sequence

from whyperf.explain.experiments.ladder import ORIGINAL
from whyperf.explain.experiments.lengths import Lengths
from whyperf.explain.experiments.tries import Planned
from whyperf.explain.setup import Setup
from whyperf.explain.verify.obstacles import Obstacle
from whyperf.explain.verify.question import plan_of, profile_of
from whyperf.plan import Cell, Plan
from whyperf.profile import Factors, Profile, ProfileError

NAME = "why"
BLOCKS = 24
"""More than a minute of experiments; the budget ends it before."""
COOLDOWN_S = 0.1
"""The measurement ends before any connection does; an interval has as much (profile/factors.py)."""

DRAIN_S = 0.1
"""Then connections are reset. What a short path holds has arrived by then, and a full queue has not."""


def question_of(
    asked: Profile, plan: Plan, cell: Cell, tries: Sequence[Planned], lengths: Lengths | None
) -> tuple[Profile, Plan]:
    """The profile and the plan of the experiments `tries` with a cell of the plan, in trials of these lengths.

    Raises:
        Obstacle: the load cannot be made again.
    """
    setup = Setup(cell.factors, plan.testbed.kind, workloads=asked.workloads, schedules=asked.schedules)
    short: Factors = {}
    if lengths is not None:
        short = {"warmup_s": lengths.warmup_s, "duration_s": lengths.duration_s, "cooldown_s": COOLDOWN_S}
        # What is under way when the measurement is over says nothing more: nobody waits for a full queue to empty.
        short["deadline_s"] = round(sum(float(each) for each in short.values()) + DRAIN_S, 3)
    try:
        cells = {ORIGINAL: setup.stated(short)}
        cells |= {each.name: setup.stated({**short, **each.factors}) for each in tries}
        profile = profile_of(
            asked,
            plan.model_copy(update={"pause_ms": 0}),
            cells,
            BLOCKS,
            name=NAME,
            about=f"Why {plan.experiment} is not faster.",
        )
        return profile, plan_of(profile, plan)
    except ProfileError as error:
        raise Obstacle("not_in_plan", place=error.key or error.where, problem=error.problem) from None
