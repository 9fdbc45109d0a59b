"""From samples to what is said about them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lab.bench.plan import CELLS, PEERS, TOOLS, WHYPERF, Cell
from lab.bench.ratio import Ratio, ratio_of_pairs
from lab.bench.sample import Sample

MISTRUST_RATIO = 0.10
"""A tool's own goodput may differ this much from the device's counters, which cover a little less
of the time, before it is said."""


@dataclass(frozen=True)
class ToolSummary:
    """Medians over the pairs of one cell."""

    rate: float
    """Goodput in bit/s, or transactions a second."""
    cpu_ns_per_unit: float
    busy_ns_per_unit: float


@dataclass(frozen=True)
class Comparison:
    """whyperf over a peer: a higher rate is better, less CPU is better."""

    rate: Ratio
    cpu: Ratio
    busy: Ratio


@dataclass(frozen=True)
class CellSummary:
    """All tools in one cell."""

    cell: Cell
    tools: dict[str, ToolSummary]
    against: dict[str, Comparison]


def summarize(samples: list[Sample], seed: int) -> list[CellSummary]:
    """One summary a cell, in the order of the plan."""
    taken = {sample.run.cell for sample in samples}
    cells = [cell for cell in CELLS if cell in taken]
    return [_summarize_cell(cell, [sample for sample in samples if sample.run.cell == cell], seed) for cell in cells]


def _summarize_cell(cell: Cell, samples: list[Sample], seed: int) -> CellSummary:
    by_tool = {
        tool: sorted((sample for sample in samples if sample.run.tool == tool), key=lambda sample: sample.run.pair)
        for tool in TOOLS
    }
    present = {tool: taken for tool, taken in by_tool.items() if taken}
    return CellSummary(
        cell=cell,
        tools={tool: _summarize_tool(taken) for tool, taken in present.items()},
        against={
            peer: comparison
            for peer in PEERS
            if peer in present and WHYPERF in present
            if (comparison := _compare(present[WHYPERF], present[peer], seed)) is not None
        },
    )


def _summarize_tool(samples: list[Sample]) -> ToolSummary:
    return ToolSummary(
        rate=_median(samples, lambda sample: sample.rate),
        cpu_ns_per_unit=_median(samples, lambda sample: sample.cpu_ns_per_unit),
        busy_ns_per_unit=_median(samples, lambda sample: sample.busy_ns_per_unit),
    )


def _median(samples: list[Sample], figure: Callable[[Sample], float]) -> float:
    return float(np.median([figure(sample) for sample in samples]))


def _compare(ours: list[Sample], theirs: list[Sample], seed: int) -> Comparison | None:
    """Pair by pair; a pair in which one of both failed is left out. None when no pair is left."""
    other = {sample.run.pair: sample for sample in theirs}
    pairs = [(sample, other[sample.run.pair]) for sample in ours if sample.run.pair in other]
    if not pairs:
        return None

    def ratio(figure: Callable[[Sample], float]) -> Ratio:
        return ratio_of_pairs([figure(ours) for ours, _ in pairs], [figure(two) for _, two in pairs], seed)

    return Comparison(
        rate=ratio(lambda sample: sample.rate),
        cpu=ratio(lambda sample: sample.cpu_ns_per_unit),
        busy=ratio(lambda sample: sample.busy_ns_per_unit),
    )


def warnings(samples: list[Sample]) -> list[str]:
    """Sentences about samples whose own figure and the device's counters disagree."""
    return [
        f"{sample.run.tool}, {sample.run.cell.name}, pair {sample.run.pair}: its own goodput is "
        f"{sample.rate / 1e9:.2f} Gbit/s, the device counted {sample.counted_bps / 1e9:.2f} Gbit/s"
        for sample in samples
        if sample.counted_bps and abs(sample.rate / sample.counted_bps - 1) > MISTRUST_RATIO
    ]
