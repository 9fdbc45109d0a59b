"""What the load's threads had of their CPUs, and what others had."""

from pathlib import Path

import polars as pl
import pytest

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.gather.processors import processors

SECOND = 1_000_000_000
SPAN = {"phase": "measure", "start_mono_ns": 0, "end_mono_ns": SECOND, "cpu": 1}


def outside_kernel(folder: Path, thread: float, user: float, system: float, softirq: float) -> float | None:
    """The part of the CPU that the load had outside the kernel, by what its thread and its CPU had of a second."""
    used = {"user_ns": user, "system_ns": system, "softirq_ns": softirq, "irq_ns": 0.0, "steal_ns": 0.0}
    cpu = SPAN | {"own": True} | {name: round(part * SECOND) for name, part in used.items()}
    pl.DataFrame([cpu]).write_parquet(folder / "cpu.near.parquet")
    ran = SPAN | {"thread": 7, "cpu_ns": round(thread * SECOND), "run_queue_ns": 0}
    pl.DataFrame([ran]).write_parquet(folder / "threads.near.parquet")
    end = FlowEnd("near", "sender", 0, EndEvidence())
    return processors(FlowTrial(folder, "001-c0001", "c0001", "complete", {"near": end}, 0, None), end).own_user_ratio


@pytest.mark.parametrize(
    ("parts", "outside"),
    [
        pytest.param((0.98, 0.90, 0.05, 0.03), 0.90, id="it computes"),
        pytest.param((0.95, 0.03, 0.50, 0.45), 0.0, id="it moves payload"),
        pytest.param((0.20, 0.80, 0.15, 0.05), 0.0, id="another program computes"),
        pytest.param((0.47, 0.56, 0.05, 0.41), 0.01, id="both, and interrupts"),
        pytest.param((0.99, 0.62, 0.20, 0.20), 0.59, id="it computes next to interrupts"),
    ],
)  # fmt: skip
def test_time_outside_the_kernel_is_the_loads_as_far_as_no_other_program_can_have_had_it(
    tmp_path: Path, parts: tuple[float, float, float, float], outside: float
) -> None:
    assert outside_kernel(tmp_path, *parts) == pytest.approx(outside, abs=0.011)
