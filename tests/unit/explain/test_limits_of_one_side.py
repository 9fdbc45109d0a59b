"""Connections of other programs: what each limit takes, and how little where one thing speaks against it."""

from dataclasses import replace

import pytest

from tests.unit.explain.limit_cases import (
    MS,
    all_of,
    at_receiver,
    at_sender,
    facts,
    limit_of,
    of_segments,
    of_windows,
    share_of,
)
from tests.unit.explain.watched_cases import (
    BEHIND,
    CASES,
    CLOSED,
    COMMANDS,
    FILLED,
    LOSSY,
    STEADY,
    UNSCALED,
    WAITING,
    WINDOW_LIMITED,
    WatchedCase,
    seen_at_receiver,
    seen_at_sender,
    shape,
    sockets,
)
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Verdict
from whyperf.explain.headline import as_printed
from whyperf.explain.limits.every import found_in
from whyperf.explain.limits.judge import judge, settled

MUCH = 0.3
named = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@named
def test_a_limit_takes_much_where_it_speaks_and_little_where_something_speaks_against_it(case: WatchedCase) -> None:
    (limit,) = [limit for limit in found_in(case.speaks) if limit.code == case.code]
    assert limit.share >= MUCH
    assert limit.evidence
    for number, against in enumerate(case.against):
        left = [each.share for each in found_in(against(case.speaks)) if each.cause is limit.cause]
        assert max(left, default=0.0) <= limit.share / 2, number


@named
def test_a_side_alone_predicts_no_gain_and_speaks_of_no_own_load(case: WatchedCase) -> None:
    for verdict in judge(case.speaks):
        assert verdict.predicted_gain is None
        texts = [verdict.claim, verdict.refuted_by, *(row.words for row in verdict.evidence)]
        assert not any("whyperf's own" in text or "--try" in text for text in texts)


def test_what_one_side_leaves_open_is_said_with_what_shows_more() -> None:
    lossy = limit_of(Cause.PATH_LOSS, LOSSY)
    assert set(lossy.values["causes"]) >= {"random_loss", "small_queue", "receiver_loss"}  # type: ignore[arg-type]
    for still in (WINDOW_LIMITED, WAITING):
        nothing = replace(still, segments=facts().segments)
        assert found_in(nothing) == []
        (verdict,) = judge(nothing)
        assert verdict.code == "not_known"
        assert "--far HOST" in verdict.claim


def test_a_connection_for_commands_is_idle() -> None:
    (verdict,) = judge(COMMANDS)
    assert verdict.code == "not_known.watched.idle"
    assert settled(seen_at_sender(waiting_ratio=0.9)(COMMANDS)) is None


def test_a_gain_of_a_program_that_was_watched_is_found_by_watching_again() -> None:
    wide = Verdict(
        cause=Cause.PAUSE, claim="", confidence="high", evidence=[], refuted_by="", predicted_gain=3.0,
        predicted_low=1.0, predicted_high=9.0,
    )  # fmt: skip
    assert "watch again" in as_printed(wide, "user", is_watched=True).unpredicted_because
    assert "--try" in as_printed(wide, "user").unpredicted_because


def test_the_queue_of_the_receiver_shows_who_fills_the_window() -> None:
    both = replace(CLOSED, watched_sides="both", receiver=BEHIND.receiver)
    assert share_of(Cause.SLOW_READER, both) > MUCH > share_of(Cause.RECEIVE_BUFFER, both)
    reading = replace(STEADY, watched_sides="both", receiver=seen_at_receiver(unread_ratio=0.0)(STEADY).receiver)
    assert share_of(Cause.RECEIVE_BUFFER, reading) > MUCH > share_of(Cause.SLOW_READER, reading)


def test_a_log_that_began_later_does_not_know_what_was_unread_and_the_socket_does() -> None:
    sleeps = {"calls.asleep_ratio": 0.95, "shares": {"waiting": 0.95}}
    both = all_of(at_receiver(sleeps))(
        replace(CLOSED, level="segments", watched_sides="both", receiver=BEHIND.receiver)
    )
    assert share_of(Cause.SLOW_READER, both) > MUCH
    read = at_receiver({"watched": replace(both.receiver.watched or sockets(), unread_ratio=0.0, pressed_ratio=0.0)})
    assert not share_of(Cause.SLOW_READER, read(both))


def test_a_full_buffer_that_is_more_than_the_path_holds_leaves_the_path_as_the_limit() -> None:
    standing = {"queue.standing_ratio": 1.0, "queue.full_bps": 10e6, "queue.jitter_ratio": 0.02}
    found = of_segments(standing)(replace(FILLED, rate_bps=9.9e6))
    assert share_of(Cause.BOTTLENECK, found) > MUCH
    # One that leaves in bursts makes a queue in each round trip.
    assert share_of(Cause.BOTTLENECK, of_segments({"queue.jitter_ratio": 0.4})(found)) < MUCH / 2


def test_what_waits_in_a_buffer_of_one_read_has_just_come_unless_the_reader_sleeps() -> None:
    tiny = sockets(unread_ratio=0.97, unread_bytes=4096, pressed_ratio=0.97, own_window=shape(4096, 4096, 4096))
    full = at_sender({"watched": sockets(peer_window=shape(4096, 4096, 4096), waiting_ratio=1.0)})
    for thread, is_late in ((0.9, False), (0.05, True)):
        reader = at_receiver({"watched": tiny, "processors.thread_ratio": thread})
        found = all_of(full, reader)(replace(STEADY, watched_sides="both"))
        assert (share_of(Cause.SLOW_READER, found) > share_of(Cause.RECEIVE_BUFFER, found)) is is_late


def test_a_steady_window_without_window_scaling_is_no_small_buffer() -> None:
    largest = sockets(peer_window=shape(65_535, 65_535, 65_535), waiting_ratio=1.0)
    unscaled = all_of(
        of_windows(window_scaling=False, announced_bytes_max=65_535, announced_bytes_median=65_535),
        at_sender({"watched": largest}),
    )(STEADY)
    assert share_of(Cause.WINDOW_SCALING, unscaled) > MUCH
    assert share_of(Cause.RECEIVE_BUFFER, unscaled) == 0
    # A smaller window is one of something else.
    assert share_of(Cause.WINDOW_SCALING, of_windows(announced_bytes_median=20_000)(unscaled)) < MUCH


def test_a_receiver_alone_takes_no_window_without_window_scaling_for_a_small_buffer() -> None:
    assert share_of(Cause.RECEIVE_BUFFER, UNSCALED) == 0


def test_a_send_buffer_is_full_whatever_window_nobody_reports() -> None:
    assert share_of(Cause.SEND_BUFFER, of_windows(announced_bytes_median=None)(FILLED)) > MUCH


def test_slow_start_is_that_of_a_connection_seen_from_its_first_segment() -> None:
    young = facts(
        {"shares": {"slow_start": 0.6, "write_call": 0.4}, "watched": sockets(is_whole=True)},
        windows={"rtt_ns_min": 100 * MS}, watched_sides="sender",
    )  # fmt: skip
    assert share_of(Cause.SLOW_START, young) == 0.6
    assert share_of(Cause.SLOW_START, seen_at_sender(is_whole=False)(young)) == 0
