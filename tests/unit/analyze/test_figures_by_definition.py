"""Statistics against their definitions or SciPy, and sentences and thresholds at their boundaries."""

import math
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.unit.snapshots import Snapshots, outcome
from whyperf.analyze import text
from whyperf.analyze.bootstrap import RESAMPLES, coverage_limit, median_intervals
from whyperf.analyze.flow.cycle import find_cycles, find_payloads
from whyperf.analyze.flow.payloads import Runs, runs_of
from whyperf.analyze.flow.relative import count_new, rows_by_stream, stream_of, unwrap
from whyperf.analyze.flow.steps import by_value, divided, quotient, share, sum_in_steps
from whyperf.analyze.measures.overlap import sum_within, with_overlap
from whyperf.analyze.spread import interval_name, spreads
from whyperf.analyze.steady.changepoint import pettitt
from whyperf.analyze.steady.levels import two_levels
from whyperf.analyze.steady.rates import rates_between
from whyperf.analyze.steady.steadiness import judge
from whyperf.analyze.steady.warmup import mser5
from whyperf.analyze.tracing_overhead import ENOUGH_PAIRS, LevelCost, ProbeCost, Ratio, change_text, cost_text
from whyperf.analyze.transports.adapting import Wait, recoveries
from whyperf.analyze.transports.rfc6349 import buffer_delay_ratio, efficiency_ratio, ideal_bps, transfer_time_ratio
from whyperf.analyze.transports.sharing import fairness, goodput_harm, mean, rtt_harm, stability
from whyperf.analyze.transports.survival import duration
from whyperf.analyze.warnings import cell_rules

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))
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


