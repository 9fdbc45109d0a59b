"""The trees of functions of a pair of cells, as one tree of differences for each side."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from whyperf.analyze.cost.classes import BPF, OWN_BPF
from whyperf.analyze.cost.stored_budget import read_sampled_trees
from whyperf.analyze.cost.tree import REST, Frame, compared
from whyperf.compare.comparison import CellPair, SideDifference
from whyperf.compare.costs import common_name
from whyperf.compare.source import Source


def pair_trees(pair: CellPair, a: Source, b: Source) -> dict[str, Frame]:
    """The tree of each side with costs in both cells, by role: values of B, and those of A before.

    They are in cycles for each unit of the side's `work`, over the trials that the side compares, so the root has the
    side's totals. Functions are matched by the names that another kernel or another build has, too (`common_name`).

    Raises:
        RecordError: a record cannot be read.
    """
    sides = [side for side in pair.sides if side.refused is None]
    if not sides:
        return {}
    before = _trees((a, pair.a.cell), (b, pair.b.cell), sides)
    after = _trees((b, pair.b.cell), (a, pair.a.cell), sides)
    return {
        side.role: compared(before.get(side.role), after.get(side.role))
        for side in sides
        if side.role in before or side.role in after
    }


def _trees(own: tuple[Source, str], other: tuple[Source, str], sides: Sequence[SideDifference]) -> dict[str, Frame]:
    """The trees of a cell by role. Of a side that was compared by block, only trials whose block the other cell has."""
    source = own[0]
    divisors = [
        (trial, side.role, side.work == "KByte")
        for side in sides
        for trial, block in _sampled(*own, side.role).items()
        if not side.test.is_paired or block in _sampled(*other, side.role).values()
    ]
    found = read_sampled_trees(source.experiment, source.trials, divisors)
    return {role: with_common_names(tree) for (_, role), tree in found.items()}


def _sampled(source: Source, cell: str, role: str) -> dict[str, int]:
    """The trials of a side of a cell that have costs, with their blocks."""
    table = (source.result.costs or {}).get((cell, role))
    return {} if table is None else {trial: source.result.blocks[trial] for trial in table.trials}


def with_common_names(frame: Frame) -> Frame:
    """The tree with names that another kernel, or another build of a program, has too; equal ones are one frame."""
    groups: dict[tuple[str, str, str], list[Frame]] = {}
    for child in frame.children:
        groups.setdefault(_key(child), []).append(child)
    children = (with_common_names(_merged(key, found)) for key, found in groups.items())
    # In the order of `side_trees`, so that the same function has the same place in both.
    ordered = sorted(children, key=lambda child: (child.kind == REST, child.key))
    return replace(frame, children=tuple(ordered))


def _key(frame: Frame) -> tuple[str, str, str]:
    if frame.kind == REST:
        return frame.key
    found = _common(frame.key)
    # An empty tag takes the place of the real one: a part of the name could be taken for it.
    return (f"bpf_prog__{found[0]}", *found[1:]) if frame.kind in {BPF, OWN_BPF} else found


@cache
def _common(key: tuple[str, str, str]) -> tuple[str, str, str]:
    """The name that another build has, too: a tree has a function in many places."""
    return common_name(*key) or key


def _merged(key: tuple[str, str, str], frames: Sequence[Frame]) -> Frame:
    first = frames[0]
    children = tuple(_all_children(frames))
    return Frame(*key, value=sum(frame.value for frame in frames), cost_class=first.cost_class, children=children)


def _all_children(frames: Sequence[Frame]) -> Iterator[Frame]:
    for frame in frames:
        yield from frame.children
