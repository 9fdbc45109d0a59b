"""What the load's threads had of their CPUs, and what others had."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.gather.processors import processors
from whyperf.explain.host_facts import HostFacts, Processors

SECOND = 1_000_000_000
SPAN = {"phase": "measure", "start_mono_ns": 0, "end_mono_ns": SECOND, "cpu": 1}


def measured(
    folder: Path,
    *,
    thread: float,
    user: float,
    system: float,
    softirq: float,
    waited: float = 0.0,
    router: float = 0.0,
) -> Processors:
    """By what a thread of the load, its CPU and the path's router on it had of a second."""
    used = {"user_ns": user, "system_ns": system, "softirq_ns": softirq, "irq_ns": 0.0, "steal_ns": 0.0}
    cpu = SPAN | {"own": True} | {name: round(part * SECOND) for name, part in used.items()}
    pl.DataFrame([cpu]).write_parquet(folder / "cpu.near.parquet")
    ran = SPAN | {"thread": 7, "cpu_ns": round(thread * SECOND), "run_queue_ns": round(waited * SECOND)}
    pl.DataFrame([ran]).write_parquet(folder / "threads.near.parquet")
    end = FlowEnd("near", "sender", 0, EndEvidence())
    trial = FlowTrial(folder, "001-c0001", "c0001", "complete", {"near": end}, 0, None)
    return processors(replace(trial, router_ratios={1: router} if router else {}), end)


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
    known = dict(zip(("thread", "user", "system", "softirq"), parts, strict=True))
    assert measured(tmp_path, **known).own_user_ratio == pytest.approx(outside, abs=0.011)


def test_the_router_of_the_path_is_no_other_program_and_no_cpu_that_the_load_wants(tmp_path: Path) -> None:
    alone = measured(tmp_path, thread=0.15, user=0.1, system=0.6, softirq=0.2, waited=0.7)
    assert alone.other_ratio == pytest.approx(0.75)
    assert alone.withheld_ratio == pytest.approx(0.7)
    assert HostFacts(processors=alone).wanted_ratio == pytest.approx(0.85)
    with_router = measured(tmp_path, thread=0.15, user=0.1, system=0.6, softirq=0.2, waited=0.7, router=0.7)
    assert with_router.router_ratio == 0.7
    assert with_router.other_ratio == pytest.approx(0.05)
    assert with_router.withheld_ratio == pytest.approx(0.15)
    assert HostFacts(processors=with_router).wanted_ratio == pytest.approx(0.15)


def test_the_load_of_the_other_side_is_no_other_program(tmp_path: Path) -> None:
    """Three agents on the CPU of one machine: the sender has 0.3 of it, the receivers 0.4 and 0.1, others nothing."""
    cpu = SPAN | {"own": True, "user_ns": 0, "system_ns": 800_000_000, "softirq_ns": 0, "irq_ns": 0, "steal_ns": 0}
    ends = {}
    for host, role, ran in (("near", "sender", 0.3), ("far", "receiver", 0.4), ("far2", "receiver", 0.1)):
        pl.DataFrame([cpu]).write_parquet(tmp_path / f"cpu.{host}.parquet")
        thread = SPAN | {"thread": 7, "cpu_ns": round(ran * SECOND), "run_queue_ns": 400_000_000}
        pl.DataFrame([thread]).write_parquet(tmp_path / f"threads.{host}.parquet")
        ends[host] = FlowEnd(host, role, 0, EndEvidence())
    trial = FlowTrial(tmp_path, "001-c0001", "c0001", "complete", ends, 0, None)
    near, far, _ = (processors(trial, end, one_machine=True) for end in ends.values())
    assert [side.other_ratio for side in (near, far)] == pytest.approx([0.0, 0.0])
    assert [near.peer_ratio, far.peer_ratio] == pytest.approx([0.5, 0.4])
    assert near.withheld_ratio == pytest.approx(0.2)
    assert [HostFacts(processors=side).on_cpu_ratio for side in (near, far)] == pytest.approx([0.3, 0.4])
    assert processors(trial, ends["near"]).other_ratio == pytest.approx(0.5)
