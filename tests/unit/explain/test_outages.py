"""When a transfer stood still although data was under way."""

from pathlib import Path

import polars as pl
import pytest

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.gather.deliveries import outages
from whyperf.explain.path_facts import OutageFacts

MS = 1_000_000
STEP_MS, RTO_MS = 50, 220


def found(folder: Path, *connections: list[tuple[int, int, int]]) -> OutageFacts:
    """Of connections, for each sample (ms) what was delivered, what was under way, and the timer (ms)."""
    rows = [
        {
            "connection": number, "phase": "measure", "sample_mono_ns": at * STEP_MS * MS,
            "delivered_segments": delivered, "unacked_segments": unacked, "rto_ns": timer * MS,
            "rtt_ns_min": 5 * MS,
        }
        for number, samples in enumerate(connections)
        for at, (delivered, unacked, timer) in enumerate(samples)
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet(folder / "tcp_info.near.parquet")
    sender = FlowEnd("near", "sender", 0, EndEvidence())
    return outages(FlowTrial(folder, "001-c0001", "c0001", "complete", {"near": sender}, 0, None), sender)


MOVING = [(100 * at, 40, RTO_MS) for at in range(41)]
"""Two seconds in which data is delivered all the time."""


def still(first: int, last: int, unacked: int = 10, timer_ms: int = 2 * RTO_MS) -> list[tuple[int, int, int]]:
    """The same, with nothing delivered from one sample to another."""
    delivered = 0
    samples = []
    for at, (_, under_way, timer) in enumerate(MOVING):
        is_still = first < at <= last
        delivered += 0 if is_still else 100
        samples.append((delivered, unacked if first <= at <= last else under_way, timer_ms if is_still else timer))
    return samples


def test_a_transfer_that_stands_still_with_data_under_way_is_an_outage(tmp_path: Path) -> None:
    outage = found(tmp_path, still(10, 24))
    assert (outage.longest_ns, outage.length_ns, outage.from_ns) == (700 * MS, 700 * MS, 500 * MS)
    assert outage.span_ratio == pytest.approx(0.35)


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([MOVING], id="it moves"),
        pytest.param([still(10, 24, unacked=0)], id="nothing was under way, so the sender paused"),
        pytest.param([still(10, 24, timer_ms=RTO_MS)], id="the timer did not double"),
        pytest.param([still(10, 15)], id="it lasted no longer than a timeout"),
        pytest.param([still(10, 24), MOVING], id="another connection went on"),
    ],
)
def test_what_else_stands_still_is_none(tmp_path: Path, samples: list[list[tuple[int, int, int]]]) -> None:
    assert found(tmp_path, *samples) == OutageFacts()


def test_a_whole_window_of_which_nothing_is_delivered_is_an_outage_whatever_the_timer(tmp_path: Path) -> None:
    whole = still(10, 14, unacked=40, timer_ms=RTO_MS)
    assert found(tmp_path, whole).length_ns == 200 * MS
    # A few segments may all be lost by a full queue, and for less than ten round trips a timeout is enough.
    assert found(tmp_path, still(10, 14, unacked=10, timer_ms=RTO_MS)) == OutageFacts()
    assert found(tmp_path, still(10, 11, unacked=40, timer_ms=RTO_MS)) == OutageFacts()


def test_several_outages_count_together(tmp_path: Path) -> None:
    twice = [
        max(early, late, key=lambda sample: sample[2]) for early, late in zip(still(2, 12), still(20, 36), strict=True)
    ]
    delivered = [sum(timer == RTO_MS for *_, timer in twice[: at + 1]) for at in range(len(twice))]
    outage = found(tmp_path, [(100 * count, 10, timer) for count, (*_, timer) in zip(delivered, twice, strict=True)])
    assert (outage.longest_ns, outage.length_ns) == (800 * MS, 1300 * MS)
