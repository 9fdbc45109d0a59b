"""The cost budget of an experiment's cells as a document."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from whyperf.analyze.bootstrap import MIN_TRIALS, RESAMPLES
from whyperf.analyze.cost.budget import CPUS, SOFTIRQS, THREADS, trial_costs, weighed_stacks
from whyperf.analyze.cost.classes import by_name, classes
from whyperf.analyze.cost.events import COPIED_KBYTES, events_per_kbyte
from whyperf.analyze.cost.reports import sampling_notes, sampling_reports
from whyperf.analyze.cost.samples import NAME
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.spread import FrozenModel
from whyperf.analyze.trials import Measured, measure_trials

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_ALONE_RATIO = 0.98
"""A connection with at least this part of its program's payload has the program's CPU time to itself."""
MIN_SHARE = 0.001
"""Functions below this share of their side's cost are one row of their class."""
MAX_VALUES = 1_000_000
"""Costs by function and trial in a class at most: then fewer functions have a row. They take 32 MB, a float each."""


class Amount(FrozenModel):
    """Cycles per KByte or transaction: the mean over the trials, so that parts add up, and its 95 % interval.

    The interval is a percentile bootstrap over the trials; with two trials their range, with one null.
    """

    mean: float
    low: float | None = None
    high: float | None = None


class FunctionCost(FrozenModel):
    """A function within a class. `kind` and `object` as in the record; all are null in the row of the many small ones.

    `inclusive` counts what it calls, too, whatever class that has; null where it is no single function. The same in
    cycles per transaction is null where the workload counts none.
    """

    name: str | None
    kind: str | None
    object: str | None
    exclusive: Amount
    inclusive: float | None
    per_transaction: Amount | None
    inclusive_per_transaction: float | None
    samples: int
    by_trial: tuple[float, ...]


class ClassCost(FrozenModel):
    """A class of functions. `per`, `per_kbyte` and `cycles_each` are there where what it does is counted; where a
    setting spares the copy, `per_kbyte` is 0 and `cycles_each` null.

    `per_transaction` is its cost in cycles per transaction, null where the workload counts none. `in_threads` is the
    part of `exclusive` that the load's threads had; the rest is softirqs on top of anything else. Null with a PMU.
    """

    name: str
    title: str
    exclusive: Amount
    per_transaction: Amount | None
    share: float
    per: str | None
    per_kbyte: float | None
    cycles_each: float | None
    functions: tuple[FunctionCost, ...]
    by_trial: tuple[float, ...]
    in_threads: float | None = None


class SideCost(FrozenModel):
    """The cost of a side of a cell. `classes` add up to `total`, and each one's functions to the class.

    `in_threads` is the part of the load's threads, `in_softirqs` that of softirqs on top of anything else; both null
    with a PMU, which counts whole CPUs. `trials` names the trials, in the order of each `by_trial`. `per_transaction`
    is the total in cycles per transaction, null unless all trials count transactions; the classes add up to it.
    """

    role: str
    unit: str
    trials: tuple[str, ...]
    total: Amount
    by_trial: tuple[float, ...]
    in_threads: float | None
    in_softirqs: float | None
    per_transaction: Amount | None
    samples: int
    classes: tuple[ClassCost, ...]


class CellCost(FrozenModel):
    """A cell, and the metric of its result; `sides` is empty where none of its trials has samples."""

    id: str
    metric: str
    factors: dict[str, object]
    sides: tuple[SideCost, ...]


class Cost(FrozenModel):
    """The cost budget of an experiment. `notes` are sentences on what is missing."""

    experiment: str
    cells: tuple[CellCost, ...]
    notes: tuple[str, ...]


def cost_of(
    inputs: Inputs,
    manifests: Mapping[str, Mapping[str, Any]],
    tables: Mapping[str, pl.DataFrame],
    lacking: tuple[str, ...] = (),
) -> Cost:
    """The cost of all cells, from what the analysis reads, the manifests by trial, and the tables `stacks`, `functions`
    and `counters` over all trials. `lacking` are notes on tables that cannot be read."""
    measured = measure_trials(inputs)
    reports = sampling_reports(manifests)
    if reports.is_empty():
        return Cost(
            experiment=inputs.experiment,
            cells=tuple(_bare(cell) for cell in inputs.cells),
            notes=sampling_notes(manifests),
        )
    weighed = weighed_stacks(tables["stacks"], tables["functions"], reports, measured)
    exclusive, inclusive = trial_costs(weighed, measured)
    transactions = measured.transactions.filter(pl.col("transactions_count") > 0).select("trial", "transactions_count")
    events = events_per_kbyte(inputs, tables["counters"], measured)
    by_side = exclusive.partition_by("cell", "role", as_dict=True)
    inclusive_by_side = inclusive.partition_by("cell", "role", as_dict=True)

    def side(cell: str, role: str) -> SideCost | None:
        rows = by_side.get((cell, role))
        if rows is None or rows.is_empty():
            return None
        return _side(
            rows,
            inclusive_by_side.get((cell, role), inclusive.clear()),
            transactions,
            events.get((cell, role), {}),
            inputs.seed,
        )

    cells = []
    for cell in inputs.cells:
        sides = [side(cell.id, role) for role in ("sender", "receiver")]
        cells.append(_bare(cell).model_copy(update={"sides": tuple(found for found in sides if found is not None)}))
    notes = (*lacking, *sampling_notes(manifests), *_without_cycles(reports, measured), *_of_programs(inputs, measured))
    return Cost(experiment=inputs.experiment, cells=tuple(cells), notes=notes)


