"""Follows watched connections from report to report: intervals, and what limited each in the last seconds."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from whyperf.watch.live_limits import NS_PER_S, ConnectionInterval, interval, merged
from whyperf.wire import ReplyWatched, WatchedConnection

Side = Literal["near", "far"]
#: The time that a verdict on the last seconds is made from.
RECENT_NS: Final = 5 * NS_PER_S
#: Intervals that are kept of each connection.
MAX_INTERVALS: Final = 120

_TOTALS: Final = (
    "acked_bytes",
    "received_bytes",
    "retransmitted_segments",
    "data_segments_out",
    "busy_ns",
    "rwnd_limited_ns",
    "send_buffer_limited_ns",
    "unsent_bytes",
    "receive_queue_bytes",
)


@dataclass
class Followed:
    """A connection and its last intervals, the newest last."""

    side: Side
    snapshot: WatchedConnection
    snapshot_ns: int
    intervals: deque[ConnectionInterval] = field(default_factory=lambda: deque(maxlen=MAX_INTERVALS))

    @property
    def recent(self) -> ConnectionInterval | None:
        """The last seconds as one interval; None before the second report."""
        if not self.intervals:
            return None
        start_ns = self.intervals[-1].end_ns - RECENT_NS
        return merged([each for each in self.intervals if each.end_ns > start_ns])


@dataclass(frozen=True)
class TakenReport:
    """A report of one side, and the intervals that it ended."""

    side: Side
    watched: ReplyWatched
    ended: Sequence[ConnectionInterval]
    tracker: "Tracker"

    @property
    def first_ns(self) -> int:
        """When the first report of this side came, on its clock."""
        return self.tracker.first_ns[self.side]


class Tracker:
    """The connections that are watched, by side and number: those of the last two reports of each side.

    An agent reports each that is open, and once more each that has closed. One that takes the place of another has a
    new number, so a watch may see any number of them.
    """

    def __init__(self) -> None:
        """Nothing was reported yet."""
        self.followed: dict[tuple[Side, int], Followed] = {}
        self.last: dict[Side, ReplyWatched] = {}
        #: When the first report of a side came, on its clock.
        self.first_ns: dict[Side, int] = {}

    def take(self, side: Side, watched: ReplyWatched) -> TakenReport:
        """A report with the intervals that it ends: one for each connection that was known before or is whole."""
        return TakenReport(side, watched, tuple(self._intervals(side, watched)), self)

    def rows(self) -> list[Followed]:
        """Connections that are open, or closed since the last report of their side."""
        return [
            each
            for (side, _), each in self.followed.items()
            if side in self.last and each.snapshot_ns == self.last[side]["mono_ns"]
        ]

    def _intervals(self, side: Side, watched: ReplyWatched) -> Iterator[ConnectionInterval]:
        now_ns = watched["mono_ns"]
        first_ns = self.first_ns.setdefault(side, now_ns)
        last = self.last.get(side)
        before_ns = first_ns if last is None else last["mono_ns"]
        kept = {
            each["connection"] for report in (last, watched) if report is not None for each in report["connections"]
        }
        for key in [key for key in self.followed if key[0] == side and key[1] not in kept]:
            del self.followed[key]
        self.last[side] = watched
        for connection in watched["connections"]:
            key = (side, connection["connection"])
            known = self.followed.get(key)
            if known is None:
                known = self.followed[key] = Followed(side, connection, now_ns)
                if not connection["is_whole"] or now_ns <= before_ns:
                    continue
                # It opened since the last report, so all that it has moved belongs to this interval.
                ended = interval(side, _unmoved(connection), connection, before_ns, now_ns)
            else:
                if now_ns <= known.snapshot_ns:
                    continue
                ended = interval(side, known.snapshot, connection, known.snapshot_ns, now_ns)
                known.snapshot, known.snapshot_ns = connection, now_ns
            known.intervals.append(ended)
            yield ended


def _unmoved(connection: WatchedConnection) -> WatchedConnection:
    """The connection before it moved anything."""
    return {**connection, **dict.fromkeys(_TOTALS, 0)}  # type: ignore[typeddict-item]
