"""The sentences that say most of a comparison."""

from collections.abc import Iterator, Sequence

from whyperf.analyze.cost.text import cycles
from whyperf.analyze.text import count, significant
from whyperf.compare.comparison import NS, CellPair, Comparison, QuantityDifference, SideDifference


def headlines(found: Comparison) -> Iterator[str]:
    """A sentence on the rate and one on the cost of each side, for each result that is compared with the first."""
    for label in dict.fromkeys(pair.b.label for pair in found.pairs):
        pairs = [pair for pair in found.pairs if pair.b.label == label]
        if len(pairs) == 1:
            yield from _of_pair(pairs[0])
        else:
            yield _of_pairs(label, pairs)


def _rate(pair: CellPair) -> QuantityDifference | None:
    """The quantity in which the rate of a pair is counted: transactions where both count them."""
    rows = {row.name: row for row in pair.quantities}
    return rows.get("transactions") or rows.get("goodput")


def _of_pair(pair: CellPair) -> Iterator[str]:
    rate, label = _rate(pair), pair.b.label
    if rate is not None and rate.ratio is not None:
        what = "rate of transactions" if rate.name == "transactions" else "goodput"
        if rate.test.p_value is not None and not rate.test.is_significant:
            yield f"{what.capitalize()}: no significant difference; {label}/A is {_ratio(rate)}."
        else:
            yield f"{what.capitalize()} of {label} is {_ratio(rate)} × that of A."
    for side in pair.sides:
        if side.refused is None and side.ratio is not None:
            yield _of_side(side, label)


def _ratio(row: QuantityDifference) -> str:
    assert row.ratio is not None
    ends = "" if row.ratio_low is None else f" ({significant(row.ratio_low)} to {significant(row.ratio_high or 0)})"
    return f"{significant(row.ratio)}{ends}"


def _of_side(side: SideDifference, label: str) -> str:
    change = side.test.difference
    if side.test.p_value is not None and not side.test.is_significant:
        return f"Cost of the {side.role}: no significant difference between A and {label}."
    verb = "more" if change > 0 else "less" if side.counted_in == NS else "fewer"
    largest = [entry for entry in side.classes if entry.test.difference * change > 0][:2]
    parts = " and ".join(f"{_in_sentence(entry.title)} ({cycles(abs(entry.test.difference))})" for entry in largest)
    most = f"; largest parts: {parts}" if parts else ""
    times = f"{significant(side.ratio or 0)} ×"
    needs = f"{cycles(abs(change))} {verb} {side.counted_in} per {side.work}"
    return f"The {side.role} of {label} needs {needs} ({times}){most}."


def _in_sentence(title: str) -> str:
    """A title within a sentence; abbreviations stay."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def _of_pairs(label: str, pairs: Sequence[CellPair]) -> str:
    rates = [rate for pair in pairs if (rate := _rate(pair)) is not None and rate.ratio is not None]
    faster = sum(rate.test.is_significant and (rate.ratio or 0) > 1 for rate in rates)
    slower = sum(rate.test.is_significant and (rate.ratio or 0) < 1 for rate in rates)
    rest = len(rates) - faster - slower
    pairs_text = count(len(rates), "pair of cells", "pairs of cells")
    if all(rate.test.p_value is None for rate in rates):
        ratios = [rate.ratio or 0.0 for rate in rates]
        more, less = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
        return f"Of {pairs_text}, {label} was faster in {more} and slower in {less}; none could be tested."
    return (
        f"Of {pairs_text}, {label} is significantly faster in {faster} and slower in {slower}; no significant "
        f"difference in {rest}."
    )
