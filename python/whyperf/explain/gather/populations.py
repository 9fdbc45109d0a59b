"""Connections that different things hold, as the budgets of the sender show: each population is judged by itself.

The mean of a connection that waits for its window and of one that waits for its application is true of neither.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from whyperf.explain.explanation import Budget
from whyperf.explain.gather.active import Active
from whyperf.explain.path_facts import WindowFacts
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Population

_HOLDERS: Mapping[str, tuple[S, ...]] = {
    "application": (S.NOT_WRITING,),
    "window": (S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW, S.RECEIVE_WINDOW),
    "buffer": (S.SEND_BUFFER,),
    "nagle": (S.NAGLE,),
    "cpu": (S.WRITE_CALL, S.WAITS_FOR_CPU),
    "path": (*(S.CONGESTION_WINDOW, S.SLOW_START, S.LOSS_RECOVERY, S.RTO_WAIT, S.PACING, S.DEVICE, S.UNKNOWN),),
}
"""Who holds a sender, by its state."""
MIN_HELD_RATIO = 0.5
"""Part of the time that a population's holder has of it in the mean."""
MIN_DIFFERENCE = 0.3
"""Amount by which that holder has less of each other population; less may be how connections of one kind differ."""

Shares = Callable[[list[Budget], Active], Mapping[str, float]]


def populations(
    budgets: Sequence[Budget], active: Active, shares: Shares, windows: Callable[[Active], WindowFacts]
) -> tuple[Population, ...]:
    """The populations of a sender's connections, the largest first; nothing where all are alike.

    Args:
        budgets: the sender's.
        active: which connections, and when they are at work.
        shares: the states of budgets together.
        windows: windows and round trips of connections.
    """
    own = [budget for budget in budgets if active.has(budget.connection)]
    holders = {budget.connection: _holder(shares([budget], active)) for budget in own}
    if len(set(holders.values())) < 2:
        return ()
    together = {
        holder: shares([budget for budget in own if holders[budget.connection] == holder], active)
        for holder in set(holders.values())
    }
    if any(_held(found, holder) < MIN_HELD_RATIO for holder, found in together.items()) or any(
        _held(found, holder) > _held(together[holder], holder) - MIN_DIFFERENCE
        for holder in together
        for other, found in together.items()
        if other != holder
    ):
        return ()
    found = []
    for holder, number in Counter(holders.values()).most_common():
        members = frozenset(connection for connection, name in holders.items() if name == holder)
        found.append(Population(number, len(holders), together[holder], windows(Active(members, active.spans))))
    return tuple(found)


def _held(shares: Mapping[str, float], holder: str) -> float:
    return sum(shares.get(state.value, 0.0) for state in _HOLDERS[holder])


def _holder(shares: Mapping[str, float]) -> str:
    return max(_HOLDERS, key=lambda holder: _held(shares, holder))
