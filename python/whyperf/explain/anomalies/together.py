"""What stands out at the same level in many settings, or at even distances along a curve, is one thing, told once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from whyperf.analyze.quantity import count
from whyperf.explain.anomalies.bends import Bend
from whyperf.explain.anomalies.curves import Curve, is_number
from whyperf.explain.anomalies.standing_out import Candidate

FEW_SETTINGS = 16
FEW_RATIO, MANY_RATIO = 0.5, 0.2
"""Found in at least this part of the settings, few or many, it is one thing."""

FEWEST = 3
"""Settings, or points of a curve, in which it must be found."""

EVEN_RATIO = 0.75
"""So many of the distances between points of a curve must be equal for the points to be one thing."""

MOST_NAMED = 6

Setting = tuple[object, ...]

Found = TypeVar("Found", Candidate, Bend)
"""What has a curve, a point of it, and a kind."""


@dataclass(frozen=True)
class Group(Generic[Found]):
    """What is told as one: its first, and what to add of the others."""

    first: Found
    words: str = ""


def together(found: Sequence[Found], curves: Sequence[Curve]) -> list[Group[Found]]:
    """The findings, in their order, those that are one thing as one.

    Settings are the levels of the other numeric factors; a finding never speaks for another host or algorithm.
    """
    settings: dict[Setting, int] = {}
    for curve in curves:
        settings[_setting(curve)] = settings.get(_setting(curve), 0) + 1
    at_level: dict[tuple[Setting, float, str], list[Found]] = {}
    for one in found:
        at_level.setdefault((_setting(one.curve), float(one.curve.levels[one.at]), one.kind), []).append(one)
    made: dict[int, Group[Found]] = {}
    on_curve: dict[tuple[int, str], list[Found]] = {}
    for (setting, *_), own in at_level.items():
        whole = settings[setting]
        if len(own) >= max(FEWEST, (FEW_RATIO if whole < FEW_SETTINGS else MANY_RATIO) * whole):
            made[id(own[0])] = Group(own[0], f"; the same in {count(len(own) - 1, 'other setting')} of {whole - 1}")
        else:
            for one in own:
                on_curve.setdefault((id(one.curve), one.kind), []).append(one)
    for own in on_curve.values():
        for group in _even(own):
            made[id(group.first)] = group
    return [made[id(one)] for one in found if id(one) in made]


def _even(own: list[Found]) -> list[Group[Found]]:
    """Points of one curve and kind; those at even distances as one, the farthest standing for all."""
    levels = sorted(float(one.curve.levels[one.at]) for one in own)
    apart = np.diff(levels)
    if len(own) < FEWEST + 1 or (apart == np.median(apart)).mean() < EVEN_RATIO:
        return [Group(one) for one in own]
    first, others = own[0], sorted(own[1:], key=lambda one: one.at)
    named = [f"{one.curve.cells[one.at].factors[one.curve.factor]}" for one in others]
    listed = ", ".join(named[:MOST_NAMED]) + (" and so on" if len(named) > MOST_NAMED else "")
    return [Group(first, f"; likewise at {listed}: every {np.median(apart):.0f}")]


def _setting(curve: Curve) -> Setting:
    """The sweep, the axis, and the levels of what is no number."""
    factors = curve.cells[0].factors
    named = [(name, repr(factors.get(name))) for name in curve.others if not is_number(factors.get(name))]
    return (curve.sweep, curve.factor, *named)
