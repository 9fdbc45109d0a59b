"""Compares the cost of functions with many connections and with few with the study of the transmit path (uperf, 2008).

The study divides each function's share of the CPU time by the rate, and then the result with 4000 connections and
writes of 8 KB by that with 100 connections and writes of 64 KB. Cycles per KByte are the same quantity.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.cost.result import CellCost
from whyperf.analyze.cost.stored_budget import has_samples, read_cost, read_trees
from whyperf.analyze.cost.tree import Frame
from whyperf.analyze.text import percent, significant
from whyperf.record import Experiment, Trials
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.studies.published import HERE, STUDY, Row, read
from whyperf.report.table import Column, Entry, Table

PROFILE = "transmit-cost"
MANY: Mapping[str, object] = {"connections": 4000, "write_size_bytes": 8192}
FEW: Mapping[str, object] = {"connections": 100, "write_size_bytes": 65_536}
"""The runs that the study divides: run A by run B."""

COUNTERPARTS: Mapping[str, tuple[str, ...]] = {
    "write()": ("tcp_sendmsg",),
    "tcp_wput_data()": ("tcp_write_xmit", "__tcp_transmit_skb"),
    "driver transmit (myri10ge)": ("dev_hard_start_xmit", "veth_xmit"),
    "tcp_rput_data()": ("tcp_v4_rcv", "tcp_ack"),
}
"""The functions of Linux that do the work of the study's; both are listed."""

ROUNDING = 1e-9
"""An own cost below this part of the cost with callees is an error of rounding."""

NOTE = (
    "Cost of the sender in cycles per KByte, each function with all that it calls, with many connections (run A: "
    "4,000, writes of 8 KB) and with few (run B: 100, writes of 64 KB). The ratio is A divided by B; the study "
    "normalizes its shares of CPU time by the rate, which is the same quantity. Own: without what the function "
    "calls. A function that the compiler built into its caller has no row of its own in the samples."
)


@dataclass(frozen=True)
class FunctionCost:
    """Cycles per KByte of a function: with all that it calls, and its own; `ratio` is its part of the side's total."""

    inclusive: float
    own: float
    ratio: float


def function_costs_section(experiment: Experiment, trials: Trials) -> Section | None:
    """The section; None for another profile, or without stack samples of both runs.

    Raises:
        RecordError: the record cannot be read.
    """
    if experiment.plan.profile != PROFILE or not has_samples(trials):
        return None
    cells = [cell for cell in read_cost(experiment).cells if cell.sides]
    runs = [_cell(cells, levels) for levels in (MANY, FEW)]
    chosen = [cell for cell in runs if cell is not None]
    if len(chosen) < len(runs):
        return None
    trees = read_trees(experiment, chosen)
    sides = [trees.get((cell.id, "sender")) for cell in chosen]
    many, few = sides
    if many is None or few is None:
        return None
    source, rows = read("uperf_function_cost")
    section = Section("functions", "Functions next to the study")
    table = functions_table(rows, many, few)
    section.tables.append(StudyTable("Cost of functions, many connections against few", f"{NOTE} {source}", table))
    return section


def functions_table(rows: Sequence[Row], many: Frame, few: Frame) -> Table:
    """The study's functions with their counterparts; costs are of these two trees of a sender."""
    columns = (
        Column(f"Function, {STUDY}", number=False),
        Column(f"A, {STUDY}"),
        Column(f"B, {STUDY}"),
        Column(f"Ratio, {STUDY}"),
        Column(f"Function, {HERE}", number=False),
        Column(f"A, {HERE}"),
        Column(f"B, {HERE}"),
        Column(f"Ratio, {HERE}"),
        Column(f"Ratio of own cost, {HERE}"),
        Column(f"A, share {HERE}"),
        Column(f"B, share {HERE}"),
    )
    found = []
    for row in rows:
        for name in COUNTERPARTS[row["function"]]:
            a, b = (cost_of_function(tree, name) for tree in (many, few))
            is_first = name == COUNTERPARTS[row["function"]][0]
            found.append((*_published(row, is_first=is_first), Entry(name, name), *_here(a, b)))
    return Table(columns, tuple(found))


def cost_of_function(tree: Frame, name: str) -> FunctionCost | None:
    """The cost of the functions of this name in a tree; None without samples. One that calls itself counts once."""
    places = list(_places(tree, name, is_inside=False))
    if not places:
        return None
    outer = sum(frame.value for frame, is_inside in places if not is_inside)
    own = sum(frame.value - sum(child.value for child in frame.children) for frame, _ in places)
    # What sums of other order leave of nothing is nothing.
    own = 0.0 if own < ROUNDING * outer else own
    return FunctionCost(outer, own, outer / tree.value if tree.value else 0.0)


def _places(frame: Frame, name: str, *, is_inside: bool) -> Iterable[tuple[Frame, bool]]:
    """The frames of this name, and whether one is inside another."""
    # The compiler's copies of a function have its name with a suffix, such as `.isra.0`.
    is_it = frame.name.partition(".")[0] == name
    if is_it:
        yield frame, is_inside
    for child in frame.children:
        yield from _places(child, name, is_inside=is_inside or is_it)


def _published(row: Row, *, is_first: bool) -> tuple[Entry, ...]:
    if not is_first:
        return (Entry(row["function"], row["function"]), Entry(""), Entry(""), Entry(""))
    return (
        Entry(row["function"], row["function"]),
        *(Entry(f"{row[name]} %", row[name]) for name in ("run_a_percent", "run_b_percent")),
        Entry(row["normalized_ratio"], row["normalized_ratio"]),
    )


def _here(many: FunctionCost | None, few: FunctionCost | None) -> tuple[Entry, ...]:
    def quotient(of: Callable[[FunctionCost], float]) -> float | None:
        return of(many) / of(few) if many is not None and few is not None and of(few) > 0 else None

    return (
        *(Entry.of_number(None if run is None else run.inclusive, significant) for run in (many, few)),
        Entry.of_number(quotient(lambda cost: cost.inclusive), significant),
        Entry.of_number(quotient(lambda cost: cost.own), significant),
        *(Entry.of_number(None if run is None else run.ratio, percent) for run in (many, few)),
    )


def _cell(cells: Sequence[CellCost], levels: Mapping[str, object]) -> CellCost | None:
    return next((cell for cell in cells if all(cell.factors.get(name) == levels[name] for name in levels)), None)
