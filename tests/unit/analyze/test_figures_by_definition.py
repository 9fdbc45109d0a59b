"""Statistics against their definitions or SciPy, and quantities and warnings worked out by hand."""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whyperf.analyze import text
from whyperf.analyze.bootstrap import RESAMPLES, median_intervals
from whyperf.analyze.flow.steps import by_value, divided, quotient, share, sum_in_steps
from whyperf.analyze.measures.windows import sum_within, with_overlap
from whyperf.analyze.spread import spreads
from whyperf.analyze.steady.levels import two_levels
from whyperf.analyze.steady.rates import rates_between
from whyperf.analyze.steady.steadiness import mser5, pettitt
from whyperf.analyze.tracing_overhead import ENOUGH_PAIRS, LevelCost, ProbeCost, Ratio, change_text, cost_text
from whyperf.analyze.warnings import cell_rules
from whyperf.analyze.warnings.catalog import RaisedWarning
from whyperf.record import RecordError

#: Parts of a CPU's time: all of it, and those that the load explains.
CPU_PARTS = ("busy", "softirq", "irq", "load_threads")
#: Small whole numbers, so that values are often equal.
SERIES = st.lists(st.integers(1, 12), min_size=2, max_size=40).map(lambda values: np.array(values, dtype=np.float64))


@given(SERIES)
def test_pettitts_test(values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    count = values.size
    sums = [
        abs(sum(np.sign(values[i] - values[j]) for i in range(t) for j in range(t, count))) for t in range(1, count)
    ]
    found = pettitt(values)
    assert sums[found.index - 1] == max(sums)
    before, after = values[: found.index], values[found.index :]
    assert (found.before, found.after) == (np.median(before), np.median(after))
    rest = np.concatenate([before - before.mean(), after - after.mean()])
    power = (rest**2).sum()
    lag = min(max((rest[:-1] * rest[1:]).sum() / power, 0), 0.95) if power > 0 else 0.0
    expected = 2 * math.exp(-6 * max(sums) ** 2 * (1 - lag) / (1 + lag) / (count**3 + count**2))
    assert found.p_value == pytest.approx(min(1.0, expected))


@given(SERIES)
def test_two_levels_explain_most_of_the_variance(values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    found, ordered = two_levels(values), np.sort(values)
    splits = [(ordered[:cut], ordered[cut:]) for cut in range(1, values.size)]
    within = min(low.var() * low.size + high.var() * high.size for low, high in splits) / values.size
    variance = values.var()
    assert found.explained_ratio == pytest.approx(1 - within / variance if variance else 0.0, abs=1e-9)
    counts = [min(low.size, high.size) for low, high in splits if (low.mean(), high.mean()) == (found.low, found.high)]
    assert any(found.fewer_ratio == count / values.size for count in counts) or counts == []


@given(st.lists(st.integers(1, 9), min_size=1, max_size=140))
def test_the_warm_up_ends_where_the_squared_standard_error_is_least(values: list[int]) -> None:
    found = mser5(np.array(values, dtype=np.float64))
    batches = [sum(values[at : at + 5]) / 5 for at in range(0, len(values) // 5 * 5, 5)]
    if len(batches) < 10 or len(set(batches)) == 1:
        assert (found.drop_count, found.at_limit) == (0, False)
        return
    limit = len(batches) // 2
    errors = [np.var(batches[drop:]) / (len(batches) - drop) for drop in range(limit + 1)]
    best = int(np.argmin(errors))
    assert (found.drop_count, found.at_limit) == (5 * best, best == limit)


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [5.0, 5.0, 5.0, 9.0], [1.0, 2.0, 4.0, 8.0, 16.0, 9.0, 7.0]])
def test_intervals_are_scipys(values: list[float]) -> None:
    given: dict[str, Any] = {"n_resamples": RESAMPLES, "axis": -1, "vectorized": True}
    for method in ("BCa", "percentile"):
        rng = np.random.default_rng(7)
        interval = stats.bootstrap(
            (np.array([values]),), np.median, method=method, rng=rng, **given
        ).confidence_interval
        low, high = float(np.ravel(interval.low)[0]), float(np.ravel(interval.high)[0])
        if math.isfinite(low + high):
            break
    assert median_intervals([values], 7) == [(low, high)]
    (spread,) = spreads([values], 7)
    assert spread.median == np.median(values)
    assert spread.mean == pytest.approx(np.mean(values))
    assert spread.stdev == pytest.approx(stats.tstd(values))


ROWS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(0, 1000)), min_size=1, max_size=12)


