"""Percentiles against hand-counted histograms."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze.made_frames import rows_of_joins
from tests.unit.analyze.synthetic import known
from tests.unit.analyze.workload_samples import Exchange, in_blocks, inputs
from whyperf.analyze import summarize_inputs
from whyperf.analyze.measures.latency import PERCENTILES, _is_idle, curve, percentiles
from whyperf.analyze.summary import Transactions


def histogram(*rows: tuple[int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["low", "high", "count"], orient="row")


def found(*rows: tuple[int, int, int]) -> dict[str, Any]:
    return known(percentiles(histogram(*rows)))


def test_a_hundred_values_by_hand() -> None:
    values = found(*((ns, ns, 1) for ns in range(1, 101)))
    assert values == {
        "count": 100,
        "min_ns": 1,
        "max_ns": 100,
        "mean_ns": 50.5,
        "p50_ns": 50,
        "p90_ns": 90,
        "p99_ns": 99,
        "p99_9_ns": None,
        "p99_99_ns": None,
        "p99_999_ns": None,
    }


def test_one_slow_transaction_of_a_hundred_thousand_is_above_the_last_percentile() -> None:
    values = found((1000, 1000, 99_999), (50_000_000, 50_000_000, 1))
    assert (values["p99_99_ns"], values["p99_999_ns"], values["max_ns"]) == (1000, 1000, 50_000_000)
    values = found((1000, 1000, 99_998), (50_000_000, 50_000_000, 2))
    assert values["p99_999_ns"] == 50_000_000


def test_of_values_that_are_not_distinguished_the_largest_counts() -> None:
    values = found(
        (1000, 1007, 100),
    )
    assert (values["p50_ns"], values["p99_ns"], values["max_ns"], values["min_ns"]) == (1007, 1007, 1007, 1000)
    assert values["mean_ns"] == 1003.5


def test_one_transaction_has_a_median_and_no_tail() -> None:
    values = found((5, 5, 1))
    assert (values["p50_ns"], values["p90_ns"]) == (5, None)


def test_an_empty_histogram_has_none() -> None:
    assert percentiles(histogram()) is None


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=300))
def test_percentiles_are_those_of_the_sorted_values(values: list[int]) -> None:
    ordered = sorted(values)
    counts = {value: ordered.count(value) for value in ordered}
    result = found(*((value, value, count) for value, count in counts.items()))
    for name, part in PERCENTILES.items():
        if result[name] is not None:
            assert result[name] == ordered[math.ceil(part * len(ordered)) - 1]
    assert result["mean_ns"] == pytest.approx(sum(ordered) / len(ordered))


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**6)), min_size=1, unique_by=lambda pair: pair[0]))
def test_the_curve_falls_from_all_to_the_slowest(pairs: list[tuple[int, int]]) -> None:
    rows = histogram(*((value, value, count) for value, count in sorted(pairs)))
    above, values = curve(rows)
    assert above[0] == 1
    assert above == sorted(above, reverse=True)
    assert above[-1] == pytest.approx(sorted(pairs)[-1][1] / sum(count for _, count in pairs))
    assert values == sorted(values)


def transactions(*exchanges: Exchange) -> Transactions:
    (cell,) = summarize_inputs(inputs(*exchanges)).cells
    return known(cell.transactions)


def test_trials_and_groups_are_merged_by_adding_counts() -> None:
    names = (("one", "rr"), ("two", "rr"))
    rows = (("service", 10, 10, 3), ("service", 90, 90, 1))
    latency = known(transactions(*in_blocks(Exchange(names=names, latencies=rows), [1000, 1000])).latency)
    assert (latency.kind, latency.count, latency.p50_ns, latency.max_ns) == ("service", 16, 10, 90)
    assert latency.mean_ns == 30


def test_round_trips_are_idle_where_no_flow_was_to_send(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged trial may have any number of round trips and of flows: together they would be their product."""
    flows = [(10, 20), (12, 14), (30, 40), *[(50 + place, 60 + place) for place in range(60)]]
    schedule = pl.DataFrame(
        [(trial, start_ns, at, until) for trial, start_ns in (("a", 1000), ("b", 5)) for at, until in flows],
        schema=["trial", "trial_start_ns", "start_ns", "stop_ns"],
        orient="row",
    )
    sent = (
        [("a", 1000 + at) for at in range(130)] + [("b", 5 + at) for at in range(130)] + [("c", at) for at in range(9)]
    )
    requests = pl.DataFrame(sent, schema=["trial", "sent_mono_ns"], orient="row").with_row_index("request")
    heights = rows_of_joins(monkeypatch)
    found = dict(_is_idle(requests.sample(fraction=1, shuffle=True, seed=1), schedule).iter_rows())
    assert max(heights) <= requests.height
    idle = [not any(start <= at < stop for start, stop in flows) for at in range(130)]
    assert [found[number] for number in range(requests.height)] == [*idle, *idle, *[False] * 9]
