"""What holds exactly at a limit, by the documents: docs/background/explain.md and the docstrings that state a part."""

import polars as pl
import pytest

from whyperf.analyze.flow.complete import _not_adding_up, _octets
from whyperf.analyze.measures.cpu import KINDS, trial_cpu
from whyperf.analyze.measures.goodput import transfer_windows
from whyperf.analyze.read.assemble import _clock

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
        ([(10, 90), (20, 100)], "complete", (20, 90, None)),
        ([(10, 90), (20, 100)], "deadline", (20, 90, None)),
        # Together for 5 of 100 ns only; and a connection that read nothing was never together.
        ([(0, 20), (15, 100)], "complete", (None, None, "no_common_window")),
        ([(10, 90), (None, None)], "complete", (None, None, "no_common_window")),
    ],
)
def test_windows_of_transfers(
    receivers: list[tuple[int | None, int | None]], status: str, expected: tuple[int | None, int | None, str | None]
) -> None:
    flows = [("t", "sender", 0, 50, "complete"), *(("t", "receiver", *each, "complete") for each in receivers)]
    names = ("trial", "role", "first_call_mono_ns", "last_call_mono_ns", "ended")
    found = transfer_windows(
        pl.DataFrame({"trial": ["t"], "status": [status]}),
        pl.DataFrame(flows, schema=names, orient="row"),
        pl.DataFrame({"trial": ["t"], "end_mono_ns": [95]}),
    ).row(0, named=True)
    assert (found["window_start_ns"], found["window_end_ns"], found["unusable"]) == expected


@pytest.mark.parametrize(
    ("missing", "ended", "role", "text"),
    [
        (0, "complete", "sender", None),
        (100, "complete", "sender", "The log lacks 100 B of 2.00 kB (5.0 %), in connection 0."),
        (-100, "complete", "receiver", "The log has 100 B too many of 2.00 kB (5.0 %), in connection 0."),
        # Cut short, a sender may have left some unsent, and a receiver some unread.
        (100, "deadline", "sender", None),
        (-100, "deadline", "receiver", None),
    ],
)
def test_payload_that_does_not_add_up(missing: int, ended: str, role: str, text: str | None) -> None:
    row = {"connection": 0, "moved_bytes": 1960, "preamble_bytes": 40, "missing_bytes": missing, "ended": ended}
    assert [gap.reason for gap in _not_adding_up(pl.DataFrame([row]), role)] == ([] if text is None else [text])
    if text is not None:
        three = pl.DataFrame([row, row | {"connection": 1}, row | {"connection": 2}])
        of_three = text.replace("connection 0", "3 connections").replace("100 B", "300 B").replace("2.00 kB", "6.00 kB")
        assert [gap.reason for gap in _not_adding_up(three, role)] == [of_three]
