"""It sums: classes add up to the total of each side, functions to each class, and little is not attributed."""

from collections.abc import Iterator

from lab.bench.cost.experiment import Setting, measured, planned, profile_of
from lab.bench.row import Row
from whyperf.analyze.cost.classes import NOT_ATTRIBUTED
from whyperf.analyze.cost.result import CellCost, SideCost
from whyperf.analyze.cost.stored_budget import read_cost

PROFILE = """
[fixed]
duration_s = 2
warmup_s = 0.5
cooldown_s = 0.05
[[sweep]]
name = "stream"
[sweep.factors]
write_size_bytes = [1024, 131072]
connections = [1, 10]
[[sweep]]
name = "rr"
[sweep.fixed]
workload = "rr"
"""

MAX_NOT_ATTRIBUTED = 0.03
ROUNDING = 1e-9
"""Sums of floating-point numbers; the parts themselves are exact."""


def run(setting: Setting) -> list[Row]:
    """Measures and checks all cells."""
    profile = profile_of(PROFILE, "sums")
    plan = planned(profile, setting.of(5, 1))
    cost = read_cost(measured(plan, profile, setting.folder / "sums"))
    sides = [(cell, side) for cell in cost.cells for side in cell.sides]
    if len(sides) != 2 * len(plan.cells):
        raise LookupError(f"{len(sides)} of {2 * len(plan.cells)} sides have samples")
    rows = []
    for name, title in (("classes", "classes add up to the total"), ("functions", "functions add up to the class")):
        worst = max(error for _, side in sides for kind, error in sum_errors(side) if kind == name)
        rows.append(
            Row("sums", title, "off by 0", f"{worst:.1e} of the total", worst <= ROUNDING, values={"worst": worst})
        )
    rows += [_attributed(cell, side) for cell, side in sides if cell.factors["workload"] == "stream"]
    return rows


def sum_errors(side: SideCost) -> Iterator[tuple[str, float]]:
    """The errors of sums, relative to the total of the side, in the means and in each trial."""
    total = side.total.mean
    yield "classes", abs(sum(entry.exclusive.mean for entry in side.classes) - total) / total
    for place, value in enumerate(side.by_trial):
        yield "classes", abs(sum(entry.by_trial[place] for entry in side.classes) - value) / value
    for entry in side.classes:
        yield "functions", abs(sum(row.exclusive.mean for row in entry.functions) - entry.exclusive.mean) / total
        for place, value in enumerate(entry.by_trial):
            yield "functions", abs(sum(row.by_trial[place] for row in entry.functions) - value) / total


def not_attributed(side: SideCost) -> float:
    """The part of the total that no class has."""
    return next((entry.share for entry in side.classes if entry.name == NOT_ATTRIBUTED), 0.0)


def _attributed(cell: CellCost, side: SideCost) -> Row:
    share = not_attributed(side)
    name = (
        f"not attributed, writes of {cell.factors['write_size_bytes']} bytes, "
        f"{cell.factors['connections']} connections, {side.role}"
    )
    asked = f"≤ {MAX_NOT_ATTRIBUTED:.0%}"
    return Row("sums", name, asked, f"{share:.2%}", share <= MAX_NOT_ATTRIBUTED, values={"share": share})