@given(ROWS, st.integers(0, 50), st.integers(-2, 40))
def test_shares_of_rows_within_a_window(rows: list[tuple[int, int, int]], start: int, length: int) -> None:
    table = pl.DataFrame(
        [("t", at, at + size, octets) for at, size, octets in rows],
        schema={"trial": pl.String(), "start_mono_ns": pl.Int64(), "end_mono_ns": pl.Int64(), "octets": pl.Int64()},
        orient="row",
    )
    window = pl.DataFrame({"trial": ["t"], "window_start_ns": [start], "window_end_ns": [start + length]})
    expected, touching = 0.0, 0
    for at, size, octets in rows:
        overlap = min(at + size, start + length) - max(at, start)
        touching += length > 0 and (overlap > 0 or size == overlap == 0)
        if length > 0 and size == 0 and overlap == 0:
            expected += octets
        elif length > 0 and overlap > 0:
            expected += octets * overlap / size
    found = sum_within(table, window, ["octets"], ["trial"])["octets"].sum()
    assert found == pytest.approx(expected)
    shares = with_overlap(table, window)["share"]
    assert shares.is_between(0, 1).all()
    assert shares.len() == touching


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 90)), min_size=1, max_size=9))
def test_rates_between_edges(rows: list[tuple[int, int, int]]) -> None:
    starts, ends = np.array([float(at) for at, _, _ in rows]), np.array([float(at + size) for at, size, _ in rows])
    octets = np.array([float(moved) for _, _, moved in rows])
    edges = np.array([0.0, 5.0, 6.5, 20.0, 40.0])
    found = rates_between(edges, starts, ends, octets)
    for (first, last), rate in zip(pairwise(edges), found, strict=True):
        inside = np.clip(np.minimum(ends, last) - np.maximum(starts, first), 0, None) / (ends - starts)
        assert rate == pytest.approx((inside * octets).sum() * 8e9 / (last - first), abs=1e-3)


def test_sums_in_steps_and_shares() -> None:
    log = pl.DataFrame({"time_ns": [-5, 0, 9, 10, 35, 39, 40], "size": [1, 2, 3, 4, 5, 6, 7]})
    found = sum_in_steps(log, {"sum": pl.col("size").sum(), "rows": pl.len()}, 10)
    assert found.rows() == [(0, 10, 5, 2), (10, 20, 4, 1), (20, 30, 0, 0), (30, 40, 11, 2), (40, 50, 7, 1)]
    assert sum_in_steps(log.head(1), {"sum": pl.col("size").sum()}, 10).is_empty()
    far_apart = pl.DataFrame({"time_ns": [0, 10_000_000_000], "size": [1, 1]})
    with pytest.raises(RecordError, match="the log lasts 10,000,000,001 steps of 1 ns, and at most 10,000,000 can"):
        sum_in_steps(far_apart, {"sum": pl.col("size").sum()}, 1)
    table = pl.DataFrame({"a": [1, 2, 3], "b": [2, 0, -1]}).select(divided("a", "b", "c"), share("a", "d"))
    assert table.rows() == [(0.5, 1 / 6), (None, 2 / 6), (None, 0.5)]
    assert [quotient(*pair) for pair in ((None, 2), (2, None), (2, 0), (3, 2))] == [None, None, None, 1.5]
    counts = pl.DataFrame({"word": ["b"], "count": [3]})
    assert by_value(counts, "word", ("a", "b")).rows() == [("a", 0), ("b", 3)]


