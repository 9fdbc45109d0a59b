"""`whyperf why`: find out what limits a load, by experiments."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whyperf.cli.commands import run
from whyperf.cli.commands.arguments import BUDGET_S, AllowOption, BudgetOption, with_arguments_of

if TYPE_CHECKING:
    from whyperf.record import Experiment

NAME = "why"
EXAMPLE = (
    "Examples: whyperf why · whyperf why host7 · whyperf why --rtt 20ms --rate 200M -w 64K · whyperf why rr host7 "
    "--goal p99 · whyperf why my.toml --json"
)
LEFT_OUT = frozenset(
    {"only", "scale", "why", "leave_out_missing", "trials", "profile_hz", "stages_one_in", "dry_run", "save_profile"}
    | {"retry_failed", "csv", "format_", "interval", "per_stream", "window_for", "rate_unit"}
)
"""Options of `run` that a single load with experiments has no use for."""
FIRST_LOOK_S = 2.0
"""Of the load before the experiments, where nobody asks for a time: a round trip of 100 ms settles within it."""


@with_arguments_of(run.order_of, LEFT_OUT)
def command(
    *,
    budget: BudgetOption = BUDGET_S,
    allow: AllowOption = False,
    **arguments: Any,
) -> int:
    """Finds out why a load is not faster: measures it, then changes one setting after the other for a second.

    What raises the rate again and again, or lowers the latency that --goal names, is proved to be the limit. No setting
    of a host stays changed.
    """
    order = run.order_of(**arguments)
    from whyperf.cli.workflows.measure import measure  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.workflows.why import show_why  # noqa: PLC0415 - as above

    has_time = {"duration_s", "transfer_bytes"} & order.overrides.keys()
    overrides = order.overrides if has_time else {**order.overrides, "duration_s": FIRST_LOOK_S}
    order = replace(order, overrides=overrides, trials=1, report=False)
    as_json = bool(arguments["json"])

    def answer(made: "Experiment") -> int:
        # The load is the user's own, also where no key can be kept that would seal the result.
        return show_why(made, budget, allows_harm=allow, as_json=as_json, may_contact=True, goal=order.goal)

    return measure(order, answer)
