"""What devices, and hosts of the model, say of their lines."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from whyperf.analyze.flow import FlowTrial
from whyperf.explain.gather import stated_link_bps

COUNTED = pl.DataFrame({"device": ["lo", "eth0", "eth0"], "tx_packets": [5, 40, 2], "rx_packets": [5, 40, 1]})


@pytest.fixture
def trial(tmp_path: Path) -> FlowTrial:
    for host in ("near", "far"):
        COUNTED.write_parquet(tmp_path / f"devices.{host}.parquet")
    return FlowTrial(tmp_path, "001-c0001", "c0001", "complete", {}, 0, None)


def host(speed: int | None, driver: str | None = "e1000e") -> dict[str, Any]:
    devices = [{"name": "lo", "driver": None, "speed_mbps": None}]
    return {"devices": [*devices, {"name": "eth0", "driver": driver, "speed_mbps": speed}]}


def test_the_slower_end_reports_the_line(trial: FlowTrial) -> None:
    assert stated_link_bps(trial, {"near": host(1000), "far": host(100)}, {}) == 100e6
    assert stated_link_bps(trial, {"near": host(1000), "far": host(None)}, {}) == 1e9


def test_what_several_hosts_send_goes_over_the_far_line(trial: FlowTrial) -> None:
    assert stated_link_bps(trial, {"near": host(100), "near2": host(100), "far": host(1000)}, {}) == 1e9


def test_the_speed_of_a_device_without_a_line_is_made_up(trial: FlowTrial) -> None:
    assert stated_link_bps(trial, {"near": host(10_000, "veth"), "far": host(10_000, None)}, {}) is None


def test_hosts_of_the_model_have_the_line_of_the_cell_or_their_own(trial: FlowTrial) -> None:
    values = {"link": {"value": "atm-taxi-140", "source": "study 1"}}
    facts = {"lines": {"atm-taxi-140": 140_000_000, "atm-oc3": 155_520_000}, "parameters": {"one": {"values": values}}}
    both = {"near": facts, "far": facts}
    assert stated_link_bps(trial, both, {"hosts": "one,other", "link": "default"}) == 140e6
    assert stated_link_bps(trial, both, {"hosts": "one", "link": "atm-oc3"}) == 155.52e6
    # A record of an older whyperf has no rates.
    assert stated_link_bps(trial, {"near": {"parameters": {}}}, {"hosts": "one"}) is None
