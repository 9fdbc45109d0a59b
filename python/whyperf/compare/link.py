"""A rate on the link: with all headers and gaps, and as a part of the most that the link has room for.

Of TCP and UDP over Ethernet. Headers are those of the segments or datagrams that were counted; the most is that of full
segments at the device's MTU (`whyperf.overhead`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whyperf.analyze.measures.adapters import device_link_bps
from whyperf.overhead.layers import Layer
from whyperf.overhead.links import Encapsulation, Framing, link_named
from whyperf.overhead.protocols import IPV4, IPV6, TCP, UDP, Options, protocol_named
from whyperf.plan import Cell
from whyperf.record import Experiment

_FRAMING = Framing(link_named("ethernet-10G"), Encapsulation.ETHERNET_II, 0)
"""Frames of Ethernet are the same at any rate."""
_OF_LINE = (Layer.CHECK, Layer.LINE)
"""The layers that the rate of an emulated path does not count, as that of tc(8) does not."""
_WITH_FRAMES = frozenset({"veth", "network"})
"""Kinds of testbeds whose packets are frames of Ethernet."""
Figures = Mapping[str, Mapping[str, float]]
"""By quantity and trial."""


@dataclass(frozen=True)
class HostLink:
    """A device that may carry the load: the only one of its host whose speed is known."""

    rate_bps: int
    mtu_bytes: int


def with_link_rates(values: Figures, cell: Cell, experiment: Experiment) -> Figures:
    """The figures of a cell with `wire_rate` and, where the link's rate is known, `link_share`."""
    transport = str(cell.factors.get("transport", "tcp"))
    is_udp = str(cell.factors.get("workload", "stream")).startswith("udp")
    if experiment.plan.testbed.kind not in _WITH_FRAMES or transport not in {"tcp", "mptcp", "udp"}:
        return values
    options = Options(6 if cell.factors.get("ip_version") == 6 else 4)
    if is_udp or transport == "udp":
        mtu, size = _mtu(cell, experiment), int(cell.factors.get("datagram_size_bytes", 1472))
        if mtu is None:
            return values
        each_bytes = float(sum(_wire(size, mtu, options, "udp").values()))
        wire = {trial: 8 * each_bytes * rate for trial, rate in values.get("datagrams", {}).items()}
    else:
        wire = _of_segments(values, options)
    if not wire:
        return values
    found: dict[str, Mapping[str, float]] = {**values, "wire_rate": wire}
    most = _most_bps(cell, experiment, options, "udp" if is_udp else "tcp")
    if most is not None:
        found["link_share"] = {trial: rate / most for trial, rate in values.get("goodput", {}).items()}
    return found


def _of_segments(values: Figures, options: Options) -> dict[str, float]:
    """Goodput and what was sent again, with the headers of all data segments. ACKs go the other way."""
    found = {}
    segments, again = values.get("segments", {}), values.get("retransmitted", {})
    for trial, goodput in values.get("goodput", {}).items():
        count = segments.get(trial)
        if not count or not goodput:
            continue
        payload_bps = goodput * (1 + again.get(trial, 0.0))
        size = max(1, min(round(payload_bps / 8 / count), 64_000))
        frame = _wire(size, 65_000, options, "tcp")
        headers = sum(frame.values()) - frame.get(Layer.USER, 0)
        found[trial] = payload_bps + 8 * float(headers) * count
    return found


def _wire(size: int, mtu: int, options: Options, protocol: str) -> Mapping[Layer, Any]:
    """The bytes of a message on the line, by layer."""
    total: dict[Layer, Any] = {}
    for packet in protocol_named(protocol).packets(size, mtu, options):
        for layer, count in _FRAMING.frame(packet).items():
            total[layer] = total.get(layer, 0) + count
    return total


def _most_bps(cell: Cell, experiment: Experiment, options: Options, protocol: str) -> float | None:
    """The most payload that the link has room for; None where its rate is not known."""
    emulated = _emulated_bps(cell)
    link = _link_of(experiment.hosts())
    if emulated is not None:
        rate, mtu = emulated, int(cell.factors.get("mtu_bytes", 1500))
    elif link is not None:
        rate, mtu = link.rate_bps, link.mtu_bytes
    else:
        return None
    headers = (IPV6 if options.ip_version == 6 else IPV4) + (
        UDP if protocol == "udp" else TCP + options.tcp_options_bytes
    )
    if mtu <= headers:
        return None
    frame = _wire(mtu - headers, mtu, options, protocol)
    counted = sum(count for layer, count in frame.items() if emulated is None or layer not in _OF_LINE)
    return rate * (mtu - headers) / float(counted)


def _mtu(cell: Cell, experiment: Experiment) -> int | None:
    """The MTU of the testbed, or of the link between real hosts; None where that is not known."""
    given = cell.factors.get("mtu_bytes")
    if isinstance(given, int):
        return given
    link = _link_of(experiment.hosts())
    return None if link is None else link.mtu_bytes


def _emulated_bps(cell: Cell) -> int | None:
    """The rate of an emulated path in the direction of the payload."""
    rate = cell.factors.get("path_rate_bps")
    back = cell.factors.get("path_rate_back_bps", "same")
    if cell.factors.get("direction") == "receive" and back != "same":
        rate = back
    return rate if isinstance(rate, int) else None


def _link_of(hosts: Mapping[str, Mapping[str, Any]]) -> HostLink | None:
    """The slower of both hosts' links; None where one of them has none, or several, that it may be."""
    found = [link_of_host(facts) for facts in hosts.values()]
    known = [link for link in found if link is not None]
    if not known or len(known) < len(found):
        return None
    return HostLink(min(link.rate_bps for link in known), min(link.mtu_bytes for link in known))


def link_of_host(facts: Mapping[str, Any]) -> HostLink | None:
    """The only device of a host that has a speed of its own."""
    devices = [
        (rate, int(device["mtu_bytes"]))
        for device in facts.get("devices", ())
        if (rate := device_link_bps(device)) is not None
    ]
    if len(devices) != 1:
        return None
    rate, mtu = devices[0]
    return HostLink(round(rate), mtu)
