"""The difference of two cost budgets: by side, class and function, so that the parts add up.

Where what a class does is counted, its cost is a count times a unit cost, and the difference splits by the Shapley
value of two factors (L. S. Shapley, "A value for n-person games", 1953): of Δ(n·c), the count has Δn times the mean of
both unit costs, and the unit cost Δc times the mean of both counts. Nothing is left over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.cost.budget import TrialCosts
from whyperf.analyze.cost.classes import BPF, KERNEL, OWN_BPF, PROGRAM, base_name, by_name
from whyperf.analyze.cost.stored_budget import SampledCosts
from whyperf.compare.comparison import NS, ClassDifference, DifferenceTest, FunctionDifference, SideDifference
from whyperf.compare.difference import Sample, differences_of

MIN_RATIO = 0.001
"""Functions that cost less than this part of their side in both cells are one row of their class."""

MAX_VALUES = 10_000_000
"""Values of functions and trials of a side at most: each takes 24 bytes, and more than that has no real program."""

_VALUES_OF_NAME = 50
"""The room that the name of a function takes, in values: some texts and tuples of Python, of 50 to 100 bytes each."""

ROLES = ("sender", "receiver")

Floats = NDArray[np.float64]
Key = tuple[str, str, str]
"""The key by which a function is known in both results: name, kind, object."""
Row = tuple[str, Key | None]
"""A class and a function of it, None where the time belongs to none."""


@dataclass(frozen=True)
class CostTable:
    """The cost of a side of a cell: rows of classes and functions, columns of trials, in cycles per KByte.

    `rows` are class and function (None where it is none) of each row of `costs` and `samples`; `inclusive` has the
    cost of each function with all that it calls, by trial. `per_kbyte` are the events of the side. `kbytes_each` are
    the KBytes of a transaction in each trial, None where the rate of the cell is not in transactions.
    """

    unit: str
    trials: tuple[str, ...]
    rows: Mapping[Row, int]
    costs: Floats
    samples: Floats
    inclusive: Mapping[Key, Floats]
    per_kbyte: Mapping[str, float]
    kbytes_each: Floats | None

    def per_transaction(self) -> "CostTable":
        """The same in cycles per transaction."""
        assert self.kbytes_each is not None
        each = self.kbytes_each
        return replace(
            self,
            costs=self.costs * each,
            inclusive={key: values * each for key, values in self.inclusive.items()},
            per_kbyte={event: count * float(each.mean()) for event, count in self.per_kbyte.items()},
        )

    def of_trials(self, columns: Sequence[int]) -> "CostTable":
        """The same of some trials, in this order."""
        return replace(
            self,
            trials=tuple(self.trials[column] for column in columns),
            costs=self.costs[:, columns],
            samples=self.samples[:, columns],
            inclusive={key: values[columns] for key, values in self.inclusive.items()},
            kbytes_each=None if self.kbytes_each is None else self.kbytes_each[columns],
        )

    @property
    def sample_cost(self) -> float:
        """Cost per KByte of a single sample in a trial; 0 on the model, whose times are no samples."""
        if self.unit == NS:
            return 0.0
        samples = float(self.samples.sum())
        return float(self.costs.sum()) / samples if samples else 0.0


def cost_tables(
    costs: SampledCosts, kbytes_each: Mapping[str, float]
) -> tuple[dict[tuple[str, str], CostTable], tuple[str, ...]]:
    """The cost of each side of each cell, by cell and role; and a sentence for each side whose functions are too many,
    of which only the classes are there.

    `kbytes_each` are the KBytes of a transaction by trial, of the cells whose rate is in transactions.
    """
    trials, notes = _bounded(costs.trials)
    exclusive = _named(trials.exclusive).with_columns(pl.col("samples").fill_null(0))
    inclusive = _named(trials.inclusive)
    sums = exclusive.group_by("cell", "role", "unit", "trial", "class", *_NAME).agg(pl.col("cost", "samples").sum())
    callers = inclusive.group_by("cell", "role", "trial", *_NAME).agg(pl.col("cost").sum())
    with_callees = callers.partition_by("cell", "role", as_dict=True)
    tables = {
        (str(cell), str(role)): _table(
            rows, with_callees.get((cell, role)), costs.events.get((str(cell), str(role)), {}), kbytes_each
        )
        for (cell, role), rows in sums.partition_by("cell", "role", as_dict=True).items()
    }
    return tables, notes


_SIDE = ("cell", "role")
_NAME = ("name", "kind", "object")


def _bounded(trials: TrialCosts) -> tuple[TrialCosts, tuple[str, ...]]:
    """The rows without the functions of sides that have too many, and a sentence for each of these sides."""
    names = pl.concat([rows.select(*_SIDE, *_NAME) for rows in trials]).unique()
    sides = (
        names.group_by(_SIDE)
        .agg(pl.len().cast(pl.Int64).alias("functions"))
        .join(trials.exclusive.group_by(_SIDE).agg(pl.col("trial").n_unique().alias("trials")), on=_SIDE)
    )
    values = pl.col("functions") * (pl.col("trials") + _VALUES_OF_NAME)
    wide = sides.filter(values > MAX_VALUES).sort(_SIDE)
    if wide.is_empty():
        return trials, ()
    nameless = trials.exclusive.join(wide, on=_SIDE, how="semi").with_columns(
        pl.lit(None, pl.String).alias(column) for column in _NAME
    )
    exclusive, inclusive = (rows.join(wide, on=_SIDE, how="anti", maintain_order="left") for rows in trials)
    notes = [
        f"The functions of the {role} of cell {cell} are not compared, because there are {functions:,}."
        for cell, role, functions, _ in wide.iter_rows()
    ]
    return TrialCosts(pl.concat([exclusive, nameless]), inclusive), tuple(notes)


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with names that another kernel, or another build of a program, has too."""
    names = rows.select(_NAME).unique()
    common = [common_name(*name) for name in names.iter_rows()]
    table = names.with_columns(
        pl.Series(f"common_{column}", [None if name is None else name[place] for name in common], dtype=pl.String)
        for place, column in enumerate(_NAME)
    )
    return (
        rows.join(table, on=_NAME, how="left", nulls_equal=True)
        .drop(_NAME)
        .rename({f"common_{column}": column for column in _NAME})
    )


