"""The stacks of a side as a tree of functions, in cycles per KByte or per transaction, alone or compared."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import polars as pl

from whyperf.analyze.cost.budget import WeighedStacks
from whyperf.analyze.cost.classes import Function, by_name, claimed
from whyperf.analyze.cost.samples import NAME

_SIDE = ("cell", "role")


@dataclass(frozen=True)
class Frame:
    """A function below its callers; the root is the whole side.

    `value` is the cost of the function with all that it calls, in cycles per unit, where the unit is KBytes of payload
    (1,024 bytes) or transactions. `before` is the same in the result that it is compared with, 0 where it was not
    there, None where nothing is compared. Values of `children` add up to at most that of their caller; the difference
    is its own. `cost_class` is the class of what is its own, None of a whole side.
    """

    name: str
    kind: str
    object: str
    value: float
    before: float | None = None
    cost_class: str | None = None
    children: tuple["Frame", ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """The properties that make it the same function in another tree."""
        return (self.name, self.kind, self.object)

    def frames(self) -> Iterator["Frame"]:
        """It and all below it."""
        yield self
        for child in self.children:
            yield from child.frames()


REST = "rest"
"""Kind of the frames that are no functions: a side, and time that no stack explains."""

MAX_DEPTH = 128
"""Functions of a stack that a tree has. The kernel cuts stacks after 127; a record that somebody changed may not."""


def side_trees(weighed: WeighedStacks, units: pl.DataFrame) -> dict[tuple[str, str], Frame]:
    """The tree of each cell and role with samples. The root's value is the side's total (`SideCost`): the mean of the
    trials' cycles per unit.

    `units` has `trial`, `role`, and `units`: how many KBytes or transactions the trial has in its window.
    """
    every = pl.concat([weighed.stacks, weighed.rest], how="diagonal_relaxed")
    rows = every.join(units, on=["trial", "role"], how="inner")
    trials = pl.col("trial").n_unique().over(_SIDE)
    rows = rows.filter(pl.col("cycles") > 0).with_columns((pl.col("cycles") / pl.col("units") / trials).alias("value"))
    frames: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    on_stacks = weighed.frames.join(rows.select("stack"), on="stack", how="semi")
    for stack, function, kind, object_ in on_stacks.select("stack", *NAME).iter_rows():
        frames[stack].append((function, kind, object_))
    roots: dict[tuple[str, str], _Node] = defaultdict(_Node)
    for cell, role, stack, name, value in rows.select(*_SIDE, "stack", "class", "value").iter_rows():
        functions = frames.get(stack) or [(f"[{by_name()[name].title}]", REST, "")]
        node = roots[cell, role]
        node.value += value
        for function in functions[:MAX_DEPTH]:
            node = node.children.setdefault(function, _Node())
            node.value += value
        node.own_class = name
    return {(cell, role): node.frame((role, REST, ""), None) for (cell, role), node in roots.items()}


@dataclass
class _Node:
    value: float = 0.0
    #: The class of stacks that end here.
    own_class: str | None = None
    children: dict[tuple[str, str, str], "_Node"] = field(default_factory=dict)

    def frame(self, key: tuple[str, str, str], caller_class: str | None) -> Frame:
        """The frame of a function; one that no class claims costs whoever calls it."""
        claim = _claim(key) if key[1] != REST else None
        cost_class = self.own_class or (claim if claim in by_name() else caller_class)
        children = tuple(_sorted(child.frame(name, cost_class) for name, child in self.children.items()))
        return Frame(*key, self.value, cost_class=cost_class, children=children)


@cache
def _claim(key: tuple[str, str, str]) -> str | None:
    """Finds what claims a function: a tree has it in many places."""
    return claimed(Function(*key))


def _sorted(frames: Iterator[Frame]) -> list[Frame]:
    """By name, so that two results of one load have the same order."""
    return sorted(frames, key=lambda frame: (frame.kind == REST, frame.key))


def compared(before: Frame | None, after: Frame | None) -> Frame:
    """One tree of two: values of `after` with those of `before`. Functions that are in only one of them have 0 in the
    other one.

    Raises:
        ValueError: there is neither.
    """
    either = after or before
    if either is None:
        raise ValueError("no tree")
    old: Mapping[tuple[str, str, str], Frame] = {child.key: child for child in before.children} if before else {}
    new: Mapping[tuple[str, str, str], Frame] = {child.key: child for child in after.children} if after else {}
    children = tuple(_sorted(compared(old.get(key), new.get(key)) for key in {**old, **new}))
    return Frame(
        *either.key,
        value=after.value if after else 0.0,
        before=before.value if before else 0.0,
        cost_class=either.cost_class,
        children=children,
    )
