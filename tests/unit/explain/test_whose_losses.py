"""Losses of a synthetic link: queue overflow, random loss, bursts; and how many losses distinguish them."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.gather.losses import Wire, backlog, burst_likelihood_log10, loss_events, losses, random_part
from whyperf.explain.gather.segments import segment_facts
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.limits.losses import burst_loss, random_loss, small_queue
from whyperf.explain.path_facts import LostRun, SegmentFacts
from whyperf.explain.segment_log import SegmentLog
from whyperf.explain.trial_facts import Facts

MS = 1_000_000
PACKET = 1448
LINK_BPS = 100e6
SPACING_NS = round((PACKET + 66) * 8e9 / LINK_BPS)
ROUND_TRIP_NS = 10 * MS

Drops = Callable[[float, np.random.Generator], bool]
"""Whether a segment is lost that has so many segments before the line."""


def tail_drop(limit: int) -> Drops:
    return lambda waiting, _: waiting >= limit


def at_random(ratio: float) -> Drops:
    return lambda _, generator: bool(generator.random() < ratio)


def in_bursts(start_ratio: float, end_ratio: float) -> Drops:
    """The chain of Gilbert: everything is lost in its bad state."""
    state = {"bad": False}

    def drops(_: float, generator: np.random.Generator) -> bool:
        state["bad"] = generator.random() >= end_ratio if state["bad"] else generator.random() < start_ratio
        return state["bad"]

    return drops


def logs(drops: Drops, *, rounds: int, seed: int, connections: int = 1) -> tuple[SegmentLog, SegmentLog]:
    """A flight of each connection a round trip, in bursts of ten segments, a segment longer each time up to sixty; what
    is lost is sent again in the next round trip and arrives.
    """
    generator = np.random.default_rng(seed)
    sent: list[tuple[int, int, int, str | None]] = []
    arrived: list[tuple[int, int, int]] = []
    level, before = 0.0, 0
    free_ns = 0
    following = [0] * connections
    again: list[list[int]] = [[] for _ in range(connections)]
    for number in range(rounds):
        start_ns = number * ROUND_TRIP_NS
        for place in range(0, 10 + number % 50, 10):
            for connection in range(connections):
                now = start_ns + place * SPACING_NS * connections + connection
                for _ in range(min(10, 10 + number % 50 - place)):
                    level = max(0.0, level - (now - before) / SPACING_NS)
                    before = now
                    repeated = bool(again[connection]) and place == 0
                    sequence = again[connection].pop(0) if repeated else following[connection]
                    following[connection] += 0 if repeated else PACKET
                    sent.append((now, connection, sequence, "fast" if repeated else None))
                    if drops(level, generator) and not repeated and number + 1 < rounds:
                        again[connection].append(sequence)
                        continue
                    level += 1
                    free_ns = max(free_ns, now) + SPACING_NS
                    arrived.append((free_ns, connection, sequence))
    constant = {"payload_bytes": PACKET, "wire_segments": 1, "flags": 0, "acknowledgment": 0}
    names = ["time_ns", "connection", "sequence", "retransmission"]
    frame = pl.DataFrame(sent, schema=names, orient="row", infer_schema_length=None)
    came = pl.DataFrame(arrived, schema=names[:3], orient="row")
    unknown = ("ssthresh_segments", "cwnd_segments", "unacked_bytes", "send_window_bytes")
    sender = frame.with_columns(
        pl.lit("out").alias("direction"),
        pl.lit(ROUND_TRIP_NS).alias("srtt_ns"),
        pl.lit(2**64 - 1, dtype=pl.UInt64).alias("pacing_rate_bytes_per_second"),
        *(pl.lit(value).alias(name) for name, value in constant.items()),
        *(pl.lit(None, pl.Int64).alias(name) for name in unknown),
    )
    receiver = came.with_columns(
        pl.lit("in").alias("direction"),
        pl.lit(None, dtype=pl.String).alias("ack_reason"),
        *(pl.lit(value).alias(name) for name, value in constant.items()),
    )
    return SegmentLog(sender), SegmentLog(receiver)


def parts(segments: SegmentFacts) -> dict[Cause, float]:
    """What each kind of loss takes of a sender that waited for its congestion window, over what all three take."""
    sender = HostFacts(host="near", shares={"congestion_window": 0.9})
    facts = Facts("log", life_ns=1000 * MS, sender=sender, segments=segments)
    found = [limit for ask in (small_queue, random_loss, burst_loss) if (limit := ask(facts)) is not None]
    whole = sum(limit.share for limit in found)
    return {limit.cause: limit.share / whole for limit in found}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("drops", "cause"),
    [
        (lambda: tail_drop(8), Cause.SMALL_QUEUE),
        (lambda: at_random(0.01), Cause.RANDOM_LOSS),
        (lambda: in_bursts(0.002, 0.2), Cause.BURST_LOSS),
    ],
    ids=["queue", "random", "bursts"],
)
def test_the_losses_of_a_second_show_what_took_them(drops: Callable[[], Drops], cause: Cause, seed: int) -> None:
    assert parts(segment_facts(*logs(drops(), rounds=100, seed=seed)))[cause] > 0.6


def test_connections_before_one_queue_are_seen_together() -> None:
    found = segment_facts(*logs(tail_drop(18), rounds=60, seed=1, connections=2))
    assert found.losses.random_ratio is not None
    assert found.losses.random_ratio < 0.3
    assert found.losses.examples


def test_the_first_losses_of_bursts_leave_open_what_took_them() -> None:
    few = [segment_facts(*logs(in_bursts(0.002, 0.2), rounds=8, seed=seed)) for seed in range(40)]
    found = [parts(log) for log in few if log.losses.events]
    assert any(max(of_log.values()) < 0.7 for of_log in found)
    # Rarely wrong: that a queue takes them, or that they come one by one.
    others = [max(of_log.get(Cause.SMALL_QUEUE, 0), of_log.get(Cause.RANDOM_LOSS, 0)) for of_log in found]
    assert sum(part > 0.8 for part in others) <= len(found) // 10


@pytest.mark.parametrize(
    ("ranks", "least", "most"),
    [([0.99] * 10, 0.0, 0.3), ([0.05 + 0.1 * n for n in range(10)], 0.5, 1.0), ([0.99] * 20 + [0.3] * 20, 0.2, 0.8)],
)
def test_the_random_share_follows_from_the_backlogs_that_losses_met(
    ranks: list[float], least: float, most: float
) -> None:
    part = random_part(ranks)
    assert part is not None
    assert least <= part <= most


def test_one_loss_says_nothing_of_whose_it_is() -> None:
    part = random_part([0.97])
    assert part is not None
    assert 0.3 < part < 0.7
    assert random_part([]) is None


def test_the_likelihood_of_bursts_grows_with_each_segment_that_follows() -> None:
    unranked = [None] * 10
    assert burst_likelihood_log10([1] * 10, unranked, 1.0, 1e-6) == pytest.approx(10 * np.log10(0.5), abs=1e-3)
    assert burst_likelihood_log10([2], [None], 1.0, 0.01) == pytest.approx(np.log10(1 / 6 / 0.01 / 0.99))
    assert burst_likelihood_log10([2], [0.5], 0.0, 0.01) == 0


def test_a_long_run_of_a_full_queue_does_not_make_the_other_losses_bursts() -> None:
    singles, somewhere = [1] * 20, [(at + 0.5) / 20 for at in range(20)]
    alone = burst_likelihood_log10(singles, somewhere, 0.8, 0.01)
    with_overruns = burst_likelihood_log10([*singles, 38, 30], [*somewhere, 0.98, 0.99], 0.8, 0.01)
    assert alone < -4
    assert with_overruns == pytest.approx(alone, abs=0.3)
    # The same lengths where the queue is short are bursts.
    assert burst_likelihood_log10([*singles, 38, 30], [*somewhere, 0.3, 0.5], 0.95, 0.01) > alone + 1


def test_losses_within_a_round_trip_are_one_event() -> None:
    runs = [LostRun(0, at * MS, at * MS, 1, None) for at in (0, 4, 9, 12, 30)]
    assert [run.begin_ns // MS for run in loss_events(runs, 10 * MS)] == [0, 12, 30]


def test_the_backlog_is_what_the_line_has_not_taken_yet() -> None:
    time = np.array([0, 0, 0, 1000, 1000, 100_000])
    sent = Wire(time, np.arange(6) * 100, np.full(6, 100))
    lost = np.array([False, True, False, False, False, False])
    assert backlog(sent, lost, 0.05, 0).tolist() == [0, 100, 100, 150, 250, 0]


def test_nothing_sent_is_nothing_lost() -> None:
    assert losses({}, 1.0).runs == ()
