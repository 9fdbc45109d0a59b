"""What the hosts' devices report of the link that they are on."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.explain.gather.table import read_columns

Hosts = Mapping[str, Mapping[str, Any]]

NOMINAL_DRIVERS = frozenset({"veth", "tun", "bridge", "virtio_net", "vmxnet3", "hv_netvsc", "xen_netfront", "vif"})
"""Drivers of devices that have no link: the speed that they state is made up (a veth pair says 10 Gbit/s)."""
DEFAULT = "default"
PAIR = 2


def stated_link_bps(trial: FlowTrial, hosts: Hosts, factors: Mapping[str, object]) -> float | None:
    """The slower of the links of both hosts in bit/s; None where no device with a link states one.

    Args:
        trial: whose tables show which device carried the load.
        hosts: the record's facts of each host.
        factors: of the cell: the link between two hosts of the model is no path's, but their devices'.

    Raises:
        RecordError: a table cannot be read.
    """
    # What several hosts send or get goes over the far one's link together, and over each of theirs in part.
    ends = hosts if len(hosts) <= PAIR else {"far": hosts.get("far", {})}
    stated = [_of_model(facts, factors) or _of_devices(trial, host, facts) for host, facts in ends.items()]
    return min((rate for rate in stated if rate), default=None)


def _of_model(facts: Mapping[str, Any], factors: Mapping[str, object]) -> float | None:
    """The link of hosts of the model, as the record has its rate."""
    links, parameters = facts.get("lines", {}), facts.get("parameters", {})
    name = factors.get("link", DEFAULT)
    if name == DEFAULT:
        # The writer's host says which link it is, and stands first.
        values = parameters.get(str(factors.get("hosts", "")).partition(",")[0], {}).get("values", {})
        name = values.get("link", {}).get("value")
    rate = links.get(name)
    return None if rate is None else float(rate)


def _of_devices(trial: FlowTrial, host: str, facts: Mapping[str, Any]) -> float | None:
    """The speed of the device that carried most of the packets, as the driver has it (ethtool)."""
    device = carrying_device(trial, host, facts)
    speed = device.get("speed_mbps")
    if not speed or not device.get("driver") or device["driver"] in NOMINAL_DRIVERS:
        return None
    return float(speed) * 1e6


def carrying_device(trial: FlowTrial, host: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record's facts of the device that carried most of the packets; empty where it is not known.

    Raises:
        RecordError: the table cannot be read.
    """
    rows = read_columns(trial, "devices", host, ("device", "tx_packets", "rx_packets"))
    if rows is None or rows.is_empty():
        return {}
    counted = rows.group_by("device").agg(pl.sum_horizontal("tx_packets", "rx_packets").sum().alias("packets"))
    name = counted.sort("packets", "device", descending=True)["device"][0]
    return next((device for device in facts.get("devices", []) if device.get("name") == name), {})