def _without_cycles(reports: pl.DataFrame, measured: Measured) -> Sequence[str]:
    """Hosts whose time is known and not in cycles, a sentence each."""
    is_without = pl.col("tsc_hz").is_null() & pl.col("pmu_cycles").is_null()
    found = measured.ends_cpu.filter(is_without).join(reports, on=("trial", "host"), how="semi")
    return [
        f"Samples of the {host} side have no cycles to split: its time stamp counter has no constant rate, and no PMU "
        "counts cycles."
        for host in sorted(found["host"].unique().to_list())
    ]


def _of_programs(inputs: Inputs, measured: Measured) -> Sequence[str]:
    """Notes on how the costs of watched programs are to be read, a sentence each."""
    if all(cell.watched is None for cell in inputs.cells):
        return ()
    notes = [
        "These are all CPU cycles of the program's threads while the connection was watched, whatever they were used "
        "for, and of all soft interrupts of the host.",
    ]
    if (measured.ends_cpu["payload_ratio"] < MIN_ALONE_RATIO).any():
        notes.append(
            "Of a program with several connections, or with payload in both directions, the cycles are divided among "
            "them by payload."
        )
    return notes


def _bare(cell: Any) -> CellCost:
    return CellCost(id=cell.id, metric=cell.metric, factors=cell.setting, sides=())


def _side(
    rows: pl.DataFrame, inclusive: pl.DataFrame, transactions: pl.DataFrame, events: Mapping[str, float], seed: int
) -> SideCost:
    trials = rows["trial"].unique().sort().to_list()
    draw = _Draw(trials, _kbytes_each(rows, transactions), seed)
    total = draw.by_trial(rows)
    mean = float(total.mean())
    by_class = rows.partition_by("class", as_dict=True)
    found = [
        _class(name, by_class[name,], draw, mean, events).model_copy(
            update={"functions": tuple(_functions(by_class[name,], draw, mean, inclusive))}
        )
        for name in (entry.name for entry in classes())
        if (name,) in by_class
    ]
    parts = {part[0]: draw.mean(of) for part, of in rows.partition_by("part", as_dict=True).items()}
    is_pmu = CPUS in parts
    return SideCost(
        role=rows["role"][0],
        unit=rows["unit"][0],
        trials=tuple(trials),
        total=draw.amount(total),
        by_trial=tuple(total.tolist()),
        in_threads=None if is_pmu else parts.get(THREADS, 0.0),
        in_softirqs=None if is_pmu else parts.get(SOFTIRQS, 0.0),
        per_transaction=draw.per_transaction(total),
        samples=int(rows["samples"].sum()),
        classes=tuple(sorted(found, key=lambda entry: -entry.exclusive.mean)),
    )


def _kbytes_each(rows: pl.DataFrame, transactions: pl.DataFrame) -> dict[str, float]:
    """KBytes per transaction of each trial that counts transactions."""
    payloads = rows.select("trial", "kbytes").unique("trial").join(transactions, on="trial", how="inner")
    return dict(payloads.select("trial", pl.col("kbytes") / pl.col("transactions_count")).iter_rows())


def _class(name: str, rows: pl.DataFrame, draw: "_Draw", side_mean: float, events: Mapping[str, float]) -> ClassCost:
    """The class without its functions."""
    entry = by_name()[name]
    values = draw.by_trial(rows)
    mean = float(values.mean())
    per_kbyte = events.get(entry.per) if entry.per is not None else None
    # What a setting spares is 0; of all else that is nothing to count.
    is_counted = bool(per_kbyte) or (entry.per == COPIED_KBYTES and per_kbyte is not None)
    return ClassCost(
        name=name,
        title=entry.title,
        exclusive=draw.amount(values),
        per_transaction=draw.per_transaction(values),
        share=mean / side_mean if side_mean > 0 else 0.0,
        per=entry.per if is_counted else None,
        per_kbyte=per_kbyte if is_counted else None,
        cycles_each=mean / per_kbyte if per_kbyte else None,
        functions=(),
        by_trial=tuple(values.tolist()),
        in_threads=None if rows["part"][0] == CPUS else draw.mean(rows.filter(pl.col("part") == THREADS)),
    )


