"""Trees of functions: what they hold together, and what two of them differ in."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.cost_samples import Stack, report, tables, used
from tests.unit.analyze.cost.sampled_results import add_samples
from tests.unit.analyze.cost.test_cost_budget import STACKS
from tests.unit.analyze.workload_samples import Exchange, in_blocks
from tests.unit.analyze.workload_samples import write as write_exchanges
from whyperf.analyze.cost.budget import trial_rows, weighed_stacks
from whyperf.analyze.cost.pprof import pprof_profile
from whyperf.analyze.cost.stored_budget import read_cost, read_trees
from whyperf.analyze.cost.tree import MAX_DEPTH, REST, Frame, compared, side_trees
from whyperf.record import Experiment


def units_of(units: float) -> pl.DataFrame:
    return pl.DataFrame({"trial": ["001-c0001"], "role": ["sender"], "units": [units]})


def tree(stacks: list[Stack], units: float = 1.0) -> Frame:
    """The tree of the only side, whose load's threads used 2,000 cycles."""
    weighed = weighed_stacks(*tables(stacks), report(sum(stack[3] for stack in stacks)), used())
    (frame,) = side_trees(weighed, units_of(units)).values()
    return frame


def values(frame: Frame) -> dict[str, float]:
    return {found.name: found.value for found in frame.frames()}


def test_a_function_costs_itself_and_what_it_calls_per_unit() -> None:
    stacks: list[Stack] = [
        ("load", "process", "main entry_SYSCALL_64 tcp_sendmsg", 1),
        ("load", "process", "main entry_SYSCALL_64", 1),
        ("load", "process", "", 2),
    ]
    found = tree(stacks, units=10)
    assert values(found) == pytest.approx(
        {"sender": 200, "main": 100, "entry_SYSCALL_64": 100, "tcp_sendmsg": 50, "[Not attributed]": 100}
    )
    assert found.children[-1].kind == REST


def test_a_frame_has_the_class_of_what_is_its_own() -> None:
    stacks: list[Stack] = [
        ("load", "process", "main entry_SYSCALL_64 tcp_sendmsg _raw_spin_lock", 1),
        ("load", "process", "main entry_SYSCALL_64 tcp_sendmsg _copy_from_iter", 9),
        ("load", "process", "main entry_SYSCALL_64 tcp_sendmsg __traceiter_x bpf_prog_1_own bpf_ktime_get_ns", 1),
    ]
    classes = {frame.name: frame.cost_class for frame in tree(stacks).frames()}
    assert classes == {
        "sender": None,
        "main": "application",
        "entry_SYSCALL_64": "system_calls",
        "tcp_sendmsg": "transmit",
        "_raw_spin_lock": "transmit",
        "_copy_from_iter": "copy",
        "__traceiter_x": "transmit",
        "bpf_prog_1_own": "own_tracing",
        "bpf_ktime_get_ns": "own_tracing",
    }


@pytest.mark.parametrize("kind", ["stream", "rr"])
def test_the_root_is_the_total_of_the_side(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / kind
    if kind == "rr":
        write_exchanges(folder, in_blocks(Exchange(made.Trial(duration_s=2)), (1000.0, 3000.0)))
    else:
        made.write(folder, made.blocks_of(made.Trial(duration_s=2), [1e9, 4e9]))
    experiment = add_samples(folder)
    (cell,) = read_cost(experiment).cells
    trees = read_trees(experiment, [cell])
    assert len(cell.sides) == 2
    for side in cell.sides:
        total = made.known(side.per_transaction if kind == "rr" else side.total)
        assert trees[cell.id, side.role].value == pytest.approx(total.mean, rel=1e-12)


def test_a_result_without_samples_has_no_tree(tmp_path: Path) -> None:
    experiment = Experiment.open(made.write(tmp_path / "plain", [made.Trial(duration_s=2)]))
    assert read_trees(experiment, read_cost(experiment).cells) == {}


def test_a_stack_that_somebody_made_longer_is_cut() -> None:
    names = " ".join(f"f{place}" for place in range(5000))
    found = list(tree([("load", "process", names, 1)]).frames())
    assert len(found) == MAX_DEPTH + 1
    assert {frame.value for frame in found} == {2000}


def test_functions_of_a_damaged_record_have_no_name() -> None:
    stacks, functions = tables([("load", "process", "main tcp_sendmsg", 1), ("load", "process", "main tcp_ack", 1)])
    is_send = pl.col("name") == "tcp_sendmsg"
    damaged = functions.with_columns(
        pl.when(is_send).then(pl.lit(None)).otherwise("name").alias("name"),
        pl.when(is_send).then("kind").otherwise(pl.lit(None)).alias("kind"),
        pl.lit(None, pl.String).alias("object"),
    )
    weighed = weighed_stacks(stacks, damaged, report(2), used())
    (found,) = side_trees(weighed, units_of(1)).values()
    assert values(found) == {"sender": 2000, "main": 2000, "[unknown]": 1000, "tcp_ack": 1000}
    assert pprof_profile(weighed) is not None


@given(stacks=STACKS)
def test_children_never_cost_more_than_their_caller(stacks: list[Stack]) -> None:
    weighed = weighed_stacks(*tables(stacks), report(sum(stack[3] for stack in stacks)), used())
    exclusive, _ = trial_rows(weighed)
    trees = side_trees(weighed, units_of(3.0))
    assert sum(frame.value for frame in trees.values()) == pytest.approx(exclusive["cycles"].sum() / 3, abs=1e-9)
    for root in trees.values():
        for frame in root.frames():
            assert sum(child.value for child in frame.children) <= frame.value * (1 + 1e-9)


def test_functions_that_vanished_and_new_ones_are_in_the_comparison() -> None:
    old = tree([("load", "process", "main tcp_sendmsg", 3), ("load", "process", "main tcp_ack", 1)])
    new = tree([("load", "process", "main tcp_sendmsg", 1), ("load", "process", "main read_tsc", 1)], units=2)
    found = {frame.name: (frame.before, frame.value) for frame in compared(old, new).frames()}
    assert found == {
        "sender": (2000, 1000),
        "main": (2000, 1000),
        "tcp_sendmsg": (1500, 500),
        "tcp_ack": (500, 0),
        "read_tsc": (0, 500),
    }
    with pytest.raises(ValueError, match="no tree"):
        compared(None, None)
