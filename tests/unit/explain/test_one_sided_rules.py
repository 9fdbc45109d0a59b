"""Connections of other programs: each verdict where it speaks, and none where one thing speaks against it."""

from dataclasses import replace

import pytest

from tests.unit.explain.test_rules import MS, all_of, at_receiver, at_sender, facts, of_whole, of_windows, shares
from tests.unit.explain.watched_cases import (
    ASKING,
    BEHIND,
    CASES,
    CLOSED,
    LOSSY,
    STEADY,
    WatchedCase,
    seen_at_receiver,
    shape,
    sockets,
)
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Verdict
from whyperf.explain.predicted import as_printed
from whyperf.explain.rules import RULES, judge
from whyperf.explain.rules.watched.choice import rules_for
from whyperf.explain.trial_facts import Facts

named = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def first(found: Facts) -> Verdict:
    return judge(found)[0]


@named
def test_a_verdict_stands_first_where_it_speaks(case: WatchedCase) -> None:
    verdict = first(case.speaks)
    assert verdict.code == case.code or verdict.code.startswith(f"{case.code}.")
    assert verdict.evidence or verdict.code == "not_known"


@named
def test_a_verdict_is_none_where_something_speaks_against_it(case: WatchedCase) -> None:
    assert case.code not in {verdict.code for verdict in judge(case.against(case.speaks))}


def test_what_one_side_leaves_open_names_the_candidates() -> None:
    assert first(CLOSED).values["causes"] == ["slow_reader", "receiver_cpu", "other_load", "cpu_quota", "pause"]
    assert "--far HOST" in first(CLOSED).claim
    assert set(first(LOSSY).values["causes"]) >= {"random_loss", "small_queue", "receiver_loss"}  # type: ignore[arg-type]


def test_a_side_alone_predicts_no_gain() -> None:
    for case in CASES:
        for verdict in judge(case.speaks):
            assert verdict.predicted_gain is None, case.name


def test_no_text_speaks_of_the_own_load_or_of_experiments() -> None:
    for case in CASES:
        for verdict in judge(case.speaks):
            texts = [verdict.claim, verdict.refuted_by, *(row.words for row in verdict.evidence)]
            assert not any("whyperf's own" in text or "--try" in text for text in texts), case.name
    wide = judge(STEADY)[0].model_copy(update={"predicted_gain": 3.0, "predicted_low": 1.0, "predicted_high": 9.0})
    assert "watch again" in as_printed(wide, "user", is_watched=True).unpredicted_because
    assert "--try" in as_printed(wide, "user").unpredicted_because


def test_the_queue_of_the_receiver_decides_for_the_sender_who_fills_the_window() -> None:
    both = replace(STEADY, watched_sides="both", receiver=seen_at_receiver(unread_ratio=0.0)(STEADY).receiver)
    assert first(both).code == "receive_buffer.steady"
    behind = replace(both, receiver=BEHIND.receiver)
    assert first(behind).code == "slow_reader.behind"
    # A window of one segment shows nothing by itself.
    assert Cause.RECEIVE_BUFFER not in {verdict.cause for verdict in judge(behind)}


def test_what_waits_in_a_buffer_of_one_read_has_just_come() -> None:
    tiny = sockets(
        unread_ratio=0.97, unread_bytes=4096, pressed_ratio=0.97, own_window=shape(4096, 4096, 4096),
        receive_buffer_fixed=True,
    )  # fmt: skip
    full = sockets(peer_window=shape(4096, 4096, 4096), waiting_ratio=1.0)
    at_full = at_sender({"watched": full, "sockets.mss_bytes": 2048})(replace(STEADY, watched_sides="both"))
    reading = at_receiver({"watched": tiny, "processors.thread_ratio": 0.9})(at_full)
    assert first(reading).code == "receive_buffer.steady"
    # Where nobody set the buffer, or the program does something else than reading, it is late.
    for late in (
        seen_at_receiver(receive_buffer_fixed=False)(reading),
        at_receiver({"processors.own_user_ratio": 0.8})(reading),
        at_receiver({"processors.thread_ratio": 0.05})(reading),
    ):
        assert "receive_buffer.steady" not in {verdict.code for verdict in judge(late)}


