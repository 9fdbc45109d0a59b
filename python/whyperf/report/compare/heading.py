"""The heading of a comparison: what is compared, the largest findings in sentences, and key numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

from whyperf.analyze.cost.text import cycles
from whyperf.analyze.text import count
from whyperf.compare.comparison import CellPair, Comparison, QuantityDifference
from whyperf.compare.headline import headlines
from whyperf.report.compare.pairs import change_of, pair_name
from whyperf.report.compare.texts import ratio_text, value_text

RATES = ("transactions", "datagrams", "goodput")
"""The figure that a pair is about: the first of these that it has."""


@dataclass(frozen=True)
class KeyFigure:
    """A key number: its value, name, and a remark."""

    value: str
    name: str
    remark: str


def title_of(comparison: Comparison) -> str:
    """The subject of the comparison, in a phrase."""
    results = comparison.results
    if results[0].condition is not None:
        return f"{results[0].experiment}, " + " and ".join(f"{entry.condition} ({entry.label})" for entry in results)
    names = [result.experiment + (f":{result.cell}" if result.cell else "") for result in results]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def sentences_of(comparison: Comparison) -> tuple[str, str]:
    """The largest finding, and further ones; both as sentences, the second may be empty."""
    if not comparison.pairs:
        return "No two cells were compared.", ""
    found = list(headlines(comparison)) or ["The two cells have no rate and no cost in common."]
    first, *further = found
    return first, " ".join([*further, *(_of_pairs(comparison) if len(comparison.pairs) > 1 else ())])


def _of_pairs(comparison: Comparison) -> Iterator[str]:
    pairs = comparison.pairs
    tests = [side.test for pair in pairs for side in pair.sides if side.refused is None]
    if tests:
        grew = sum(test.is_significant and test.difference > 0 for test in tests)
        shrank = sum(test.is_significant and test.difference < 0 for test in tests)
        yield f"Of {count(len(tests), 'side')}, {grew:,} cost significantly more and {shrank:,} less."
    place = max(range(len(pairs)), key=lambda number: change_of(pairs[number]))
    rate = rate_of(pairs[place])
    if rate is not None and rate.ratio is not None and rate.test.is_significant:
        yield f"The largest change is with {pair_name(comparison, place).title}: {ratio_text(rate.ratio)} the rate."


def rate_of(pair: CellPair) -> QuantityDifference | None:
    """The figure that a pair is about."""
    found = {entry.name: entry for entry in pair.quantities}
    return next((found[name] for name in RATES if name in found), None)


def key_figures_of(comparison: Comparison) -> tuple[KeyFigure, ...]:
    """Ratios of the only pair, and how many differences are significant."""
    found = []
    if len(comparison.pairs) == 1:
        pair = comparison.pairs[0]
        rate = rate_of(pair)
        if rate is not None:
            found.append(KeyFigure(ratio_text(rate.ratio), rate.title, _ends(rate.a, rate.b, rate.unit)))
        for side in pair.sides:
            if side.refused is None:
                remark = f"{cycles(side.a)} → {cycles(side.b)} ({side.unit})"
                unit = side.counted_in.replace("cycles", "Cycles")
                found.append(KeyFigure(ratio_text(side.ratio), f"{unit}/{side.work}, {side.role}", remark))
        if not pair.sides:
            of_cycles = [entry for entry in pair.quantities if entry.name.startswith("cycles_")]
            found += [
                KeyFigure(ratio_text(entry.ratio), entry.title, _ends(entry.a, entry.b, entry.unit))
                for entry in of_cycles
            ]
    else:
        found.append(KeyFigure(f"{len(comparison.pairs):,}", "Pairs of cells", ""))
    remark = f"of {count(comparison.tests, 'difference')} tested"
    found.append(KeyFigure(f"{comparison.significant:,}", "Significant", remark))
    return tuple(found)


def _ends(a: float, b: float, unit: str) -> str:
    return f"{value_text(unit, a)} → {value_text(unit, b)}"
