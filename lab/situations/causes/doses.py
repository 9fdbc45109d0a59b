"""The amounts that doses are parts of: what fills a connection's share of the path, and what the path carries."""

from random import Random

from lab.situations.distributions import log_uniform
from lab.situations.setting import Setting

PARTS = (0.04, 0.8)
"""A dose as a part of what the path carries, or of what fills it."""


def part_of(rng: Random) -> float:
    """The part that a dose is."""
    return log_uniform(rng, *PARTS)


def buffer_bytes(rng: Random, setting: Setting) -> int:
    """A buffer that holds a part of a connection's share of the path, in the kernel's least steps."""
    return max(4096, round(setting.share_bytes * part_of(rng)))


def rate_bps(rng: Random, setting: Setting) -> int:
    """A part of the path's rate."""
    return max(50_000, round(setting.rate_bps * part_of(rng)))