def test_reads_of_a_whole_buffer_take_a_cpu_because_of_the_buffer() -> None:
    """As watched where 64 KB are set: larger than a packet, the same window at each sample, and a busy thread."""
    whole = sockets(
        unread_ratio=0.9, unread_bytes=124_872, pressed_ratio=0.9, own_window=shape(124_872, 124_872, 124_872),
        receive_buffer_fixed=True,
    )  # fmt: skip
    full = sockets(peer_window=shape(124_872, 124_872, 124_872), waiting_ratio=1.0)
    at_full = at_sender({"watched": full, "sockets.mss_bytes": 62_436})(replace(STEADY, watched_sides="both"))
    busy = {"processors.thread_ratio": 0.97, "processors.busy_ratio": 0.97}
    reading = of_whole(rate_bps=500e6)(at_receiver({"watched": whole, **busy})(at_full))
    assert first(reading).code == "receive_buffer.steady"
    assert Cause.RECEIVER_CPU not in {verdict.cause for verdict in judge(reading)}
    # Unread payload makes the window of a late reader smaller.
    late = seen_at_receiver(own_window=shape(20_000, 90_000, 124_872))(reading)
    assert "receive_buffer.steady" not in {verdict.code for verdict in judge(late)}


def test_a_steady_window_without_window_scaling_is_no_small_buffer() -> None:
    largest = sockets(peer_window=shape(65_535, 65_535, 65_535), waiting_ratio=1.0)
    unscaled = all_of(
        of_windows(window_scaling=False, announced_bytes_max=65_535, announced_bytes_median=65_535),
        at_sender({"watched": largest}),
    )(STEADY)
    assert first(unscaled).cause is Cause.WINDOW_SCALING
    part = of_windows(announced_bytes_median=20_000)(unscaled)
    assert Cause.WINDOW_SCALING not in {verdict.cause for verdict in judge(part)}


def test_slow_start_is_that_of_a_connection_seen_from_its_first_segment() -> None:
    young = facts(
        {"shares": {"slow_start": 0.6, "write_call": 0.4}, "watched": sockets(is_whole=True)},
        windows={"rtt_ns_min": 100 * MS}, watched_sides="sender",
    )  # fmt: skip
    assert first(young).cause is Cause.SLOW_START
    assert Cause.SLOW_START not in {verdict.cause for verdict in judge(at_sender({"watched": sockets()})(young))}


def test_a_stream_is_no_conversation_while_data_waits() -> None:
    streaming = at_sender({"watched": sockets(waiting_ratio=0.9)})(ASKING)
    asked = replace(streaming, conversation=replace(ASKING.conversation, own_ratio=None, peer_ratio=None))  # type: ignore[type-var]
    assert not {verdict.code for verdict in judge(asked)} & {
        "not_known.watched.exchanges",
        "round_trip.exchange.counted",
    }


def test_the_own_load_is_asked_all_rules_and_a_receiver_alone_those_of_its_side() -> None:
    assert rules_for(facts(), RULES) == list(RULES)
    names = {rule.__name__ for rule in rules_for(BEHIND, RULES)}
    assert {"waiting", "own_buffer"} <= names
    assert not {"bottleneck", "random_loss", "receive_buffer", "pause"} & names
    both = {rule.__name__ for rule in rules_for(replace(STEADY, watched_sides="both"), RULES)}
    assert {"bottleneck", "small_window"} <= both
    assert not {"think_time", "round_trip"} & both


def test_a_cause_is_named_once() -> None:
    twice = all_of(
        of_whole(watched_sides="both"),
        of_windows(announced_bytes_max=32_000),
        at_sender(shares(receive_window=0.5, receive_window_buffer=0.4)),
    )(STEADY)
    causes = [verdict.cause for verdict in judge(twice) if verdict.cause is not Cause.NOT_KNOWN]
    assert causes.count(Cause.RECEIVE_BUFFER) == 1
