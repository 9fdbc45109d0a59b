"""Costs of the model from stage times: the planted ones come out, and bounds around them are narrow."""

from dataclasses import replace

import polars as pl
import pytest

from tests.unit.analyze.stages.planted_stages import COSTS, Planted
from tests.unit.analyze.stages.staged_results import staged
from whyperf.analyze.stages.experiment import CellStages, analyzed, read_cells
from whyperf.calibrate import Measured, narrowing, priors, stage_costs, step_checks
from whyperf.calibrate.costs import STAGED, UNTIMED
from whyperf.calibrate.identify import Found


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measured]:
    """Of four cells with a size each."""
    folder = tmp_path_factory.mktemp("staged") / "made"
    experiment = staged(folder, [Planted([size] * 200, jitter=0.02) for size in (64, 1024, 4096, 16_384)])
    return stage_costs(read_cells(experiment, experiment.trials()))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("output_us", COSTS["tcp_out"][0] / 1000),
        ("transmit_us", (COSTS["qdisc_out"][0] + COSTS["driver_out"][0]) / 1000),
        ("softirq_us", (COSTS["driver_in"][0] + COSTS["gro"][0] + COSTS["ip_in"][0]) / 1000),
        ("input_us", COSTS["tcp_in"][0] / 1000),
        ("wake_up_us", COSTS["wakeup"][0] / 1000),
        ("write_call_us", (COSTS["call_entry"][0] + COSTS["call_exit"][0]) / 1000),
        ("copy_in_ns_per_byte", COSTS["copy_in"][1]),
        ("copy_out_ns_per_byte", COSTS["copy_out"][1]),
    ],
)
def test_planted_costs_come_out(costs: dict[str, Measured], key: str, expected: float) -> None:
    found = costs[key]
    assert found.value == pytest.approx(expected, rel=0.05)
    assert found.low <= found.value <= found.high


def test_what_no_stage_shows_is_not_there(costs: dict[str, Measured]) -> None:
    unseen = {"handover_us", "new_buffer_us", "switch_us", "propagation_us", "ack_output_us", "interrupt_us"}
    assert not costs.keys() & unseen


def test_priors_around_stage_times_are_narrow_and_others_as_before(costs: dict[str, Measured]) -> None:
    timed = {"send_us": Measured("send_us", 4.0, 3.9, 4.1, 15)}
    before, after = ({prior.key: prior for prior in priors(timed, seen)} for seen in (None, costs))
    assert before.keys() == after.keys()
    for key, prior in after.items():
        if key in costs:
            assert prior.value == costs[key].value
            assert prior.low <= costs[key].value / STAGED
            assert prior.low >= costs[key].value / UNTIMED
            assert prior.high >= costs[key].value * STAGED
            assert prior.source == "stage times"
        else:
            assert prior == before[key]


def test_timed_steps_are_compared_with_sums_of_stages() -> None:
    timed = {
        "send_us": Measured("send_us", 2.0, 1.9, 2.1, 15),
        "read_call_us": Measured("read_call_us", 0.5, 0.4, 0.6, 15),
    }
    seen = {key: Measured(key, value, value, value, 1) for key, value in (("output_us", 1.5), ("transmit_us", 0.9))}
    (check,) = step_checks(timed, seen)
    assert (check.step, check.timed) == ("send_us", 2.0)
    assert check.staged == pytest.approx(2.4)
    assert check.difference_ratio == pytest.approx(0.2)


def test_narrowing_compares_widths_in_logarithms() -> None:
    def found(key: str, low: float, high: float) -> Found:
        (prior,) = [prior for prior in priors({}) if prior.key == key]
        return Found(prior, 1.0, 1.0, low, high, 0.5, ())

    with_stages = [found("output_us", 0.5, 2.0), found("switch_us", 0.1, 10.0)]
    without = [found("output_us", 0.25, 4.0), found("switch_us", 0.1, 10.0)]
    narrowed = narrowing(with_stages, without, {"output_us"})
    assert narrowed.staged_ratio == pytest.approx(0.5)
    assert narrowed.others_ratio == pytest.approx(1.0)


def test_a_wake_up_costs_what_it_takes_of_packets_that_wake_their_reader() -> None:
    """Three of four packets find their reader awake."""
    host = Planted([1448] * 200).host("receiver")
    woken = pl.col("sequence").is_in(host.frame["sequence"].unique().sort().gather_every(4).to_list())
    is_short = (pl.col("stage") == "wakeup") & ~woken
    frame = host.frame.filter((pl.col("stage") != "wakeup_wait") | woken).with_columns(
        pl.when(is_short).then(20.0).otherwise(pl.col("cpu_ns")).alias("cpu_ns")
    )
    cell = CellStages("c", ("t",), analyzed("t", "c", [replace(host, frame=frame)], 0))
    assert stage_costs([cell])["wake_up_us"].value == pytest.approx(COSTS["wakeup"][0] / 1000, rel=0.01)
