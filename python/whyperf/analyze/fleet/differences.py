"""In what a slow host differs from its peers: settings, devices, limits, and what was measured on it.

A setting is a difference where at least three of four peers have the same value and the host has another one. What is
measured is one where the host is beyond all its peers and clearly off their median.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import polars as pl

from whyperf.analyze.fleet.inputs import FleetInputs
from whyperf.analyze.fleet.result import FleetHost, FleetPair, HostDifference
from whyperf.analyze.fleet.slow import SlowUnit
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.text import bit_rate, octets, percent, seconds, significant

USUAL_RATIO = 0.75
"""Part of the peers that share a value from which on it is the usual one."""
MIN_PEERS = 2
MAX_DIFFERENCES = 12
MIN_LOST_RATIO = 0.001
"""Below, losses limit nobody."""

BUFFERS = ("net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem", "net.core.wmem_max", "net.core.rmem_max", "net.ipv4.tcp_mem")
"""Settings of the kernel that bound buffers."""
SYSCTL = "sysctl"
ORDER = (
    *(
        "mtu",
        "segment_size",
        "qdisc_rate",
        "cpu_quota",
        "link_speed",
        "other_programs",
        "waited_ratio",
        "retransmitted_ratio",
    ),
    *("tso", "gso", "gro", SYSCTL, "rtt_ns_min", "congestion_control", "cpu_ratio", "queue_ns", "timeouts"),
    *("tx_checksum", "rx_checksum", "cpus", "driver", "cpu_model", "kernel", "distribution", "machine"),
    *("clock_source", "memory", "idle_ratio"),
)
"""Differences in the order in which they are named: what explains most first."""


class _Measured(NamedTuple):
    """When a measured figure is a difference: `is_off` of the host's and the peers' median, and how it is printed."""

    is_off: Callable[[float, float], bool]
    text: Callable[[float], str]


_FIGURES: Mapping[str, _Measured] = {
    "other_programs": _Measured(lambda own, others: own >= others + 0.2, percent),
    "waited_ratio": _Measured(lambda own, others: own >= others + 0.2, percent),
    "retransmitted_ratio": _Measured(lambda own, others: own >= max(MIN_LOST_RATIO, 3 * others), percent),
    "rtt_ns_min": _Measured(lambda own, others: own >= 1.5 * others and own >= others + 50_000, seconds),
    "queue_ns": _Measured(lambda own, others: own >= 2 * others and own >= others + 200_000, seconds),
    "cpu_ratio": _Measured(lambda own, others: own >= others + 0.2, percent),
    "timeouts": _Measured(lambda own, others: own >= max(2.0, 3 * others), significant),
    "idle_ratio": _Measured(lambda own, others: own >= others + 0.1, percent),
}


@dataclass(frozen=True)
class _Value:
    """A setting of a host: what is compared, how it is printed, and what it concerns."""

    key: object
    text: str
    number: float | None = None
    detail: str = ""


class Differences:
    """Settings of all hosts, from the record's facts and tables."""

    def __init__(self, inputs: Inputs, fleet: FleetInputs) -> None:
        """Reads the settings of all hosts of `fleet` once."""
        self._fleet = fleet
        self._ends: dict[str, list[str]] = {}
        for end in fleet.ends:
            self._ends.setdefault(fleet.name(end), []).append(end)
        self._devices = dict(fleet.devices.select("host", "device").iter_rows())
        self._counts = fleet.counts.partition_by("host", as_dict=True)
        flows = inputs.flows.group_by("host").agg(
            pl.col("congestion_control").drop_nulls().mode().first().alias("control")
        )
        self._controls = dict(flows.iter_rows())
        sizes = fleet.sockets.group_by("host").agg(pl.col("mss_bytes").median())
        self._segment_sizes = dict(sizes.iter_rows())
        self._others = _other_programs(inputs.notes)
        waits = dict(fleet.waits.group_by("host").agg(pl.col("waited_ratio").median()).iter_rows())
        self._waited = {
            name: max((waits[end] for end in ends if waits.get(end) is not None), default=None)
            for name, ends in self._ends.items()
        }
        self._settings = {name: self._of_host(ends) for name, ends in self._ends.items()}

    def of(
        self, unit: SlowUnit, pairs: Sequence[FleetPair], hosts: Sequence[FleetHost]
    ) -> tuple[str | None, list[HostDifference]]:
        """The slow host, None where the unit is a pair and it does not show which; and what differs, the strongest
        first.
        """
        if unit.role != "pair":
            return unit.names[0], self._found(unit.names[0], unit.role, unit, pairs, hosts)
        sender, receiver = unit.names
        of_path = self._of_path(unit, pairs)
        by_host = {
            name: self._found(name, role, None, pairs, hosts)
            for name, role in ((sender, "sender"), (receiver, "receiver"))
        }
        ranks = {name: min((_rank(found) for found in own), default=len(ORDER)) for name, own in by_host.items()}
        together = _sorted([*by_host[sender], *by_host[receiver], *of_path])[:MAX_DIFFERENCES]
        if ranks[sender] == ranks[receiver]:
            return None, together
        host = min(ranks, key=lambda name: ranks[name])
        return host, _sorted([*by_host[host], *of_path])[:MAX_DIFFERENCES]

    def _found(
        self, name: str, role: str, unit: SlowUnit | None, pairs: Sequence[FleetPair], hosts: Sequence[FleetHost]
    ) -> list[HostDifference]:
        peers = list(dict.fromkeys(getattr(pair, role) for pair in pairs if getattr(pair, role) != name))
        found = [*self._of_settings(name, peers), *self._of_figures(name, peers, hosts)]
        return _sorted(found + (self._of_path(unit, pairs) if unit is not None else []))[:MAX_DIFFERENCES]

    def _of_settings(self, name: str, peers: Sequence[str]) -> Iterator[HostDifference]:
        own = self._settings.get(name, {})
        for code, value in own.items():
            known = [other for peer in peers if (other := self._settings.get(peer, {}).get(code)) is not None]
            if len(known) < MIN_PEERS:
                continue
            (usual, count), *_ = Counter(other.key for other in known).most_common(1)
            if usual == value.key or count < USUAL_RATIO * len(known):
                continue
            other = next(other for other in known if other.key == usual)
            ratio = value.number / other.number if value.number is not None and other.number else None
            kind, _, setting = code.partition(":")
            yield HostDifference(
                code=kind,
                host=value.text,
                others=other.text,
                of=count,
                ratio=ratio,
                detail=setting or value.detail or other.detail,
            )

    def _of_figures(self, name: str, peers: Sequence[str], hosts: Sequence[FleetHost]) -> Iterator[HostDifference]:
        by_name = {host.host: host for host in hosts}
        others = {host: max(self._others.get(end, (0.0, "")) for end in ends) for host, ends in self._ends.items()}
        figures: dict[str, Callable[[str], float | None]] = {
            "other_programs": lambda host: others[host][0],
            "waited_ratio": self._waited.get,
            "cpu_ratio": lambda host: by_name[host].cpu_ratio,
            "timeouts": lambda host: by_name[host].timeouts,
        }
        for code, figure in figures.items():
            detail = others[name][1] if code == "other_programs" else ""
            yield from _beyond(code, figure(name), [figure(peer) for peer in peers], detail)

    @staticmethod
    def _of_path(unit: SlowUnit, pairs: Sequence[FleetPair]) -> list[HostDifference]:
        """Finds what differs on the path of its pairs from the pairs of others."""
        own = [pair for pair in pairs if pair.pair - 1 in unit.pairs]
        others = [pair for pair in pairs if pair.pair - 1 not in unit.pairs]
        found: list[HostDifference] = []
        for code in ("retransmitted_ratio", "rtt_ns_min", "queue_ns", "idle_ratio"):
            values = [value for pair in own if (value := getattr(pair, code)) is not None]
            found += _beyond(code, median(values) if values else None, [getattr(pair, code) for pair in others])
        return found

    def _of_host(self, ends: Sequence[str]) -> dict[str, _Value]:
        """The settings of a host by code; those of the kernel as `sysctl:NAME`."""
        end = next((end for end in ends if end in self._fleet.hosts), ends[0])
        facts = self._fleet.hosts.get(end, {})
        found: dict[str, _Value] = {}
        for code, key in (
            ("kernel", "kernel"),
            ("cpu_model", "cpu_model"),
            ("machine", "machine"),
            ("distribution", "distribution"),
            ("clock_source", "clock_source"),
        ):
            if facts.get(key):
                found[code] = _Value(facts[key], str(facts[key]))
        if facts.get("cpus"):
            number = len(facts["cpus"])
            found["cpus"] = _Value(number, str(number), number)
        if memory := facts.get("memory_bytes"):
            # Kernels keep a little of it for themselves, not the same everywhere.
            gibibytes = round(int(memory) / 2**30)
            found["memory"] = _Value(gibibytes, f"{gibibytes} GiB", gibibytes)
        for name, value in (facts.get("sysctls") or {}).items():
            found[f"{SYSCTL}:{name}"] = _Value(value, str(value))
        found |= self._of_device(ends, facts)
        if control := next((self._controls[end] for end in ends if self._controls.get(end)), None):
            found["congestion_control"] = _Value(control, str(control))
        size = next((self._segment_sizes[end] for end in ends if self._segment_sizes.get(end)), None)
        if size is not None:
            # Options of the header take 12 bytes or none.
            found["segment_size"] = _Value(round(size / 32), octets(size), size)
        return found | self._of_limits(ends)

    def _of_device(self, ends: Sequence[str], facts: Mapping[str, object]) -> dict[str, _Value]:
        name = next((self._devices[end] for end in ends if end in self._devices), None)
        listed = facts.get("devices")
        devices = listed if isinstance(listed, list) else []
        device = next((device for device in devices if device.get("name") == name), None)
        if device is None:
            return {}
        found = {}
        if mtu := device.get("mtu_bytes"):
            found["mtu"] = _Value(mtu, octets(mtu), mtu, str(name))
        if (speed := device.get("speed_mbps")) and device.get("driver"):
            found["link_speed"] = _Value(speed, bit_rate(speed * 1e6), speed, str(name))
        if device.get("driver"):
            found["driver"] = _Value(device["driver"], str(device["driver"]), detail=str(name))
        for offload, is_on in (device.get("offloads") or {}).items():
            found[str(offload)] = _Value(is_on, "on" if is_on else "off", detail=str(name))
        return found

    def _of_limits(self, ends: Sequence[str]) -> dict[str, _Value]:
        """CPU quotas and rates of queueing disciplines; that there is none is a value as well."""
        rows = next((self._counts[end,] for end in ends if (end,) in self._counts), None)
        if rows is None:
            return {}
        found = {"qdisc_rate": _Value(None, "none"), "cpu_quota": _Value(None, "none")}
        values = {
            (counter, subject): value
            for counter, subject, value in rows.select("counter", "subject", "value").iter_rows()
        }
        kinds = dict(rows.filter(pl.col("counter") == "qdisc_rate").select("subject", "kind").iter_rows())
        rates = [(value, subject) for (counter, subject), value in values.items() if counter == "qdisc_rate" and value]
        if rates:
            rate, device = min(rates)
            found["qdisc_rate"] = _Value(rate, bit_rate(rate), rate, f"{kinds.get(device, '')} on {device}")
        quotas = [
            (value / period, subject)
            for (counter, subject), value in values.items()
            if counter == "cpu_quota" and value and (period := values.get(("cpu_period", subject)))
        ]
        if quotas:
            cpus, group = min(quotas)
            found["cpu_quota"] = _Value(round(cpus, 2), f"{significant(cpus)} CPUs", cpus, str(group))
        return found


