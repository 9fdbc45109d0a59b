"""Disturbs trials of chosen cells: starts a keeper with each of them, and ends it after it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from lab.disturb.disturbances import Disturbance, Orders
from lab.disturb.keeping import TimedKeeper
from whyperf.disturb.orders import Place
from whyperf.plan import Cell
from whyperf.run.ends import FAR, NEAR
from whyperf.run.observer import Observer
from whyperf.run.session import Session
from whyperf.wire import ReplyProgress

FAILURE = "the trial cannot be disturbed"


class Disturber(Observer):
    """Watches as another observer does, and has a disturbed cell's trials disturbed."""

    def __init__(
        self,
        observer: Observer,
        disturbed: Mapping[str, Sequence[Disturbance]],
        places: Callable[[str], Mapping[str, Place]],
    ) -> None:
        """`disturbed` are the disturbances of a cell; `places` says where its sides are."""
        self._observer = observer
        self._disturbed = disturbed
        self._places = places
        self._keeper: TimedKeeper | None = None

    def on_message(self, text: str) -> None:
        """Pass on."""
        self._observer.on_message(text)

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """Pass on."""
        self._observer.on_trial_started(trial, cell, done, total)

    @contextmanager
    def disturb(self, cell: str) -> Iterator[None]:
        """Have the cell's disturbances meanwhile; those that are there from the start are there before it begins.

        Raises:
            RunError: they cannot be made.
            KeeperLostError: they may be there still.
        """
        found = self._disturbed.get(cell)
        if not found:
            yield
            return
        with TimedKeeper(Orders(disturbances=tuple(found), places=dict(self._places(cell))), FAILURE) as keeper:
            self._keeper = keeper
            try:
                yield
            finally:
                self._keeper = None

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """The load runs: the times of the disturbances count from the first of these calls."""
        if self._keeper is not None:
            self._keeper.start_times()
        self._observer.on_progress(host, progress)

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """Pass on."""
        self._observer.on_trial_finished(trial, status, reason)


def places_of(session: Session, cell: Cell) -> dict[str, Place]:
    """Where the two sides of the testbed are in trials of the cell; the testbed is built for it.

    Raises:
        RunError: it cannot be built so.
    """
    ends, cpus = session.ends_for(cell), session.cpus_for(cell.factors)
    assert session.testbed is not None
    addresses = {NEAR: session.testbed["near"]["ipv4"], FAR: session.testbed["far"]["ipv4"]}
    return {
        side: Place(process=ends[side].agent.pid, cpus=cpus[side].own, address=addresses[side]) for side in (NEAR, FAR)
    }
