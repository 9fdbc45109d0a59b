"""Which hosts stand next to the figures of a comparison."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.whole.report.compare import drawn_comparisons as made
from whyperf.compare.conditions import hosts_of
from whyperf.compare.source import Source
from whyperf.plan import Cell
from whyperf.record import Experiment
from whyperf.report.compare.conditions import conditions_of

OLD, NEW, FASTER = "sparc2+sba-100@2.0", "sparc2+sba-100@2.2.6", "sparc10+sba-200"


def source(label: str, cell: str | None, **factors: str) -> Source:
    """A result on the model: c0001 and c0002 between two alike, c0003 from one to another."""
    hosts = {"c0001": OLD, "c0002": NEW, "c0003": f"{FASTER},{OLD}"}
    cells = tuple(Cell(id=name, sweep="main", factors={"hosts": own, **factors}) for name, own in hosts.items())
    facts: dict[str, Any] = {"hostname": f"{OLD}, {NEW}, {FASTER}", "kernel": "model"}
    experiment = SimpleNamespace(
        folder=Path("upgrades"),
        plan=SimpleNamespace(testbed=SimpleNamespace(kind="model"), cells=cells),
        hosts=lambda: {"near": dict(facts), "far": dict(facts)},
    )
    return Source(label, cast("Experiment", experiment), cell)


def named(*sources: Source) -> list[tuple[str, str, str]]:
    return [(host.label, host.host, host.hostname) for host in hosts_of(sources)]


def test_each_cell_of_the_model_has_its_own_hosts() -> None:
    found = named(source("A", "c0001"), source("B", "c0002"))
    assert found == [("A", "near", OLD), ("A", "far", OLD), ("B", "near", NEW), ("B", "far", NEW)]


def test_the_writer_is_near_unless_the_near_side_receives() -> None:
    assert named(source("A", "c0003")) == [("A", "near", FASTER), ("A", "far", OLD)]
    assert named(source("A", "c0003", direction="receive")) == [("A", "near", OLD), ("A", "far", FASTER)]


def test_the_page_does_not_call_hosts_the_same_that_differ() -> None:
    hosts = tuple(hosts_of((source("A", "c0001"), source("B", "c0002"))))
    comparison = made.comparison(made.cell_pair())
    results = tuple(result.model_copy(update={"folder": "upgrades"}) for result in comparison.results)
    differing = comparison.model_copy(update={"results": results, "hosts": hosts})
    assert conditions_of(differing).summary.endswith("the plan is the same, and their hosts differ.")
    same = comparison.model_copy(update={"results": results, "hosts": hosts[:2]})
    assert "hosts, kernel and plan are the same" in conditions_of(same).summary


def test_a_driver_has_the_versions_that_are_not_the_kernels() -> None:
    devices = [
        {"name": "eth0", "driver": "ixgbe", "driver_version": "6.18.0", "firmware_version": "0x61c10001"},
        {"name": "eth1", "driver": "mlx5_core", "driver_version": "24.10-0.7.0"},
        {"name": "veth0", "driver": "veth", "driver_version": "6.18.0"},
        {"name": "lo", "driver": None},
    ]
    facts = {"hostname": "a", "kernel": "6.18.0", "devices": devices}
    experiment = SimpleNamespace(
        folder=Path("live"),
        plan=SimpleNamespace(testbed=SimpleNamespace(kind="network"), cells=()),
        hosts=lambda: {"near": facts},
    )
    (host,) = hosts_of((Source("A", cast("Experiment", experiment), None),))
    assert host.drivers == (
        "ixgbe with firmware 0x61c10001 (eth0)",
        "mlx5_core 24.10-0.7.0 (eth1)",
        "veth (veth0)",
        "no driver (lo)",
    )