def common_name(name: str | None, kind: str | None, object_: str | None) -> Key | None:
    """The name without what a compiler appends, a BPF program's tag, or the folder of a program."""
    if name is None:
        return None
    if kind in {BPF, OWN_BPF}:
        return (name.removeprefix("bpf_prog_").partition("_")[2] or name, kind, "")
    if kind == PROGRAM:
        return (name, kind, PurePath(object_ or "").name)
    return (base_name(name) if kind == KERNEL else name, kind or "", object_ or "")


def _table(
    rows: pl.DataFrame,
    inclusive: pl.DataFrame | None,
    events: Mapping[str, float],
    kbytes_each: Mapping[str, float],
) -> CostTable:
    trials = tuple(rows["trial"].unique().sort())
    columns = {trial: place for place, trial in enumerate(trials)}
    places: dict[Row, int] = {}
    found = []
    for trial, name, function, kind, object_, cost, samples in rows.select(
        "trial", "class", *_NAME, "cost", "samples"
    ).iter_rows():
        key = None if function is None else (function, kind, object_)
        row = places.setdefault((name, key), len(places))
        found.append((row, columns[trial], cost, samples))
    costs, counts = np.zeros((len(places), len(trials))), np.zeros((len(places), len(trials)))
    for row, column, cost, samples in found:
        costs[row, column] += cost
        counts[row, column] += samples
    with_callees: dict[Key, Floats] = {}
    if inclusive is not None:
        for trial, function, kind, object_, cost in inclusive.select("trial", *_NAME, "cost").iter_rows():
            # A trial whose samples stand for no cycles has no exclusive rows.
            if function is not None and trial in columns:
                of_trials = with_callees.setdefault((function, kind, object_), np.zeros(len(trials)))
                of_trials[columns[trial]] += cost
    each = np.array([kbytes_each[trial] for trial in trials]) if kbytes_each.keys() >= set(trials) else None
    return CostTable(str(rows["unit"][0]), trials, places, costs, counts, with_callees, events, each)


