"""Compares shares of CPU cycles by part of the network stack with those that Cai et al. published (SIGCOMM 2021).

Their figures are in `stack_overheads.csv`; which classes of cost each of their categories stands for is in
`stack_overheads.toml`.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from whyperf.analyze.cost.result import CellCost, Cost, SideCost
from whyperf.analyze.cost.stored_budget import has_samples, read_cost
from whyperf.analyze.text import percent, setting
from whyperf.record import Experiment, Trials
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.studies.published import FOLDER, HERE, STUDY, Row, read
from whyperf.report.table import Column, Entry, Table

PROFILE = "stack-overheads"
TABLE = "stack_overheads"
SIDES = ("sender", "receiver")
VARIED = ("gso", "mtu_bytes", "connections")

CONFIGURATIONS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "no-opts": ("No offloads", {"gso": False, "mtu_bytes": 1500, "connections": 1}),
    "tsogro": ("Offloads", {"gso": True, "mtu_bytes": 1500, "connections": 1}),
    "tsogro+jumbo": ("Offloads, MTU 9000", {"gso": True, "mtu_bytes": 9000, "connections": 1}),
}
"""Configurations of the study that the profile repeats: title, and the levels of the cell."""
WITH_STEERING = "all-opts"
"""The study's configuration with aRFS, which has no counterpart on the testbed."""

NOTE = (
    "Only the pattern compares. The study has an adapter. On the testbed both hosts share a machine, with half of its "
    "CPUs each. Locks: in the study all of their time; here only waiting for another CPU, the rest is their caller's. "
    "Cutting super-segments in software: in the study skb management, here netdevice subsystem."
)
HERE_NOTE = (
    "The study shows more flows as drawings, without figures, by patterns of cores: one-to-one, incast, outcast and "
    "all-to-all. Here all flows of a side share its CPUs."
)


@dataclass(frozen=True)
class Category:
    """A row: categories of the study, and the classes of cost that stand for them here."""

    title: str
    theirs: tuple[str, ...]
    classes: tuple[str, ...]

    def published(self, row: Row) -> float:
        """The study's share in percent; of the last row, what its categories leave of 100 %."""
        if self.theirs:
            return sum(float(row[name]) for name in self.theirs)
        return 100 - sum(float(value) for name, value in row.items() if name not in {"config", "side"})

    def share(self, side: SideCost) -> float:
        """The share of a side's total here."""
        return sum(entry.share for entry in side.classes if entry.name in self.classes)


@cache
def categories() -> tuple[Category, ...]:
    """All rows, in the order of the tables."""
    table = tomllib.loads((FOLDER / f"{TABLE}.toml").read_text(encoding="utf-8"))
    return tuple(Category(row["title"], tuple(row["theirs"]), tuple(row["classes"])) for row in table["row"])


def stack_overheads_section(experiment: Experiment, trials: Trials) -> Section | None:
    """The section; None for another profile, or without stack samples.

    Raises:
        RecordError: the record cannot be read.
    """
    if experiment.plan.profile != PROFILE or not has_samples(trials):
        return None
    return section_of(read_cost(experiment))


def section_of(cost: Cost) -> Section | None:
    """The section of this cost; None where no cell has any."""
    cells = [cell for cell in cost.cells if cell.sides]
    if not cells:
        return None
    source, published = read(TABLE)
    section = Section("study", "Comparison with the study")
    section.tables += [
        StudyTable(f"Share of CPU cycles with one flow, {side}", f"{NOTE} {source}", _compared(published, cells, side))
        for side in SIDES
    ]
    section.tables += [
        StudyTable(f"Share of CPU cycles in all cells, {side}", HERE_NOTE, _all_cells(cells, side)) for side in SIDES
    ]
    return section


def _compared(published: Sequence[Row], cells: Sequence[CellCost], side: str) -> Table:
    rows = {row["config"]: row for row in published if row["side"] == side}
    columns = [Column("Category", number=False)]
    for title, _ in CONFIGURATIONS.values():
        columns += [Column(f"{title}, {STUDY}"), Column(f"{title}, {HERE}")]
    columns.append(Column(f"Offloads, MTU 9000 and aRFS, {STUDY}"))
    return Table(tuple(columns), tuple(tuple(_row(category, rows, cells, side)) for category in categories()))


def _row(category: Category, rows: Mapping[str, Row], cells: Sequence[CellCost], side: str) -> Iterator[Entry]:
    yield Entry(category.title, category.title)
    for configuration, (_, levels) in CONFIGURATIONS.items():
        yield _ratio(category.published(rows[configuration]) / 100)
        yield _here(category, _side(cells, levels, side))
    yield _ratio(category.published(rows[WITH_STEERING]) / 100)


def _all_cells(cells: Sequence[CellCost], side: str) -> Table:
    columns = (Column("Setting", number=False), *(Column(category.title) for category in categories()))
    rows = [
        (
            Entry(text := setting(cell.factors, list(VARIED)), text),
            *(_here(category, found) for category in categories()),
        )
        for cell in cells
        if (found := _side([cell], {}, side)) is not None
    ]
    return Table(columns, tuple(rows))


def _side(cells: Sequence[CellCost], levels: Mapping[str, object], side: str) -> SideCost | None:
    """The side of the cell with all of these levels."""
    for cell in cells:
        if all(cell.factors.get(name) == level for name, level in levels.items()):
            return next((found for found in cell.sides if found.role == side), None)
    return None


def _here(category: Category, side: SideCost | None) -> Entry:
    return Entry("") if side is None else _ratio(category.share(side))


def _ratio(ratio: float) -> Entry:
    return Entry(percent(ratio), f"{ratio:.6g}")
