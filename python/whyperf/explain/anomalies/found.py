"""From curves to anomalies: where, how much, what differs, and what that makes the cause."""

from collections.abc import Mapping, Sequence

import numpy as np

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import si, significant
from whyperf.explain.anomalies.bends import Bend, find_bend
from whyperf.explain.anomalies.cause import bend_cause, point_cause
from whyperf.explain.anomalies.curves import Curve, curves_of
from whyperf.explain.anomalies.evidence import Difference, differences, known_of
from whyperf.explain.anomalies.standing_out import Candidate, standing_out
from whyperf.explain.anomalies.together import Group, Member, together
from whyperf.explain.anomalies.words import because, extent, far, flow, levels, span, where
from whyperf.explain.model import Anomaly, CellExplanation, Evidence

Explained = Mapping[str, CellExplanation]


def anomalies_of(summary: Summary, cells: Sequence[CellExplanation] = ()) -> list[Anomaly]:
    """What stands out in the sweeps of an experiment: what loses most first, then bends, those seen most often first.

    Args:
        summary: of `analyze.summarize`, measured or simulated.
        cells: what is known of cells from their trials' logs; cells that are not there are compared by rates, CPUs,
            calls and retransmissions alone, and the anomaly says so.
    """
    explained = {cell.cell: cell for cell in cells}
    curves = curves_of(summary.cells, summary.varied)
    points = standing_out(curves)
    members = [_member(one, explained) for one in _once(points)]
    found = sorted(together(members, curves), key=lambda group: -(group.first.lost or 0.0))
    anomalies = [_point(group, explained) for group in found]
    bends = []
    for curve in curves:
        left_out = frozenset(one.at for one in points if one.curve is curve and len(one.neighbors) > 1)
        bend = find_bend(curve, left_out)
        if bend is not None:
            bends.append(Member(bend, bend_cause(list(curve.cells[bend.at :]), explained)))
    turned = sorted(together(bends, curves), key=lambda group: -len(group.others))
    return [*anomalies, *(_bend(group, explained) for group in turned)]


def _once(points: Sequence[Candidate]) -> list[Candidate]:
    """Each cell once, and no shadows: what stands out only from a neighbor that itself stands out on another axis.

    A drop makes its neighbors along all axes look like peaks; on its own axis both sides of an edge are told.
    """
    kept: dict[str, Candidate] = {}
    for one in points:
        cell = one.curve.cells[one.at].id
        beside = [kept.get(one.curve.cells[at].id) for at in one.neighbors]
        if cell not in kept and not any(
            other is not None and other.kind != one.kind and other.curve.factor != one.curve.factor for other in beside
        ):
            kept[cell] = one
    return list(kept.values())


def _member(one: Candidate, explained: Explained) -> Member[Candidate]:
    """A point with its cause and the rate that is lost: there, or beside a peak."""
    own, near = one.curve.cells[one.at], [one.curve.cells[at] for at in one.neighbors]
    rate = float(one.curve.rates[one.at])
    return Member(one, point_cause(one.kind, own, near, explained), abs(rate / one.ratio - rate))


def _point(group: Group[Candidate], explained: Explained) -> Anomaly:
    one = group.first.found
    curve, own = one.curve, one.curve.cells[one.at]
    near = [curve.cells[at] for at in one.neighbors]
    there = levels(curve, one.neighbors)
    found = _differences(own, near, explained)
    way = "above" if one.kind == "peak" else "below"
    against = f"what {there} foretell" if len(near) > 1 else f"that at {there}"
    lost = f" ({si(group.first.lost or 0.0, curve.unit)} {'more' if one.kind == 'peak' else 'less'})"
    cause = group.cause
    beside = [(levels(curve, [at]), explained.get(curve.cells[at].id)) for at in one.neighbors]
    reason = " ".join(
        text for text in (because(cause, found, f"at {there}"), flow(explained.get(own.id), beside)) if text
    )
    sentences = [
        f"{where(curve, own)}: the rate, {_rate(curve, one.at)}, is {far(one.ratio)} {way} {against}{lost}"
        f"{_wide(one)}{extent(group)}.",
        reason,
        "" if one.chance is not None else "One trial a cell: how much rates vary is not known.",
    ]
    return Anomaly(
        kind=one.kind,
        cell=own.id,
        sweep=curve.sweep,
        factor=curve.factor,
        level=_factor(own, curve.factor),
        ratio=one.ratio,
        lost_rate=group.first.lost,
        neighbors=[cell.id for cell in near],
        others=[member.cell for member in group.others],
        differences=_evidence(found, own, near, explained, f"at {there}"),
        cause=cause,
        because=reason,
        words=" ".join(sentence for sentence in sentences if sentence),
    )


def _bend(group: Group[Bend], explained: Explained) -> Anomaly:
    bend = group.first.found
    curve, own = bend.curve, bend.curve.cells[bend.at]
    before, last = list(curve.cells[: bend.at]), curve.cells[bend.at - 1]
    if bend.kind == "plateau":
        text = f"from here on the rate stays at about {si(float(np.median(curve.rates[bend.at :])), curve.unit)}"
    elif bend.behind > 0.0:
        less = significant(bend.before / max(bend.behind, 0.01), 2)
        text = f"from here on, at {_rate(curve, bend.at)}, the rate grows {less} times less steeply"
    else:
        text = f"here, at {_rate(curve, bend.at)}, the rate stops growing"
    found = _differences(own, [last], explained)
    label = f"at {levels(curve, [bend.at - 1])}"
    beside = [(levels(curve, [bend.at - 1]), explained.get(last.id))]
    reason = " ".join(
        text for text in (because(group.cause, found, label), flow(explained.get(own.id), beside)) if text
    )
    return Anomaly(
        kind=bend.kind,
        cell=own.id,
        sweep=curve.sweep,
        factor=curve.factor,
        level=_factor(own, curve.factor),
        ratio=None,
        neighbors=[cell.id for cell in before],
        others=[member.cell for member in group.others],
        differences=_evidence(found, own, [last], explained, label),
        cause=group.cause,
        because=reason,
        words=f"{where(curve, own)}: {text}{extent(group)}. {reason}".rstrip(),
    )


def _differences(own: CellResult, near: Sequence[CellResult], explained: Explained) -> list[Difference]:
    known = [known_of(cell, explained.get(cell.id)) for cell in (own, *near)]
    return differences(known[0], known[1:])


def _evidence(
    found: Sequence[Difference], own: CellResult, near: Sequence[CellResult], explained: Explained, label: str
) -> list[Evidence]:
    """The differences as rows, and what could not be compared."""
    listed = [one.evidence(label) for one in found]
    with_log = [_has_log(explained.get(cell.id)) for cell in (own, *near)]
    if not with_log[0] or not any(with_log[1:]):
        place = "here" if not with_log[0] else label
        listed.append(Evidence(words=f"No segment log {place}: sizes, ACKs and waits are not compared."))
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
    return f"; {span(one.curve, before + 1, after - 1)} share in it"


def _rate(curve: Curve, at: int) -> str:
    return si(float(curve.rates[at]), curve.unit)


def _factor(cell: CellResult, factor: str) -> str | int | float | bool:
    level = cell.factors[factor]
    return level if isinstance(level, str | int | float | bool) else str(level)