def test_verdicts_of_series() -> None:
    rng = np.random.default_rng(4)
    noise = rng.normal(1, 0.02, 120)
    found = {}
    for size, at, level in product((19, 20, 49, 50, 100, 120), (5, 10, 20, 40, 60), (0.0, 0.5, 0.9, 0.93, 1.0)):
        series = noise[:size] * np.where(np.arange(size) < at, level, 1.0) * 1e9
        swings = noise[:size] * np.where(np.arange(size) // 4 % 2, level, 1.0) * 1e9
        found[f"{size} {at} {level}"] = [judge(series), judge(swings) if at == 5 else None]
    found["nothing"] = [judge(np.zeros(30)), judge(np.concatenate([np.ones(5), np.zeros(45)]))]
    SNAPSHOTS.check("verdicts", found)


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


def test_limits_and_names_of_intervals() -> None:
    assert [coverage_limit(count) for count in range(-1, 5)] == [0, 0, 0, 0.5, 0.75, 0.875]
    counts: tuple[list[int], ...] = ([], [1], [2], [1, 2], [3], [2, 3], [5], [6], [5, 9], [6, 6], [1, 6])
    names = [interval_name(each) for each in counts]
    assert names == [
        *("range", "range", "range", "range", "interval", "interval or range"),
        *("interval", "95 % interval", "interval", "95 % interval", "95 % interval"),
    ]
    (none, single, two) = spreads([[], [4.0], [4.0, 8.0]], 1)
    assert (none.median, none.mean, single.stdev, single.low) == (None, None, None, None)
    assert (two.low, two.high, two.mean) == (4.0, 8.0, 6.0)


EDGES = (
    0.0,
    1.0,
    0.999,
    0.9994,
    0.9995,
    0.9996,
    9.994,
    9.995,
    9.996,
    99.94,
    99.96,
    999.4,
    999.5,
    999.6,
    1000.0,
    1023.0,
)


def test_quantities_as_text() -> None:
    values = [sign * edge * scale for sign in (1, -1) for edge in EDGES for scale in (1e-4, 1.0, 1e3, 1e6, 1e9, 1e12)]
    found: dict[str, object] = {}
    for value in values:
        found[repr(value)] = [
            text.si(value, "B"),
            text.significant(value),
            text.significant(value, 2),
            text.seconds(value),
        ]
    ratios = (0, 0.0004, 0.0005, 0.0994, 0.0995, 0.0996, 0.1, 0.984, 0.995, 1.5, -0.2, -0.05)
    found["ratios"] = [text.percent(ratio) for ratio in ratios]
    found["rates"] = [text.bit_rate_in(letter)(9.1416e9) for letter in "kmgtKMGT"]
    found["octets"] = [text.octets(count) for count in (0, 1, 1.4, 2, 1024, 123456)]
    found["counts"] = [text.count(number, "box", plural) for number in (0, 1, 2, 1234) for plural in (None, "boxes")]
    levels = (True, False, 0, 1, 8192, 1.0, 1.5, 0.01, 1e6, "cubic", None)
    found["levels"] = [text.level_text(level) for level in levels]
    names = (
        "write_size_bytes",
        "rtt_probe",
        "rtt_probe_ms",
        "mss_bytes",
        "connections",
        "offered_rate_per_s",
        "cpus",
        "x",
    )
    for name in names:
        found[name] = [text.factor_name(name), text.factor_unit(name), text.factor_title(name)]
        found[name] = [found[name], [text.level_with_unit(name, level) for level in levels]]
    found["titles"] = [text.sweep_title(name) for name in ("cpu-cost", "main", "a-rtt-sweep", "tcp")]
    cell: dict[str, object] = {"window_bytes": 8192, "no_delay": True, "mss_bytes": None}
    found["setting"] = text.setting(cell, ["window_bytes", "mss_bytes", "no_delay", "direction"])
    SNAPSHOTS.check("texts", found)


@given(st.lists(st.floats(0, 100), min_size=0, max_size=9))
def test_shares_of_a_path(values: list[float]) -> None:
    array = np.array(values)
    total, squares = sum(map(Fraction, values)), sum(Fraction(value) ** 2 for value in values)
    if len(values) < 2 or squares <= 0:
        assert fairness(array) is None
    else:
        assert fairness(array) == pytest.approx(float(total**2 / len(values) / squares))
    if len(values) < 2 or total <= 0:
        assert stability(array) is None
    else:
        assert stability(array) == pytest.approx(stats.variation(array, ddof=1), nan_ok=True)
    assert mean(array) == (pytest.approx(float(total / len(values))) if values else None)


def test_ratios_of_rfc_6349_and_harm() -> None:
    assert ideal_bps(1e9, 1500, 4) == pytest.approx(1e9 * 1448 / 1514)
    assert ideal_bps(1e9, 1500, 6) == pytest.approx(1e9 * 1428 / 1514)
    assert [transfer_time_ratio(8.0, achieved) for achieved in (4.0, 0.0)] == [2.0, None]
    assert [efficiency_ratio(sent, 1.0) for sent in (4.0, 1.0, 0.0)] == [0.75, 0.0, None]
    assert [buffer_delay_ratio(3.0, base) for base in (1.0, 0.0)] == [2.0, None]
    assert [goodput_harm(alone, 3.0) for alone in (4.0, 0.0)] == [0.25, None]
    assert [rtt_harm(3.0, together) for together in (4.0, 0.0)] == [0.25, None]


def test_waits_that_were_cut() -> None:
    cases = {
        "none": [],
        "one": [(3.0, True)],
        "one that was cut": [(3.0, False)],
        "two": [(1.0, True), (3.0, True)],
        "three": [(1.0, True), (2.0, True), (3.0, True)],
        "three and one that was cut": [(1.0, True), (2.0, True), (3.0, True), (1.5, False)],
        "two and one that was cut": [(1.0, True), (2.0, True), (1.5, False)],
        "half were cut": [(1.0, True), (2.0, True), (0.5, False), (0.6, False)],
        "most were cut": [(1.0, True), (2.0, True), (3.0, True), *[(0.5, False)] * 4, *[(1.5, False)] * 3],
        "many": [(float(number), number % 5 != 0) for number in range(1, 40)],
    }
    found = {
        name: duration([Wait(seconds, reached=reached) for seconds, reached in waits]) for name, waits in cases.items()
    }
    SNAPSHOTS.check("waits", found)


def test_recoveries_of_a_window() -> None:
    rng = np.random.default_rng(2)
    found: dict[str, object] = {}
    for number in range(40):
        size = 5 + number % 20
        again = np.cumsum(rng.random(size) < 0.25).astype(np.float64)
        cwnd = rng.integers(5, 20, size).astype(np.float64)
        found[str(number)] = recoveries(np.arange(size).astype(np.float64) * 0.5, cwnd, again, size * 0.5)
    found["never"] = recoveries(np.arange(4.0), np.ones(4), np.zeros(4), 4.0)
    SNAPSHOTS.check("recoveries", found)


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


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**30), 2**30)), min_size=1, max_size=30),
    st.integers(0, 2**32 - 1),
)
def test_numbers_that_wrap(steps: list[tuple[int, int]], base: int) -> None:
    at = dict.fromkeys(range(4), 0)
    true = []
    for stream, step in steps:
        at[stream] += step
        true.append(at[stream])
    streams = np.array([stream for stream, _ in steps], dtype=np.uint32)
    raw = np.array([(number + base) & 0xFFFFFFFF for number in true], dtype=np.uint32)
    assert unwrap(raw, streams, dict.fromkeys(range(4), base)).tolist() == true
    grouped = {name: np.arange(streams.size)[rows].tolist() for name, rows in rows_by_stream(streams)}
    assert grouped == {name: np.flatnonzero(streams == name).tolist() for name in set(streams.tolist())}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=20))
