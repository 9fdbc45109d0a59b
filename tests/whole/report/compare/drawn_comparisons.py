"""Comparisons made by hand, for tests of the page."""

from collections.abc import Sequence

from whyperf.analyze.cost.classes import by_name
from whyperf.compare.comparison import (
    BudgetDifference,
    CellPair,
    ClassDifference,
    ComparedCell,
    ComparedResult,
    Comparison,
    Condition,
    DifferenceTest,
    FunctionDifference,
    QuantityDifference,
    SideDifference,
    StateDifference,
)
from whyperf.compare.costs import split
from whyperf.compare.quantities import QUANTITIES


def difference_test(difference: float, *, is_significant: bool = False, width: float = 1.0) -> DifferenceTest:
    return DifferenceTest(
        difference=difference,
        low=difference - width,
        high=difference + width,
        p_value=0.001 if is_significant else 0.4,
        is_significant=is_significant,
    )


def figure(name: str, a: float, b: float, *, is_significant: bool = False) -> QuantityDifference:
    known = QUANTITIES[name]
    ratio = b / a if a > 0 else None
    return QuantityDifference(
        name=name,
        title=known.title,
        unit=known.unit,
        better=known.better,
        a=a,
        b=b,
        trials_a=6,
        trials_b=6,
        ratio=ratio,
        ratio_low=ratio and ratio * 0.9,
        ratio_high=ratio and ratio * 1.1,
        is_ratio_tested=ratio is not None,
        test=difference_test(b - a, is_significant=is_significant),
    )


def function(name: str, a: float, b: float, *, is_significant: bool = False) -> FunctionDifference:
    return FunctionDifference(
        name=name,
        kind="kernel",
        object="",
        exclusive_a=a,
        exclusive_b=b,
        test=difference_test(b - a, is_significant=is_significant),
        exclusive_ratio=b / a if a > 0 else None,
        inclusive_a=2 * a,
        inclusive_b=2 * b,
        inclusive_ratio=b / a if a > 0 else None,
        samples_a=int(10 * a),
        samples_b=int(10 * b),
    )


def cost_class(
    name: str,
    functions: Sequence[FunctionDifference],
    *,
    is_significant: bool = False,
    counts: tuple[float, float] | None = None,
) -> ClassDifference:
    a, b = sum(entry.exclusive_a for entry in functions), sum(entry.exclusive_b for entry in functions)
    entry = by_name()[name]
    found = ClassDifference(
        name=name,
        title=entry.title,
        a=a,
        b=b,
        ratio=b / a if a > 0 else None,
        test=difference_test(b - a, is_significant=is_significant),
        functions=tuple(functions),
    )
    return found if counts is None else found.model_copy(update=split(a, b, str(entry.per), counts))


def side(role: str, classes: Sequence[ClassDifference], *, refused: str | None = None) -> SideDifference:
    a, b = sum(entry.a for entry in classes), sum(entry.b for entry in classes)
    return SideDifference(
        role=role,
        unit="TSC cycles",
        work="KByte",
        a=a,
        b=b,
        ratio=b / a if a > 0 else None,
        test=difference_test(b - a, is_significant=True),
        classes=() if refused else tuple(sorted(classes, key=lambda entry: -abs(entry.test.difference))),
        functions=() if refused else tuple(function for entry in classes for function in entry.functions),
        refused=refused,
    )


def sender(factor: float = 1.0) -> SideDifference:
    """A sender for which copying became cheaper, transmitting dearer because of more packets, and locks are new."""
    return side(
        "sender",
        [
            cost_class(
                "transmit",
                [
                    function("__tcp_transmit_skb", 60, 180 * factor, is_significant=True),
                    function("tcp_write_xmit", 40, 90 * factor),
                ],
                is_significant=True,
                counts=(0.02, 0.1),
            ),
            cost_class("copy", [function("_copy_from_iter", 300, 240)], is_significant=True),
            cost_class("contention", [function("native_queued_spin_lock_slowpath", 0, 12)]),
            cost_class("memory", [function("kfree", 30, 31)]),
        ],
    )


def budgets() -> tuple[BudgetDifference, ...]:
    states = (
        StateDifference(state="write_call", a_ns=600, b_ns=500),
        StateDifference(state="congestion_window", a_ns=219, b_ns=500),
        StateDifference(state="other", a_ns=100, b_ns=24),
    )
    return (BudgetDifference(role="sender", a_ns=919, b_ns=1024, states=states),)


def cell_pair(
    number: int = 1,
    *,
    b: str = "B",
    factor: float = 1.0,
    sides: Sequence[SideDifference] | None = None,
    setting: dict[str, object] | None = None,
) -> CellPair:
    figures = (
        figure("goodput", 9e9, 9e9 / factor, is_significant=factor != 1.0),
        figure("cycles_sender", 430, 553 * factor, is_significant=True),
        figure("load_cpu_sender", 0.5, 0.6),
        figure("retransmitted", 0.0, 0.001),
    )
    return CellPair(
        a=ComparedCell(label="A", cell=f"c{number:04d}"),
        b=ComparedCell(label=b, cell=f"c{number:04d}"),
        limited_a="The sender's CPU limits the rate.",
        limited_b="The congestion window limits the rate.",
        setting=setting if setting is not None else {"write_size_bytes": 1024 * number},
        differ={"gso": (True, False)},
        quantities=figures,
        sides=tuple(sides) if sides is not None else (sender(factor),),
        budgets=budgets(),
    )


def result(label: str, name: str = "quick") -> ComparedResult:
    return ComparedResult(
        label=label,
        experiment=f"{name}-{label.lower()}",
        folder=f"results/{name}-{label.lower()}",
        cell=None,
        condition=None,
        profile=name,
        plan_id="0123456789ab",
        cells=1,
        trials=6,
    )


def comparison(*pairs: CellPair, labels: str = "AB", name: str = "quick") -> Comparison:
    return Comparison(
        results=tuple(result(label, name) for label in labels),
        conditions=(Condition(kind="host", name="kernel", values=tuple(f"6.{place}" for place in range(len(labels)))),),
        pairs=pairs,
        unpaired=(),
        false_discovery_rate=0.05,
        tests=40,
        significant=6,
        notes=("The results were measured one after the other.",),
    )
