"""Facts from segments: what was lost and whether a queue did it, a line's rate, what a timer holds back."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from tests.unit.analyze.flow import traces
from whyperf.explain.experiment import _on_one_machine
from whyperf.explain.gather import by_payload
from whyperf.explain.gather.all_facts import _is_queued_back
from whyperf.explain.gather.application import request_cycle
from whyperf.explain.gather.bottleneck import bottleneck_rate
from whyperf.explain.gather.delays import queue_of_logs
from whyperf.explain.gather.deliveries import Steps, _while_full
from whyperf.explain.gather.losses import Wire, losses, lost_copies, on_wire
from whyperf.explain.gather.read import least_trip_ns
from whyperf.explain.gather.segments import segment_facts
from whyperf.explain.gather.sockets import sampled
from whyperf.explain.path_facts import QueueFacts, RequestCycle, SegmentFacts
from whyperf.explain.segment_log import read_logs
from whyperf.record import Experiment

PACKET = 1448
LINK_BPS = 100e6
NOT_WATCHED = SimpleNamespace(watched=None)
SPACING_NS = round((PACKET + 66) * 8e9 / LINK_BPS)


def wire(times: list[int], sequences: list[int]) -> Wire:
    return Wire(np.array(times), np.array(sequences), np.full(len(times), PACKET))


def test_a_super_segment_comes_apart_into_its_segments() -> None:
    data = pl.DataFrame({"time_ns": [5], "sequence": [1], "payload_bytes": [3000], "wire_segments": [3]})
    made = on_wire(data)
    assert made.sequence.tolist() == [1, 1001, 2001]
    assert made.payload.tolist() == [1000, 1000, 1000]
    assert made.time_ns.tolist() == [5, 5, 5]


def test_the_first_copy_of_what_came_once_of_two_was_lost() -> None:
    sent = wire([0, 10, 20, 90], [0, 1448, 2896, 1448])
    arrived = wire([5, 25, 95], [0, 2896, 1448])
    assert lost_copies(sent, arrived).tolist() == [False, True, False, False]


def test_a_gap_in_a_log_is_no_loss() -> None:
    sent = wire([0, 10, 20], [0, 1448, 2896])
    assert not lost_copies(sent, wire([5], [0])).any()


def bursts(lost_at: int) -> tuple[Wire, Wire]:
    """Bursts of 8 segments a millisecond apart; of every tenth burst the one at `lost_at` is lost and sent again."""
    times, sequences, gone = [], [], []
    for burst in range(100):
        for place in range(8):
            times.append(burst * 4 * traces.MS)
            sequences.append((burst * 8 + place) * PACKET)
            if burst % 10 == 3 and place == lost_at:
                gone.append(len(times) - 1)
    again = [(times[segment] + 2 * traces.MS, sequences[segment]) for segment in gone]
    sent = sorted([*zip(times, sequences, strict=True), *again])
    arrived = sorted(
        [(at, seq) for n, (at, seq) in enumerate(zip(times, sequences, strict=True)) if n not in gone] + again
    )
    return wire(*map(list, zip(*sent, strict=True))), wire(*map(list, zip(*arrived, strict=True)))


@pytest.mark.parametrize(("lost_at", "least", "most"), [(7, 0.9, 1.0), (1, 0.0, 0.5)])
def test_a_queue_loses_where_its_backlog_is_highest(lost_at: int, least: float, most: float) -> None:
    found = losses({0: bursts(lost_at)}, LINK_BPS / 8e9)
    assert (found.lost, len(found.runs)) == (10, 10)
    ranks = [run.rank for run in found.runs if run.rank is not None]
    assert all(least <= rank <= most for rank in ranks)


def test_the_rate_of_the_line_is_that_within_bursts() -> None:
    times = [burst * 50 * traces.MS + place * SPACING_NS for burst in range(40) for place in range(10)]
    frame = pl.DataFrame({"time_ns": times}).with_columns(
        pl.lit(PACKET).alias("payload_bytes"), pl.lit(1).alias("wire_segments")
    )
    found = bottleneck_rate(frame)
    assert found.bps == pytest.approx(LINK_BPS, rel=0.02)
    assert found.use_ratio == pytest.approx(10 * (PACKET + 66) * 8 / 0.05 / LINK_BPS, rel=0.05)
    assert found.steadiness == pytest.approx(0.9, abs=0.02)
    assert bottleneck_rate(frame.head(20)).bps is None


def test_data_that_a_late_ack_lets_go_was_held_back(tmp_path: Path) -> None:
    near = traces.trace("""
       0.0 > . 1:101     ack 1 unacked=100
      40.1 < . 1:1       ack 101
      40.2 > . 101:201   ack 1 unacked=100
      80.3 < . 1:1       ack 201
      80.4 > . 201:301   ack 1 unacked=100
    """)
    far = traces.trace(
        """
       0.1 < . 1:101     ack 1
      40.1 > . 1:1       ack 101 why=delayed_timer
      40.3 < . 101:201   ack 1
      80.3 > . 1:1       ack 201 why=delayed_timer
      80.5 < . 201:301   ack 1
    """,
        "far",
        "receiver",
    )
    trial = traces.write(tmp_path / "log01-c0001", near, far)
    logs = read_logs(trial)
    assert logs.sender is not None
    facts = segment_facts(logs.sender, logs.receiver)
    assert facts.held_ratio == pytest.approx(80 / 80.4, abs=0.01)
    assert facts.released_bytes == 100
    assert facts.ack_reasons == {"delayed_timer": 1.0}


@pytest.mark.parametrize(
    ("acked", "received", "role"),
    [(1000, 500, "sender"), (10, 50, "sender"), (0, 500, "receiver"), (None, 500, "sender")],
)
def test_the_end_that_gets_nearly_everything_is_the_receiver(
    acked: int | None, received: int, role: str, tmp_path: Path
) -> None:
    counts = pl.Series("bytes_acked", [acked], dtype=pl.UInt64)
    info = pl.DataFrame({"connection": [0], "bytes_acked": counts, "bytes_received": [received]})
    trial = traces.write(tmp_path / "001-c0001", tables={"tcp_info.near": info})
    found = by_payload(trial)
    assert found.ends["near"].role == role
    assert found.is_turned is (role == "receiver")


def test_what_is_in_flight_is_counted_in_segments_as_large_as_they_were(tmp_path: Path) -> None:
    """535 segments of 100 bytes are 53,500 bytes, and would be 774,680 if they were full."""
    info = pl.DataFrame(
        {
            "connection": [0, 0, 1, 1],
            "sample_mono_ns": [1, 2, 1, 2],
            "rtt_ns": [1_000] * 4,
            "send_mss_bytes": [1448] * 4,
            "unacked_segments": [0, 535, 0, 20],
            "bytes_acked": [50, 200_050, 0, None],
            "data_segments_out": [1, 2_011, 0, None],
            "retransmitted_segments": [0, 10, 0, None],
        }
    )
    trial = traces.write(tmp_path / "001-c0001", tables={"tcp_info.near": info})
    windows = sampled(trial, trial.ends["near"]).windows
    # What nobody counted may be full.
    assert (windows.flight_bytes_max, windows.flight_bytes_median) == (53_500, 14_480)


@pytest.mark.parametrize(("events", "least_ms"), [(0, 10), (5, 10), (50, 20)])
def test_where_segments_overtake_the_smallest_round_trip_is_no_path_s_of_the_others(events: int, least_ms: int) -> None:
    samples = pl.DataFrame(
        {
            "connection": [0] * 20,
            "rtt_ns": [18 * traces.MS, *[20 * traces.MS] * 18, 25 * traces.MS],
            "rtt_ns_min": [10 * traces.MS] * 20,
            "reordering_events_count": [events] * 20,
            "data_segments_out": [1_000] * 20,
        }
    )
    assert least_trip_ns(samples) == least_ms * traces.MS
    assert least_trip_ns(samples.head(0)) is None


def test_segments_that_overtake_make_no_queue_of_the_others() -> None:
    """Every 40th takes half of the path's delay."""
    sent = wire([number * traces.MS for number in range(400)], [number * PACKET for number in range(400)])
    delays = [10 if number % 40 == 39 else 20 for number in range(400)]
    arrived = sorted((number * traces.MS + delay * traces.MS, number * PACKET) for number, delay in enumerate(delays))
    came = wire([time for time, _ in arrived], [sequence for _, sequence in arrived])
    none = pl.DataFrame(schema={"connection": pl.Int64, "acknowledgment": pl.Int64, "time_ns": pl.Int64})
    found = queue_of_logs({0: (sent, came)}, (none, none), None, 40 * traces.MS)
    assert found.standing_ratio == 0.0


