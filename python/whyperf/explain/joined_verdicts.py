"""Verdicts that are shown as one: the evidence is the same, and so is what they cost."""

from collections.abc import Sequence

from whyperf.analyze.text import percent
from whyperf.explain.explanation import Verdict


def alike(verdicts: Sequence[Verdict]) -> list[list[int]]:
    """Places of the verdicts, those together that stand on the same evidence at the same cost: the first of them says
    what was seen, and the others only what it may be.
    """
    groups: dict[object, list[int]] = {}
    for place, verdict in enumerate(verdicts):
        seen = tuple((row.words, row.host) for row in verdict.evidence)
        cost = "" if verdict.lost_ratio is None else percent(verdict.lost_ratio)
        groups.setdefault((seen, cost) if seen else place, []).append(place)
    return list(groups.values())