def test_octets_count_once(ranges: list[tuple[int, int]]) -> None:
    start, size = (np.array([part[place] for part in ranges], dtype=np.int64) for place in (0, 1))
    assert count_new(start, start + size) == len(
        {octet for first, length in ranges for octet in range(first, first + length)}
    )
    assert stream_of(np.array([3], dtype=np.uint32), np.array([True])).tolist() == [7]


def runs(*sizes: int) -> Runs:
    return runs_of(np.array(sizes, dtype=np.uint32))


def test_payloads_that_repeat() -> None:
    rng = np.random.default_rng(6)
    mixed = rng.integers(1, 2000, 400).tolist()
    cases: dict[str, list[int]] = {
        "none": [],
        "five": [100, 1400] * 2 + [100],
        "six": [100, 1400] * 3,
        "six equal": [1448] * 6,
        "a pair": [100, 1400] * 50,
        "a pair with another": [100, 1400] * 25 + [7] + [100, 1400] * 25,
        "a long cycle": [1448] * 44 + [1000] + ([1448] * 44 + [1000]) * 5,
        "64 runs": [*range(1, 65)] * 4,
        "65 runs": [*range(1, 66)] * 4,
        "two phases": [100, 1400] * 60 + [200, 300, 400] * 60,
        "two phases and noise": [100, 1400] * 40 + mixed[:60] + [200, 300, 400] * 40,
        "noise": mixed,
        "nine in ten": [100, 1400] * 45 + mixed[:10],
        "less than nine in ten": [100, 1400] * 45 + mixed[:12],
        "5 %": mixed[:180] + [100, 1400] * 10,
        "constant in a mixture": mixed[:50] + [512] * 50 + mixed[50:100] + [512] * 50,
        "turned": [1400, 100, 7] * 30 + [7, 1400, 100] * 30,
    }
    found = {}
    for name, sizes in cases.items():
        sequence = runs(*sizes)
        assert (sequence.segments_count, np.repeat(sequence.size, sequence.repeats).tolist()) == (len(sizes), sizes)
        found[name] = [find_payloads(sequence), find_cycles(sequence)]
    long = runs(*([100, 1400, 7] * 50_000 + mixed))
    found["long"] = [find_payloads(long), len(find_cycles(long))]
    SNAPSHOTS.check("payloads", found)


def test_sums_in_steps_and_shares() -> None:
    log = pl.DataFrame({"time_ns": [-5, 0, 9, 10, 35, 39, 40], "size": [1, 2, 3, 4, 5, 6, 7]})
    found = sum_in_steps(log, {"sum": pl.col("size").sum(), "rows": pl.len()}, 10)
    assert found.rows() == [(0, 10, 5, 2), (10, 20, 4, 1), (20, 30, 0, 0), (30, 40, 11, 2), (40, 50, 7, 1)]
    assert sum_in_steps(log.head(1), {"sum": pl.col("size").sum()}, 10).is_empty()
    table = pl.DataFrame({"a": [1, 2, 3], "b": [2, 0, -1]}).select(divided("a", "b", "c"), share("a", "d"))
    assert table.rows() == [(0.5, 1 / 6), (None, 2 / 6), (None, 0.5)]
    assert [quotient(*pair) for pair in ((None, 2), (2, None), (2, 0), (3, 2))] == [None, None, None, 1.5]
    counts = pl.DataFrame({"word": ["b"], "count": [3]})
    assert by_value(counts, "word", ("a", "b")).rows() == [("a", 0), ("b", 3)]


def test_the_cost_of_tracing_in_sentences() -> None:
    ratios = [
        Ratio(median=ratio, low=low, high=1.01) for ratio in (0.97, 1.0, 0.9996, None, 1.5) for low in (None, 0.9)
    ]
    found: dict[str, object] = {"changes": [change_text(ratio) for ratio in ratios]}
    for pairs in (1, ENOUGH_PAIRS - 1, ENOUGH_PAIRS):
        level: dict[str, Any] = {"condition": "with large writes", "pairs": pairs, "baseline_bps": 1e9}
        level |= {"goodput_ratio": ratios[1], "cycles_ratio": ratios[0], "logged_events": 0, "lost_events": 0}
        rows = [LevelCost(level=name, **level) for name in ("counters", "segments")]
        cost = ProbeCost(hostname="h", kernel="6", measured_realtime="2026-01-02T03:04:05Z", levels=rows)
        for names in ([], ["counters"], ["counters", "segments"], ["user"]):
            found[f"{pairs} {names}"] = cost_text(cost, names)
    found["nothing known"] = cost_text(None, ["counters"])
    SNAPSHOTS.check("tracing", found)


