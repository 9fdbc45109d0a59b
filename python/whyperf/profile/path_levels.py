"""Levels of the path's factors that are more than a number: how much a queue holds, and which packets are lost."""

import math
import re
from dataclasses import dataclass

QUEUE_FORMS = 'bytes such as 250000, packets such as "165p", or bandwidth-delay products such as "bdp" or "0.5bdp"'
LOSS_FORMS = (
    "percent such as 0.1%, a share from 0 to 1, "
    'bursts such as "bursts:0.01/0.25" (p/r or p/r/loss in bursts/loss between), '
    'or segments such as "segments:1000+1003"'
)

QUEUE = re.compile(r"(?P<packets>[1-9]\d{0,8})p|(?P<products>\d{1,4}(?:\.\d{1,6})?)?bdp")
SHARE = r"(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?|[1-9](?:\.\d{1,9})?e-[1-9])"
BURSTS = re.compile(rf"bursts:({SHARE})/({SHARE})(?:/({SHARE})(?:/({SHARE}))?)?")
SEGMENTS = re.compile(r"segments:[1-9]\d{0,14}(?:\+[1-9]\d{0,14})*")


@dataclass(frozen=True)
class Queue:
    """The amount that a queue holds: one of the three."""

    bytes: int | None = None
    packets: int | None = None
    products: float | None = None


@dataclass(frozen=True)
class Loss:
    """Which packets are lost: at random, in bursts (p, r, 1 - h, 1 - k), or by number."""

    share: float | None = None
    bursts: tuple[float, float, float, float] | None = None
    segments: tuple[int, ...] | None = None


def queue_of(level: object) -> Queue | None:
    """Reads what a level of `path_queue` says; None when it is not one."""
    if isinstance(level, int) and not isinstance(level, bool):
        return Queue(bytes=level) if level >= 1 else None
    found = QUEUE.fullmatch(level) if isinstance(level, str) else None
    if found is None:
        return None
    if found["packets"]:
        return Queue(packets=int(found["packets"]))
    products = float(found["products"] or 1)
    return Queue(products=products) if products > 0 else None


def loss_of(level: object) -> Loss | None:
    """Reads what a level of `path_loss` says; None when it is not one."""
    if isinstance(level, int | float) and not isinstance(level, bool):
        return Loss(share=float(level)) if math.isfinite(level) and 0 <= level <= 1 else None
    if not isinstance(level, str):
        return None
    if bursts := BURSTS.fullmatch(level):
        p, r, bad, good = bursts.groups()
        return Loss(bursts=(float(p), float(r), float(bad or 1), float(good or 0)))
    if SEGMENTS.fullmatch(level):
        numbers = [int(number) for number in level.removeprefix("segments:").split("+")]
        return Loss(segments=tuple(numbers)) if numbers == sorted(set(numbers)) else None
    return None
