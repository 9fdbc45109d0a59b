"""The pairs of a comparison: their names on the page, and which have the largest change."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest

from whyperf.analyze.text import setting
from whyperf.compare.comparison import CellPair, Comparison

MAX_FIGURES = 120
"""At most this many pairs have a table of figures."""
MAX_COSTS = 8
"""At most this many pairs have waterfalls, tables of functions, and budgets."""
MAX_FLAMES = 4
"""At most this many pairs have flame graphs: each has two, of about 13 KB."""


@dataclass(frozen=True)
class PairName:
    """A pair as the page names it. `a` and `b` head the columns of its tables; `anchor` is where its figures are.

    `title` is empty where the comparison has one pair.
    """

    anchor: str
    title: str
    cells: str
    a: str
    b: str


def pair_name(comparison: Comparison, place: int) -> PairName:
    """The name of the pair at a place."""
    pair = comparison.pairs[place]
    a, b = pair.a.label, pair.b.label
    cells = f"{a}: cell {pair.a.cell}, {b}: cell {pair.b.cell}"
    if len(comparison.pairs) == 1:
        return PairName("pair-1", "", cells, a, b)
    phrase = setting(pair.setting, list(pair.setting)) or (
        pair.a.cell if pair.a.cell == pair.b.cell else f"{pair.a.cell} and {pair.b.cell}"
    )
    # With a third result, the setting alone names several pairs.
    title = phrase if len(comparison.results) <= 2 else f"{a} and {b}, {phrase}"
    return PairName(f"pair-{place + 1}", title, cells, a, b)


def change_of(pair: CellPair) -> float:
    """The size of a pair's change: the largest |ln ratio| of its costs or, without costs, of its rates."""
    costs = [side.ratio for side in pair.sides if side.refused is None]
    rates = [entry.ratio for entry in pair.quantities if entry.name in {"goodput", "transactions"}]
    return max((abs(math.log(ratio)) for ratio in costs or rates if ratio and ratio > 0), default=0.0)


def largest(comparison: Comparison, places: Sequence[int], count: int) -> tuple[int, ...]:
    """Those of these pairs that changed most, in the order of the comparison."""
    return tuple(sorted(nlargest(count, places, key=lambda place: change_of(comparison.pairs[place]))))


def cost_pairs(comparison: Comparison) -> tuple[int, ...]:
    """The places of all pairs with a cost, or a reason why it is not compared."""
    return tuple(place for place, pair in enumerate(comparison.pairs) if pair.sides)


def flame_pairs(comparison: Comparison) -> tuple[int, ...]:
    """The places of the pairs that have flame graphs."""
    with_costs = [
        place for place, pair in enumerate(comparison.pairs) if any(side.refused is None for side in pair.sides)
    ]
    return largest(comparison, with_costs, MAX_FLAMES)