def raised(warnings: Any) -> list[str]:
    return [f"{warning.code}: {warning.text}" for warning in warnings]


def test_warnings_at_their_boundaries() -> None:
    found: dict[str, object] = {}
    for testbed, ratio in product(("veth", "loopback", "network"), (None, 0.0009, 0.001, 0.00100001, 0.01, 0.0101)):
        found[f"retransmissions {testbed} {ratio}"] = raised(cell_rules.of_retransmissions(ratio, testbed))
    for announced in (None, 8999, 9000, 11000, 11001):
        row = {"requested_bytes": 10_000, "announced_max": announced}
        found[f"window {announced}"] = raised(cell_rules.of_window(row))
    ratios = {f"{kind}_ratio": 0.0 for kind in ("steal", "busy", "softirq", "irq", "load_threads", "router")}
    whole: dict[str, Any] = ratios | {"pooled_s": 1.0, "exclusive": True}
    changes: tuple[dict[str, Any], ...] = (
        *({"steal_ratio": steal} for steal in (None, 0.02, 0.0201)),
        *({"busy_ratio": busy, "pooled_s": pooled} for busy in (0.1, 0.11, 0.3, 0.31) for pooled in (0.99, 1.0)),
        *({"busy_ratio": 0.5, name: 0.45} for name in ("softirq_ratio", "irq_ratio", "load_threads_ratio")),
        {"busy_ratio": 0.5, "irq_ratio": None},
        {"busy_ratio": None, "pooled_s": 0.1},
        {"exclusive": False},
        *({"router_ratio": ratio, "busy_ratio": 0.21} for ratio in (0.1, 0.11)),
    )
    busy = [
        {"note": "busy_process", "text": name, "value": value, "limit": limit}
        for name, value, limit in (("a", 5, 9), ("b", 6, 8), ("c", 9, 0))
    ]
    for change, ticks in product(changes, (True, False)):
        rows = {"sender": whole | change, "receiver": whole}
        found[f"cpu {change} {ticks}"] = raised(cell_rules.of_cpu(rows, busy, counts_ticks=ticks))
    for late, interval in product((24, 25, 26, 50, 51), (50, None)):
        note = {"note": "sampler_late", "value": late * 1_000_000, "trial": "t", "host": "near", "limit": None}
        notes = [note, note | {"value": 1}, *({"trial": "t"} | process for process in busy)]
        found[f"late {late} {interval}"] = raised(cell_rules.of_notes(notes, {"interval_ms": interval}))
    cut: dict[str, Any] = {"steady": True, "goodput_bps": 100.0, "cut_bps": None, "cut_ns": 5, "is_whole_phase": False}
    cut |= {
        "settled_bps": 100.0,
        "status": "complete",
        "trial": "001-c0001",
        "window_start_ns": 0,
        "window_end_ns": 1000,
        "whole_life": False,
    }
    cut |= {"uncertainty_ns": 10, "unusable": None}
    variants: tuple[dict[str, Any], ...] = (
        *({"cut_bps": rate} for rate in (94.9, 95.0, 95.1, 105.0, 105.1)),
        {"cut_bps": 10.0, "is_whole_phase": True},
        {"cut_bps": 10.0, "steady": None},
        {"whole_life": True},
        {"whole_life": True, "uncertainty_ns": 11},
        {"goodput_bps": 0.0, "settled_bps": 0.0},
        {"goodput_bps": None, "unusable": "no_common_window"},
        {"goodput_bps": None},
        {"status": "deadline"},
        {"status": "failed", "goodput_bps": None, "reason": "why?"},
        {"status": "void", "goodput_bps": None, "reason": None},
        {"status": "interrupted", "goodput_bps": None},
        *(
            {"steady": False, "reason_unsteady": reason, "from_bps": 1e9, "to_bps": 2e9, "change_s": 1.26}
            for reason in ("level_changed", "two_levels", "never_settled")
        ),
    )
    for change, others in product(variants, (0, 1, 2)):
        rows_of_trials = [cut | change, *[cut] * others]
        found[f"trials {change} {others}"] = raised(cell_rules.of_trials(rows_of_trials, {"deadline_s": 9}))
    found["no payload"] = raised(cell_rules.of_trials([cut | {"goodput_bps": 0.0}] * 3, {}, has_payload=False))
    found["no trial"] = outcome(partial(raised, cell_rules.of_trials([], {})), ValueError)
    SNAPSHOTS.check("warnings", found)
