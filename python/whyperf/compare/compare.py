"""Compares results: cells of the first with those of each other one, or the two conditions of one result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.text import factor_name
from whyperf.compare.budgets import budget_differences
from whyperf.compare.comparison import (
    CellPair,
    ComparedCell,
    ComparedResult,
    Comparison,
    DifferenceTest,
    FunctionDifference,
    QuantityDifference,
    SideDifference,
    Unpaired,
)
from whyperf.compare.conditions import conditions_between, hosts_of
from whyperf.compare.costs import ROLES, side_difference
from whyperf.compare.difference import FALSE_DISCOVERY_RATE, Sample, differences_of, significant
from whyperf.compare.limits import Limit, exceeded
from whyperf.compare.pairing import Pairing, has_conditions, levels_of, paired, paired_conditions
from whyperf.compare.quantities import QUANTITIES, Quantity
from whyperf.compare.source import Source
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.store import read_explanation
from whyperf.plan import Cell
from whyperf.profile.conditions import AFTER, BEFORE
from whyperf.record import RecordError

MAX_DETAILED = 4
"""Pairs whose cells are explained for the comparison; of more, only what `whyperf explain` has kept is used."""


MIN_TESTED_RATIO = 0.01
"""Functions below this part of their side in both cells are not tested."""

_CONDITIONS: Mapping[str, Literal["before", "after"]] = {BEFORE: "before", AFTER: "after"}


class CompareError(Exception):
    """Something that cannot be compared at all, in a sentence."""


def compare_sources(
    sources: Sequence[Source], limits: Sequence[Limit] = (), *, always_details: bool = True, explains: bool = True
) -> Comparison:
    """The comparison of the first result with each other one; of a single one, that of its two conditions.

    Args:
        sources: results in the order A, B, C, …
        limits: conditions of `--fail-if`.
        always_details: with functions, and what limits each cell, also of more than `MAX_DETAILED` pairs.
        explains: with what limits each cell, and its time budget.

    Raises:
        CompareError: nothing can be compared, and why.
        RecordError: a record cannot be read.
    """
    sources = _conditions(sources[0]) if len(sources) == 1 else sources
    pairings = [(sources[0], other, _paired(sources[0], other)) for other in sources[1:]]
    if not any(pairing.pairs for _, _, pairing in pairings):
        raise CompareError(_no_pair(sources, pairings[0][2]))
    count = sum(len(pairing.pairs) for _, _, pairing in pairings)
    has_details = always_details or count <= MAX_DETAILED
    explained = _Explained(sources, may_explain=count <= MAX_DETAILED, may_read=has_details and explains)
    pairs = [
        _Comparing(a, b, pairing.by, explained, has_details=has_details).pair(*cells)
        for a, b, pairing in pairings
        for cells in pairing.pairs
    ]
    if not any(pair.quantities for pair in pairs):
        raise CompareError(_nothing_measured(sources))
    pairs, tests, significant_count = _with_significance(pairs)
    return Comparison(
        results=tuple(_result(source) for source in sources),
        conditions=conditions_between(sources),
        hosts=tuple(hosts_of(sources)),
        pairs=tuple(pairs),
        unpaired=tuple(_unpaired(pairings)),
        false_discovery_rate=FALSE_DISCOVERY_RATE,
        tests=tests,
        significant=significant_count,
        exceeded=exceeded(limits, pairs),
        notes=tuple(_notes(sources, pairs)),
    )


def _nothing_measured(sources: Sequence[Source]) -> str:
    """Why there is no figure in both results of any pair."""
    for source in sources:
        if not any(source.values(cell.id) for cell in source.cells):
            planned, made = source.experiment.plan.trials_count, len(source.trials.manifests)
            return (
                f"{source.experiment.name} has no finished trial with a result ({made} of {planned} trials ran); wait "
                "until it has some, or resume it"
            )
    return "the cells that belong together have no figure that both have"


def _conditions(source: Source) -> tuple[Source, Source]:
    """The two conditions of a result.

    Raises:
        CompareError: it has none.
    """
    if not has_conditions(source.experiment.plan):
        name, cells = source.experiment.name, source.experiment.plan.cells
        example, asked = "", name
        if source.cell is not None:
            other = next((cell.id for cell in cells if cell.id != source.cell), None)
            asked = f"{name}:{source.cell}"
            example = "" if other is None else f", or another cell such as {name}:{other}"
        elif len(cells) > 1:
            example = f", or two cells such as {name}:{cells[0].id} {name}:{cells[-1].id}"
        raise CompareError(
            f"{asked} alone has nothing to be compared with; name a second result{example}, or measure two conditions "
            "with `whyperf compare --run`"
        )
    return replace(source, label="A", sweeps=BEFORE), replace(source, label="B", sweeps=AFTER)


def _paired(a: Source, b: Source) -> Pairing:
    varied = dict.fromkeys((*a.experiment.plan.varied, *b.experiment.plan.varied))
    if a.sweeps:
        return paired_conditions(a.cells, b.cells, tuple(varied))
    # What only the sweeps of a result differ in is not in its list of varied factors.
    for source in (a, b):
        names = dict.fromkeys(name for cell in source.cells for name in cell.factors)
        varied |= {name: None for name in names if len({repr(cell.factors.get(name)) for cell in source.cells}) > 1}
    return paired(a.cells, b.cells, tuple(varied))


def _no_pair(sources: Sequence[Source], pairing: Pairing) -> str:
    a, b = sources[0], sources[1]
    by = f"the same {', '.join(map(factor_name, pairing.by))}" if pairing.by else "a partner"
    example = f"{a.experiment.name}:{a.cells[0].id} {b.experiment.name}:{b.cells[0].id}"
    return f"no cell of {a.experiment.name} has {by} as one of {b.experiment.name}; name two cells, such as {example}"


def _result(source: Source) -> ComparedResult:
    plan = source.experiment.plan
    return ComparedResult(
        label=source.label,
        experiment=source.experiment.name,
        folder=str(source.experiment.folder),
        cell=source.cell,
        condition=_CONDITIONS.get(source.sweeps),
        profile=plan.profile,
        plan_id=plan.id,
        cells=len(source.cells),
        trials=sum(len(source.values(cell.id).get("goodput", ())) for cell in source.cells),
    )


def _unpaired(pairings: Sequence[tuple[Source, Source, Pairing]]) -> Iterator[Unpaired]:
    for a, b, pairing in pairings:
        for source, cells in ((a, pairing.only_a), (b, pairing.only_b)):
            for cell in cells:
                levels = levels_of(source.experiment.plan.cell(cell))
                setting: dict[str, object] = {name: levels[name] for name in pairing.by if name in levels}
                yield Unpaired(label=source.label, cell=cell, setting=setting)


def _notes(sources: Sequence[Source], pairs: Sequence[CellPair]) -> Iterator[str]:
    for source in sources:
        plan = source.experiment.plan
        made = len(source.trials.manifests)
        # A stop rule may end before all are made.
        if made < plan.trials_count and plan.stop.interval_width is None and not source.sweeps:
            yield (
                f"{source.label} has {made} of {plan.trials_count} planned trials: it is still being measured, or was "
                "stopped. What it has is compared."
            )
        for note in source.result.notes:
            yield f"{source.label}: {note}"
    folders = {source.experiment.folder for source in sources}
    if any(source.experiment.plan.watched is not None for source in sources):
        yield (
            "Connections of other programs were watched, each once. What the programs did, and whatever changed on the "
            "hosts in between, counts as a difference, and nothing can be tested."
        )
        return
    # The model gives the same at any time.
    if len(folders) > 1 and any(source.experiment.plan.testbed.kind != "model" for source in sources):
        yield (
            "The results were measured one after the other, so whatever changed on the hosts in between counts as a "
            "difference. `whyperf compare --run` measures both in turn."
        )
    if any(row.test.p_value is None for pair in pairs for row in pair.quantities):
        yield "A cell with one trial has no interval, and nothing can be tested: measure with --trials 6 or more."


class _Explained:
    """The limits of cells, of a result's kept explanation, or explained now where there are few pairs."""

    def __init__(self, sources: Sequence[Source], *, may_explain: bool, may_read: bool) -> None:
        self._sources = {source.label: source for source in sources}
        self._may_explain = may_explain
        self._may_read = may_read
        self._kept: dict[str, dict[str, CellExplanation]] = {}

    def of(self, label: str, cell: str) -> CellExplanation | None:
        """The explanation of a cell; None where there is none, or where it takes too long."""
        if not self._may_read:
            return None
        if label not in self._kept:
            kept = read_explanation(self._sources[label].experiment)
            self._kept[label] = {} if kept is None else {found.cell: found for found in kept.cells}
        known = self._kept[label]
        if cell not in known and self._may_explain:
            source = self._sources[label]
            cells = source.experiment.plan.cells
            rates, transactions = (
                {planned.id: _median(source.values(planned.id).get(name, {})) for planned in cells}
                for name in ("goodput", "transactions")
            )
            counted = {name: rate for name, rate in transactions.items() if rate is not None}
            # As `whyperf explain` does it.
            found = explain_experiment(source.experiment, cells=[cell], rates=rates, transactions=counted).cells
            known |= {explained.cell: explained for explained in found}
        return known.get(cell)