def _functions(rows: pl.DataFrame, draw: "_Draw", side_mean: float, inclusive: pl.DataFrame) -> Sequence[FunctionCost]:
    """The functions of a class, the dearest first; the small ones, and what no function has, as the last row."""
    means = rows.drop_nulls("name").group_by(NAME).agg(pl.col("cost").sum() / draw.trials_count)
    # A frame for each of any number of functions takes seconds and gigabytes.
    most = min(round(1 / MIN_SHARE), max(1, MAX_VALUES // draw.trials_count))
    shown = means.filter(pl.col("cost") >= MIN_SHARE * side_mean).top_k(most, by="cost").select(NAME)
    small = rows.join(shown, on=NAME, how="anti", maintain_order="left")
    values = {key: draw.by_trial(of) for key, of in _by_name(inclusive, shown).items()}
    found = [
        _function((str(key[0]), str(key[1]), str(key[2])), of, draw, values.get(key))
        for key, of in _by_name(rows, shown).items()
    ]
    found.sort(key=lambda entry: -entry.exclusive.mean)
    return [*found, *([] if small.is_empty() else [_function((None, None, None), small, draw, None)])]


def _by_name(rows: pl.DataFrame, names: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    """The rows of each function of these names, in their order."""
    return rows.join(names, on=NAME, how="semi", maintain_order="left").partition_by(*NAME, as_dict=True)


def _function(
    name: tuple[str, str, str] | tuple[None, None, None],
    rows: pl.DataFrame,
    draw: "_Draw",
    inclusive: "NDArray[np.float64] | None",
) -> FunctionCost:
    values = draw.by_trial(rows)
    each = None if inclusive is None else draw.per_transaction(inclusive)
    return FunctionCost(
        name=name[0],
        kind=name[1],
        object=name[2],
        exclusive=draw.amount(values),
        inclusive=None if inclusive is None else float(inclusive.mean()),
        per_transaction=draw.per_transaction(values),
        inclusive_per_transaction=None if each is None else each.mean,
        samples=int(rows["samples"].sum() or 0),
        by_trial=tuple(values.tolist()),
    )


class _Draw:
    """Values by trial, and intervals of their mean: the same resamples for all parts of a side."""

    def __init__(self, trials: Sequence[str], kbytes_each: Mapping[str, float], seed: int) -> None:
        """`kbytes_each`: KBytes per transaction of each trial that counts transactions."""
        import numpy as np  # noqa: PLC0415 - printing a stored result needs none

        self._places = {trial: place for place, trial in enumerate(trials)}
        is_counted = all(trial in kbytes_each for trial in trials)
        self._kbytes_each = np.array([kbytes_each[trial] for trial in trials]) if is_counted else None
        count = len(trials)
        generator = np.random.default_rng(seed)
        self._drawn = generator.integers(0, count, size=(RESAMPLES, count)) if count >= MIN_TRIALS else None

    def by_trial(self, rows: pl.DataFrame) -> "NDArray[np.float64]":
        """The cost of these rows together in each trial, per KByte."""
        import numpy as np  # noqa: PLC0415 - as above

        values = np.zeros(len(self._places))
        for trial, cost in rows.group_by("trial").agg(pl.col("cost").sum()).iter_rows():
            values[self._places[trial]] = cost
        return values

    @property
    def trials_count(self) -> int:
        """The number of trials."""
        return len(self._places)

    def mean(self, rows: pl.DataFrame) -> float:
        """The mean over the trials of the cost of these rows together, per KByte."""
        return float(rows["cost"].sum()) / self.trials_count

    def amount(self, values: "NDArray[np.float64]") -> Amount:
        """Their mean with its interval."""
        import numpy as np  # noqa: PLC0415 - as above

        mean = float(values.mean())
        if len(values) < 2:
            return Amount(mean=mean)
        if self._drawn is None:
            return Amount(mean=mean, low=float(values.min()), high=float(values.max()))
        low, high = np.quantile(values[self._drawn].mean(axis=1), (0.025, 0.975))
        return Amount(mean=mean, low=float(low), high=float(high))

    def per_transaction(self, values: "NDArray[np.float64]") -> Amount | None:
        """The same of costs per KByte in cycles per transaction; None unless all trials count transactions."""
        return None if self._kbytes_each is None else self.amount(values * self._kbytes_each)
