"""Whether a sequence of payloads repeats: "100, 1400, 100, 1400 ..."."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COVERED_RATIO = 0.9
"""What a cycle must cover to be the pattern of the connection."""


@dataclass(frozen=True)
class Cycle:
    """A repeating cycle. `payloads` are one turn as (bytes, how often in a row), beginning as the
    first turn did; `period_segments` its length; `repeats` the turns; the ratios what they cover of
    all segments and of all bytes; `first_segment`, `last_segment` where it is first and last seen.
    """

    payloads: tuple[tuple[int, int], ...]
    period_segments: int
    repeats: int
    segments_ratio: float
    bytes_ratio: float
    first_segment: int
    last_segment: int

    @property
    def words(self) -> str:
        """One turn in words: "100, 1400" or "1448 x 44, 1000"."""
        raise NotImplementedError


@dataclass(frozen=True)
class Payloads:
    """What a connection's payloads look like.

    `cycle` is the one that covers at least 90 % of the segments, None when none does. `parts` are
    the cycles that cover at least 5 %, by where they begin: phases of a connection that changes.
    `frequent` are the most frequent payloads as (bytes, part of all segments), at most ten.
    `words` says it in a sentence.
    """

    cycle: Cycle | None
    parts: tuple[Cycle, ...]
    frequent: tuple[tuple[int, float], ...]
    segments_count: int
    words: str


def find_payloads(payloads: NDArray[np.uint32]) -> Payloads:
    """The pattern of `payloads`, shape (n,), as of `payload_sequence`."""
    raise NotImplementedError(payloads)
