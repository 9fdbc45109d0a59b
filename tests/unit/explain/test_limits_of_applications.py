"""Applications that pause, take turns, or write and read little at a time: what each limit takes of a trial."""

import pytest

from tests.unit.explain.limit_cases import (
    ANSWERED,
    LITTLE_LEFT,
    MUCH,
    OF_APPLICATIONS,
    Case,
    Edit,
    at_sender,
    calls,
    counted,
    cpu,
    each_change,
    each_scene,
    facts,
    limit_of,
    of_asked,
    share_of,
    shares,
)
from whyperf.explain.causes import Cause
from whyperf.explain.limits import application
from whyperf.explain.limits.limit import Limit
from whyperf.explain.limits.next_limit import _own_time


@each_scene(OF_APPLICATIONS)
def test_a_limit_takes_much_of_its_scene(case: Case) -> None:
    limit = limit_of(case.cause, case.speaks)
    assert limit.code == case.code
    assert limit.share >= MUCH
    assert limit.evidence


@each_change(OF_APPLICATIONS)
def test_a_limit_takes_little_where_something_speaks_against_it(case: Case, edit: Edit) -> None:
    assert share_of(case.cause, edit(case.speaks)) <= LITTLE_LEFT * share_of(case.cause, case.speaks)


@pytest.mark.parametrize(
    # Bytes, and calls in a second of a thread.
    ("size", "count", "least", "most"),
    [(2_048, 180_000, 0.8, 1.0), (8_192, 60_000, 0.7, 0.9), (16_384, 53_000, 0.5, 0.8), (49_152, 125_000, 0.0, 0.1)],
)
def test_larger_writes_lose_less_to_their_calls(size: int, count: int, least: float, most: float) -> None:
    rate = 8.0 * size * count
    sender = shares(write_call=0.9) | calls(float(size), count=count) | cpu(thread=0.99)
    assert least <= share_of(Cause.TINY_WRITES, facts(sender, rate_bps=rate, goodput_bps=rate)) <= most


def test_the_gain_of_larger_writes_is_that_of_their_copies() -> None:
    """Copying 48 KB takes 5.9 of 8 µs; a call of 128 KB 2.1 + 15.7 µs: 1.2 ×."""
    sender = shares(write_call=0.9) | calls(49_152.0, count=125_000) | cpu(thread=0.99)
    limit = application.tiny_writes(facts(sender, rate_bps=8.0 * 49_152 * 125_000))
    assert limit is not None
    assert limit.gain is not None
    assert limit.gain.ratio == pytest.approx(1.2, abs=0.01)


def test_pauses_of_the_workload_take_their_part_and_promise_nothing() -> None:
    limit = limit_of(Cause.THINK_TIME, of_asked(pause_ns=1e6, paused_ratio=0.815)(counted(exchanges=ANSWERED)))
    assert (limit.code, limit.share, limit.gain) == ("think_time.asked", 0.815, None)
    assert limit.values["pause_ns"] == 1e6


def test_a_sender_kept_from_its_cpu_is_not_taken_for_an_idle_application() -> None:
    starved = counted(shares(not_writing=0.95) | cpu(thread=0.07, withheld=0.6, run_queue=0.6, other=0.89))
    assert share_of(Cause.OTHER_LOAD, starved) > share_of(Cause.SLOW_WRITER, starved)
    alone = at_sender(cpu(withheld=0.01, run_queue=0.01))(starved)
    assert share_of(Cause.SLOW_WRITER, alone) > 0.9
    assert share_of(Cause.OTHER_LOAD, alone) == 0


@pytest.mark.parametrize(
    ("cause", "values", "expected"),
    [
        (Cause.SLOW_READER, {"waiting_ratio": 0.3}, 0.3),
        (Cause.SLOW_READER, {"waiting_ratio": 0.9}, 0.8),
        (Cause.SLOW_READER, {}, 0.8),
        (Cause.SLOW_WRITER, {"waiting_ratio": 0.3}, 0.8),
    ],
)
def test_a_late_reader_has_only_the_time_that_its_sender_waits(
    cause: Cause, values: dict[str, float], expected: float
) -> None:
    assert _own_time(Limit(cause, 0.8, values=values)) == expected
