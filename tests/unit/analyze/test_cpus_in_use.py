"""CPUs in use of each side, what shared CPUs do for neither, and how many adapters carry the load."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.measures.adapters import cell_adapters
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import CellResult
from whyperf.report.properties import cpus_in_use
from whyperf.report.table import Table, cells_table

BUSY = {"sender": 0.5, "receiver": 0.25}
TRACED = {"sender": 0.2, "receiver": 0.1}


def first(inputs: Inputs) -> CellResult:
    return summarize_inputs(inputs).cells[0]


def with_softirqs_on_load(inputs: Inputs, part: float) -> Inputs:
    """The same, with a part of all soft interrupts on top of the load's threads."""
    on_load = (pl.col("softirq_ns") * part).round().cast(pl.UInt64).alias("on_load_ns")
    return made.changed(inputs, softirqs=inputs.softirqs.with_columns(on_load))


def column(table: Table, heading: str) -> list[str]:
    (index,) = [number for number, found in enumerate(table.columns) if found.heading == heading]
    return [row[index].text for row in table.rows]


def test_cpus_in_use_are_cpus_times_utilization() -> None:
    inputs = made.inputs([made.Trial(busy=BUSY), made.Trial(block=2, busy={"sender": 0.7, "receiver": 0.25})])
    # Each side has two CPUs of its own, which are busy to the same part.
    twice = pl.concat([inputs.cpu.filter("own"), inputs.cpu.filter("own").with_columns(pl.col("cpu") + 2)])
    inputs = made.changed(inputs, cpu=twice, ends=inputs.ends.with_columns(pl.lit([0, 2]).alias("cpus")))
    sender, receiver = (getattr(first(inputs).cpu, role) for role in ("sender", "receiver"))
    assert (sender.cpus_count, receiver.cpus_count) == pytest.approx((2, 2))
    assert sender.in_use_cpus == pytest.approx(2 * 0.6)
    assert receiver.in_use_cpus == pytest.approx(2 * 0.25)
    assert first(inputs).cpu.shared is None
    assert cpus_in_use(first(inputs)) == "sender 1.20 of 2, receiver 0.50 of 2"


def test_of_shared_cpus_each_side_has_its_threads_and_neither_has_the_rest() -> None:
    """CPU 0 is half busy, CPU 1 for a quarter: 0.75 CPUs. The threads use 90 % of 0.5 and of 0.25."""
    cell = first(made.inputs([made.Trial(busy=BUSY, exclusive=False)]))
    assert cell.cpu.sender is not None
    assert cell.cpu.sender.in_use_cpus == pytest.approx(0.45)
    assert made.known(cell.cpu.receiver).in_use_cpus == pytest.approx(0.225)
    assert cell.cpu.sender.busy_ratio is None
    shared = made.known(cell.cpu.shared)
    assert shared.cpus == [0, 1]
    assert shared.busy_cpus == pytest.approx(0.75)
    assert shared.not_attributed_cpus == pytest.approx(0.75 - 0.45 - 0.225)
    assert shared.softirq_cpus is None


def test_soft_interrupts_of_neither_are_those_on_top_of_no_thread_of_a_load() -> None:
    """Traced: 0.2 CPUs on CPU 0, 0.1 on CPU 1. A quarter of it is on top of the load's threads."""
    traced = made.inputs([made.Trial(busy=BUSY, exclusive=False, traced_softirq=TRACED)])
    cell = first(with_softirqs_on_load(traced, 0.25))
    assert made.known(cell.cpu.shared).softirq_cpus == pytest.approx(0.75 * 0.3)
    assert made.known(cell.cpu.sender).softirq_on_threads_cpus == pytest.approx(0.25 * 0.2)
    # Nobody knows how many ran on top of threads that were too many to be looked for.
    unknown = made.known(first(traced).cpu.shared)
    assert unknown.softirq_cpus is None


