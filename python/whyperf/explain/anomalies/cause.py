"""The cause that follows from the difference between a point and its neighbors."""

from collections import Counter
from collections.abc import Mapping, Sequence

from whyperf.analyze.summary import CellResult
from whyperf.explain.anomalies.evidence import known_of
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.explanation import CellExplanation

MORE_PART = 0.05
"""By so much a part must be larger than at the neighbors to be a cause."""

LOST_RATIO = 0.005
"""Of the segments, what must be sent again beyond the neighbors'."""

BUSY_RATIO = 0.95
"""A CPU that is busy so much of the time is at its limit."""

Explained = Mapping[str, CellExplanation]


def point_cause(kind: str, own: CellResult, near: Sequence[CellResult], explained: Explained) -> Cause:
    """The cause of a drop, or what makes the neighbors of a peak slower: what is there and not on the other side.

    Losses come first: a sender that waits for a timer waits for nothing else. Then what the log says of single
    packets, then a verdict that is another one than the neighbors'.
    """
    slow, fast = ([own], list(near)) if kind == "drop" else (list(near), [own])
    known_slow = [known_of(cell, explained.get(cell.id)) for cell in slow]
    known_fast = [known_of(cell, explained.get(cell.id)) for cell in fast]

    def more(name: str) -> float:
        low = [known[name] for known in known_slow if name in known]
        high = [known[name] for known in known_fast if name in known]
        return sum(low) / len(low) - sum(high) / len(high) if low and high else 0.0

    if more("retransmitted_ratio") >= LOST_RATIO or more("timeout_wait") >= MORE_PART:
        return _loss(slow, explained)
    if more("small_waits") >= MORE_PART:
        return Cause.NAGLE_DELAYED_ACK if _waits_for_timer(slow, explained) else Cause.WRITE_WINDOW_MISMATCH
    if more("timer_acks") >= MORE_PART:
        return Cause.DELAYED_ACK
    theirs = {_first(cell, explained) for cell in fast}
    return next((cause for cell in slow if (cause := _first(cell, explained)) not in theirs), Cause.NOT_KNOWN)


def _loss(cells: Sequence[CellResult], explained: Explained) -> Cause:
    """Where segments were lost: in the receiving host if the logs say so, else what the verdict says."""
    for cell in cells:
        for pattern in explained[cell.id].patterns if cell.id in explained else ():
            losses = pattern.losses
            if losses is not None and (losses.lost_in_receiver or 0) > (losses.lost_on_path or 0):
                return Cause.RECEIVER_LOSS
    losses_of_path = LOSS_KINDS | {Cause.PATH_LOSS, Cause.BOTTLENECK, Cause.REORDERING}
    found = [_first(cell, explained) for cell in cells]
    return next((cause for cause in found if cause in losses_of_path), Cause.NOT_KNOWN)


def _waits_for_timer(cells: Sequence[CellResult], explained: Explained) -> bool:
    """True where small packets wait for ACKs of the delayed-ACK timer."""
    places = [
        place
        for cell in cells
        if cell.id in explained
        for pattern in explained[cell.id].patterns
        for phase in pattern.phases
        for place in phase.turn
        if place.held_by == "small"
    ]
    return any(place.ack_reason == "delayed_timer" for place in places)


def bend_cause(behind: Sequence[CellResult], explained: Explained) -> Cause:
    """The limit of the cells behind a bend: what most of their first verdicts say, or a CPU that has no time left."""
    verdicts = Counter(cause for cell in behind if (cause := _first(cell, explained)) is not Cause.NOT_KNOWN)
    if verdicts:
        return verdicts.most_common(1)[0][0]
    busy = [known_of(cell, None) for cell in behind]
    full = sum(max(known.get("sender_busy", 0.0), known.get("receiver_busy", 0.0)) >= BUSY_RATIO for known in busy)
    return Cause.CAPACITY if full > len(behind) / 2 else Cause.NOT_KNOWN


def _first(cell: CellResult, explained: Explained) -> Cause:
    """The first verdict of a cell."""
    verdicts = explained[cell.id].verdicts if cell.id in explained else []
    return verdicts[0].cause if verdicts else Cause.NOT_KNOWN
