"""From samples to what is said about them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.plan import PEERS, TOOLS, WHYPERF, Cell
from bench.ratio import Ratio, ratio_of_pairs
from bench.sample import Sample

MISTRUST_RATIO = 0.10
"""A tool's own goodput may differ this much from the device's counters, which cover a little less
of the time, before it is said."""


@dataclass(frozen=True)
class ToolSummary:
    """Medians over the pairs of one cell."""

    goodput_bps: float
    cpu_ns_per_kbyte: float
    busy_ns_per_kbyte: float


@dataclass(frozen=True)
class Comparison:
    """whyperf over a peer: more goodput is better, less CPU is better."""

    goodput: Ratio
    cpu: Ratio
    busy: Ratio


@dataclass(frozen=True)
class CellSummary:
    """All tools in one cell."""

    cell: Cell
    tools: dict[str, ToolSummary]
    against: dict[str, Comparison]


def summarize(samples: list[Sample], seed: int) -> list[CellSummary]:
    """One summary a cell, in the order of connections and write size."""
    cells = sorted({sample.turn.cell for sample in samples}, key=lambda cell: (cell.connections, cell.write_size_bytes))
    return [_summarize_cell(cell, [sample for sample in samples if sample.turn.cell == cell], seed) for cell in cells]


def _summarize_cell(cell: Cell, samples: list[Sample], seed: int) -> CellSummary:
    by_tool = {
        tool: sorted((sample for sample in samples if sample.turn.tool == tool), key=lambda sample: sample.turn.pair)
        for tool in TOOLS
    }
    present = {tool: taken for tool, taken in by_tool.items() if taken}
    return CellSummary(
        cell=cell,
        tools={tool: _summarize_tool(taken) for tool, taken in present.items()},
        against={
            peer: _compare(present[WHYPERF], present[peer], seed)
            for peer in PEERS
            if peer in present and WHYPERF in present
        },
    )


def _summarize_tool(samples: list[Sample]) -> ToolSummary:
    return ToolSummary(
        goodput_bps=_median(samples, lambda sample: sample.goodput_bps),
        cpu_ns_per_kbyte=_median(samples, lambda sample: sample.cpu_ns_per_kbyte),
        busy_ns_per_kbyte=_median(samples, lambda sample: sample.busy_ns_per_kbyte),
    )


def _median(samples: list[Sample], figure: Callable[[Sample], float]) -> float:
    return float(np.median([figure(sample) for sample in samples]))


def _compare(ours: list[Sample], theirs: list[Sample], seed: int) -> Comparison:
    def ratio(figure: Callable[[Sample], float]) -> Ratio:
        return ratio_of_pairs([figure(sample) for sample in ours], [figure(sample) for sample in theirs], seed)

    return Comparison(
        goodput=ratio(lambda sample: sample.goodput_bps),
        cpu=ratio(lambda sample: sample.cpu_ns_per_kbyte),
        busy=ratio(lambda sample: sample.busy_ns_per_kbyte),
    )


def doubts(samples: list[Sample]) -> list[str]:
    """Sentences about samples whose own figure and the device's counters disagree."""
    return [
        f"{sample.turn.tool}, {sample.turn.cell.name}, pair {sample.turn.pair}: its own goodput is "
        f"{sample.goodput_bps / 1e9:.2f} Gbit/s, the device counted {sample.counted_bps / 1e9:.2f} Gbit/s"
        for sample in samples
        if abs(sample.goodput_bps / sample.counted_bps - 1) > MISTRUST_RATIO
    ]