def test_ticks_that_account_for_little_leave_the_rest_unknown() -> None:
    inputs = made.inputs([made.Trial(busy=BUSY, exclusive=False)])
    names = ("user", "system", "irq", "softirq", "steal", "idle")
    few = inputs.cpu.with_columns((pl.col(f"{name}_ns") // 3).alias(f"{name}_ns") for name in names)
    shared = made.known(first(made.changed(inputs, cpu=few)).cpu.shared)
    assert (shared.busy_cpus, shared.not_attributed_cpus) == (None, None)


def test_the_table_has_the_rest_as_a_column_of_its_own() -> None:
    apart = made.Trial(cell="c0001", busy=BUSY, factors={"near_cpus": "0"})
    shared = made.Trial(cell="c0002", busy=BUSY, exclusive=False, factors={"near_cpus": "0-1"})
    table = cells_table(summarize_inputs(made.inputs([apart, shared])))
    assert column(table, "CPUs in use sender") == ["0.50", "0.45"]
    assert column(table, "CPUs in use receiver") == ["0.25", "0.23"]
    assert column(table, "CPUs in use by neither") == ["", "0.07"]
    alone = cells_table(summarize_inputs(made.inputs([apart])))
    assert not [found for found in alone.columns if found.heading.startswith("CPUs")]


DRIVERS = {"eth0": "mlx5_core", "eth1": "mlx5_core", "bond0": "bonding", "mgmt0": "e1000e", "lo": None}


def carried(**packets: int) -> dict[tuple[str, str], int]:
    """Adapters of the sender whose devices carried these packets."""
    ends = pl.DataFrame(
        {"trial": ["t"], "host": ["near"], "role": ["sender"], "cpus_of": ["near"]},
        schema_overrides={"cpus_of": pl.String},
    )
    devices = pl.DataFrame(
        {
            "trial": ["t"] * len(packets),
            "cell": ["c"] * len(packets),
            "host": ["near"] * len(packets),
            "device": list(packets),
            "tx_packets": list(packets.values()),
            "rx_packets": [0] * len(packets),
        }
    )
    facts: dict[str, Any] = {"devices": [{"name": name, "driver": DRIVERS[name]} for name in packets]}
    return cell_adapters(devices, ends, {"near": facts})


@pytest.mark.parametrize(
    ("packets", "adapters"),
    [
        ({"lo": 0, "eth0": 1000}, 1),
        ({"eth0": 1000, "eth1": 900, "mgmt0": 50}, 2),
        ({"bond0": 2000, "eth0": 1000, "eth1": 1000}, 2),
        ({"bond0": 1000}, 1),
        ({"lo": 1000, "eth0": 3}, 1),
    ],
)
def test_adapters_are_devices_that_carried_the_load(packets: dict[str, int], adapters: int) -> None:
    assert carried(**packets) == {("c", "sender"): adapters}


def test_cpus_per_adapter_divide_the_cpus_in_use() -> None:
    inputs = made.inputs([made.Trial(busy=BUSY)])
    keys = inputs.ends.select("trial", "host").with_columns(pl.lit("c0001").alias("cell"), pl.lit(1).alias("block"))
    rows = [keys.with_columns(pl.lit(name).alias("device")) for name in ("eth0", "eth1")]
    devices = pl.concat(rows).with_columns(pl.lit(10).alias("tx_packets"), pl.lit(10).alias("rx_packets"))
    facts = {"devices": [{"name": name, "driver": "ice"} for name in ("eth0", "eth1")]}
    cell = first(replace(inputs, devices=devices, hosts={"near": facts, "far": facts}))
    assert cell.cpu.sender is not None
    assert cell.cpu.sender.adapters_count == 2
    assert cell.cpu.sender.per_adapter_cpus == pytest.approx(0.25)
    assert cpus_in_use(cell) == (
        "sender 0.50 of 1, receiver 0.25 of 1, sender 0.25 for each of 2 adapters, receiver 0.12 for each of 2 adapters"
    )
