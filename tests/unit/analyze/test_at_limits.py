"""What holds exactly at a limit, by the documents: docs/background/explain.md and the docstrings that state a part."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from whyperf.analyze.flow import find_payloads
from whyperf.analyze.flow.complete import Completeness, _not_adding_up, _octets
from whyperf.analyze.flow.cycle import find_cycles
from whyperf.analyze.flow.payloads import runs_of
from whyperf.analyze.flow.repeats import find_repeats
from whyperf.analyze.measures.cpu import KINDS, trial_cpu
from whyperf.analyze.measures.goodput import jain, transfer_windows
from whyperf.analyze.read.assemble import _clock, _ends
from whyperf.analyze.warnings.evidence import is_whole

WHOLE = Completeness("near", True, None, 1.0, 9, 9, {}, 0, pl.DataFrame())
"""A complete log."""
PAIR = [100, 1400]


@pytest.mark.parametrize(
    ("ratio", "is_nearly_complete", "summary"),
    [
        (None, False, "not complete"),
        (0.9899, False, "98.9 % complete"),
        (0.99, True, "99.0 % complete"),
        (0.99999, True, "99.9 % complete"),
    ],
)
def test_a_log_is_nearly_complete_from_99_percent_on(
    ratio: float | None, is_nearly_complete: bool, summary: str
) -> None:
    found = replace(WHOLE, complete=False, ratio=ratio)
    assert (found.is_nearly_complete, found.summary) == (is_nearly_complete, summary)
    assert WHOLE.summary == "complete"


def others(count: int) -> list[int]:
    """Payloads of which none comes twice."""
    return list(range(2001, 2001 + count))


@pytest.mark.parametrize(
    ("payloads", "covered", "parts"),
    [
        ([*PAIR * 9, *others(2)], 0.9, [9]),
        ([*PAIR * 9, *others(3)], None, [9]),
        ([*others(304), *PAIR * 8], None, [8]),
        ([*others(305), *PAIR * 8], None, []),
        ([*others(200), *PAIR * 7], None, []),
        ([*others(100), *PAIR * 4, *others(1), *PAIR * 8], None, [8]),
        ([*others(1), *[1448] * 9], 0.9, [9]),
        ([*others(2), *[1448] * 9], None, [9]),
        (PAIR * 3, 1.0, [3]),
        ([*PAIR * 2, 100], None, []),
    ],
)
def test_what_a_cycle_covers(payloads: list[int], covered: float | None, parts: list[int]) -> None:
    """90 % for the pattern of a connection and 5 % for a part of it are enough; a stretch repeats 8 times."""
    runs = runs_of(np.array(payloads, dtype=np.uint32))
    found = find_payloads(runs)
    assert (None if found.cycle is None else found.cycle.segments_ratio) == covered
    assert [part.repeats for part in found.parts] == parts
    assert [cycle.segments_count // cycle.period_segments for cycle in find_cycles(runs)] == parts


@pytest.mark.parametrize(
    ("payloads", "covered"),
    [
        ([*[1448] * 3, *others(57)], [3]),
        ([*[1448] * 3, *others(58)], []),
        ([*[1448] * 2, *others(18)], []),
        ([*PAIR * 3, *others(50)], [6]),
        ([*PAIR * 2, *others(5)], []),
    ],
)
def test_a_stretch_repeats_3_times_and_covers_5_percent(payloads: list[int], covered: list[int]) -> None:
    assert [repeat.segments_count for repeat in find_repeats(runs_of(np.array(payloads, dtype=np.uint32)))] == covered


@pytest.mark.parametrize(
    ("changed", "is_there"),
    [
        ({}, True),
        *(({name: 1}, False) for name in ("lost", "lost_calls", "missed", "unseen")),
        *(({"lost": 1, name: 1}, False) for name in ("lost_calls", "missed", "unseen")),
        *(({name: "why"}, False) for name in ("why", "broken_off")),
        ({"got": "counters"}, False),
    ],
)
def test_a_log_from_which_anything_is_lost_is_not_whole(changed: dict[str, object], *, is_there: bool) -> None:
    row = {"got": "segments", "lost": 0, "lost_calls": 0, "missed": 0, "unseen": 0, "broken_off": None, "why": None}
    assert pl.DataFrame([row | changed]).select(is_whole()).item() is is_there


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e12])
@pytest.mark.parametrize(
    ("shares", "index"), [([1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([1, 2, 3], 36 / 42), ([5], 1.0), ([0, 0], None)]
)
def test_jains_index_does_not_depend_on_the_unit(shares: list[int], index: float | None, unit: float) -> None:
    """(sum of x)² / (n × sum of x²)."""
    found = pl.DataFrame({"x": [share * unit for share in shares]}).select(jain("x")).item()
    assert found == (None if index is None else pytest.approx(index))


def test_a_host_of_which_a_manifest_says_nothing() -> None:
    """Not known to have its CPUs alone, with the controller's clock, and the first connection is 0."""
    (end,) = _ends({"trial": "001-c0001", "hosts": {"near": {}}})
    assert end == {
        "trial": "001-c0001",
        "host": "near",
        "role": None,
        "cpus": [],
        "exclusive": False,
        "tsc_hz": None,
        "offset_ns": 0,
        "drift_ratio": 0.0,
        "compared_mono_ns": 0,
        "cpus_of": "near",
        "first_connection": 0,
        "payload_ratio": 1.0,
        "router_cpus": 0.0,
    }


