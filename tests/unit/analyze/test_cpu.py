"""CPU ratios and cycles of trials whose CPU time is known."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze import synthetic as made
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.measures.costs import PMU_UNIT, TSC_UNIT
from whyperf.analyze.measures.cpu import KINDS, MIN_ACCOUNTED_RATIO, cell_cpu
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import CellResult
from whyperf.analyze.time_series import course
from whyperf.analyze.trials import measure_trials


def cell(*trials: made.Trial) -> CellResult:
    return summarize_inputs(made.inputs(trials)).cells[0]


def sender(inputs: Inputs) -> dict[str, Any]:
    """The sender's row."""
    return cell_cpu(measure_trials(inputs).ends_cpu).filter(pl.col("role") == "sender").row(0, named=True)


HALF = made.Trial(busy={"sender": 0.5, "receiver": 0.25})
TRACED = replace(HALF, traced_softirq={"sender": 0.25, "receiver": 0.25})
OF_TICKS = {"busy": 0.5, "user": 0.05, "system": 0.3, "softirq": 0.15, "idle": 0.5, "load_threads": 0.45}


@pytest.mark.parametrize(
    ("trials", "source", "expected"),
    [
        # The tracepoints saw 0.25 in soft interrupts, so that 0.2 is left to the system.
        (
            [TRACED],
            "tracepoints",
            {**OF_TICKS, "system": 0.2, "softirq": 0.25, "softirq_proc_stat": 0.15, "softirq_tracepoints": 0.25},
        ),
        # One trial without tracepoints puts the cell on the kernel's columns.
        ([TRACED, replace(HALF, block=2)], "proc_stat", OF_TICKS),
        # A trial four times as long weighs four times as much: (1 x 0.9 + 4 x 0.4) / 5.
        (
            [
                made.Trial(block=1, rate_bps=4e9, transfer_bytes=16 << 20, busy={"sender": 0.9, "receiver": 0.9}),
                made.Trial(block=2, rate_bps=1e9, transfer_bytes=16 << 20, busy={"sender": 0.4, "receiver": 0.4}),
            ],
            "proc_stat",
            {"busy": 0.5},
        ),
        # Of two shared CPUs only the threads' time is known to be the load's.
        ([replace(TRACED, exclusive=False)], None, {"busy": None, "softirq": None, "load_threads": 0.225}),
    ],
)
def test_parts_of_the_senders_time(
    trials: list[made.Trial], source: str | None, expected: dict[str, float | None]
) -> None:
    cpu = made.known(cell(*trials).cpu.sender)
    assert cpu.softirq_source == source
    assert cpu.exclusive is trials[0].exclusive
    for name, part in expected.items():
        assert getattr(cpu, f"{name}_ratio") == (None if part is None else pytest.approx(part, rel=1e-6)), name


def test_columns_that_do_not_add_up_are_kept_as_they_are() -> None:
    inputs = made.inputs([made.Trial(busy={"sender": 0.5, "receiver": 0.5})])
    halved = made.changed(inputs, cpu=inputs.cpu.with_columns((pl.col("idle_ns") // 2).alias("idle_ns")))
    row = sender(halved)
    assert row["idle_ratio"] == pytest.approx(0.25)
    assert row["accounted_ratio"] == pytest.approx(0.75)


def test_ticks_that_count_more_than_the_wall_time_are_the_whole() -> None:
    """Busy 1.1 and idle 0.1 of the wall time: no CPU is busy for more than all of its time, in sums or over time."""
    inputs = made.inputs([made.Trial(busy={"sender": 0.9, "receiver": 0.5})])
    more = pl.col("user_ns") + 20 * made.MS
    inputs = made.changed(inputs, cpu=inputs.cpu.with_columns(more.alias("user_ns")))
    row = sender(inputs)
    assert row["accounted_ratio"] == pytest.approx(1.2)
    assert row["busy_ratio"] == pytest.approx(1.1 / 1.2)
    drawn = made.known(course(inputs, inputs.trials["trial"][0]))
    assert drawn.cpu.filter(pl.col("role") == "sender")["busy_ratio"].to_list() == pytest.approx([1.1 / 1.2] * 112)


@given(st.fixed_dictionaries({kind: st.floats(0, 1.2) for kind in KINDS}), st.floats(0, 1.2))
def test_with_tracepoints_the_kinds_add_up_whatever_the_ticks_say(ticks: dict[str, float], traced: float) -> None:
    row = cell_cpu(_end(**ticks, softirq_tracepoints=traced)).row(0, named=True)
    shares = [row[f"{kind}_ratio"] for kind in KINDS]
    if sum(ticks.values()) < MIN_ACCOUNTED_RATIO:
        # Nothing but the load's threads and the tracepoints is known then.
        assert shares == [None] * len(KINDS)
        assert row["busy_ratio"] is None
        return
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1)
    assert row["softirq_ratio"] == pytest.approx(min(1.0, traced))
    assert row["busy_ratio"] == pytest.approx(1 - row["idle_ratio"] - row["steal_ratio"])


def _end(**ratios: float) -> pl.DataFrame:
    """One end of `trial_cpu` with 10 s of one CPU."""
    times = {f"{name}_ns": [ratio * 1e10] for name, ratio in ratios.items()}
    keys = {"trial": ["001-c0001"], "cell": ["c0001"], "role": ["sender"], "cpus": [[0]], "exclusive": [True]}
    counted = {"load_threads_ns": [5e9], "softirq_on_load_ns": [1e9], "router_cpus": [0.0]}
    return pl.DataFrame({**keys, "wall_ns": [1e10], **counted, **times})


def test_the_cut_warm_up_does_not_count() -> None:
    measured = measure_trials(made.inputs([made.Trial(course=made.step(3, 0.1, 1))]))
    assert measured.trials["cut_ns"].item() == 2 * made.SECOND
    assert measured.ends_cpu["wall_ns"].to_list() == pytest.approx([8e9, 8e9])


def test_pmu_cycles_win_when_every_own_cpu_has_them() -> None:
    result = cell(made.Trial(rate_bps=1.024e9 * 8, busy={"sender": 0.5, "receiver": 0.25}, pmu_hz=3e9))
    assert result.cycles_per_kbyte.unit == PMU_UNIT
    assert result.cycles_per_kbyte.sender == pytest.approx(1500, rel=1e-6)
    assert result.cycles_per_kbyte.receiver == pytest.approx(750, rel=1e-6)


def test_one_trial_without_a_pmu_puts_the_cell_on_the_tsc() -> None:
    result = cell(made.Trial(block=1, pmu_hz=3e9), made.Trial(block=2))
    assert result.cycles_per_kbyte.unit == TSC_UNIT


def test_the_router_of_the_path_is_no_other_program() -> None:
    busy, audit = {"sender": 0.2, "receiver": 0.9}, {"cpu_ns": 600, "wall_ns": 1000}
    trial = made.Trial(busy=busy, load_share=0.3)
    codes = [warning.code for warning in cell(trial).warnings]
    assert "other_load" in codes
    assert "path_on_cpu" not in codes
    with_router = cell(replace(trial, path={"audit": audit, "cpu": 1})).warnings
    assert "other_load" not in [warning.code for warning in with_router]
    assert [warning.text for warning in with_router if warning.code == "path_on_cpu"] == [
        "The router of the emulated path used 60 % of the receiver's CPU time, which the CPU figures include."
    ]
    elsewhere = cell(replace(trial, path={"audit": audit, "cpu": 2})).warnings
    assert [warning.code for warning in elsewhere] == codes
