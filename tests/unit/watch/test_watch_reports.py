"""What an agent reports while it watches is refused where it is more than it was asked for."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.watch.snapshots_of import connection, report
from whyperf.run import RunError
from whyperf.watch import session
from whyperf.watch.session import FAR, WatchOrder, WatchSession
from whyperf.watch.spool import TableSpool
from whyperf.wire import ReplyWatched

ORDER = WatchOrder({"ports": [5201]}, "user", interval_s=0.1, connections_most=4)
MOST = 64
"""What the far side is asked for then."""
FINISHED = {"reply": "finished", "outcome": {"ended": "complete"}, "notes": [], "payload_bytes": 0, "evidence": {}}


def taken(folder: Path, *replies: ReplyWatched) -> int:
    """How many reports of a far agent are taken."""
    seen = []

    def stream(*_: object) -> Iterator[Any]:
        yield from replies
        yield FINISHED
        yield {"reply": "done"}

    agent = SimpleNamespace(clock=lambda: None, stream=stream)
    watching = WatchSession.__new__(WatchSession)
    watching._is_ending = watching.has_ended_itself = False
    with TableSpool(folder) as spool:
        side = session._Watching(FAR, cast("Any", agent), cast("Any", {}), spool)
        watching._collect(side, ORDER.request(FAR), lambda _side, watched: seen.append(watched), ORDER.interval_s)
    return len(seen)


def test_a_report_of_more_connections_than_were_asked_for_is_refused(tmp_path: Path) -> None:
    full = report(1, *(connection(number) for number in range(MOST)))
    assert taken(tmp_path, full, full) == 2
    with pytest.raises(RunError, match="far: the agent reported 65 connections, and at most 64 were asked for"):
        taken(tmp_path, full, report(2, *(connection(number) for number in range(MOST + 1))))


def test_reports_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=iter([0.0, *[1.0] * 100]).__next__))
    monkeypatch.setattr(session, "_REPORTS_AHEAD", 5)
    # Ten are due in this second; as many more may come, and those that are ahead.
    assert taken(tmp_path, *[report(1)] * 25) == 25
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=iter([0.0, *[1.0] * 100]).__next__))
    with pytest.raises(RunError, match="far: the agent sent 26 reports where about 10 were due"):
        taken(tmp_path, *[report(1)] * 26)