PAIRS = [{"mono_ns": 1_000}, {"mono_ns": 41_000}, {"mono_ns": 101_000}]


@pytest.mark.parametrize(
    ("pairs", "drift_ns", "ratio", "compared_ns"),
    [
        (PAIRS, 20, 0.0, 1_000),
        (PAIRS, 21, 21 / 100_000, 1_000),
        (PAIRS, -21, -21 / 100_000, 1_000),
        (PAIRS[:2], 21, 21 / 40_000, 1_000),
        (PAIRS[1:2], 21, 0.0, 41_000),
    ],
)
def test_clocks_drift_apart_by_more_than_both_comparisons_may_be_wrong(
    pairs: list[dict[str, int]], drift_ns: int, ratio: float, compared_ns: int
) -> None:
    found = _clock({"pairs": pairs, "offset_ns": 7, "drift_ns": drift_ns, "uncertainty_ns": 10})
    assert found == {"offset_ns": 7, "drift_ratio": ratio, "compared_mono_ns": compared_ns}


def test_octets_of_several_connections_and_both_directions() -> None:
    data = pl.DataFrame(
        [
            (0, "in", 0, 100),
            (1, "in", 0, 10),
            (1, "out", 50, 20),
            (1, "out", 60, 20),
            (2, "out", 0, 7),
            (2, "out", 0, 7),
        ],
        schema={
            "connection": pl.UInt32(),
            "direction": pl.String(),
            "sequence": pl.Int64(),
            "payload_bytes": pl.Int64(),
        },
        orient="row",
    )
    assert sorted(_octets(data).rows()) == [(0, 100, 0), (1, 10, 0), (1, 30, 10), (2, 7, 7)]


def test_of_rows_that_lie_half_within_the_window_half_counts() -> None:
    """Each row lasts 100 ns, and the window from 50 to 150 ns has half of each."""
    window = {"trial": "t", "cell": "c", "window_start_ns": 50, "window_end_ns": 150, "whole_life": False}
    place = {"trial": "t", "host": "near", "phase": "measure"}
    rows = [{**place, "start_mono_ns": 0, "end_mono_ns": 100}, {**place, "start_mono_ns": 100, "end_mono_ns": 200}]
    names = (*KINDS, "ksoftirqd")
    counts = [{f"{name}_ns": 10 * place for place, name in enumerate(names, start=first)} for first in (1, 3)]
    cpu = [row | count | {"own": True, "pmu_cycles_count": 1000} for row, count in zip(rows, counts, strict=True)]
    ends = {
        "trial": "t",
        "host": "near",
        "role": "sender",
        "cpus": [1],
        "exclusive": True,
        "tsc_hz": None,
        "cpus_of": None,
        "payload_ratio": 1.0,
        "router_cpus": 0.0,
    }
    found = trial_cpu(
        pl.DataFrame(cpu),
        pl.DataFrame([row | {"own": True, "softirq_ns": 40, "runs_count": 8, "on_load_ns": 30} for row in rows]),
        pl.DataFrame([row | {"cpu_ns": 60, "scheduled_count": 4} for row in rows]),
        pl.DataFrame([ends], schema_overrides={"cpus_of": pl.String()}),
        pl.DataFrame([window]),
    ).row(0, named=True)
    sums = {f"{name}_ns": 10 * place + 10 for place, name in enumerate(names, start=1)}
    assert {name: found[name] for name in sums} == sums
    whole = {"wall_ns": 100, "pmu_cycles": 1000, "load_threads_ns": 60, "softirq_tracepoints_ns": 40}
    whole |= {"softirq_on_load_ns": 30, "softirqs_count": 8, "scheduled_count": 4}
    assert {name: found[name] for name in whole} == whole


