"""Stage times of records: read, put together over trials, and over the sizes of a sweep."""

from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze.stages.planted_stages import COSTS, Planted
from tests.unit.analyze.stages.staged_results import SIZES, staged
from tests.unit.analyze.synthetic import known
from whyperf.analyze.flow import open_trial
from whyperf.analyze.stages import read_stages, trial_stages
from whyperf.analyze.stages.experiment import each_of, lines_over, read_cells
from whyperf.analyze.stages.shares import cpu_shares


def test_rows_of_a_record_are_those_that_were_planted(tmp_path: Path) -> None:
    experiment = staged(tmp_path / "made", gaps={"merged": 12, "no_start": 0})
    trial = open_trial(experiment.folder / "trials" / "stages01-c0002")
    host = known(read_stages(trial, "near"))
    assert (host.role, host.report.block_bytes, host.report.one_in) == ("sender", 65_536, 64)
    assert host.gaps == {"merged": 12}
    assert host.frame["payload_bytes"].unique().to_list() == [1024]
    # 400 messages of 1024 bytes from a raw number just below 2^32 on: unwrapped, they follow each other.
    starts = host.frame["sequence"].unique().sort()
    assert starts.diff().drop_nulls().unique().to_list() == [1024]
    assert host.frame["time_ns"].is_sorted()


def test_a_trial_has_totals_messages_and_waterfalls(tmp_path: Path) -> None:
    experiment = staged(tmp_path / "made")
    found = known(trial_stages(open_trial(experiment.folder / "trials" / "stages01-c0003")))
    assert [(total.host, total.direction) for total in found.totals] == [("near", "out"), ("far", "in")]
    assert [messages.count for messages in found.messages] == [400]
    assert [fall.which for falls in found.waterfalls for fall in falls] == ["median", "slow"]
    assert trial_stages(open_trial(experiment.folder / "trials" / "001-c0003")) is None


def test_cells_are_read_in_the_order_of_the_plan_and_lost_trials_left_out(tmp_path: Path) -> None:
    experiment = staged(tmp_path / "made")
    cells = read_cells(experiment, experiment.trials())
    assert [cell.cell for cell in cells] == ["c0001", "c0002", "c0003"]
    assert [cell.trials for cell in cells] == [["stages01-c0001"], ["stages01-c0002"], ["stages01-c0003"]]
    assert [cell.cell for cell in read_cells(experiment, experiment.trials(), {"c0002"})] == ["c0002"]


def test_trials_with_stage_times_are_never_measured_for_a_rate(tmp_path: Path) -> None:
    trials = staged(tmp_path / "made").trials()
    assert sorted(trials.staged) == ["stages01-c0001", "stages01-c0002", "stages01-c0003"]
    assert not trials.measured.keys() & trials.staged.keys()


@pytest.mark.parametrize(("stage", "direction"), [("tcp_out", "out"), ("copy_out", "in"), ("driver_in", "in")])
def test_lines_over_the_cells_are_those_of_the_planted_costs(tmp_path: Path, stage: str, direction: str) -> None:
    """Each cell has one size; together they show what a stage takes each time and for each byte."""
    experiment = staged(tmp_path / "made", [Planted([size] * 200) for size in (*SIZES, 16_384)])
    cells = read_cells(experiment, experiment.trials())
    line = next(line for line in lines_over(cells) if (line.stage, line.direction) == (stage, direction))
    fixed, per_byte = COSTS[stage]
    assert line.fit.fixed_ns.value == pytest.approx(fixed, rel=0.02)
    assert line.fit.ns_per_byte.value == pytest.approx(per_byte, rel=0.1, abs=1e-4)
    each = each_of(cells, direction, "wakeup")
    assert (each is None) is (direction == "out")
    if each is not None:
        assert each.value == pytest.approx(COSTS["wakeup"][0], rel=0.01)


def test_shares_of_a_sender_add_up() -> None:
    planted = Planted([1024] * 300, jitter=0.1)
    host = planted.host("sender")
    # A program that computes as long as its calls take, and transmissions by softirqs in every second packet.
    calls = host.frame.group_by("sequence").agg(pl.col("cpu_ns").sum())
    own = host.frame.unique("sequence", keep="first", maintain_order=True).drop("cpu_ns").join(calls, on="sequence")
    own = own.with_columns(pl.lit("application").alias("stage")).select(host.frame.columns)
    softirq = (pl.col("stage") == "driver_out") & (pl.col("sequence").rank("dense") % 2 == 0)
    frame = host.frame.with_columns(pl.when(softirq).then(pl.lit("net_rx")).otherwise("context").alias("context"))
    shares = known(cpu_shares(type(host)(host.host, host.role, pl.concat([frame, own]).sort("time_ns"), host.report)))
    assert shares.user.value == pytest.approx(0.5, abs=0.01)
    assert sum(part.value for part in vars(shares).values()) == pytest.approx(1)
    assert shares.copy.value == pytest.approx((90 + 0.11 * 1024) / (2 * _calls(1024)), rel=0.05)
    assert shares.softirq.value == pytest.approx((240 + 0.001 * 1024) / (4 * _calls(1024)), rel=0.05)


def _calls(size: int) -> float:
    """CPU time of a message at its sender, in ns."""
    sent = ("call_entry", "copy_in", "tcp_out", "qdisc_out", "driver_out", "call_exit")
    return sum(COSTS[name][0] + COSTS[name][1] * size for name in sent)