#: `tests/whole/report/test_factor_text.py` has more.
QUANTITIES = (
    (text.si(-1500, "B"), "-1.50 kB"),
    (text.si(2e12, "B"), "2.00 TB"),
    (text.si(0.5, "B"), "0.500 B"),
    (text.significant(0.0999, 2), "0.10"),
    (text.seconds(0), "0 ns"),
    (text.seconds(1500), "1.50 µs"),
    (text.seconds(80e6), "80.0 ms"),
    (text.seconds(999.96e6), "1.00 s"),
    (text.percent(0.0996), "10 %"),
    (text.percent(-0.2), "-20 %"),
    (text.bit_rate_in("k")(1500), "1.50 kbit/s"),
    (text.bit_rate_in("m")(9.1416e9), "9,142 Mbit/s"),
    (text.bit_rate_in("M")(8 * 2**21), "2.00 MiB/s"),
    (text.octets(123456), "123,456 bytes"),
    (text.count(1, "box", "boxes"), "1 box"),
    (text.count(1234, "box", "boxes"), "1,234 boxes"),
    (text.count(0, "trial"), "0 trials"),
    (text.level_text(8192), "8,192"),
    (text.level_text(1e6), "1,000,000"),
    (text.factor_name("rtt_probe"), "RTT probe's transport"),
    (text.factor_name("rtt_probe_ms"), "RTT probe"),
    (text.level_with_unit("no_delay", False), "off"),
    (text.setting({"window_bytes": 8192, "mss_bytes": None}, ["window_bytes", "mss_bytes"]), "window 8,192 bytes"),
)


@pytest.mark.parametrize(("found", "expected"), QUANTITIES)
def test_quantities_as_text(found: str, expected: str) -> None:
    assert found == expected


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (Ratio(median=0.97, low=None, high=None), "-3.0 %"),
        (Ratio(median=0.97, low=0.96, high=1.01), "-3.0 % (-4.0 to +1.0)"),
        (Ratio(median=0.9996, low=None, high=None), "+0.0 %"),
        (Ratio(median=None, low=0.9, high=1.0), ""),
    ],
)
def test_the_cost_of_tracing_as_a_change(ratio: Ratio, expected: str) -> None:
    assert change_text(ratio) == expected


@pytest.mark.parametrize(
    ("pairs", "levels", "expected"),
    [
        (
            ENOUGH_PAIRS,
            ["counters"],
            "Tracing overhead, from 6 interleaved pairs on 2026-01-02: counters -3.0 % goodput ",
        ),
        (1, ["counters"], "Tracing overhead unknown: 1 pair measured, 6 needed; "),
        (ENOUGH_PAIRS, ["user"], "Tracing overhead unknown; measure it with whyperf doctor --probe-cost."),
    ],
)
def test_the_cost_of_tracing_as_a_sentence(pairs: int, levels: list[str], expected: str) -> None:
    change = Ratio(median=0.97, low=None, high=None)
    figures: dict[str, Any] = {"goodput_ratio": change, "cycles_ratio": change, "logged_events": 0, "lost_events": 0}
    row = LevelCost(level="counters", condition="with large writes", pairs=pairs, baseline_bps=1e9, **figures)
    cost = ProbeCost(hostname="h", kernel="6", measured_realtime="2026-01-02T03:04:05Z", levels=[row])
    assert cost_text(cost, levels).startswith(expected)


def codes(warnings: Iterable[RaisedWarning]) -> list[str]:
    return [warning.code for warning in warnings]


#: A side whose CPUs did nothing for 10 s.
IDLE: dict[str, Any] = dict.fromkeys((f"{kind}_ratio" for kind in (*CPU_PARTS, "steal", "router")), 0.0) | {
    "pooled_s": 10.0,
    "exclusive": True,
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"steal_ratio": 0.03}, ["steal_high"]),
        ({"steal_ratio": None}, []),
        ({"busy_ratio": 0.2}, ["other_load"]),
        *(({"busy_ratio": 0.2, f"{own}_ratio": 0.15}, []) for own in CPU_PARTS[1:]),
        ({"busy_ratio": 0.2, "irq_ratio": None}, []),
        ({"busy_ratio": 0.2, "router_ratio": 0.15}, ["path_on_cpu"]),
        # 10 ms ticks of half a second: nothing below 30 % is sure.
        ({"busy_ratio": 0.2, "pooled_s": 0.5}, ["cpu_ticks"]),
        ({"busy_ratio": 0.4, "pooled_s": 0.5}, ["other_load", "cpu_ticks"]),
        ({"busy_ratio": None, "pooled_s": 0.5}, []),
        ({"exclusive": False}, ["shared_cpus"]),
    ],
)
def test_warnings_about_the_cpu_of_a_side(change: dict[str, Any], expected: list[str]) -> None:
    raised = list(cell_rules.of_cpu({"sender": IDLE | change, "receiver": IDLE}))
    assert codes(raised) == expected
    assert {warning.values.get("role") for warning in raised} <= {"sender", None}
    exact = [code for code in expected if code != "cpu_ticks"]
    assert codes(cell_rules.of_cpu({"sender": IDLE | change, "receiver": IDLE}, counts_ticks=False)) == exact