@pytest.mark.parametrize(
    ("receivers", "status", "expected"),
    [
        ([(5, 90)], "complete", (0, 90, None)),
        ([(5, 90)], "deadline", (0, 90, None)),
        ([(10, 90), (20, 100)], "complete", (20, 90, None)),
        ([(10, 90), (20, 100), (None, None)], "complete", (None, None, "no_common_window")),
        ([(0, 20), (10, 100)], "complete", (None, None, "no_common_window")),
        ([(0, 21), (10, 100)], "complete", (10, 21, None)),
        ([(10, 90), (20, 100)], "deadline", (20, 90, None)),
    ],
)
def test_windows_of_transfers(
    receivers: list[tuple[int | None, int | None]], status: str, expected: tuple[int | None, int | None, str | None]
) -> None:
    """Together for 10 % of the time is not enough: 10 of 100 ns; a connection that read nothing was never together."""
    flows = [("t", "sender", 0, 50, "complete"), *(("t", "receiver", *each, "complete") for each in receivers)]
    names = ("trial", "role", "first_call_mono_ns", "last_call_mono_ns", "ended")
    found = transfer_windows(
        pl.DataFrame({"trial": ["t"], "status": [status]}),
        pl.DataFrame(flows, schema=names, orient="row"),
        pl.DataFrame({"trial": ["t"], "end_mono_ns": [95]}),
    ).row(0, named=True)
    assert (found["window_start_ns"], found["window_end_ns"], found["unusable"]) == expected


LACKS, HAS = "The log lacks 100 B of 2.00 kB (5.0 %) of", "The log has 100 B too many of 2.00 kB (5.0 %) of"


@pytest.mark.parametrize(
    ("missing", "moved", "ended", "role", "text"),
    [
        (0, 1960, "complete", "sender", None),
        (100, 1960, "complete", "sender", f"{LACKS} connection 0."),
        (-100, 1960, "complete", "receiver", f"{HAS} connection 0."),
        (1, 1960, "complete", "sender", "The log lacks 1.00 B of 2.00 kB (0.1 %) of connection 0."),
        (1, 1961, "complete", "sender", "The log lacks 1.00 B of 2.00 kB (under 0.1 %) of connection 0."),
        # Cut short, a sender may have left some unsent, and a receiver some unread.
        (100, 1960, "deadline", "sender", None),
        (-100, 1960, "deadline", "sender", f"{HAS} connection 0."),
        (100, 1960, "deadline", "receiver", f"{LACKS} connection 0."),
        (-100, 1960, "deadline", "receiver", None),
        (-100, 1960, "deadline", None, None),
    ],
)
def test_payload_that_does_not_add_up(missing: int, moved: int, ended: str, role: str | None, text: str | None) -> None:
    row = {"connection": 0, "moved_bytes": moved, "preamble_bytes": 40, "missing_bytes": missing, "ended": ended}
    assert _not_adding_up(pl.DataFrame([row]), role) == text
    if text is not None:
        three = text.replace("connection 0", "the first of 3 such connections")
        assert _not_adding_up(pl.DataFrame([row, row | {"connection": 1}, row | {"connection": 2}]), role) == three
