"""The shortest trial that still shows the rate of the first look: from its intervals, the warm-up included."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import log

WARMUPS_S = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0)
LENGTHS_S = (0.5, 0.8, 1.2, 2.0, 3.0)
"""The lengths looked at: steps by which a trial becomes half as long again, in steps of 100 ms as intervals are."""
ALIKE = log(1.1)
"""The rate of a short trial may differ from that of the first look by as much as a user does not see."""
ROUND_TRIPS, WARMUP_ROUND_TRIPS = 4, 12
"""The least in round trips: slow start fills 4 MB from ten segments in nine of them (RFC 5681, RFC 6928)."""


@dataclass(frozen=True)
class Lengths:
    """The times of a trial in s."""

    warmup_s: float
    duration_s: float

    @property
    def total_s(self) -> float:
        """Of both."""
        return self.warmup_s + self.duration_s


@dataclass(frozen=True)
class Arrival:
    """Payload that arrived from `begin_s` to `end_s` after the beginning of the load."""

    begin_s: float
    end_s: float
    octets: float


LOSING = Lengths(1.0, 1.5)
"""The least where segments are lost: the first loss ends slow start at another time in each trial, and cubic needs
(W / 2 / 0.4)^(1/3) s to come back to a window of W segments (RFC 9438, section 4.2): 2 s for 64."""


def lengths_of(moved: Sequence[Arrival], first: Lengths, round_trip_s: float, *, loses: bool = False) -> Lengths:
    """The shortest warm-up and measurement, within those of the first look, that have its rate.

    Args:
        moved: in the first look, of all connections; none where only its length is known.
        first: the first look.
        round_trip_s: under load.
        loses: whether the first look lost segments.
    """
    least = Lengths(WARMUP_ROUND_TRIPS * round_trip_s, ROUND_TRIPS * round_trip_s)
    if loses:
        least = Lengths(max(least.warmup_s, LOSING.warmup_s), max(least.duration_s, LOSING.duration_s))
    whole_s = first.total_s
    wanted = _rate(moved, first.warmup_s, whole_s)
    shorter = [
        Lengths(max(warmup_s, round(least.warmup_s, 1)), max(duration_s, round(least.duration_s, 1)))
        for warmup_s, duration_s in product(WARMUPS_S, LENGTHS_S)
    ]
    shorter.sort(key=lambda each: each.total_s)
    for each in shorter:
        end_s = each.total_s
        if end_s > whole_s or each.warmup_s > first.warmup_s:
            continue
        rate = _rate(moved, each.warmup_s, end_s)
        if not wanted or not rate or abs(log(rate / wanted)) <= ALIKE:
            return each
    return first


def _rate(moved: Sequence[Arrival], begin_s: float, end_s: float) -> float:
    """Octets a second; what an interval moved is spread over it evenly."""
    octets = 0.0
    for each in moved:
        overlap_s = min(end_s, each.end_s) - max(begin_s, each.begin_s)
        if overlap_s > 0:
            octets += each.octets * overlap_s / max(each.end_s - each.begin_s, overlap_s)
    return octets / (end_s - begin_s) if end_s > begin_s else 0.0
