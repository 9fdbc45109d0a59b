"""The difference of two cost budgets adds up, whatever the tables hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.analyze.cost.budget import TrialCosts
from whyperf.analyze.cost.stored_budget import SampledCosts
from whyperf.compare.costs import _VALUES_OF_NAME, CostTable, cost_tables, side_difference, split

NAMES = (None, "tcp_ack", "tcp_sendmsg", "skb_clone", "memcpy")
CLASSES = ("copy", "transmit", "acks", "memory")
Rows = dict[tuple[str, str | None], list[float]]


def table(
    rows: Mapping[tuple[str, str | None], list[float]],
    *,
    unit: str = "TSC reference cycles",
    per_kbyte: Mapping[str, float] | None = None,
    kbytes_each: Any = None,
    samples: float = 100.0,
) -> CostTable:
    keys = [(name, None if function is None else (function, "kernel", "")) for name, function in rows]
    costs = np.array(list(rows.values()), dtype=float)
    trials = tuple(f"{place:03d}-c0001" for place in range(1, costs.shape[1] + 1))
    each = None if kbytes_each is None else np.array(kbytes_each, dtype=float)
    inclusive = {key[1]: costs[place] * 2 for place, key in enumerate(keys) if key[1] is not None}
    places = {key: place for place, key in enumerate(keys)}
    return CostTable(unit, trials, places, costs, np.full_like(costs, samples), inclusive, per_kbyte or {}, each)


def tables(trials: int = 3) -> st.SearchStrategy[CostTable]:
    cost = st.floats(0, 1000)
    return st.dictionaries(
        st.tuples(st.sampled_from(CLASSES), st.sampled_from(NAMES)),
        st.lists(cost, min_size=trials, max_size=trials),
        min_size=1,
    ).map(table)


@given(tables(), tables(4), st.booleans())
def test_functions_add_up_to_classes_and_these_to_the_total(a: CostTable, b: CostTable, is_blocked: bool) -> None:
    blocks = [{trial: place for place, trial in enumerate(of.trials)} for of in (a, b)]
    side = side_difference("sender", a, b, blocks if is_blocked else None)
    rounding = 1e-9 * (1 + side.a + side.b)
    assert sum(entry.a for entry in side.classes) == pytest.approx(side.a, abs=rounding)
    assert sum(entry.test.difference for entry in side.classes) == pytest.approx(side.b - side.a, abs=rounding)
    assert side.test.difference == pytest.approx(side.b - side.a, abs=rounding)
    assert sum(function.test.difference for function in side.functions) == pytest.approx(side.b - side.a, abs=rounding)
    for entry in side.classes:
        parts = sum(function.test.difference for function in entry.functions)
        assert parts == pytest.approx(entry.test.difference, abs=rounding)
        assert entry.b - entry.a == pytest.approx(entry.test.difference, abs=rounding)
    names = [function.name for function in side.functions if function.name is not None]
    assert len(names) == len(set(names))


positive = st.floats(1e-3, 1e6)


@given(positive, positive, positive, positive)
def test_more_events_and_dearer_events_add_up_to_the_difference(a: float, b: float, n_a: float, n_b: float) -> None:
    found = split(a, b, "calls", [n_a, n_b])
    whole = float(str(found["by_count"])) + float(str(found["by_unit_cost"]))
    assert whole == pytest.approx(b - a, abs=1e-9 * (a + b) * (n_a / n_b + n_b / n_a))


def test_it_shows_which_of_the_two_factors_changed() -> None:
    rows: Rows = {("transmit", "tcp_sendmsg"): [100, 100, 100]}
    more: Rows = {("transmit", "tcp_sendmsg"): [300, 300, 300]}
    a, twice = table(rows, per_kbyte={"data_packets_out": 1}), table(more, per_kbyte={"data_packets_out": 3})
    (entry,) = side_difference("sender", a, twice, None).classes
    assert (entry.by_count, entry.by_unit_cost) == (200, 0)
    (entry,) = side_difference("sender", a, table(more, per_kbyte={"data_packets_out": 1}), None).classes
    assert (entry.by_count, entry.by_unit_cost) == (0, 200)
    assert (entry.cycles_each_a, entry.cycles_each_b) == (100, 300)


def test_a_function_that_vanished_and_a_new_one_are_in_the_table() -> None:
    a, b = table({("copy", "memcpy"): [50, 50]}), table({("copy", "skb_clone"): [80, 80]})
    side = side_difference("sender", a, b, None)
    found = {function.name: (function.exclusive_a, function.exclusive_b) for function in side.functions}
    assert found == {"skb_clone": (0, 80), "memcpy": (50, 0)}
    ratios = {function.name: (function.exclusive_ratio, function.inclusive_ratio) for function in side.functions}
    assert ratios == {"skb_clone": (None, None), "memcpy": (0, 0)}


def test_functions_below_a_thousandth_of_both_sides_are_one_row() -> None:
    a = table({("copy", "memcpy"): [1000, 1000], ("copy", "tcp_ack"): [0.4, 0.4], ("acks", "tcp_ack"): [0.4, 0.4]})
    side = side_difference("sender", a, a, None)
    assert [function.name for function in side.functions] == ["memcpy", None]
    assert side.functions[-1].exclusive_a == pytest.approx(0.8)
    b = table({("copy", "memcpy"): [1000, 1000], ("acks", "tcp_ack"): [2, 2]})
    assert "tcp_ack" in {function.name for function in side_difference("sender", a, b, None).functions}


def test_the_same_work_in_both_blocks_is_compared_pair_by_pair() -> None:
    """Blocks differ much, conditions by 1 %: only pairs show it."""
    blocks = [{f"{place:03d}-c0001": place for place in range(1, 6)}] * 2
    values = [100.0, 200.0, 400.0, 800.0, 1600.0]
    a = table({("copy", "memcpy"): values}, samples=1e8)
    b = table({("copy", "memcpy"): [value + 9 for value in values]}, samples=1e8)
    paired = side_difference("sender", a, b, blocks).test
    apart = side_difference("sender", a, b, None).test
    assert paired.is_paired
    assert (paired.p_value or 0) < 1e-3
    assert (apart.p_value or 0) > 0.5


def test_blocks_that_only_one_has_are_left_out() -> None:
    a, b = table({("copy", "memcpy"): [1, 2, 99]}), table({("copy", "memcpy"): [5, 7, 70]})
    blocks = [{"001-c0001": 1, "002-c0001": 2, "003-c0001": 3}, {"001-c0001": 2, "002-c0001": 1, "003-c0001": 4}]
    side = side_difference("sender", a, b, blocks)
    assert (side.a, side.b) == (1.5, 6)
    # 7 - 1 and 5 - 2.
    assert side.test.difference == 4.5
    assert side.test.low == pytest.approx(4.5 - 12.706 * 1.5, abs=1e-3)


def test_cycles_of_different_kinds_are_never_compared() -> None:
    rows: Rows = {("copy", "memcpy"): [50, 50]}
    side = side_difference("sender", table(rows), table(rows, unit="PMU cycles"), None)
    assert side.refused is not None
    assert "TSC reference cycles and PMU cycles" in side.refused
    assert (side.ratio, side.classes) == (None, ())


def test_costs_are_per_transaction_where_both_count_them() -> None:
    rows: Rows = {("copy", "memcpy"): [50, 60]}
    each = table(rows, kbytes_each=[2, 3], per_kbyte={"kbytes": 1})
    side = side_difference("sender", each, each, None)
    assert (side.work, side.a) == ("transaction", (100 + 180) / 2)
    assert side_difference("sender", each, table(rows), None).work == "KByte"


COLUMNS = ("trial", "cell", "role", "unit", "class", "name", "kind", "object", "cost", "samples")


def costs_of(*rows: tuple[str, str, str, float]) -> SampledCosts:
    """Costs of functions given by name, kind, object and cost, in one trial."""
    exclusive = pl.DataFrame(
        [("001-c0001", "c0001", "sender", "TSC", "copy", *row, 1) for row in rows], schema=COLUMNS, orient="row"
    )
    return SampledCosts(TrialCosts(exclusive, exclusive.drop("class", "samples", "unit")), {}, ())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("tcp_ack.isra.0", "kernel", ""), ("tcp_ack", "kernel", "")),
        (("tcp_ack.constprop.0.cold", "kernel", ""), ("tcp_ack", "kernel", "")),
        (("bpf_prog_0123456789abcdef_count", "bpf", ""), ("bpf_prog_fedcba9876543210_count", "bpf", "")),
        (("main", "program", "/opt/one/server"), ("main", "program", "/usr/bin/server")),
    ],
)
def test_a_function_is_the_same_in_another_build(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    (kept,), (other,) = (cost_tables(costs_of((*row, 5.0)), {})[0].values() for row in (first, second))
    assert kept.rows == other.rows
    assert kept.inclusive.keys() == other.inclusive.keys()
    (both,) = cost_tables(costs_of((*first, 5.0), (*second, 7.0)), {})[0].values()
    assert both.costs.tolist() == [[12.0]]


def test_a_side_with_too_many_functions_has_classes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array has a value for each function and trial, and functions of a forged result are many."""
    costs = costs_of(*((f"function_{place}", "kernel", "", 5.0) for place in range(100)))
    most = 100 * (1 + _VALUES_OF_NAME)
    monkeypatch.setattr("whyperf.compare.costs.MAX_VALUES", most)
    by_side, notes = cost_tables(costs, {})
    (found,) = by_side.values()
    assert (len(found.rows), found.costs.shape, notes) == (100, (100, 1), ())
    monkeypatch.setattr("whyperf.compare.costs.MAX_VALUES", most - 1)
    by_side, notes = cost_tables(costs, {})
    (found,) = by_side.values()
    assert (found.rows, found.costs.tolist(), found.samples.tolist()) == ({("copy", None): 0}, [[500.0]], [[100.0]])
    assert not found.inclusive
    assert notes == ("The functions of the sender of cell c0001 are not compared, because there are 100.",)
