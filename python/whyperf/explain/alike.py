"""Verdicts that are shown as one: the evidence is the same, and so is what they cost."""

from collections.abc import Sequence

from whyperf.analyze.text import percent
from whyperf.explain.model import Verdict


def alike(verdicts: Sequence[Verdict]) -> list[list[int]]:
    """Places of the verdicts, those together that stand on the same evidence at the same cost: the first of them says
    what was seen, and the others only what it may be. One that was tried stands alone.
    """
    groups: dict[object, list[int]] = {}
    for place, verdict in enumerate(verdicts):
        seen = tuple((row.words, row.host) for row in verdict.evidence)
        is_alone = not seen or verdict.verification is not None
        cost = "" if verdict.lost_ratio is None else percent(verdict.lost_ratio)
        groups.setdefault(place if is_alone else (seen, cost), []).append(place)
    return list(groups.values())
