"""How totals are split by samples."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze.cost.cost_samples import Stack, report, tables, used
from whyperf.analyze.cost.budget import trial_rows, weighed_stacks

WRITE = "main entry_SYSCALL_64 tcp_sendmsg"
RECEIVE = "handle_softirqs net_rx_action tcp_v4_rcv"


def classes(stacks: list[Stack], reports: pl.DataFrame | None = None, **given_: Any) -> dict[tuple[str, str], float]:
    """Cycles by part and class."""
    total = sum(stack[3] for stack in stacks)
    exclusive, _ = trial_rows(
        weighed_stacks(*tables(stacks), report(total) if reports is None else reports, used(**given_))
    )
    rows = exclusive.group_by("part", "class").agg(pl.col("cycles").sum())
    return {(part, name): round(cycles, 6) for part, name, cycles in rows.iter_rows()}


IN_CALL, IN_SOFTIRQ = ("load", "process", WRITE), ("load", "softirq", RECEIVE)


@pytest.mark.parametrize(
    ("stacks", "given_", "expected"),
    [
        # The load's 2,000 cycles are split by the samples of its threads, whatever they ran in.
        ([(*IN_CALL, 60), (*IN_SOFTIRQ, 40)], {}, {"transmit": 1200, "receive": 800}),
        # Of shared CPUs only the load's threads count.
        ([(*IN_CALL, 1), ("idle", "softirq", RECEIVE, 1)], {"exclusive": False}, {"transmit": 2000}),
        # Functions without a name are not attributed.
        ([("load", "process", f"{WRITE} unknown", 1), (*IN_CALL, 1)], {}, {"not_attributed": 1000, "transmit": 1000}),
        ([("load", "process", "", 1), (*IN_CALL, 3)], {}, {"not_attributed": 500, "transmit": 1500}),
        # BPF programs cost whose they are, and so does what they call.
        ([("load", "process", f"{WRITE} bpf_prog_1_own bpf_ktime_get_ns", 1)], {}, {"own_tracing": 2000}),
        ([("load", "process", f"{WRITE} bpf_prog_2_theirs read_tsc", 1)], {}, {"other_bpf": 2000}),
        # A tracepoint is of ours only where there is a program of ours.
        ([("load", "process", f"{WRITE} bpf_trace_run1", 1)], {}, {"other_bpf": 2000}),
    ],
)
def test_cycles_of_the_loads_threads(stacks: list[Stack], given_: dict[str, Any], expected: dict[str, int]) -> None:
    assert classes(stacks, **given_) == {("threads", name): cycles for name, cycles in expected.items()}


def test_samples_that_were_lost_or_never_taken() -> None:
    assert classes([(*IN_CALL, 3)], report(4, lost=1)) == {
        ("threads", "transmit"): 1500,
        ("threads", "not_attributed"): 500,
    }
    assert classes([(*IN_CALL, 3), ("idle", "idle", "do_idle", 1)], report(4, own_ns=40)) == {
        ("threads", "transmit"): 1940,
        ("threads", "own_tracing"): 60,
    }
    assert classes([("idle", "softirq", RECEIVE, 2)]) == {
        ("threads", "not_attributed"): 2000,
        ("softirqs", "receive"): 800,
    }


def test_without_tracepoints_ksoftirqd_is_all_that_is_elsewhere() -> None:
    stacks: list[Stack] = [(*IN_SOFTIRQ, 5), ("kernel", "softirq", RECEIVE, 5)]
    found = classes(stacks, softirq_tracepoints_ns=None, ksoftirqd_ns=70.0)
    assert found == {("threads", "receive"): 2000, ("softirqs", "receive"): 140}


def test_softirqs_elsewhere_have_the_part_of_their_time_that_their_samples_have() -> None:
    found = classes(
        [
            ("load", "process", "main", 10),
            ("load", "softirq", f"{WRITE} {RECEIVE}", 30),
            ("idle", "softirq", f"do_idle {RECEIVE}", 7),
            ("kernel", "softirq", f"run_ksoftirqd {RECEIVE} native_write_msr", 3),
            ("idle", "idle", "do_idle", 50),
            ("other", "process", "main", 50),
        ]
    )
    # 10 of the 40 samples in softirqs are on top of nothing of the load: 100 of their 400 ns.
    assert found[("softirqs", "receive")] == pytest.approx(140)
    assert found[("softirqs", "interrupts_on")] == pytest.approx(60)
    assert sum(found.values()) == pytest.approx(2 * (1000 + 100))
    assert {part for part, _ in found} == {"threads", "softirqs"}


ON_TOP: list[Stack] = [
    ("load", "process", "main", 10),
    ("load", "softirq", f"{WRITE} {RECEIVE}", 10),
    ("idle", "softirq", f"do_idle {RECEIVE}", 30),
]


def test_softirqs_on_top_of_the_load_count_once_and_are_counted_not_sampled() -> None:
    # The samples would say a quarter.
    found = classes(ON_TOP, softirq_on_load_ns=250.0)
    assert found == {("threads", "application"): 1000, ("threads", "receive"): 1000, ("softirqs", "receive"): 300}
    # In all of the load's time, and of the softirqs' time nothing else.
    assert ("softirqs", "receive") not in classes(ON_TOP, softirq_on_load_ns=400.0)


def test_softirqs_that_were_counted_elsewhere_are_a_part_of_the_total_without_a_sample_of_them() -> None:
    found = classes([("load", "process", "main", 1)], softirq_on_load_ns=250.0)
    assert found == {("threads", "application"): 2000, ("softirqs", "not_attributed"): 300}
    assert sum(classes([("idle", "idle", "do_idle", 1)], softirq_on_load_ns=250.0).values()) == 2000 + 300


def test_a_kernel_that_keeps_interrupts_apart_has_them_added_to_the_load() -> None:
    stacks: list[Stack] = [*ON_TOP, ("load", "interrupt", f"{WRITE} sysvec_reschedule_ipi", 5)]
    found = classes(stacks, report(55, is_apart=True), load_threads_ns=750.0, softirq_on_load_ns=250.0)
    assert found == {("threads", "application"): 1000, ("threads", "receive"): 1000, ("softirqs", "receive"): 300}
    # What was not counted is not a part of what the threads used.
    found = classes(stacks, report(55, is_apart=True), load_threads_ns=750.0, softirq_tracepoints_ns=None)
    assert found == {("threads", "application"): 1500}


def test_the_time_that_threads_had_a_cpu_is_their_total_whatever_the_scheduler_leaves_out() -> None:
    stacks: list[Stack] = [*ON_TOP, ("load", "interrupt", f"{WRITE} sysvec_reschedule_ipi", 5)]
    # 750 ns of the scheduler, 250 ns of softirqs that it keeps apart, and 200 ns of the hypervisor.
    asked = {"load_threads_ns": 750.0, "softirq_on_load_ns": 250.0}
    found = classes(stacks, report(55, is_apart=True, on_cpu_ns=1200), **asked)
    assert sum(cycles for (part, _), cycles in found.items() if part == "threads") == pytest.approx(2400)
    assert found["threads", "application"] == found["threads", "receive"]
    assert found["threads", "interrupts"] > 0
    # Where nothing was seen, the scheduler's time is all that there is.
    assert classes(ON_TOP, report(50, on_cpu_ns=0), **asked) == classes(ON_TOP, report(50), **asked)


def test_a_pmu_counts_whole_cpus_and_whoever_ran_there() -> None:
    stacks: list[Stack] = [
        ("load", "process", WRITE, 50),
        ("idle", "softirq", RECEIVE, 20),
        ("idle", "idle", "do_idle", 10),
        ("other", "process", "main", 15),
        ("agent", "process", "main", 5),
    ]
    assert classes(stacks, pmu_cycles=10_000.0) == {
        ("cpus", "transmit"): 5000,
        ("cpus", "receive"): 2000,
        ("cpus", "idle"): 1000,
        ("cpus", "other_programs"): 1500,
        ("cpus", "own_tracing"): 500,
    }


def test_a_function_counts_once_a_stack_with_all_that_it_calls() -> None:
    stacks: list[Stack] = [
        ("load", "process", f"{WRITE} tcp_sendmsg _copy_from_iter", 3),
        ("load", "process", "main", 1),
    ]
    _, inclusive = trial_rows(weighed_stacks(*tables(stacks), report(4), used()))
    found = dict(inclusive.select("name", "cycles").iter_rows())
    assert found == pytest.approx(
        {"main": 2000, "entry_SYSCALL_64": 1500, "tcp_sendmsg": 1500, "_copy_from_iter": 1500}
    )


FUNCTIONS = st.lists(
    st.sampled_from(["main", "tcp_sendmsg", "tcp_ack", "read_tsc", "unknown", "bpf_prog_1_own", "bpf_ktime_get_ns"]),
    max_size=6,
)
STACKS = st.lists(
    st.tuples(
        st.sampled_from(["load", "agent", "kernel", "idle", "other"]),
        st.sampled_from(["process", "softirq", "interrupt", "idle"]),
        FUNCTIONS.map(" ".join),
        st.integers(1, 10**6),
    ),
    min_size=1,
    max_size=12,
)


@given(
    stacks=STACKS,
    lost=st.integers(0, 1000),
    own_ns=st.integers(0, 2000),
    pmu=st.none() | st.floats(0, 1e12),
    threads_ns=st.floats(0, 1e11),
    softirq_ns=st.none() | st.floats(0, 1e11),
    on_load=st.none() | st.floats(0, 1),
)
def test_rows_add_up_to_the_total_and_none_is_negative(  # noqa: PLR0917 - hypothesis fills them by name
    stacks: list[Stack],
    lost: int,
    own_ns: int,
    pmu: float | None,
    threads_ns: float,
    softirq_ns: float | None,
    on_load: float | None,
) -> None:
    counted = sum(stack[3] for stack in stacks) + lost
    on_load_ns = None if softirq_ns is None or on_load is None else softirq_ns * on_load
    measured = used(
        pmu_cycles=pmu,
        load_threads_ns=threads_ns,
        softirq_tracepoints_ns=softirq_ns,
        softirq_on_load_ns=on_load_ns,
    )
    exclusive, _ = trial_rows(weighed_stacks(*tables(stacks), report(counted, lost=lost, own_ns=own_ns), measured))
    of_softirqs = [stack for stack in stacks if stack[1] == "softirq" and "net_rx_action" in stack[2].split()]
    elsewhere = sum(stack[3] for stack in of_softirqs if stack[0] != "load")
    ratio = elsewhere / max(1, sum(stack[3] for stack in of_softirqs))
    of_others = (softirq_ns or 0) * ratio if on_load_ns is None else (softirq_ns or 0) - on_load_ns
    total = 2 * (threads_ns + of_others) if pmu is None else pmu
    assert exclusive["cycles"].sum() == pytest.approx(total, rel=1e-9, abs=1e-6)
    assert (exclusive["cycles"] >= 0).all()


def test_the_time_of_softirqs_is_not_split_by_samples_outside_of_the_vectors_functions() -> None:
    """Where interrupts are switched on again, samples are of the time before."""
    stacks: list[Stack] = [
        ("idle", "softirq", f"do_idle {RECEIVE}", 10),
        ("idle", "softirq", "do_idle handle_softirqs", 30),
        ("load", "softirq", f"{WRITE} handle_softirqs", 20),
    ]
    found = classes(stacks)
    assert ("softirqs", "interrupts_on") not in found
    # They are time of the thread that they are on top of.
    assert found[("threads", "interrupts_on")] == pytest.approx(2000)
    assert found[("softirqs", "receive")] == pytest.approx(800)
    # Time of ksoftirqd is that of its thread, whatever that did.
    bare = classes(stacks, softirq_tracepoints_ns=None, ksoftirqd_ns=100.0)
    assert bare[("softirqs", "interrupts_on")] == pytest.approx(150)


def test_a_watched_program_with_several_connections_has_its_cost_divided_by_payload() -> None:
    whole = classes(ON_TOP, softirq_on_load_ns=250.0)
    part = classes(ON_TOP, softirq_on_load_ns=250.0, payload_ratio=0.25)
    assert part == {name: cycles / 4 for name, cycles in whole.items()}
    assert sum(classes(ON_TOP, pmu_cycles=8000.0, payload_ratio=0.25).values()) == pytest.approx(2000)


@pytest.mark.parametrize(
    "function",
    ["native_write_msr", "handle_softirqs", "_raw_spin_unlock_irqrestore", "finish_task_switch.isra.0"],
)
def test_samples_of_a_timer_where_interrupts_are_switched_on_are_a_class_of_their_own(function: str) -> None:
    stacks: list[Stack] = [
        ("load", "process", f"{WRITE} tcp_write_xmit", 5),
        ("load", "process", f"{WRITE} {function}", 5),
    ]
    assert classes(stacks)[("threads", "interrupts_on")] == 1000
    # What such a function calls is sampled in its place.
    assert ("threads", "interrupts_on") not in classes([("load", "process", f"{function} tcp_write_xmit", 5)])


def test_a_pmu_samples_code_with_interrupts_off_where_it_runs() -> None:
    found = classes([("load", "process", f"{WRITE} native_write_msr", 5)], pmu_cycles=1000.0)
    assert {name for _, name in found} == {"hypervisor"}
