"""What threads did in and between their calls, worked out by hand."""

from typing import Any

import polars as pl
import pytest

from whyperf.explain.gather import application as module
from whyperf.explain.gather.application import calls

TRIAL: Any = type("Trial", (), {"zero_mono_ns": 0})
END: Any = type("End", (), {"host": "near", "role": "sender", "offset_ns": 0})


def call(start_us: int, end_us: int, **spent_us: int) -> dict[str, object]:
    """A write call of the one thread; what it spent is 0 unless given."""
    spent = {name: 1000 * spent_us.get(name.removesuffix("_ns"), 0) for name in module._SPENT}
    return {
        "thread": 1,
        "call": "write",
        "start_mono_ns": 1000 * start_us,
        "end_mono_ns": 1000 * end_us,
        "moved_bytes": 1000,
        "outcome": "moved",
        **spent,
    }


def test_time_without_a_cpu_is_no_work_in_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame([call(0, 100, blocked=20, preempted=30), call(200, 300, runnable_before=40)])
    monkeypatch.setattr(module, "read_columns", lambda *_: rows)
    found = calls(TRIAL, END)
    # 50 of 100 us, and 100 of 100 us.
    assert found.ns_mean == pytest.approx(75_000)
    # Of 300 us: 150 at work in calls, 30 and 40 runnable, 100 less 40 between calls.
    assert found.in_call_ratio == pytest.approx(150 / 300)
    assert found.runnable_ratio == pytest.approx(70 / 300)
    assert found.computing_ratio == pytest.approx(60 / 300)
