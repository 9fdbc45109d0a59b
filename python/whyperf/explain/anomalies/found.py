"""From curves to anomalies: where, how much, what differs, and what that makes the cause."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import si
from whyperf.explain.anomalies.curves import Bend, Curve, curves_of, find_bend
from whyperf.explain.anomalies.evidence import Difference, bend_cause, differences, known_of, point_cause
from whyperf.explain.anomalies.grouped import FindingGroup, Member, together
from whyperf.explain.anomalies.standing_out import Candidate, standing_out
from whyperf.explain.explanation import Anomaly, CellExplanation, Evidence, Value
from whyperf.explain.wording.anomalies import because, cycles, evidence_of, levels, off, other_levels, place, span
from whyperf.explain.wording.catalog import known, render

Explained = Mapping[str, CellExplanation]

MIN_TRIALS = 3
"""Of one or two trials of a cell, another program's second of work looks like a drop."""


def anomalies_of(summary: Summary, cells: Sequence[CellExplanation] = ()) -> list[Anomaly]:
    """The anomalies in the sweeps of an experiment: what loses most first, then bends, those seen most often first.

    Args:
        summary: of `analyze.summarize`, measured or simulated.
        cells: what is known of cells from their trials' logs; cells that are not there are compared by rates, CPUs,
            calls and retransmissions alone, and the anomaly says so.
    """
    explained = {cell.cell: cell for cell in cells}
    # The model repeats nothing at random that a few trials could hide.
    is_enough = [cell for cell in summary.cells if cell.trials >= MIN_TRIALS or summary.origin == "sim"]
    curves = curves_of(is_enough, summary.varied)
    points = standing_out(curves)
    members = [_member(point, explained) for point in _once(points)]
    found = sorted(together(members, curves), key=lambda group: -(group.first.lost or 0.0))
    anomalies = [_point(group, explained) for group in found]
    bends = []
    for curve in curves:
        left_out = frozenset(point.at for point in points if point.curve is curve and len(point.neighbors) > 1)
        bend = find_bend(curve, left_out)
        if bend is not None:
            bends.append(Member(bend, bend_cause(list(curve.cells[bend.at :]), explained)))
    turned = sorted(together(bends, curves), key=lambda group: -len(group.others))
    return [*anomalies, *(_bend(group, explained) for group in turned)]


def _once(points: Sequence[Candidate]) -> list[Candidate]:
    """Each cell once, and no shadows: what stands out only from a neighbor that itself stands out on another axis.

    A drop makes its neighbors along all axes look like peaks; on its own axis both sides of an edge are reported.
    """
    kept: dict[str, Candidate] = {}
    for point in points:
        cell = point.curve.cells[point.at].id
        neighbors = [kept.get(point.curve.cells[at].id) for at in point.neighbors]
        if cell not in kept and not any(
            other is not None and other.kind != point.kind and other.curve.factor != point.curve.factor
            for other in neighbors
        ):
            kept[cell] = point
    return list(kept.values())


def _member(point: Candidate, explained: Explained) -> Member[Candidate]:
    """A point with its cause and the rate that is lost: there, or next to a peak."""
    own, near = point.curve.cells[point.at], [point.curve.cells[at] for at in point.neighbors]
    rate = float(point.curve.rates[point.at])
    return Member(point, point_cause(point.kind, own, near, explained), abs(rate / point.ratio - rate))


def _point(group: FindingGroup[Candidate], explained: Explained) -> Anomaly:
    point = group.first.found
    curve = point.curve
    lost = group.first.lost or 0.0
    code = point.kind if len(point.neighbors) > 1 else "fall"
    values = {
        "rate": _rate(curve, point.at),
        "off": off(point.ratio),
        "lost": si(lost, curve.unit),
        "shared": _shared(point),
    }
    measured = {"ratio": point.ratio, "lost_rate": group.first.lost, "kind": point.kind}
    note = "" if point.p_value is not None else render("anomaly", "one_trial", {})
    return _anomaly(
        group,
        list(point.neighbors),
        explained,
        code=code,
        values=values,
        note=note,
        measured=measured,
        neighbors=[curve.cells[at] for at in point.neighbors],
    )


