"""The network adapters that carried a load: how many each side used, and the rate of the link that they state."""

from collections.abc import Mapping
from typing import Any

import polars as pl

Facts = Mapping[str, Any]

NOMINAL_DRIVERS = frozenset({"veth", "tun", "bridge", "virtio_net", "vmxnet3", "hv_netvsc", "xen_netfront", "vif"})
"""Drivers of devices that have no link: the speed that they state is made up (a veth pair says 10 Gbit/s)."""
STACKED_DRIVERS = frozenset({"bonding", "bridge", "802.1Q VLAN Support", "macvlan", "ipvlan", "team", "openvswitch"})
"""Drivers of devices that pass on what another device carries, by `ethtool -i`."""
MIN_PACKETS_RATIO = 0.1
"""A device with less than this part of the busiest device's packets carries something else."""
DEFAULT = "default"


def cell_adapters(devices: pl.DataFrame, ends: pl.DataFrame, hosts: Mapping[str, Facts]) -> dict[tuple[str, str], int]:
    """Number of adapters that carried the load of each cell and role, of all its hosts; the most of its trials.

    A bond, VLAN or bridge is none where the devices below it are counted. The loopback is one where nothing else
    carried anything. Sides whose devices are not known are left out.

    Args:
        devices: the table of that name.
        ends: `Inputs.ends`.
        hosts: the record's facts of each host.
    """
    named = [
        (host, device.get("name"), device.get("driver"))
        for host, facts in hosts.items()
        for device in facts.get("devices", ())
    ]
    schema = {"host": pl.String, "device": pl.String, "driver": pl.String}
    drivers = pl.DataFrame(named, schema=schema, orient="row").unique(["host", "device"])
    of_side = ["trial", "host"]
    packets = pl.sum_horizontal("tx_packets", "rx_packets")
    carried = (
        devices.with_columns(packets.alias("packets"))
        .filter(pl.col("packets") > 0)
        .join(drivers, on=["host", "device"], how="left")
        .with_columns(pl.col("driver").is_in(sorted(STACKED_DRIVERS)).fill_null(value=False).alias("is_stacked"))
        .filter(pl.col("packets") >= MIN_PACKETS_RATIO * pl.col("packets").max().over(of_side))
        .filter(~pl.col("is_stacked") | pl.col("is_stacked").all().over(of_side))
        .group_by("trial", "cell", "host")
        .agg(pl.len().alias("adapters"))
        .join(ends.select("trial", "host", "role", "cpus_of"), on=of_side, how="inner")
        # Several agents on one host see the same devices.
        .unique(["trial", "role", "cpus_of"])
        .group_by("trial", "cell", "role")
        .agg(pl.col("adapters").sum())
        .group_by("cell", "role")
        .agg(pl.col("adapters").max())
    )
    return {(cell, role): int(number) for cell, role, number in carried.select("cell", "role", "adapters").iter_rows()}


def stated_link_bps(devices: pl.DataFrame, hosts: Mapping[str, Facts], factors: Mapping[str, object]) -> float | None:
    """The slowest link of the hosts in bit/s; None where no device with a link states one.

    Args:
        devices: rows of one cell of the table of that name.
        hosts: the record's facts of each host.
        factors: of the cell: the link between two hosts of the model is no path's, but their devices'.
    """
    stated = [model_link_bps(facts, factors) or _carrying_bps(devices, host, facts) for host, facts in hosts.items()]
    return min((rate for rate in stated if rate), default=None)


def model_link_bps(facts: Facts, factors: Mapping[str, object]) -> float | None:
    """The link of hosts of the model, as the record has its rate."""
    rate = facts.get("lines", {}).get(model_link(facts, factors))
    return None if rate is None else float(rate)


def model_link(facts: Facts, factors: Mapping[str, object]) -> str | None:
    """The name of the link of hosts of the model, such as `ethernet-1G`; None of other hosts."""
    name = factors.get("link", DEFAULT)
    if name == DEFAULT:
        # The writer's host says which link it is, and stands first.
        values = facts.get("parameters", {}).get(str(factors.get("hosts", "")).partition(",")[0], {}).get("values", {})
        name = values.get("link", {}).get("value")
    return None if name is None else str(name)


def device_link_bps(device: Facts) -> float | None:
    """The speed of a device as its driver has it (ethtool); None where it has no link."""
    speed = device.get("speed_mbps")
    if not speed or not device.get("driver") or device["driver"] in NOMINAL_DRIVERS:
        return None
    return float(speed) * 1e6


def busiest_device(rows: pl.DataFrame, facts: Facts) -> Facts:
    """The record's facts of the device that carried most of the packets; empty where it is not known.

    `rows` are those of one host of the table `devices`.
    """
    if rows.is_empty():
        return {}
    counted = rows.group_by("device").agg(pl.sum_horizontal("tx_packets", "rx_packets").sum().alias("packets"))
    name = counted.sort("packets", "device", descending=True)["device"][0]
    return next((device for device in facts.get("devices", []) if device.get("name") == name), {})


def _carrying_bps(devices: pl.DataFrame, host: str, facts: Facts) -> float | None:
    return device_link_bps(busiest_device(devices.filter(pl.col("host") == host), facts))
