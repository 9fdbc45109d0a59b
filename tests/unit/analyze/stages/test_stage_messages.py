"""The latency of a message by stage: planted times add up, and planted delays are found in their stage."""

import numpy as np
import polars as pl
import pytest

from tests.unit.analyze.stages.planted_stages import COSTS, HELD_NS, IN, OUT, PATH_NS, WAITS, Planted
from tests.unit.analyze.synthetic import known
from whyperf.analyze.stages import HostStages, Lives, lives_of, messages, waterfalls

SIZE = 1000
EMPTY = 2 * 40
"""What the probes of a stage add to the time until the next one; analysis takes it off the stage."""


def lives(planted: Planted) -> Lives:
    return known(lives_of(planted.host("sender"), planted.host("receiver")))


def test_the_stages_of_a_message_add_up_to_its_latency() -> None:
    found = lives(Planted([SIZE] * 50, jitter=0.2))
    together = found.frame.select(pl.sum_horizontal(stage.name for stage in found.stages)).to_series()
    assert together.to_list() == pytest.approx(found.frame["latency_ns"].to_list())
    assert found.unread == 0
    assert found.early == 0


def test_each_stage_has_its_planted_time() -> None:
    frame = lives(Planted([SIZE] * 20)).frame
    for name in (*OUT, *IN):
        if name in {"call_exit", "wakeup_wait"}:
            continue
        expected = WAITS.get(name) or COSTS[name][0] + COSTS[name][1] * SIZE
        assert frame[name].mean() == pytest.approx(expected, abs=2), name
    # A stage in front of which time is missing has the probes of the one before it there.
    assert frame["held"].mean() == pytest.approx(HELD_NS + EMPTY, abs=2)
    assert frame["path"].mean() == pytest.approx(PATH_NS + EMPTY + COSTS["call_exit"][0] + EMPTY, abs=5)


@pytest.mark.parametrize("stage", ["qdisc_wait", "wakeup_wait", "copy_out", "ip_in"])
def test_what_makes_the_slowest_slow_is_the_stage_with_the_planted_delay(stage: str) -> None:
    count = 1000
    delays = np.zeros(count)
    delays[::80] = 50_000
    found = messages(lives(Planted([SIZE] * count, extra_ns={stage: delays}, jitter=0.1)))
    assert found.slow == 10
    slowest = known(found.makes_slow)
    assert slowest.stage.name == stage
    assert slowest.excess_ns == pytest.approx(50_000, rel=0.03)
    assert known(slowest.excess_ratio).value == pytest.approx(1, abs=0.03)
    assert sum(share.excess_ratio.value for share in found.stages if share.excess_ratio) == pytest.approx(1)
    assert found.latency_ns["p99"].value > found.latency_ns["p50"].value + 40_000


def test_few_messages_have_no_slow_ones() -> None:
    found = messages(lives(Planted([SIZE] * 100)))
    assert (found.slow, found.makes_slow) == (0, None)
    assert found.latency_ns["p50"].low is not None


def test_exact_intervals_of_percentiles_hold_the_truth() -> None:
    found = messages(lives(Planted([SIZE] * 400, extra_ns={"qdisc_wait": np.arange(400.0)})))
    low, high = found.latency_ns["p50"].low, found.latency_ns["p50"].high
    assert low is not None
    assert high is not None
    # Between the order statistics 180 and 221 of 400, whose steps are 1 ns.
    assert high - low == pytest.approx(40, abs=3)


def test_messages_that_are_not_read_are_counted() -> None:
    planted = Planted([SIZE] * 50)
    reader = planted.host("receiver")
    kept = (pl.col("stage") != "copy_out") | (pl.col("sequence") > reader.frame["sequence"].min() + 9 * SIZE)  # type: ignore[operator]
    found = known(lives_of(planted.host("sender"), _with(reader, reader.frame.filter(kept))))
    assert (found.frame.height, found.unread) == (40, 10)


def test_clocks_that_are_apart_are_named() -> None:
    planted = Planted([SIZE] * 20)
    reader = planted.host("receiver")
    early = _with(reader, reader.frame.with_columns(pl.col("time_ns") - 5_000))
    found = known(lives_of(planted.host("sender"), early, uncertainty_ns=100))
    assert found.early == 20
    assert found.frame["path"].max() == 0
    within = known(lives_of(planted.host("sender"), early, uncertainty_ns=10_000))
    assert within.early == 0


def test_hosts_that_unwrap_from_different_starts_agree() -> None:
    planted = Planted([SIZE] * 20)
    reader = planted.host("receiver")
    apart = _with(reader, reader.frame.with_columns(pl.col("sequence") + 2**32))
    found = known(lives_of(planted.host("sender"), apart))
    assert found.frame.height == 20


def test_waterfalls_are_of_a_median_and_of_a_slow_message() -> None:
    count = 300
    delays = np.zeros(count)
    delays[::50] = 80_000
    planted = Planted([SIZE] * count, extra_ns={"wakeup_wait": delays}, jitter=0.1)
    writer, reader = planted.host("sender"), planted.host("receiver")
    drawn = waterfalls(writer, reader, lives(planted))
    assert [fall.which for fall in drawn] == ["median", "slow"]
    for fall in drawn:
        names = [span.stage.name for span in fall.spans]
        assert names[:3] == ["call_entry", "copy_in", "held"]
        assert names.index("path") < names.index("driver_in") < names.index("copy_out")
        assert fall.spans[0].start_ns == 0
        assert max(span.end_ns for span in fall.spans) == pytest.approx(fall.latency_ns, rel=0.01)
    wait = next(span for span in drawn[1].spans if span.stage.name == "wakeup_wait")
    assert wait.end_ns - wait.start_ns > 80_000
    assert wait.cpu_ns == 0


def _with(host: HostStages, frame: pl.DataFrame) -> HostStages:
    return HostStages(host.host, host.role, frame, host.report)
