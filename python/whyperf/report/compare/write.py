"""Writes the page of a comparison: reads the trees of the pairs that it draws."""

from collections.abc import Sequence
from pathlib import Path

from whyperf.analyze.cost.tree import Frame
from whyperf.compare import Comparison, Source
from whyperf.compare.trees import pair_trees
from whyperf.record.durable import write_file
from whyperf.report.compare.page import render
from whyperf.report.compare.pairs import flame_pairs
from whyperf.report.repeat import command


def write(path: Path, comparison: Comparison, sources: Sequence[Source]) -> None:
    """Writes the page, completely or not at all.

    Raises:
        RecordError: a record cannot be read.
        OSError: the page cannot be written.
    """
    by_label = {source.label: source for source in sources}
    trees: dict[tuple[int, str], Frame] = {}
    for place in flame_pairs(comparison):
        pair = comparison.pairs[place]
        # Two conditions of one result have labels of their own.
        found = pair_trees(pair, *(by_label.get(cell.label, sources[0]) for cell in (pair.a, pair.b)))
        trees |= {(place, role): tree for role, tree in found.items()}
    commands = dict.fromkeys(filter(None, (command(source.experiment) for source in sources)))
    write_file(path, render(comparison, trees, list(commands)).encode())
