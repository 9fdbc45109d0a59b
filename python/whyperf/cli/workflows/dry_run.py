"""`whyperf run --dry-run`: the plan as it would be measured."""

import json
from collections import Counter

from rich import box
from rich.table import Table

from whyperf.analyze.text import count
from whyperf.cli.durations import duration
from whyperf.cli.exits import DONE
from whyperf.cli.live.progress import cell_words, shown
from whyperf.cli.output.console import Console
from whyperf.cli.streams import print_json, print_text
from whyperf.plan import Plan, estimate

#: Blocks whose order is printed in full.
SHOWN_BLOCKS = 1
#: Pairs of hosts that are named.
SHOWN_PAIRS = 5


def show(plan: Plan, *, as_json: bool) -> int:
    """Prints the plan; nothing is measured or written."""
    size = estimate(plan)
    if as_json:
        about = {
            "trials": size.trials,
            "log_trials": plan.log_trials_count,
            "stage_trials": plan.stage_trials_count,
            "seconds": round(size.seconds, 1),
        }
        document = json.loads(plan.to_json()) | {"estimate": about}
        print_json(document)
        return DONE
    print_text(f"Plan {plan.id} of profile {plan.profile}, seed {plan.seed}, on {plan.target}")
    if plan.fleet is not None or len(plan.pairs) > 1:
        print_text(f"Pairs: {_pairs(plan)}")
    most = "at most " if plan.stop.interval_width is not None else ""
    blocks = f"{len(plan.blocks)} block{'' if len(plan.blocks) == 1 else 's'}"
    logs = f", then {plan.log_trials_count} with the segment log" if plan.log_blocks else ""
    logs += f", then {plan.stage_trials_count} with stage times" if plan.stage_blocks else ""
    print_text(
        f"Cells: {size.cells}; trials: {most}{plan.measured_trials_count} in {blocks}{logs}; time: "
        f"{most}about {duration(size.seconds)}; evidence: {plan.evidence or 'user'}"
    )
    trials = Counter((trial.cell, trial.is_log) for trial in plan.trials() if trial.stages is None)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    longest = max(len(cell.id) for cell in plan.cells)
    numbers = ("Trials", "Logs") if plan.log_blocks else ("Trials",)
    for heading in ("Cell", "Levels", *numbers):
        # A narrow terminal folds the levels; a cell's name is what other commands are given, and stays whole.
        if heading == "Levels":
            table.add_column(heading, overflow="fold")
        else:
            least = longest if heading == "Cell" else len(heading)
            table.add_column(heading, justify="right" if heading in numbers else "left", no_wrap=True, min_width=least)
    for cell in plan.cells:
        counts = [str(trials[cell.id, is_log]) for is_log in (False, True)][: len(numbers)]
        table.add_row(cell.id, cell_words(plan, cell.id) or "all fixed", *counts)
    Console(highlight=False, markup=False, soft_wrap=True).print(table)
    common = plan.cells[0].factors.items()
    fixed = [
        f"{name}={shown(level)}"
        for name, level in common
        if all(cell.factors.get(name) == level for cell in plan.cells)
    ]
    print_text(f"Fixed: {' '.join(fixed)}", len("Fixed: "))
    for number, block in enumerate(plan.blocks[:SHOWN_BLOCKS], start=1):
        print_text(f"Order of block {number}: {' '.join(block)}")
    for warning in plan.warnings:
        print_text(warning)
    return DONE


def _pairs(plan: Plan) -> str:
    """The number of pairs of hosts, and the first of them by name."""
    fleet, pairs = plan.fleet, plan.pairs
    number = count(len(pairs), "pair")
    if fleet is not None:
        hosts = len({name for pair in pairs for name in pair})
        number = f"{fleet.pattern}, {number} of {count(hosts, 'host')} by {fleet.via}"
    parts = plan.far_parts if fleet is None else fleet.parts
    named = [f"{pair.near} → {pair.far}" for pair in pairs[:SHOWN_PAIRS]]
    if parts:
        named = [f"{name} ({', '.join(part) or 'nothing'})" for name, part in zip(named, parts, strict=False)]
    more = len(pairs) - len(named)
    return f"{number}: {', '.join(named)}" + (f" and {more:,} more" if more else "")
