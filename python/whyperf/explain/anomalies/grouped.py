"""Reports once what belongs together: a ridge through a sweep, a level in many settings, even distances on a
curve."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from whyperf.explain.anomalies.curves import Bend, Curve, is_number
from whyperf.explain.anomalies.standing_out import Candidate
from whyperf.explain.causes import Cause

FEW_SETTINGS = 16
FEW_RATIO, MANY_RATIO = 0.5, 0.2
"""Found at one level in at least this part of the settings, few or many, it is one thing."""

FEWEST = 3
"""Settings in which it must be found for that; on one curve one more."""

EVEN_RATIO = 0.75
"""So many of the distances between points of a curve must be equal for the points to be one thing."""

NEAR_LEVELS = 1
"""A ridge may move by so many levels along its axis from one curve to the next."""

NEAR_CURVES = 2
"""And may miss a curve in between, for what stands out by hardly 10 % is not found in each."""

Setting = tuple[object, ...]

Found = TypeVar("Found", Candidate, Bend)
"""A finding that has a curve, a point of it, and a kind."""


@dataclass(frozen=True)
class Member(Generic[Found]):
    """A finding with its cause, and the rate that is lost there (None for a bend)."""

    found: Found
    cause: Cause
    lost: float | None = None

    @property
    def cell(self) -> str:
        """The cell it is found at."""
        return self.found.curve.cells[self.found.at].id


@dataclass(frozen=True)
class FindingGroup(Generic[Found]):
    """Findings reported as one: the member that loses most, and the others, in the order of the plan.

    `apart` is the distance between them where those of the first one's curve lie at even ones.
    """

    first: Member[Found]
    others: tuple[Member[Found], ...] = ()
    apart: float | None = None

    @property
    def cause(self) -> Cause:
        """The first member's, or where that is not known the first that is."""
        causes = [self.first.cause, *(member.cause for member in self.others)]
        return next((cause for cause in causes if cause is not Cause.NOT_KNOWN), Cause.NOT_KNOWN)


@dataclass
class _Ground:
    """Of each setting and factor the levels in use, by which one curve is the next one's neighbor."""

    places: dict[tuple[Setting, str], dict[float, int]] = field(default_factory=dict)
    settings: dict[Setting, int] = field(default_factory=dict)

    @classmethod
    def of(cls, curves: Sequence[Curve]) -> "_Ground":
        levels: dict[tuple[Setting, str], set[float]] = {}
        made = cls()
        for curve in curves:
            setting = _setting(curve)
            made.settings[setting] = made.settings.get(setting, 0) + 1
            levels.setdefault((setting, curve.factor), set()).update(curve.levels.tolist())
            for name, level in _numbers(curve).items():
                levels.setdefault((setting, name), set()).add(level)
        made.places = {key: {level: at for at, level in enumerate(sorted(own))} for key, own in levels.items()}
        return made

    def place(self, member: Member[Found]) -> dict[str, int]:
        """Where a finding lies: the rank of its level among those in use, by factor, the axis first."""
        curve, setting = member.found.curve, _setting(member.found.curve)
        own = {curve.factor: float(curve.levels[member.found.at]), **_numbers(curve)}
        return {name: self.places[setting, name][level] for name, level in own.items()}


def together(found: Sequence[Member[Found]], curves: Sequence[Curve]) -> list[FindingGroup[Found]]:
    """The findings as groups, each finding in one; a finding never speaks for another host or algorithm."""
    ground = _Ground.of(curves)
    places = [ground.place(member) for member in found]
    parent = list(range(len(found)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    kinds: dict[object, list[int]] = {}
    for at, member in enumerate(found):
        kinds.setdefault((_setting(member.found.curve), member.found.kind), []).append(at)
    apart: dict[int, float] = {}
    for own in kinds.values():
        for at, other in _of_many_settings(found, own, ground):
            parent[root(other)] = root(at)
        for same, distance in _even(found, own):
            apart |= dict.fromkeys(same, distance)
            for other in same[1:]:
                parent[root(other)] = root(same[0])
        for number, at in enumerate(own):
            for other in own[number + 1 :]:
                if _is_next(places[at], places[other], found[at].found.curve.factor) and _alike(
                    found[at], found[other]
                ):
                    parent[root(other)] = root(at)
    groups: dict[int, list[int]] = {}
    for at in range(len(found)):
        groups.setdefault(root(at), []).append(at)
    return [_group(found, own, apart) for own in groups.values()]


def _group(found: Sequence[Member[Found]], own: list[int], apart: Mapping[int, float]) -> FindingGroup[Found]:
    first = max(own, key=lambda at: (found[at].lost or 0.0, -at))
    others = sorted((found[at] for at in own if at != first), key=lambda member: member.cell)
    return FindingGroup(found[first], tuple(others), apart.get(first))


def _alike(first: Member[Found], other: Member[Found]) -> bool:
    """A point of unknown cause next to one of known cause counts as the same."""
    return first.cause is other.cause or Cause.NOT_KNOWN in {first.cause, other.cause}


def _is_next(first: Mapping[str, int], other: Mapping[str, int], axis: str) -> bool:
    """True if two findings lie side by side: at about one level of the axis, one other factor a step or two apart."""
    steps = {name: abs(first[name] - other[name]) for name in first}
    if steps.pop(axis) > NEAR_LEVELS:
        return False
    moved = [step for step in steps.values() if step]
    return len(moved) == 1 and moved[0] <= NEAR_CURVES


def _of_many_settings(found: Sequence[Member[Found]], own: list[int], ground: _Ground) -> Iterator[tuple[int, int]]:
    """Pairs of what is found at the same level in many of the settings of the other factors."""
    at_level: dict[float, list[int]] = {}
    for at in own:
        at_level.setdefault(float(found[at].found.curve.levels[found[at].found.at]), []).append(at)
    whole = ground.settings[_setting(found[own[0]].found.curve)]
    for same in at_level.values():
        if len(same) >= max(FEWEST, (FEW_RATIO if whole < FEW_SETTINGS else MANY_RATIO) * whole):
            yield from ((same[0], other) for other in same[1:] if _alike(found[same[0]], found[other]))


def _even(found: Sequence[Member[Found]], own: list[int]) -> Iterator[tuple[list[int], float]]:
    """Points of one curve that lie at even distances, and the distance."""
    curves: dict[int, list[int]] = {}
    for at in own:
        curves.setdefault(id(found[at].found.curve), []).append(at)
    for same in curves.values():
        levels = sorted(float(found[at].found.curve.levels[found[at].found.at]) for at in same)
        apart = np.diff(levels)
        if len(same) > FEWEST and (apart == np.median(apart)).mean() >= EVEN_RATIO:
            yield same, float(np.median(apart))


def _numbers(curve: Curve) -> dict[str, float]:
    """The levels of the other factors that have a distance."""
    factors = curve.cells[0].factors
    return {name: float(str(factors[name])) for name in curve.others if is_number(factors.get(name))}


def _setting(curve: Curve) -> Setting:
    """The sweep, the axis, and the levels of what is no number."""
    factors = curve.cells[0].factors
    named = [(name, repr(factors.get(name))) for name in curve.others if not is_number(factors.get(name))]
    return (curve.sweep, curve.factor, *named)
