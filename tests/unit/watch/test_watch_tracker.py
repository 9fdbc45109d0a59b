"""Connections from report to report."""

from tests.unit.watch.snapshots_of import SECOND_NS, connection, report
from whyperf.watch.live_limits import Limit
from whyperf.watch.tracker import MAX_INTERVALS, Tracker


def test_a_connection_in_mid_life_has_its_first_interval_with_the_second_report() -> None:
    """What it moved before is of no interval."""
    tracker = Tracker()
    assert tracker.take("near", report(1, connection(acked_bytes=10**9, is_whole=False))).ended == ()
    (found,) = tracker.take("near", report(2, connection(acked_bytes=10**9 + 500, is_whole=False))).ended
    assert found.sent.payload_bytes == 500
    assert (found.start_ns, found.end_ns) == (SECOND_NS, 2 * SECOND_NS)


def test_a_connection_that_opened_since_the_last_report_has_all_that_it_moved() -> None:
    tracker = Tracker()
    tracker.take("near", report(1))
    (found,) = tracker.take("near", report(2, connection(acked_bytes=700, state=7))).ended
    assert found.sent.payload_bytes == 700
    assert found.is_closed
    # One that the watch found in mid-life has not.
    assert tracker.take("near", report(3, connection(1, acked_bytes=700, is_whole=False))).ended == ()


def test_rows_are_those_of_the_last_report_of_each_side() -> None:
    tracker = Tracker()
    tracker.take("near", report(1, connection(0), connection(1)))
    tracker.take("far", report(50, connection(0)))
    tracker.take("near", report(2, connection(1)))
    assert [(row.side, row.snapshot["connection"]) for row in tracker.rows()] == [("near", 1), ("far", 0)]


def test_the_sides_have_clocks_of_their_own() -> None:
    tracker = Tracker()
    tracker.take("near", report(1, connection()))
    tracker.take("far", report(5000, connection()))
    (found,) = tracker.take("far", report(5001, connection(acked_bytes=1))).ended
    assert found.host == "far"
    assert found.length_ns == SECOND_NS
    assert tracker.first_ns == {"near": SECOND_NS, "far": 5000 * SECOND_NS}


def test_the_verdict_is_of_the_last_seconds() -> None:
    tracker = Tracker()
    busy_ns = 0
    for second in range(1, 12):
        tracker.take("near", report(second, connection(busy_ns=busy_ns, rwnd_limited_ns=busy_ns)))
        busy_ns += SECOND_NS if second < 6 else 0
    recent = tracker.followed["near", 0].recent
    assert recent is not None
    assert recent.length_ns == 5 * SECOND_NS
    assert recent.sent.limit is Limit.NOTHING_TO_SEND


def test_the_past_of_a_long_watch_is_bounded() -> None:
    tracker = Tracker()
    for second in range(MAX_INTERVALS + 50):
        tracker.take("near", report(second, connection()))
    assert len(tracker.followed["near", 0].intervals) == MAX_INTERVALS


def test_connections_that_are_gone_are_forgotten() -> None:
    tracker = Tracker()
    tracker.take("far", report(1, connection(7)))
    for second in range(1, 50):
        tracker.take("near", report(second, connection(2 * second), connection(2 * second + 1)))
    assert list(tracker.followed) == [("far", 7), ("near", 96), ("near", 97), ("near", 98), ("near", 99)]
