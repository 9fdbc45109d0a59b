"""From curves to anomalies: where, how much, what differs, and what that makes the cause."""

from collections.abc import Mapping, Sequence

from whyperf.analyze.quantity import percent, si, significant
from whyperf.analyze.summary import CellResult, Summary
from whyperf.explain.anomalies.bends import Bend, find_bend
from whyperf.explain.anomalies.cause import bend_cause, point_cause
from whyperf.explain.anomalies.curves import Curve, curves_of
from whyperf.explain.anomalies.evidence import differences, known_of
from whyperf.explain.anomalies.standing_out import Candidate, standing_out
from whyperf.explain.anomalies.together import Group, together
from whyperf.explain.model import Anomaly, CellExplanation, Evidence

MOST = 100
"""Anomalies of an experiment, the largest first: a reader takes no more."""


def anomalies_of(summary: Summary, cells: Sequence[CellExplanation] = ()) -> list[Anomaly]:
    """What stands out in the sweeps of an experiment, the farthest first, then bends.

    Args:
        summary: of `analyze.summarize`, measured or simulated.
        cells: what is known of cells from their trials' logs; cells that are not there are compared by rates, CPUs,
            calls and retransmissions alone, and the anomaly says so.
    """
    explained = {cell.cell: cell for cell in cells}
    curves = curves_of(summary.cells, summary.varied)
    points = standing_out(curves)
    found = [_point(group, explained) for group in together(points, curves)]
    bends = []
    for curve in curves:
        left_out = frozenset(one.at for one in points if one.curve is curve and len(one.neighbors) > 1)
        bend = find_bend(curve, left_out)
        bends += [bend] if bend is not None else []
    found += [_bend(group, explained) for group in together(bends, curves)]
    return found[:MOST]


def _point(group: Group[Candidate], explained: Mapping[str, CellExplanation]) -> Anomaly:
    one = group.first
    curve, own = one.curve, one.curve.cells[one.at]
    near = [curve.cells[at] for at in one.neighbors]
    levels = " and ".join(_level(curve, at) for at in one.neighbors)
    listed = _differences(own, near, explained, f"at {levels}")
    way = "above" if one.kind == "peak" else "below"
    against = f"what {levels} foretell" if len(near) > 1 else f"that at {levels}"
    far = f"{_far(one.ratio)} {way} {against}{_wide(one)}{group.words}"
    doubt = "" if one.chance is not None else " One trial a cell: how much rates vary is not known."
    return Anomaly(
        kind=one.kind,
        cell=own.id,
        sweep=curve.sweep,
        factor=curve.factor,
        level=_factor(own, curve.factor),
        ratio=one.ratio,
        neighbors=[cell.id for cell in near],
        differences=listed,
        cause=point_cause(one.kind, own, near, explained),
        words=f"{_where(curve, own)}: the rate, {_rate(curve, one.at)}, is {far}.{_why(own, explained)}{doubt}",
    )


def _bend(group: Group[Bend], explained: Mapping[str, CellExplanation]) -> Anomaly:
    bend = group.first
    curve, own = bend.curve, bend.curve.cells[bend.at]
    before, behind = list(curve.cells[: bend.at]), list(curve.cells[bend.at :])
    if bend.kind == "plateau":
        text = f"from here on the rate stays at about {_rate(curve, bend.at)}"
    else:
        less = significant(bend.before / max(bend.behind, 0.01), 2)
        text = f"from here on, at {_rate(curve, bend.at)}, the rate grows {less} times less steeply"
    return Anomaly(
        kind=bend.kind,
        cell=own.id,
        sweep=curve.sweep,
        factor=curve.factor,
        level=_factor(own, curve.factor),
        ratio=None,
        neighbors=[cell.id for cell in before],
        differences=_differences(own, before[-1:], explained, f"at {_level(curve, bend.at - 1)}"),
        cause=bend_cause(behind, explained),
        words=f"{_where(curve, own)}: {text}{group.words}.",
    )


def _differences(
    own: CellResult, near: Sequence[CellResult], explained: Mapping[str, CellExplanation], label: str
) -> list[Evidence]:
    """The differences, and what could not be compared."""
    known = [known_of(cell, explained.get(cell.id)) for cell in (own, *near)]
    listed = differences(known[0], known[1:], label)
    with_log = [_has_log(explained.get(cell.id)) for cell in (own, *near)]
    if not with_log[0] or not any(with_log[1:]):
        where = "here" if not with_log[0] else label
        listed.append(Evidence(words=f"No segment log {where}: sizes, ACKs and waits are not compared."))
    return listed


def _has_log(explained: CellExplanation | None) -> bool:
    return explained is not None and any(pattern.phases or pattern.losses for pattern in explained.patterns)


def _wide(one: Candidate) -> str:
    """Which other points share in it."""
    if len(one.neighbors) == 1:
        return ", and stays lower"
    before, after = one.neighbors
    if after - before <= 2:
        return ""
    return f"; {_level(one.curve, before + 1)} to {_level(one.curve, after - 1)} share in it"


def _far(ratio: float) -> str:
    """How far from 1: in percent, or in times where that is more."""
    return percent(abs(ratio - 1)) if 0.1 <= ratio < 2 else f"{significant(max(ratio, 1 / ratio), 2)} times"


def _why(own: CellResult, explained: Mapping[str, CellExplanation]) -> str:
    """The flow there, if a log tells it."""
    cell = explained.get(own.id)
    if cell is None or not _has_log(cell):
        return ""
    return f" {cell.patterns[0].words}"


def _where(curve: Curve, own: CellResult) -> str:
    """The point by its factors, the one of the axis first."""
    level = own.factors[curve.factor]
    others = [f"{name} {own.factors[name]}" for name in curve.others]
    return ", ".join([f"{curve.factor} {level}", *others])


def _rate(curve: Curve, at: int) -> str:
    return si(float(curve.rates[at]), curve.unit)


def _level(curve: Curve, at: int) -> str:
    return f"{curve.cells[at].factors[curve.factor]}"


def _factor(cell: CellResult, factor: str) -> str | int | float | bool:
    level = cell.factors[factor]
    return level if isinstance(level, str | int | float | bool) else str(level)
