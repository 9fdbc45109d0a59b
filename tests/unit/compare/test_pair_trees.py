"""The trees of a pair of cells: their totals, and which functions are the same in both."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.cost_samples import Stack
from tests.unit.analyze.cost.sampled_results import RECEIVER, SENDER, WRITE, add_samples
from whyperf.analyze.cost.tree import Frame
from whyperf.compare import Source, compare_sources
from whyperf.compare.trees import pair_trees, with_common_names
from whyperf.record import Experiment

OTHER_KERNEL: tuple[Stack, ...] = (
    ("load", "process", f"{WRITE}.constprop.0 _copy_from_iter", 300),
    ("load", "process", f"{WRITE}.isra.0 _copy_from_iter", 100),
    ("load", "process", f"{WRITE} sk_wait_data", 60),
    ("idle", "idle", "do_idle", 100),
)


def result(folder: Path, stacks: Mapping[str, Sequence[Stack]], trials: Sequence[made.Trial]) -> Experiment:
    return add_samples(made.write(folder, list(trials)), stacks)


def named(root: Frame, name: str) -> list[Frame]:
    return [frame for frame in root.frames() if frame.name == name]


def test_the_root_has_the_totals_of_the_side_and_functions_match_across_kernels(tmp_path: Path) -> None:
    trials = made.blocks_of(made.Trial(duration_s=2), [1e9, 2e9])
    a = Source("A", result(tmp_path / "a", {"near": SENDER, "far": RECEIVER}, trials))
    b = Source("B", result(tmp_path / "b", {"near": OTHER_KERNEL, "far": RECEIVER}, trials))
    (pair,) = compare_sources([a, b]).pairs
    found = pair_trees(pair, a, b)
    assert set(found) == {"sender", "receiver"}
    for side in pair.sides:
        assert found[side.role].before == pytest.approx(side.a)
        assert found[side.role].value == pytest.approx(side.b)
    # What the compiler appends makes no other function, and what it split is one again.
    (send,) = named(found["sender"], "tcp_sendmsg")
    assert send.before
    assert send.value > 0
    (copy,) = named(found["sender"], "_copy_from_iter")
    functions = {function.name: function for entry in pair.sides[0].classes for function in entry.functions}
    assert copy.value == pytest.approx(functions["_copy_from_iter"].exclusive_b)
    assert copy.before == pytest.approx(functions["_copy_from_iter"].exclusive_a)
    assert [frame.value for frame in named(found["sender"], "ip_queue_xmit")] == [0]
    assert [frame.before for frame in named(found["sender"], "sk_wait_data")] == [0]


def test_programs_are_matched_without_tags_and_folders() -> None:
    def frame(name: str, kind: str, object_: str, *children: Frame) -> Frame:
        return Frame(name, kind, object_, 1 + sum(child.value for child in children), children=children)

    tree = with_common_names(
        frame(
            "sender",
            "rest",
            "",
            frame("bpf_prog_1f_net_dev_queue", "bpf", "", frame("helper", "kernel", "")),
            frame("bpf_prog_2e_net_dev_queue", "bpf", "", frame("helper", "kernel", "")),
            frame("main", "program", "/usr/bin/x"),
            frame("main", "program", "/opt/bin/x"),
        )
    )
    assert [child.key for child in tree.children] == [
        ("bpf_prog__net_dev_queue", "bpf", ""),
        ("main", "program", "x"),
    ]
    assert [child.value for child in tree.children] == [4, 2]
    assert [child.value for child in tree.children[0].children] == [2]
