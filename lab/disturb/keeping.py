"""A keeper of truth experiments as the controller sees it."""

from pathlib import Path

from lab.disturb.disturbances import Orders
from lab.disturb.keeper import START
from whyperf.run.keeping import Keeper

_ROOT = Path(__file__).parents[2]
#: The laboratory is in no environment: the process gets its place.
_PROGRAM = (
    "-c",
    f"import sys; sys.path.append({str(_ROOT)!r}); from lab.disturb.keeper import main; sys.exit(main())",
)


class TimedKeeper(Keeper):
    """A running keeper of disturbances that may have times."""

    def __init__(self, orders: Orders, failure: str) -> None:
        """Start it, and wait until everything that is to be there first is there.

        Raises:
            RunError: it is not; the message begins with `failure`.
        """
        self._has_started = False
        super().__init__(orders, failure, _PROGRAM)

    def start_times(self) -> None:
        """The load runs: the times of the disturbances count from the first of these calls."""
        if not self._has_started:
            self._has_started = True
            self.send(f"{START}\n")