def _bend(group: FindingGroup[Bend], explained: Explained) -> Anomaly:
    bend = group.first.found
    curve = bend.curve
    values: dict[str, Value | None] = {"rate": _rate(curve, bend.at)}
    if bend.kind == "plateau":
        code, values = "plateau", {"rate": si(float(np.median(curve.rates[bend.at :])), curve.unit)}
    elif bend.behind > 0.0:
        code, values["slope_times"] = "knee", bend.before / max(bend.behind, 0.01)
    else:
        code = "peak_of_curve"
    measured = {"ratio": None, "kind": bend.kind}
    return _anomaly(
        group,
        [bend.at - 1],
        explained,
        code=code,
        values=values,
        measured=measured,
        neighbors=list(curve.cells[: bend.at]),
    )


def _anomaly(
    group: FindingGroup[Candidate] | FindingGroup[Bend],
    compared: list[int],
    explained: Explained,
    *,
    code: str,
    values: Mapping[str, Value | None],
    measured: Mapping[str, Any],
    neighbors: Sequence[CellResult],
    note: str = "",
) -> Anomaly:
    """The anomaly of a group. Its evidence is compared with the points `compared` of its curve, its rate with the cells
    `neighbors`; `note` is a sentence that ends its text.
    """
    curve, own = group.first.found.curve, group.first.found.curve.cells[group.first.found.at]
    near = [curve.cells[at] for at in compared]
    there = levels(curve, compared)
    found = _differences(own, near, explained)
    flows = cycles(explained.get(own.id), [(levels(curve, [at]), explained.get(curve.cells[at].id)) for at in compared])
    reason = " ".join(filter(None, (because(group.cause, found, there), flows)))
    given = known({
        "place": place(curve, own), "neighbors": there, "others": len(group.others) or None,
        "levels": other_levels(group), **values,
    })  # fmt: skip
    return Anomaly(
        code=code,
        values=given,
        cell=own.id,
        sweep=curve.sweep,
        factor=curve.factor,
        level=_factor(own, curve.factor),
        neighbors=[cell.id for cell in neighbors],
        others=[member.cell for member in group.others],
        differences=_evidence(found, own, near, explained, there),
        cause=group.cause,
        because=reason,
        words=" ".join(filter(None, (render("anomaly", code, given), reason, note))),
        **measured,
    )


def _differences(own: CellResult, near: Sequence[CellResult], explained: Explained) -> list[Difference]:
    known = [known_of(cell, explained.get(cell.id)) for cell in (own, *near)]
    return differences(known[0], known[1:])


def _evidence(
    found: Sequence[Difference], own: CellResult, near: Sequence[CellResult], explained: Explained, neighbors: str
) -> list[Evidence]:
    """The differences as rows, and what could not be compared."""
    rows = [evidence_of(difference, neighbors) for difference in found]
    with_log = [_has_log(explained.get(cell.id)) for cell in (own, *near)]
    if not with_log[0] or not any(with_log[1:]):
        code = "no_log_here" if not with_log[0] else "no_log_there"
        rows.append(Evidence(code=code, words=render("anomaly", code, {"neighbors": neighbors})))
    return rows


def _has_log(explained: CellExplanation | None) -> bool:
    return explained is not None and any(pattern.phases or pattern.losses for pattern in explained.patterns)


def _shared(point: Candidate) -> str | None:
    """Which other points share in it."""
    before, after = point.neighbors[0], point.neighbors[-1]
    return span(point.curve, before + 1, after - 1) if after - before > 2 else None


def _rate(curve: Curve, at: int) -> str:
    return si(float(curve.rates[at]), curve.unit)


def _factor(cell: CellResult, factor: str) -> str | int | float | bool:
    level = cell.factors[factor]
    return level if isinstance(level, str | int | float | bool) else str(level)