def side_difference(
    role: str,
    a: CostTable,
    b: CostTable,
    blocks: Sequence[Mapping[str, int]] | None,
    *,
    has_functions: bool = True,
) -> SideDifference:
    """The difference of a side of two cells.

    `blocks` are those of the trials of both, where they were measured in the same blocks. Without `has_functions` there
    are only classes.
    """
    if blocks is not None:
        a, b = _shared(a, b, blocks)
    is_paired = blocks is not None
    work: Literal["KByte", "transaction"] = "KByte"
    if a.kbytes_each is not None and b.kbytes_each is not None:
        a, b, work = a.per_transaction(), b.per_transaction(), "transaction"
    mean_a, mean_b = float(a.costs.sum(axis=0).mean()), float(b.costs.sum(axis=0).mean())
    if a.unit != b.unit:
        return SideDifference(
            role=role,
            unit=a.unit,
            work=work,
            a=mean_a,
            b=mean_b,
            ratio=None,
            test=DifferenceTest(difference=0.0),
            refused=f"{a.unit} and {b.unit} are no cycles of the same kind",
        )
    merged = _Merged(a, b, is_paired=is_paired)
    total = merged.test([list(merged.rows)])[0]
    smallest = MIN_RATIO * max(mean_a, mean_b) if has_functions else None
    found = merged.classes(smallest)
    return SideDifference(
        role=role,
        unit=a.unit,
        work=work,
        a=mean_a,
        b=mean_b,
        ratio=_ratio(mean_a, mean_b),
        test=total,
        classes=tuple(sorted(found, key=lambda entry: -abs(entry.test.difference))),
        functions=() if smallest is None else merged.functions(list(merged.rows), smallest),
    )


def _shared(a: CostTable, b: CostTable, blocks: Sequence[Mapping[str, int]]) -> tuple[CostTable, CostTable]:
    """Both with the trials of the blocks that both have, in the same order."""
    places = [
        {of[trial]: place for place, trial in enumerate(table.trials)} for table, of in zip((a, b), blocks, strict=True)
    ]
    common = sorted(places[0].keys() & places[1].keys())

    first, second = (
        table.of_trials([place[block] for block in common]) for table, place in zip((a, b), places, strict=True)
    )
    return first, second