def _other_programs(notes: pl.DataFrame) -> dict[str, tuple[float, str]]:
    """The busiest other program at each side: CPUs that it used, and its name; the median trial."""
    busy = notes.filter((pl.col("note") == "busy_process") & (pl.col("limit") > 0)).with_columns(
        (pl.col("value") / pl.col("limit")).alias("cpus")
    )
    found: dict[str, tuple[float, str]] = {}
    for (end,), rows in busy.partition_by("host", as_dict=True).items():
        ordered = rows.sort("cpus")
        row = ordered.row(len(ordered) // 2, named=True)
        found[str(end)] = (float(row["cpus"]), str(row["text"] or "").partition(" (process")[0])
    return found


def _beyond(code: str, own: float | None, others: Sequence[float | None], detail: str = "") -> list[HostDifference]:
    known = [value for value in others if value is not None]
    if own is None or len(known) < MIN_PEERS:
        return []
    usual, kind = float(median(known)), _FIGURES[code]
    if own <= max(known) or not kind.is_off(own, usual):
        return []
    ratio = own / usual if usual > 0 else None
    return [
        HostDifference(
            code=code, host=kind.text(own), others=kind.text(usual), of=len(known), ratio=ratio, detail=detail
        )
    ]


def _rank(difference: HostDifference) -> int:
    at = ORDER.index(difference.code) if difference.code in ORDER else len(ORDER)
    is_of_buffer = difference.code == SYSCTL and difference.detail in BUFFERS
    # Buffers bound a rate; hardly any other setting of the kernel does.
    return at if difference.code != SYSCTL or is_of_buffer else ORDER.index("clock_source")


def _sorted(found: Sequence[HostDifference]) -> list[HostDifference]:
    return sorted(dict.fromkeys(found), key=_rank)