def test_a_cycle_goes_from_request_to_answer_and_on_to_the_next_request() -> None:
    # Twice: two packets of a request, its answer 30 us after the second, and a pause.
    steps = [(0, "out"), (10, "out"), (40, "in"), (1000, "out"), (1010, "out"), (1050, "in"), (2000, "out")]
    sent = pl.DataFrame(
        {
            "time_ns": [at * 1000 for at, _ in steps],
            "direction": [way for _, way in steps],
            "connection": 0,
            "payload_bytes": 100,
        }
    )
    found = request_cycle(sent)
    assert found == RequestCycle(
        answer_ratio=70e3 / 2000e3,
        think_ratio=1910e3 / 2000e3,
        cycle_ns=1e6,
        exchange_ns=45e3,
        answer_ns=35e3,
        think_ns=955e3,
    )
    assert request_cycle(sent.filter(pl.col("direction") == "out")) == RequestCycle()


STEPS = Steps(
    rates_bps=np.array([50.0, 100.0, 104.0, 100.0, 96.0, 89.0, 30.0]) * 1e6,
    queue_ratios=np.array([0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0]),
    backlogged_ratio=1.0,
    window_segments=100.0,
    mss_bytes=1000,
    rtt_ns_min=10e6,
)


def test_the_rate_while_the_queue_is_full() -> None:
    """Five steps with a full queue: 100 Mbit/s in the median, four of them within 10 % of it, headers of 66 bytes."""
    rate = _while_full(STEPS)
    assert rate is not None
    assert rate.bps == pytest.approx(106.6e6)
    assert rate.steadiness == pytest.approx(0.8)
    assert rate.use_ratio == pytest.approx(np.mean(STEPS.rates_bps) / 100e6)
    assert rate.spread == pytest.approx((102.4 - 91.8) / 100)
    assert rate.is_seen_when_full


