"""Cells whose hosts work in parallel, next to a cell of the same window whose hosts take turns.

Study 1: with a window of 4,096 bytes, writes of 2,048 bytes are about 20 % faster than writes of 4,096 bytes.
"""

from collections.abc import Mapping, Sequence

from whyperf.explain.explanation import CellExplanation, Phase
from whyperf.explain.wording.catalog import render
from whyperf.explain.wording.patterns import PARALLEL, acks_per_window, is_stop_and_go
from whyperf.plan import Plan
from whyperf.profile import Level

CALLS = ("write_size_bytes", "read_size_bytes")
"""Factors that may differ between the two cells: the sizes of calls."""
MIN_FASTER = 1.05
"""Times the other cell's rate: less is within what repeating a trial changes."""


def compared_with_alternating(cells: Sequence[CellExplanation], plan: Plan) -> list[CellExplanation]:
    """The cells in order; one with parallel work says how much faster it is than one whose hosts take turns."""
    if plan.watched is not None:
        return list(cells)
    factors = {cell.cell: dict(plan.cell(cell.cell).factors) for cell in cells}
    alternating = [cell for cell in cells if (phase := _longest(cell)) is not None and is_stop_and_go(phase)]
    return [_compared(cell, alternating, factors) for cell in cells]


def _compared(
    cell: CellExplanation, alternating: Sequence[CellExplanation], factors: Mapping[str, Mapping[str, Level]]
) -> CellExplanation:
    phase, rate = _longest(cell), cell.rate_bps
    if phase is None or not rate or not _is_parallel(phase):
        return cell
    alike = [
        other for other in alternating if other.rate_bps and _others(factors[other.cell]) == _others(factors[cell.cell])
    ]
    other = max(alike, key=lambda found: found.rate_bps or 0.0, default=None)
    if other is None or not other.rate_bps or rate < MIN_FASTER * other.rate_bps:
        return cell
    values = {
        "overlap_ratio": phase.overlap_ratio,
        "acks_per": acks_per_window(phase),
        "faster_times": rate / other.rate_bps,
        "other": other.cell,
    }
    text = render("parallel", "alternating", values)
    first = cell.patterns[0]
    patterns = [first.model_copy(update={"words": f"{first.words} {text}"}), *cell.patterns[1:]]
    return cell.model_copy(update={"patterns": patterns, "headline": f"{cell.headline} {text}"})


def _longest(cell: CellExplanation) -> Phase | None:
    """The phase that fills most of the first connection's time."""
    phases = cell.patterns[0].phases if cell.patterns else []
    return max(phases, key=lambda phase: phase.ratio, default=None)


def _is_parallel(phase: Phase) -> bool:
    """True where both work within a window that holds few segments: with more of them they always do."""
    largest = max((size for size, _ in phase.payloads), default=0)
    is_small = phase.window_bytes is not None and largest < phase.window_bytes <= MAX_SEGMENTS * largest
    return is_small and (phase.overlap_ratio or 0.0) >= PARALLEL


MAX_SEGMENTS = 4
"""Segments of a window from which on hosts take no turns, whatever the sizes of writes."""


def _others(factors: Mapping[str, Level]) -> dict[str, Level]:
    return {name: level for name, level in factors.items() if name not in CALLS}