class _Merged:
    """The rows of both tables together."""

    def __init__(self, a: CostTable, b: CostTable, *, is_paired: bool) -> None:
        self._tables = (a, b)
        self._is_paired = is_paired
        self.rows = dict.fromkeys((*a.rows, *b.rows))

    def classes(self, smallest: float | None) -> list[ClassDifference]:
        """All classes, with their functions of at least `smallest`, or with none."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row[0], []).append(row)
        names = list(groups)
        tests = self.test([groups[name] for name in names])
        return [self._class(name, groups[name], test, smallest) for name, test in zip(names, tests, strict=True)]

    def test(self, groups: Sequence[Sequence[Row]]) -> list[DifferenceTest]:
        """The difference of the sum of each group of rows."""
        a, b = (self._sample(table, groups) for table in self._tables)
        return differences_of(a, b, is_paired=self._is_paired)

    def _sample(self, table: CostTable, groups: Sequence[Sequence[Row]]) -> Sample:
        values = self._sums(table, table.costs, groups)
        counts = self._sums(table, table.samples, groups).mean(axis=1)
        # The number of samples is random, with the variance of Poisson's distribution; none may stand for one.
        return Sample(values, (counts + 1) * table.sample_cost**2)

    def _sums(self, table: CostTable, of: Floats, groups: Sequence[Sequence[Row]]) -> Floats:
        sums = np.zeros((len(groups), len(table.trials)))
        for place, group in enumerate(groups):
            present = [table.rows[row] for row in group if row in table.rows]
            if present:
                sums[place] = of[present].sum(axis=0)
        return sums

    def _class(self, name: str, rows: Sequence[Row], test: DifferenceTest, smallest: float | None) -> ClassDifference:
        a, b = (float(self._sums(table, table.costs, [rows]).mean()) for table in self._tables)
        entry = by_name()[name]
        found = ClassDifference(
            name=name,
            title=entry.title,
            a=a,
            b=b,
            ratio=_ratio(a, b),
            test=test,
            functions=() if smallest is None else self.functions(rows, smallest),
        )
        counts = [table.per_kbyte.get(entry.per) if entry.per else None for table in self._tables]
        return found if None in counts or 0 in counts else found.model_copy(update=split(a, b, str(entry.per), counts))

    def functions(self, rows: Sequence[Row], smallest: float) -> tuple[FunctionDifference, ...]:
        """The functions of these rows, each once; those below `smallest` in both, and what is none, are the last."""
        by_key: dict[Key | None, list[Row]] = {}
        for row in rows:
            by_key.setdefault(row[1], []).append(row)
        groups = list(by_key.items())
        means = [self._sums(table, table.costs, [of for _, of in groups]).mean(axis=1) for table in self._tables]
        is_large = (np.maximum(*means) >= smallest).tolist()
        shown: list[tuple[Key | None, list[Row]]] = [
            (key, of) for (key, of), large in zip(groups, is_large, strict=True) if large and key is not None
        ]
        small = [
            row for (key, of), large in zip(groups, is_large, strict=True) if not large or key is None for row in of
        ]
        if small:
            shown.append((None, small))
        tests = self.test([of for _, of in shown])
        found = [self._function(of, key, test) for (key, of), test in zip(shown, tests, strict=True)]
        return tuple(sorted(found, key=lambda entry: (entry.name is None, -abs(entry.test.difference))))

    def _function(self, rows: Sequence[Row], key: Key | None, test: DifferenceTest) -> FunctionDifference:
        a, b = (float(self._sums(table, table.costs, [rows]).mean()) for table in self._tables)
        samples = [int(self._sums(table, table.samples, [rows]).sum()) for table in self._tables]
        inclusive: list[float | None] = [None, None]
        if key is not None:
            inclusive = [float(table.inclusive.get(key, np.zeros(1)).mean()) for table in self._tables]
        return FunctionDifference(
            name=key and key[0],
            kind=key and key[1],
            object=key and key[2],
            exclusive_a=a,
            exclusive_b=b,
            test=test,
            exclusive_ratio=_ratio(a, b),
            inclusive_a=inclusive[0],
            inclusive_b=inclusive[1],
            inclusive_ratio=None
            if inclusive[0] is None or inclusive[1] is None
            else _ratio(inclusive[0], inclusive[1]),
            samples_a=samples[0],
            samples_b=samples[1],
        )


def split(a: float, b: float, per: str, counts: Sequence[float | None]) -> dict[str, object]:
    """The fields of a class whose events are counted: `counts` for each unit of work in both cells, neither 0."""
    count_a, count_b = float(counts[0] or 0), float(counts[1] or 0)
    each_a, each_b = a / count_a, b / count_b
    return {
        "per": per,
        "count_a": count_a,
        "count_b": count_b,
        "cycles_each_a": each_a,
        "cycles_each_b": each_b,
        "by_count": (count_b - count_a) * (each_a + each_b) / 2,
        "by_unit_cost": (each_b - each_a) * (count_a + count_b) / 2,
    }


def _ratio(a: float, b: float) -> float | None:
    return b / a if a > 0 else None