def test_the_busiest_process_is_the_one_with_the_largest_part_of_a_cpu() -> None:
    notes = [
        {"note": "busy_process", "text": name, "value": value, "limit": limit, "trial": "t"}
        for name, value, limit in (("a", 5, 9), ("b", 6, 8), ("c", 9, 0))
    ]
    (warning,) = cell_rules.of_cpu({"sender": IDLE | {"busy_ratio": 0.2}}, notes)
    assert "; b" in warning.text
    late = {"note": "sampler_late", "value": 30_000_000, "trial": "t", "host": "near", "limit": None}
    (warning,) = cell_rules.of_notes([late, *notes], {"interval_ms": 50})
    assert warning.text.endswith("30.0 ms, with intervals of 50.0 ms; b.")
    assert codes(cell_rules.of_notes([late], {"interval_ms": None})) == []


#: A trial of 1 µs at 100 bit/s.
TRIAL: dict[str, Any] = {
    "trial": "001-c0001",
    "status": "complete",
    "goodput_bps": 100.0,
    "unusable": None,
    "steady": True,
    "cut_bps": None,
    "cut_ns": 5,
    "settled_bps": 100.0,
    "is_whole_phase": False,
    "window_start_ns": 0,
    "window_end_ns": 1000,
    "whole_life": False,
    "uncertainty_ns": 50,
}
UNSTEADY = {"steady": False, "from_bps": 1e9, "to_bps": 2e9, "change_s": 1.26}
LOST = {"goodput_bps": None}


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"cut_bps": 90.0}, "warm_up_cut", "up to 5.00 ns cut off, where goodput was 90.0 bit/s"),
        ({"cut_bps": 110.0}, "slow_down_cut", "110 bit/s"),
        ({"cut_bps": 90.0, "is_whole_phase": True}, "warm_up_counts", "90.0 bit/s"),
        ({"whole_life": True}, "clock_uncertain", "50.0 ns only, 5.0 %"),
        ({"goodput_bps": 0.0}, "nothing_moved", "1 of 4 trials"),
        ({"status": "deadline"}, "deadline_trials", "9 s"),
        (LOST | {"status": "failed", "reason": "why?"}, "failed_trials", "why?"),
        (LOST | {"status": "void", "reason": None}, "void_trials", "none was given."),
        (LOST | {"unusable": "no_common_window"}, "unusable_trials", "were not at work at the same time"),
        (UNSTEADY | {"reason_unsteady": "level_changed"}, "no_steady_state", "1.00 Gbit/s to 2.00 Gbit/s after 1.3 s"),
        (UNSTEADY | {"reason_unsteady": "never_settled"}, "no_steady_state", "still rising"),
        (LOST | {"status": "interrupted"}, None, ""),
        ({"cut_bps": 98.0}, None, ""),
        (UNSTEADY | {"cut_bps": 90.0} | {"reason_unsteady": "two_levels"}, "no_steady_state", "two"),
    ],
)
def test_warnings_about_one_of_four_trials(change: dict[str, Any], code: str | None, says: str) -> None:
    raised = list(cell_rules.of_trials([TRIAL | change, *[TRIAL] * 3], {"deadline_s": 9}))
    assert codes(raised) == ([code] if code else [])
    assert says in "".join(warning.text for warning in raised)


def test_pairs_of_hosts_that_took_no_part() -> None:
    lost = [
        {"note": "lost_pair", "value": pair, "trial": trial, "host": f"near-{pair}", "text": "gone"}
        for trial, pair in (("a", 2), ("b", 2), ("b", 3))
    ]
    (warning,) = cell_rules.of_notes(lost, {})
    assert warning.text.startswith("2 pairs of hosts took no part in 2 trials;")
    assert warning.text.endswith("First: near-2: gone.")


def test_few_trials_and_trials_without_payload() -> None:
    assert codes(cell_rules.of_trials([TRIAL] * 2, {})) == ["few_trials"]
    assert codes(cell_rules.of_trials([], {})) == []
    assert codes(cell_rules.of_trials([TRIAL | {"goodput_bps": 0.0}] * 3, {}, has_payload=False)) == []
