"""Differences between results before anything is measured: hosts, kernels, plans, and settings that all cells have."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whyperf.analyze.text import level_with_unit
from whyperf.compare.comparison import ComparedHost, Condition
from whyperf.compare.link import link_of_host
from whyperf.compare.source import Source
from whyperf.profile.workload.resolved import near_receives

_DEVICE_FACTS = (
    *("driver", "driver_version", "firmware_version", "mtu_bytes", "speed_mbps"),
    *("rx_queues_count", "tx_queues_count"),
)
_HOST_FACTS = {
    "hostname": "host name",
    "kernel": "kernel",
    "distribution": "distribution",
    "machine": "machine",
    "cpu_model": "CPU model",
    "cpus": "CPUs",
    "memory_bytes": "memory",
    "clock_source": "clock source",
    "agent_version": "whyperf agent",
}
"""Facts of a host by what they are called; its sysctls and devices are compared one by one."""


def conditions_between(sources: Sequence[Source]) -> tuple[Condition, ...]:
    """The conditions that are not the same in all results; empty where they are one result."""
    if len({source.experiment.folder for source in sources}) == 1:
        return ()
    return (*_hosts(sources), *_plans(sources), *_settings(sources))


def hosts_of(sources: Sequence[Source]) -> Iterator[ComparedHost]:
    """The hosts of each result with kernel and drivers; of two conditions of one result once."""
    seen = []
    for source in sources:
        hosts = _host_facts(source)
        # Cells of one result on the model may be of different hosts.
        own = (source.experiment.folder, [found.get("hostname") for found in hosts.values()])
        if own in seen:
            continue
        seen.append(own)
        for host, found in hosts.items():
            devices: dict[str, list[str]] = {}
            for device in found.get("devices", ()):
                devices.setdefault(_driver(device, found), []).append(str(device.get("name")))
            link = link_of_host(found)
            yield ComparedHost(
                label=source.label,
                host=host,
                hostname=str(found.get("hostname", "")),
                kernel=str(found.get("kernel", "")),
                drivers=tuple(f"{driver} ({', '.join(names)})" for driver, names in devices.items()),
                link_bps=None if link is None else link.rate_bps,
            )


def _driver(device: Mapping[str, Any], host: Mapping[str, Any]) -> str:
    """The driver of a device with what has a version of its own: drivers of the kernel mostly have the kernel's."""
    name, version = str(device.get("driver") or "no driver"), device.get("driver_version")
    own = [name] if version in {None, host.get("kernel")} else [name, str(version)]
    firmware = device.get("firmware_version")
    return " ".join([*own, *([f"with firmware {firmware}"] if firmware else [])])


def _host_facts(source: Source) -> dict[str, dict[str, Any]]:
    """The record's facts of each host. On the model they have the hosts of all cells; here of the compared alone."""
    hosts = source.experiment.hosts()
    if source.experiment.plan.testbed.kind != "model":
        return hosts
    pairs = []
    for cell in source.cells:
        # The writer stands first.
        writer, _, reader = str(cell.factors.get("hosts", "")).partition(",")
        near_first = (writer, reader or writer)
        pairs.append(near_first[::-1] if near_receives(cell.factors) else near_first)
    names = {side: ", ".join(dict.fromkeys(pair[at] for pair in pairs)) for at, side in enumerate(("near", "far"))}
    return {host: {**found, "hostname": names.get(host) or found.get("hostname")} for host, found in hosts.items()}


def _hosts(sources: Sequence[Source]) -> Iterator[Condition]:
    hosts = [_host_facts(source) for source in sources]
    facts = [dict(_facts(found)) for found in hosts]
    for name in dict.fromkeys(name for found in facts for name in found):
        yield from _differing("host", name, [found.get(name) for found in facts])


def _facts(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Facts of the hosts by name, once where both hosts are the same machine; a watch may have one host alone."""
    are_one = len(hosts) > 1 and len({str(host.get("boot_id") or name) for name, host in hosts.items()}) == 1
    for host, found in hosts.items():
        if are_one and host != next(iter(hosts)):
            # Its devices are its own.
            yield from _devices(host, found)
            continue
        of = "" if are_one else f", {host} host"
        for key, title in _HOST_FACTS.items():
            if found.get(key) is not None:
                yield f"{title}{of}", _text(key, found[key])
        for key, value in sorted(found.get("sysctls", {}).items()):
            yield f"{key}{of}", str(value)
        yield from _devices(host, found)


def _devices(host: str, found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for device in found.get("devices", ()):
        of = f"{device.get('name')}, {host} host"
        for key in _DEVICE_FACTS:
            if device.get(key) is not None:
                yield f"{key.removesuffix('_bytes').removesuffix('_mbps').replace('_', ' ')} of {of}", str(device[key])
        for key, value in (device.get("offloads") or {}).items():
            yield f"{key.replace('_', ' ')} of {of}", "on" if value else "off"


def _text(key: str, value: Any) -> str:
    if key == "cpus":
        return str(len(value))
    return f"{int(value) / 2**30:.1f} GiB" if key == "memory_bytes" else str(value)


def _plans(sources: Sequence[Source]) -> Iterator[Condition]:
    plans = [source.experiment.plan for source in sources]
    yield from _differing("plan", "profile", [plan.profile for plan in plans])
    yield from _differing("plan", "measured", [_place(source) for source in sources])
    yield from _differing("plan", "client hosts", [", ".join(plan.near) for plan in plans])
    yield from _differing("plan", "evidence", [plan.evidence or "user" for plan in plans])
    rates = [f"{plan.profile_hz} a second" if plan.profile_hz else "none" for plan in plans]
    yield from _differing("plan", "stack samples", rates)


def _place(source: Source) -> str:
    plan = source.experiment.plan
    if plan.watched is not None:
        return "connections of other programs (watched)"
    places = {"veth": "embedded testbed", "loopback": "loopback", "model": "model (simulated)"}
    return places.get(plan.testbed.kind, f"network, far host {plan.target}")


def _settings(sources: Sequence[Source]) -> Iterator[Condition]:
    """Factors that are the same in all cells of a result and not in all results; of watched programs none is known."""
    if any(source.experiment.plan.watched is not None for source in sources):
        return
    levels = [_constant(source) for source in sources]
    for name in dict.fromkeys(name for found in levels for name in found):
        if all(name in found for found in levels):
            yield from _differing("setting", name, [found[name] for found in levels])


def _constant(source: Source) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for cell in source.cells:
        for name, level in cell.factors.items():
            found.setdefault(name, set()).add(level_with_unit(name, level))
    count = len(source.cells)
    present: dict[str, int] = {}
    for cell in source.cells:
        for name in cell.factors:
            present[name] = present.get(name, 0) + 1
    return {name: next(iter(levels)) for name, levels in found.items() if len(levels) == 1 and present[name] == count}


def _differing(kind: Any, name: str, values: Sequence[str | None]) -> Iterator[Condition]:
    if len(set(values)) > 1:
        yield Condition(kind=kind, name=name, values=tuple(values))
