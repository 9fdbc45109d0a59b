"""Reports of the hosts' devices on the link that they are on."""

from collections.abc import Mapping
from typing import Any

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.measures.adapters import busiest_device, device_link_bps, model_link_bps
from whyperf.explain.gather.table import read_columns

Hosts = Mapping[str, Mapping[str, Any]]

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
    stated = [
        model_link_bps(facts, factors) or device_link_bps(carrying_device(trial, host, facts))
        for host, facts in ends.items()
    ]
    return min((rate for rate in stated if rate), default=None)


def carrying_device(trial: FlowTrial, host: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record's facts of the device that carried most of the packets; empty where it is not known.

    Raises:
        RecordError: the table cannot be read.
    """
    rows = read_columns(trial, "devices", host, ("device", "tx_packets", "rx_packets"))
    return {} if rows is None else busiest_device(rows, facts)