@pytest.mark.parametrize(
    ("back_ms", "queue_ms", "is_queued"),
    [(1.0, 0.0, False), (1.01, 0.0, True), (6.0, 3.0, False), (6.01, 3.0, True), (None, None, False)],
)
def test_acks_wait_longer_than_a_tenth_of_the_round_trip_and_twice_the_payload(
    back_ms: float | None, queue_ms: float | None, *, is_queued: bool
) -> None:
    """The smallest round trip takes 10 ms."""
    delays = [None if ms is None else ms * 1e6 for ms in (back_ms, queue_ms)]
    queue = QueueFacts(back_delay_ns_median=delays[0], delay_ns_median=delays[1])
    assert _is_queued_back(SegmentFacts(queue=queue), STEPS) is is_queued


@pytest.mark.parametrize(
    ("names", "is_one"), [(("a", "a"), True), (("a", "b"), False), ((None, None), False), (("a", None), False)]
)
def test_hosts_of_one_name_are_one_machine(names: tuple[str | None, str | None], *, is_one: bool) -> None:
    hosts = {side: {"hostname": name} for side, name in zip(("near", "far"), names, strict=True)}
    assert _on_one_machine(cast("Experiment", SimpleNamespace(plan=NOT_WATCHED, hosts=lambda: hosts))) is is_one
    assert not _on_one_machine(cast("Experiment", SimpleNamespace(plan=NOT_WATCHED, hosts=dict)))


def segments_of(*rows: tuple[int, str, int]) -> pl.DataFrame:
    """Time, direction and payload of segments of one connection."""
    return pl.DataFrame(
        [(time, 0, way, size) for time, way, size in rows],
        schema={
            "time_ns": pl.Int64(),
            "connection": pl.UInt32(),
            "direction": pl.String(),
            "payload_bytes": pl.Int64(),
        },
        orient="row",
    )


def test_a_request_cycle_by_hand() -> None:
    """Answers after 30 and 50 ns, thinking for 20 ns, of 100 ns; a request of two segments takes from its first one."""
    found = request_cycle(
        segments_of(
            (-9, "in", 5), (0, "out", 5), (10, "out", 5), (40, "in", 5), (60, "out", 5), (70, "out", 0), (110, "in", 5)
        )
    )
    assert (found.answer_ratio, found.think_ratio) == pytest.approx((80 / 110, 20 / 110))
    assert (found.cycle_ns, found.exchange_ns, found.answer_ns, found.think_ns) == (110, 45, 40, 20)


@pytest.mark.parametrize("rows", [[], [(0, "out", 5), (9, "out", 5)], [(7, "in", 5)], [(0, "out", 5), (9, "in", 0)]])
def test_without_answers_there_is_no_cycle(rows: list[tuple[int, str, int]]) -> None:
    assert request_cycle(segments_of(*rows)) == RequestCycle()


def test_rates_of_adapters_add_up() -> None:
    """Two links of 1 Gbit/s: arrivals of both together show the rate of neither."""
    bits, packets = 8 * (1448 + 66), 400
    offset = np.random.default_rng(3).integers(0, 40, packets)
    each = np.arange(packets) * bits
    arrived = pl.DataFrame(
        {
            "connection": [0] * packets + [1] * packets,
            "time_ns": np.concatenate([each, each + 700 + offset]),
            "payload_bytes": 1448,
            "wire_segments": 1,
        }
    ).sort("time_ns")
    found = bottleneck_rate(arrived, adapters=2)
    assert found.bps == pytest.approx(2e9, rel=0.01)
    assert found.use_ratio == pytest.approx(1, rel=0.01)
    assert bottleneck_rate(arrived.filter(pl.col("connection") == 0)).bps == pytest.approx(1e9, rel=0.01)
    assert bottleneck_rate(arrived).bps != pytest.approx(2e9, rel=0.05)
    # One of them says nothing, nor do more than there are connections, however many a result names.
    assert bottleneck_rate(arrived, adapters=2**62).bps is None
    assert bottleneck_rate(arrived.filter(pl.col("connection") == 0), adapters=2).bps is None
