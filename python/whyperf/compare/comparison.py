"""Contents of a comparison: the JSON of `whyperf compare --json`.

Fields are only ever added. The first result is `a`, the one compared with it `b`; a difference is b - a, a ratio b / a.
Rates are in bit/s, times in ns, costs in cycles for each unit of work: a KByte (1,024 bytes of payload), or a
transaction where the rate of both cells is in transactions. Null means not known.
"""

from typing import Literal

from whyperf.analyze.spread import FrozenModel

FORMAT = 1

NS = "ns"
"""The unit of costs on the model, which has no clock rate; others are kinds of cycles."""

Better = Literal["higher", "lower", "neither"]


class ComparedResult(FrozenModel):
    """A result that is compared. `label` is A, B, C, …; `cell` the only one that was asked for, null for all.

    `condition` is before or after where two conditions of one result are compared (`whyperf compare --run`).
    """

    label: str
    experiment: str
    folder: str
    cell: str | None
    condition: Literal["before", "after"] | None
    profile: str
    plan_id: str
    cells: int
    trials: int


class Condition(FrozenModel):
    """Something that differs between the results before any measurement: of a host, the plan, or the settings.

    `kind` is host, plan or setting; `name` what differs, `values` the value of each result in the order of the results
    (null where it has none).
    """

    kind: Literal["host", "plan", "setting"]
    name: str
    values: tuple[str | None, ...]


class ComparedHost(FrozenModel):
    """A host of a result, whether or not it differs: its kernel, and the drivers of its devices.

    `drivers` has each driver with its version and that of the firmware, and the devices that it drives. A driver
    without a version has that of the kernel. `link_bps` is the rate of the only device with a speed of its own; null
    where there is no such.
    """

    label: str
    host: str
    hostname: str
    kernel: str
    drivers: tuple[str, ...]
    link_bps: int | None = None


class DifferenceTest(FrozenModel):
    """A difference of two sets of trials: b - a, its 95 % interval, and whether it is significant.

    The interval and `p_value` are those of Student's t: paired by block where both cells were measured in the same
    blocks (`is_paired`), otherwise Welch's. Null where there are too few trials. `is_significant` is after the
    procedure of Benjamini and Hochberg over the rows of the whole comparison, at a false-discovery rate of 5 %.
    """

    difference: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    is_paired: bool = False
    is_significant: bool = False


class QuantityDifference(FrozenModel):
    """A figure of both cells: means over the trials, and their ratio with its 95 % interval.

    `unit` is bit/s, 1/s, ns, ratio, cycles/KByte, cycles/transaction, segments or packets. `ratio` is null where a mean
    is not positive; `test` is on logarithms where all values are positive (`is_ratio_tested`), otherwise on values.
    """

    name: str
    title: str
    unit: str
    better: Better
    a: float
    b: float
    trials_a: int
    trials_b: int
    ratio: float | None
    ratio_low: float | None = None
    ratio_high: float | None = None
    is_ratio_tested: bool
    test: DifferenceTest


class FunctionDifference(FrozenModel):
    """A function of a class or a side, in cycles for each unit of work.

    All names are null in the row of the small ones.

    `exclusive_ratio` and `inclusive_ratio` are b / a, null where a is 0: the ratio of study §3,
    normalized by goodput.
    """

    name: str | None
    kind: str | None
    object: str | None
    exclusive_a: float
    exclusive_b: float
    test: DifferenceTest
    exclusive_ratio: float | None
    inclusive_a: float | None
    inclusive_b: float | None
    inclusive_ratio: float | None
    samples_a: int
    samples_b: int


class ClassDifference(FrozenModel):
    """A class of cost, in cycles for each unit of work. `functions` add up to its difference.

    Where what the class does is counted in both (`per`), `count_a` and `count_b` are these events for each unit of
    work, `cycles_each_a` and `cycles_each_b` the cost of one. `by_count` and `by_unit_cost` are the difference split
    by the Shapley value of two factors: more events, or dearer ones. They add up to the difference.
    """

    name: str
    title: str
    a: float
    b: float
    ratio: float | None
    test: DifferenceTest
    per: str | None = None
    count_a: float | None = None
    count_b: float | None = None
    cycles_each_a: float | None = None
    cycles_each_b: float | None = None
    by_count: float | None = None
    by_unit_cost: float | None = None
    functions: tuple[FunctionDifference, ...]


class SideDifference(FrozenModel):
    """The cost of a side, in cycles of `unit` for each unit of `work`.

    `classes` add up to the difference of the totals, and so do `functions`, which a side has once each, whatever class
    its stacks belong to: the table of study §3.
    `refused` says why the two cannot be compared; then there are no classes.
    """

    role: str
    unit: str
    work: Literal["KByte", "transaction"]
    a: float
    b: float
    ratio: float | None
    test: DifferenceTest
    classes: tuple[ClassDifference, ...] = ()
    functions: tuple[FunctionDifference, ...] = ()
    refused: str | None = None

    @property
    def counted_in(self) -> str:
        """The word for its unit: cycles, or ns."""
        return self.unit if self.unit == NS else "cycles"


class StateDifference(FrozenModel):
    """Time of a side in a limit state, in ns for each KByte that a connection moves."""

    state: str
    a_ns: float
    b_ns: float


class BudgetDifference(FrozenModel):
    """Where the time of a connection went on a side, in ns for each KByte of payload.

    `states` add up to `a_ns` and `b_ns`: 8192e9 over the rate of the connection in bit/s, so a slower connection has
    more of them.
    """

    role: Literal["sender", "receiver"]
    a_ns: float
    b_ns: float
    states: tuple[StateDifference, ...]


class ComparedCell(FrozenModel):
    """A cell of a pair: which result has it, and its identifier there."""

    label: str
    cell: str


class CellPair(FrozenModel):
    """Two cells that are compared. `setting` are the factors by which they were paired; `differ` those that differ.

    `limited_a` and `limited_b` say in a sentence what limits each cell, null where that was not looked into. `notes`
    are sentences on what could not be compared.
    """

    a: ComparedCell
    b: ComparedCell
    limited_a: str | None = None
    limited_b: str | None = None
    setting: dict[str, object]
    differ: dict[str, tuple[object, object]]
    quantities: tuple[QuantityDifference, ...]
    sides: tuple[SideDifference, ...]
    budgets: tuple[BudgetDifference, ...]
    notes: tuple[str, ...] = ()


class Unpaired(FrozenModel):
    """A cell without a partner."""

    label: str
    cell: str
    setting: dict[str, object]


class Exceeded(FrozenModel):
    """A condition of `--fail-if` that holds: the pair by its cells, the row and its ratio or difference."""

    condition: str
    a: ComparedCell
    b: ComparedCell
    row: str
    value: float


class Comparison(FrozenModel):
    """A comparison of results. `tests` is how many differences were tested together, `significant` how many of them are
    significant at the false-discovery rate.
    """

    format: int = FORMAT
    results: tuple[ComparedResult, ...]
    conditions: tuple[Condition, ...]
    hosts: tuple[ComparedHost, ...] = ()
    pairs: tuple[CellPair, ...]
    unpaired: tuple[Unpaired, ...]
    false_discovery_rate: float
    tests: int
    significant: int
    exceeded: tuple[Exceeded, ...] = ()
    notes: tuple[str, ...] = ()
