"""Compares results: figures with intervals, costs split into parts that add up, and what limits each cell."""

from whyperf.compare.compare import CompareError, compare_sources
from whyperf.compare.comparison import CellPair, Comparison
from whyperf.compare.limits import Limit, LimitError, limit_of, without_row
from whyperf.compare.source import Source

__all__ = [
    "CellPair",
    "CompareError",
    "Comparison",
    "Limit",
    "LimitError",
    "Source",
    "compare_sources",
    "limit_of",
    "without_row",
]
