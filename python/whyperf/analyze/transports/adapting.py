"""The speed at which flows adapt: to one that joins, to the room that one leaves, and after a loss.

Each gives a `Wait`: the seconds until something was reached, or until it could no longer be seen (`reached` false).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.transports.time_series import FlowSeries

CONVERGED_RATIO = 0.8
"""Share of its fair share from which a flow that joined counts as converged."""

TAKEN_UP_RATIO = 0.9
"""Share of the goodput before a flow left that the others must reach."""

RECOVERED_RATIO = 0.9
"""Share of the congestion window before a loss from which it counts as recovered."""

SMOOTHING_BINS = 3
"""A level counts as reached from the first bin whose mean with the next two reaches it."""


@dataclass(frozen=True)
class Wait:
    """Seconds until something was reached; where `reached` is false, until nobody could see it any more."""

    seconds: float
    reached: bool


#: Share of the goodput before that the flows which left must have had; of less, the others' own swings say nothing.
MIN_FREED_RATIO = 0.01


@dataclass(frozen=True)
class Slack:
    """The use made of a flow's part of the path after it left.

    `ratio` is what the remaining flows gained over what the one that left had had, 1 for all of it; `wait` until they
    together reached `TAKEN_UP_RATIO` of the goodput before.
    """

    region: int
    ratio: float
    wait: Wait


def convergence(course: FlowSeries) -> Iterator[tuple[int, Wait]]:
    """The time that each flow that joined others took to its share: the position of its first region, and the wait.

    The share is the region's goodput over its flows. D. Bansal, H. Balakrishnan, S. Floyd, S. Shenker, "Dynamic
    behavior of slowly-responsive congestion control algorithms", SIGCOMM (2001), call the time to a δ-fair allocation
    so; here δ = 0.2. A flow that does not get there in its first region is only known to have taken longer.
    """
    for position, region in enumerate(course.regions):
        others_before = course.regions[position - 1].flows if position else ()
        for flow in set(region.flows) - set(others_before):
            if len(region.flows) < 2:
                continue
            total = sum(course.mean_bps(position, other) for other in region.flows)
            if total > 0:
                wanted = CONVERGED_RATIO * total / len(region.flows)
                yield position, _until(course, position, course.bps[flow], wanted)


def slack_taken_up(course: FlowSeries) -> Iterator[Slack]:
    """The use that the remaining flows made of the room, for every instant at which flows left and none joined."""
    for position in range(1, len(course.regions)):
        before, now = course.regions[position - 1], course.regions[position]
        left = set(before.flows) - set(now.flows)
        if not left or not now.flows or set(now.flows) - set(before.flows):
            continue
        freed = sum(course.mean_bps(position - 1, flow) for flow in left)
        had = sum(course.mean_bps(position - 1, flow) for flow in now.flows)
        have = sum(course.mean_bps(position, flow) for flow in now.flows)
        if freed > MIN_FREED_RATIO * (freed + had):
            together = course.bps[list(now.flows)].sum(axis=0)
            wait = _until(course, position, together, TAKEN_UP_RATIO * (freed + had))
            yield Slack(position, (have - had) / freed, wait)


def _until(course: FlowSeries, position: int, bps: Floats, wanted_bps: float) -> Wait:
    """From the beginning of a region until `bps` reaches a level; at most to its end."""
    inside = np.flatnonzero(course.bins(position))
    values = bps[inside]
    width = min(SMOOTHING_BINS, values.size)
    smooth = np.convolve(values, np.full(width, 1 / width), mode="valid")
    reached = np.flatnonzero(smooth >= wanted_bps)
    begin_s = course.edges_s[inside[0]]
    if reached.size:
        return Wait(float(course.edges_s[inside[reached[0]]] - begin_s), reached=True)
    return Wait(float(course.edges_s[inside[-1] + 1] - begin_s), reached=False)


def recoveries(at_s: Floats, cwnd_segments: Floats, retransmitted_segments: Floats, stop_s: float) -> list[Wait]:
    """Times that a connection's congestion window took after each loss to return to what it had been.

    Samples of TCP_INFO in the order of time, while the connection was at work. A loss is a sample with more
    retransmitted segments than the one before; further losses until the window is back belong to it. The first one
    ends slow start, whose overshoot is no window that the path carries: it does not count. A window that is not below
    `RECOVERED_RATIO` in the sample after its loss was never seen to shrink: that is no recovery.
    """
    again = np.flatnonzero(np.diff(retransmitted_segments) > 0) + 1
    if not again.size:
        return []
    # The first episode ends with the first sample without a retransmission.
    gaps = np.flatnonzero(np.diff(again) > 1)
    events = again[gaps[0] + 1 :] if gaps.size else again[:0]
    found: list[Wait] = []
    clear_from = 0
    for event in events:
        if event < clear_from:
            continue
        wanted = RECOVERED_RATIO * cwnd_segments[event - 1]
        shrunk = np.flatnonzero(cwnd_segments[event : event + 2] < wanted)
        if not shrunk.size:
            continue
        low = event + int(shrunk[0])
        back = np.flatnonzero(cwnd_segments[low:] >= wanted)
        if not back.size:
            found.append(Wait(float(stop_s - at_s[event]), reached=False))
            break
        clear_from = low + int(back[0])
        found.append(Wait(float(at_s[clear_from] - at_s[event]), reached=True))
    return found
