"""Facts from segments: what was lost and whether a queue did it, a line's rate, what a timer holds back."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.unit.analyze.flow import traces
from whyperf.explain.gather import by_payload
from whyperf.explain.gather.bottleneck import bottleneck_rate
from whyperf.explain.gather.losses import Wire, losses, lost_copies, on_wire
from whyperf.explain.gather.request_cycle import request_cycle
from whyperf.explain.gather.segments import segment_facts
from whyperf.explain.path_facts import RequestCycle
from whyperf.explain.segment_log import read_logs

PACKET = 1448
LINK_BPS = 100e6
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
    ("acked", "received", "role"), [(1000, 500, "sender"), (10, 50, "sender"), (0, 500, "receiver")]
)
def test_the_end_that_gets_nearly_everything_is_the_receiver(
    acked: int, received: int, role: str, tmp_path: Path
) -> None:
    info = pl.DataFrame({"connection": [0], "bytes_acked": [acked], "bytes_received": [received]})
    trial = traces.write(tmp_path / "001-c0001", tables={"tcp_info.near": info})
    found = by_payload(trial)
    assert found.ends["near"].role == role
    assert found.is_turned is (role == "receiver")


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
