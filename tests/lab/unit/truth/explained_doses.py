"""A catalog with one cause in several doses, and cells of its plan as if they had been measured and explained."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lab.truth import Catalog, load_catalog, plan_truth
from lab.truth.grade import Grade, grade
from whyperf.explain.explanation import CellExplanation, Explanation, Verdict
from whyperf.plan import Plan

HELD_OUT = "held_out = [{ pacing_rate_bps = 1500000 }]\n"


def paced(*doses_mbps: int) -> str:
    """A catalog of one entry with these doses; text that follows belongs to the entry."""
    doses = ", ".join(f"{{ pacing_rate_bps = {dose * 10**6} }}" for dose in doses_mbps)
    return f"""
[baseline.veth]
about = "Both hosts on a veth pair."
[[entry]]
name = "paced"
causes = ["pacing_rate"]
baseline = "veth"
doses = [{doses}]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "catalog.toml"
    path.write_text(text)
    return path


def plan_of(folder: Path, text: str) -> tuple[Catalog, Plan, dict[str, str]]:
    """A catalog, its plan, and the cell of each role."""
    catalog = load_catalog(written(folder, text))
    _, plan = plan_truth(catalog)
    return catalog, plan, {cell.sweep: cell.id for cell in plan.cells}


def explained(cell: str, verdicts: Sequence[Verdict], **more: Any) -> CellExplanation:
    """A cell that has these verdicts and nothing else."""
    nothing: dict[str, Any] = {"trial": "log01", "rate_bps": 1e6, "dominant_state": None}
    nothing |= {"missing": [], "budgets": [], "patterns": [], "headline": "It is."}
    return CellExplanation(cell=cell, verdicts=list(verdicts), **nothing | more)


def together(cells: list[CellExplanation]) -> Explanation:
    return Explanation(experiment="truth", cells=cells, headline="It is.")


def graded(
    folder: Path,
    text: str,
    verdicts: Mapping[str, Sequence[Verdict]],
    rates: Mapping[str, float],
    more: Mapping[str, Any] = MappingProxyType({}),
) -> list[Grade]:
    """The grades of the roles with verdicts, for these measured rates; `more` has further fields of a cell, by role."""
    catalog, plan, cell_of = plan_of(folder, text)
    cells = [explained(cell_of[role], given, **more.get(role, {})) for role, given in verdicts.items()]
    return grade(catalog, plan, {cell_of[role]: rate for role, rate in rates.items()}, together(cells))