def _median(by_trial: Mapping[str, float]) -> float | None:
    return float(np.median(list(by_trial.values()))) if by_trial else None


@dataclass
class _Comparing:
    """Compares the cells of two results."""

    a: Source
    b: Source
    by: tuple[str, ...]
    explained: _Explained
    has_details: bool
    notes: list[str] = field(default_factory=list)

    def pair(self, cell_a: str, cell_b: str) -> CellPair:
        """The comparison of a cell of each."""
        self.notes = list(self._works(cell_a, cell_b))
        # In one result, cells were measured in the same blocks.
        are_blocked = self.a.experiment.folder == self.b.experiment.folder and cell_a != cell_b
        cells = self.a.experiment.plan.cell(cell_a), self.b.experiment.plan.cell(cell_b)
        factors = _compared(*cells)
        differ: dict[str, tuple[object, object]] = {
            name: (factors[0].get(name), factors[1].get(name))
            for name in dict.fromkeys((*factors[0], *factors[1]))
            if factors[0].get(name) != factors[1].get(name)
        }
        quantities = tuple(self._quantities(cell_a, cell_b, are_blocked=are_blocked))
        sides = tuple(self._sides(cell_a, cell_b, are_blocked=are_blocked))
        why = self._why(cell_a, cell_b)
        return CellPair(
            a=ComparedCell(label=self.a.label, cell=cell_a),
            b=ComparedCell(label=self.b.label, cell=cell_b),
            limited_a=None if why[0] is None else why[0].headline,
            limited_b=None if why[1] is None else why[1].headline,
            setting={name: level for name, level in levels_of(cells[0]).items() if name in self.by},
            differ=differ,
            quantities=quantities,
            sides=sides,
            budgets=() if why[0] is None or why[1] is None else budget_differences(why[0], why[1]),
            notes=tuple(self.notes),
        )

    def _works(self, cell_a: str, cell_b: str) -> Iterator[str]:
        """A sentence where both cells do different work."""
        cells = self.a.experiment.plan.cell(cell_a), self.b.experiment.plan.cell(cell_b)
        if any(cell.watched is not None for cell in cells):
            return
        names = [str(cell.factors.get("workload", "stream")) for cell in cells]
        if names[0] != names[1]:
            yield (
                f"The workloads differ ({names[0]} and {names[1]}), so a KByte or a transaction is not the same work "
                "in both. Their costs hardly compare."
            )

    def _why(self, cell_a: str, cell_b: str) -> tuple[CellExplanation | None, CellExplanation | None]:
        try:
            return self.explained.of(self.a.label, cell_a), self.explained.of(self.b.label, cell_b)
        except RecordError as error:
            self.notes.append(f"Not explained: {error}.")
            return None, None

    def _quantities(self, cell_a: str, cell_b: str, *, are_blocked: bool) -> Iterator[QuantityDifference]:
        found = [source.values(cell) for source, cell in ((self.a, cell_a), (self.b, cell_b))]
        for source, cell, values in ((self.a, cell_a, found[0]), (self.b, cell_b, found[1])):
            if not values.get("goodput"):
                self.notes.append(f"Cell {cell} of {source.label} has no complete trial.")
        units = self.a.result.figures.cycles_unit.get(cell_a), self.b.result.figures.cycles_unit.get(cell_b)
        for name, quantity in QUANTITIES.items():
            if not found[0].get(name) or not found[1].get(name):
                continue
            if "cycles" in name and units[0] != units[1]:
                if name == "cycles_sender":
                    self.notes.append(f"Cycles are not compared: {units[0]} and {units[1]} are not of the same kind.")
                continue
            bins = (
                max(self.a.result.figures.bin_ratio, self.b.result.figures.bin_ratio) if quantity.unit == "ns" else 0.0
            )
            yield self._quantity(quantity, found[0][name], found[1][name], bins, are_blocked=are_blocked)

    def _quantity(
        self, quantity: Quantity, a: Mapping[str, float], b: Mapping[str, float], bins: float, *, are_blocked: bool
    ) -> QuantityDifference:
        values = self._shared(a, b) if are_blocked else (np.array(list(a.values())), np.array(list(b.values())))
        is_paired = are_blocked and len(values[0]) > 0
        if not is_paired:
            values = np.array(list(a.values())), np.array(list(b.values()))
        means = float(values[0].mean()), float(values[1].mean())
        is_positive = bool((values[0] > 0).all() and (values[1] > 0).all())
        # A value lies anywhere within its bin: the variance of the uniform distribution.
        floor = np.array([bins**2 / 12])
        if is_positive:
            logs = [Sample(np.log(side)[None, :], floor) for side in values]
            of_logs = differences_of(logs[0], logs[1], is_paired=is_paired)[0]
            ratio, low, high = (
                None if value is None else float(np.exp(value))
                for value in (of_logs.difference, of_logs.low, of_logs.high)
            )
            test = of_logs.model_copy(update={"difference": means[1] - means[0], "low": None, "high": None})
        else:
            plain = [Sample(side[None, :], np.zeros(1)) for side in values]
            test = differences_of(plain[0], plain[1], is_paired=is_paired)[0]
            ratio = means[1] / means[0] if means[0] > 0 and means[1] >= 0 else None
            low = high = None
        return QuantityDifference(
            name=quantity.name,
            title=quantity.title,
            unit=quantity.unit,
            better=quantity.better,
            a=means[0],
            b=means[1],
            trials_a=len(values[0]),
            trials_b=len(values[1]),
            ratio=ratio,
            ratio_low=low,
            ratio_high=high,
            is_ratio_tested=is_positive,
            test=test,
        )

    def _shared(
        self, a: Mapping[str, float], b: Mapping[str, float]
    ) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """The values of the blocks that both have, in the same order."""
        by_block = [
            {source.result.blocks[trial]: value for trial, value in side.items()}
            for source, side in ((self.a, a), (self.b, b))
        ]
        common = sorted(by_block[0].keys() & by_block[1].keys())
        first, second = (np.array([side[block] for block in common]) for side in by_block)
        return first, second

    def _sides(self, cell_a: str, cell_b: str, *, are_blocked: bool) -> Iterator[SideDifference]:
        tables_a, tables_b = self.a.result.costs, self.b.result.costs
        if tables_a is None and tables_b is None:
            return
        for source, tables in ((self.a, tables_a), (self.b, tables_b)):
            if tables is None:
                lacking = "stack samples; measure with --evidence profile"
                if source.experiment.plan.testbed.kind == "model":
                    lacking = "stage times; simulate a profile with stage_trials in [design]"
                self.notes.append(f"Costs are not compared: {source.label} has no {lacking}.")
        if tables_a is None or tables_b is None:
            return
        for role in ROLES:
            a, b = tables_a.get((cell_a, role)), tables_b.get((cell_b, role))
            if a is None or b is None:
                if a is not b:
                    lacking = self.a.label if a is None else self.b.label
                    self.notes.append(f"The cost of the {role} is not compared: {lacking} has no samples of it.")
                continue
            has_common = (
                are_blocked
                and len(
                    {self.a.result.blocks[trial] for trial in a.trials}
                    & {self.b.result.blocks[trial] for trial in b.trials}
                )
                > 0
            )
            yield side_difference(
                role,
                a,
                b,
                (self.a.result.blocks, self.b.result.blocks) if has_common else None,
                has_functions=self.has_details,
            )


