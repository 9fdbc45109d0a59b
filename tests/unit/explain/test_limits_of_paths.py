"""A path's bottleneck, others on it, rates that others set, and losses: what each limit takes of a trial."""

import pytest

from tests.unit.explain.limit_cases import (
    BURSTS,
    LITTLE_LEFT,
    LOSSES,
    LOST,
    MISSED,
    MS,
    MUCH,
    OF_EITHER,
    OF_PATHS,
    OF_QUEUE,
    PATH,
    RANDOM_LOSSES,
    REGROWN,
    SHARED_COUNTED,
    SINGLE,
    Case,
    Edit,
    counted,
    each_change,
    each_scene,
    facts,
    limit_of,
    of_segments,
    of_whole,
    share_of,
    shares,
)
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Losses, Pattern
from whyperf.explain.limits import losses
from whyperf.explain.limits.limit import lost_to_losses
from whyperf.explain.path_facts import LostRun

KINDS = (Cause.SMALL_QUEUE, Cause.RANDOM_LOSS, Cause.BURST_LOSS)
UNSURE_SINGLE, UNSURE_BURSTS = ({"losses.burst_likelihood_log10": likelihood} for likelihood in (-0.5, 0.5))


@each_scene(OF_PATHS)
def test_a_limit_takes_much_of_its_scene(case: Case) -> None:
    limit = limit_of(case.cause, case.speaks)
    assert limit.code == case.code
    assert limit.share >= MUCH
    assert limit.evidence


@each_change(OF_PATHS)
def test_a_limit_takes_little_where_something_speaks_against_it(case: Case, edit: Edit) -> None:
    assert share_of(case.cause, edit(case.speaks)) <= LITTLE_LEFT * share_of(case.cause, case.speaks)


@pytest.mark.parametrize(
    ("whose", "sizes", "expected"),
    [
        # Of the queue, one by one, in bursts.
        (OF_QUEUE, SINGLE, (0.9, 0.1, 0.0)),
        (RANDOM_LOSSES, SINGLE, (0.1, 0.9, 0.0)),
        (RANDOM_LOSSES, BURSTS, (0.1, 0.0, 0.9)),
        (OF_EITHER, SINGLE, (0.5, 0.5, 0.0)),
        (RANDOM_LOSSES, UNSURE_SINGLE, (0.1, 0.68, 0.22)),
        (RANDOM_LOSSES, UNSURE_BURSTS, (0.1, 0.22, 0.68)),
    ],
)
def test_each_kind_of_loss_has_the_part_that_the_log_gives_it(
    whose: dict[str, float], sizes: dict[str, float], expected: tuple[float, ...]
) -> None:
    found = facts(shares(congestion_window=0.9), segments=LOST | whose | sizes)
    parts = [share_of(kind, found) / lost_to_losses(found) for kind in KINDS]
    assert parts == pytest.approx(expected, abs=0.05)


def test_without_a_log_only_losses_of_a_full_queue_have_a_kind() -> None:
    when_full = of_segments({"queue.losses_full_ratio": 0.95})(LOSSES)
    assert limit_of(Cause.SMALL_QUEUE, when_full).code == "small_queue.counted"
    assert share_of(Cause.SMALL_QUEUE, when_full) > 5 * share_of(Cause.SMALL_QUEUE, LOSSES)
    assert [share_of(cause, found) for cause in KINDS[1:] for found in (when_full, LOSSES)] == [0] * 4


def test_losses_without_a_log_are_counted() -> None:
    values = limit_of(Cause.PATH_LOSS, LOSSES).values
    assert (values["lost_count"], values["sent_count"]) == (50, 5_000)
    assert values["causes"] == sorted(map(str, (*KINDS, Cause.POLICER)))


def test_few_losses_cost_little_of_a_long_trial() -> None:
    """Two in two minutes cannot be why nine tenths of the link are unused."""
    two = {"retransmitted_ratio": 2 / 9000, "data_segments": 9000, "bottleneck.use_ratio": 0.1}
    found = facts(shares(congestion_window=0.9), windows=PATH, segments=LOST | OF_QUEUE | two)
    assert share_of(Cause.SMALL_QUEUE, of_whole(life_ns=200 * MS)(found)) > 0.5
    assert share_of(Cause.SMALL_QUEUE, of_whole(life_ns=120_000 * MS)(found)) == 0


def test_a_loss_can_be_looked_up_in_the_log() -> None:
    run = LostRun(connection=3, begin_ns=5 * MS, end_ns=6 * MS, segments=8, rank=0.4)
    found = facts(shares(loss_recovery=0.9), segments=LOST | RANDOM_LOSSES | BURSTS | {"losses.examples": (run,)})
    limit = losses.burst_loss(found)
    assert limit is not None
    placed = [(row.connection, row.from_ns, row.to_ns, row.value) for row in limit.evidence if row.code == "lost_run"]
    assert placed == [(3, 5 * MS, 6 * MS, 8.0)]


def test_what_arrived_and_is_asked_for_again_was_lost_in_the_receiver() -> None:
    found = facts(shares(rto_wait=0.9), segments={"retransmitted_ratio": 0.1, "data_packets": 1000})
    assert share_of(Cause.RECEIVER_LOSS, found) == 0
    lost = Losses(kinds={"timeout": 100}, timeout_wait_ns=900 * MS, lost_in_receiver=90, lost_on_path=10)
    pattern = Pattern(trial="log01-c0001", connection=0, phases=[], words="", losses=lost)
    limit = limit_of(Cause.RECEIVER_LOSS, of_whole(patterns=(pattern,))(found))
    assert limit.share == pytest.approx(0.9 * 0.9)
    assert limit.evidence[0].value == 90


def test_a_delay_of_acks_is_that_of_the_reverse_path_and_no_queue_of_others() -> None:
    late = of_segments({"queue.back_delay_ns_median": 30.0 * MS})(SHARED_COUNTED)
    assert share_of(Cause.SHARED_BOTTLENECK, late) > share_of(Cause.ACK_PATH, late)
    of_acks = of_segments({"queue.is_of_acks": True})(late)
    assert share_of(Cause.ACK_PATH, of_acks) > share_of(Cause.SHARED_BOTTLENECK, of_acks)


def test_datagrams_that_never_arrived_are_what_the_path_takes() -> None:
    found = counted(transport="udp", datagrams=MISSED)
    for cause in (Cause.BOTTLENECK, Cause.RANDOM_LOSS):
        assert share_of(cause, found) == pytest.approx(0.4)


def test_what_was_sent_again_for_nothing_is_no_loss_of_a_queue() -> None:
    needless = of_segments({"spurious_ratio": 1.0, "queue.losses_full_ratio": None})(REGROWN)
    assert limit_of(Cause.BOTTLENECK, needless).code == "bottleneck.unfilled"
