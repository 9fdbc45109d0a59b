"""`whyperf run --dry-run`: the plan as it would be measured."""

import json
from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.cli.exits import DONE
from whyperf.cli.progress import cell_words, duration, shown
from whyperf.plan import Plan, estimate

#: Blocks whose order is printed in full.
SHOWN_BLOCKS = 1


def show(plan: Plan, *, as_json: bool) -> int:
    """Prints the plan; nothing is measured or written."""
    size = estimate(plan)
    if as_json:
        document = json.loads(plan.to_json()) | {"estimate": {"trials": size.trials, "seconds": round(size.seconds, 1)}}
        print(json.dumps(document, indent=1, ensure_ascii=False))  # noqa: T201
        return DONE
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"Plan {plan.id} of profile {plan.profile}, seed {plan.seed}, on {plan.target}")
    most = "at most " if plan.stop.interval_width is not None else ""
    logs = f", {plan.log_trials_count} of them with the segment log in blocks after these" if plan.log_blocks else ""
    console.print(
        f"Cells: {size.cells}; trials: {most}{size.trials} in {len(plan.blocks)} blocks{logs}; "
        f"time: {most}about {duration(size.seconds)}"
    )
    trials = Counter(trial.cell for trial in plan.trials())
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Cell", "Levels", "Trials"):
        table.add_column(heading, justify="right" if heading == "Trials" else "left", no_wrap=True)
    for cell in plan.cells:
        table.add_row(cell.id, cell_words(plan, cell.id) or "all fixed", str(trials[cell.id]))
    console.print(table)
    common = plan.cells[0].factors.items()
    fixed = [
        f"{name}={shown(level)}"
        for name, level in common
        if all(cell.factors.get(name) == level for cell in plan.cells)
    ]
    console.print(f"Fixed: {' '.join(fixed)}")
    for number, block in enumerate(plan.blocks[:SHOWN_BLOCKS], start=1):
        console.print(f"Order of block {number}: {' '.join(block)}")
    for warning in plan.warnings:
        console.print(warning)
    return DONE