def _compared(a: Cell, b: Cell) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Parts of two cells that may differ: factors, or what names their connections. Of a watched program no setting is
    known that could be compared with a factor.
    """
    if a.watched is None and b.watched is None:
        return a.factors, b.factors
    if a.watched is None or b.watched is None:
        return {}, {}
    names = {"program", "local", "remote", "direction"}
    return a.watched.model_dump(include=names), b.watched.model_dump(include=names)


def _with_significance(pairs: Sequence[CellPair]) -> tuple[list[CellPair], int, int]:
    """The pairs with what is significant, how many differences were tested together, and how many are significant.

    First all figures, totals and classes are tested together, then the functions of the classes that differ
    (D. Yekutieli, "Hierarchical false discovery rate-controlling methodology", J. Am. Statist. Assoc. 103 (2008)
    309-316).
    """
    first = [test.p_value for pair in pairs for test in _first_tests(pair)]
    marks = iter(significant(first))
    marked = [_marked(pair, marks) for pair in pairs]
    second = [
        function.test.p_value if _is_large(function, side) else None
        for pair in marked
        for side in pair.sides
        for functions in _tested_functions(side)
        for function in functions
    ]
    marks_of_functions = iter(significant(second))
    marked = [_marked_functions(pair, marks_of_functions) for pair in marked]
    count = sum(test.is_significant for pair in marked for test in _first_tests(pair))
    return marked, sum(value is not None for value in first), count


def _first_tests(pair: CellPair) -> Iterator[DifferenceTest]:
    for quantity in pair.quantities:
        yield quantity.test
    for side in pair.sides:
        if side.refused is None:
            yield side.test
            for entry in side.classes:
                yield entry.test


def _marked(pair: CellPair, marks: Iterator[bool]) -> CellPair:
    def marked(test: DifferenceTest) -> DifferenceTest:
        return test.model_copy(update={"is_significant": next(marks)})

    quantities = tuple(entry.model_copy(update={"test": marked(entry.test)}) for entry in pair.quantities)
    sides = []
    for side in pair.sides:
        if side.refused is not None:
            sides.append(side)
            continue
        test = marked(side.test)
        classes = tuple(entry.model_copy(update={"test": marked(entry.test)}) for entry in side.classes)
        sides.append(side.model_copy(update={"test": test, "classes": classes}))
    return pair.model_copy(update={"quantities": quantities, "sides": tuple(sides)})


def _is_large(function: FunctionDifference, side: SideDifference) -> bool:
    """True if a function has a part of its side that is worth a test: each one more makes the others less certain."""
    return max(function.exclusive_a, function.exclusive_b) >= MIN_TESTED_RATIO * max(side.a, side.b)


def _tested_functions(side: SideDifference) -> Iterator[tuple[FunctionDifference, ...]]:
    """Functions that are tested: of the classes that differ, and of the side if any does."""
    found = [entry.functions for entry in side.classes if entry.test.is_significant]
    yield from found
    if found or side.test.is_significant:
        yield side.functions


def _marked_functions(pair: CellPair, marks: Iterator[bool]) -> CellPair:
    """The pair with the marks of the functions, in the order of `_tested_functions`."""

    def marked(functions: tuple[FunctionDifference, ...]) -> tuple[FunctionDifference, ...]:
        return tuple(
            entry.model_copy(update={"test": entry.test.model_copy(update={"is_significant": next(marks)})})
            for entry in functions
        )

    sides = []
    for side in pair.sides:
        classes = tuple(
            entry.model_copy(update={"functions": marked(entry.functions)}) if entry.test.is_significant else entry
            for entry in side.classes
        )
        is_tested = side.test.is_significant or any(entry.test.is_significant for entry in side.classes)
        functions = marked(side.functions) if is_tested else side.functions
        sides.append(side.model_copy(update={"classes": classes, "functions": functions}))
    return pair.model_copy(update={"sides": tuple(sides)})
