"""The watched connections as OpenMetrics, by prometheus-client: sums by program and group of peers.

Labels are bounded: a program and a group of peers each take one of a limited number of places, in the order in which
they appear; what comes later counts as `other`. No label has an address or a port of a single connection.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from whyperf.foreign.texts import visible
from whyperf.watch.live_limits import CLOSED, NS_PER_S, ConnectionInterval
from whyperf.watch.metrics_server import serve
from whyperf.watch.session import address_of
from whyperf.watch.tracker import TakenReport

OTHER: Final = "other"
LOOPBACK: Final = "loopback"
#: Pairs of a program and a group of peers; each has about 40 series.
MAX_GROUPS: Final = 100
MAX_LABEL_CHARACTERS: Final = 64
#: From a host in the same rack to a satellite, in s.
RTT_BUCKETS_S: Final = (5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5)
LABELS: Final = ("side", "program", "peer_group")


class WatchMetrics:
    """Takes intervals, and serves their sums until the process ends."""

    def __init__(self, max_groups: int = MAX_GROUPS) -> None:
        """Nothing was watched yet."""
        self.registry = CollectorRegistry()
        self._max_groups = max_groups
        self._groups: set[tuple[str, str]] = set()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"whyperf_watch_{name}", about, (*LABELS, *labels), registry=self.registry)

        def gauge(name: str, about: str, labels: Iterable[str] = ("side",)) -> Gauge:
            return Gauge(f"whyperf_watch_{name}", about, tuple(labels), registry=self.registry)

        self._limit_s = counter(
            "limit_seconds", "Time of all connections in a limit state, by direction.", "direction", "limit"
        )
        self._payload = counter("payload_bytes", "Payload, by direction: acknowledged or received.", "direction")
        self._sent = counter("sent_segments", "Segments with payload sent, retransmissions among them.")
        self._again = counter("retransmitted_segments", "Segments retransmitted.")
        self._rtt = Histogram(
            "whyperf_watch_rtt_seconds",
            "Smoothed RTT of each connection at each interval.",
            LABELS,
            buckets=RTT_BUCKETS_S,
            registry=self.registry,
        )
        self._open = gauge("connections", "Connections that are watched and open.")
        self._others = gauge("unwatched_connections", "TCP connections of the host that are not watched.")
        self._beyond = gauge("beyond_limit_connections", "Those of them that --max-connections leaves out.")
        self._unknown = gauge("unknown_owner_connections", "Connections whose process could not be found.")
        self._look_s = gauge("look_seconds", "What the last look at all sockets took.")
        self._level = gauge("evidence_level", "1 for the level of evidence that is taken.", ("side", "level"))

    def serve(self, address: str, port: int) -> int:
        """Serve at http://ADDRESS:PORT/metrics, in a thread that ends with the process; returns the port.

        Raises:
            OSError: the address or the port cannot be used.
        """
        return serve(self.registry, address, port)

    def take(self, report: TakenReport) -> None:
        """Add what a report of one side brought."""
        side, watched = report.side, report.watched
        for each in report.ended:
            self._add(each, side)
        self._open.labels(side).set(sum(each["state"] != CLOSED for each in watched["connections"]))
        self._others.labels(side).set(watched["others_count"])
        self._beyond.labels(side).set(watched["beyond_limit_count"])
        self._unknown.labels(side).set(watched["unknown_owner_count"])
        self._look_s.labels(side).set(watched["look_ns"] / NS_PER_S)
        for level in ("user", "counters", "segments"):
            self._level.labels(side, level).set(level == watched["level"])

    def _add(self, each: ConnectionInterval, side: str) -> None:
        labels = (side, *self._group_of(each))
        for direction, part in (("send", each.sent), ("receive", each.received)):
            self._payload.labels(*labels, direction).inc(part.payload_bytes)
            for limit, ns in part.ns_by_limit.items():
                self._limit_s.labels(*labels, direction, limit.value).inc(ns / NS_PER_S)
        self._sent.labels(*labels).inc(each.sent_segments)
        self._again.labels(*labels).inc(each.retransmitted_segments)
        if each.last["rtt_ns"]:
            self._rtt.labels(*labels).observe(each.last["rtt_ns"] / NS_PER_S)

    def _group_of(self, each: ConnectionInterval) -> tuple[str, str]:
        # A name of a program may hold anything; an exposition is text in UTF-8.
        program = visible(each.program)[:MAX_LABEL_CHARACTERS] or "unknown"
        found = program, peer_group(each.endpoints["remote"])
        if found not in self._groups:
            if len(self._groups) >= self._max_groups:
                return OTHER, OTHER
            self._groups.add(found)
        return found


def peer_group(remote: str) -> str:
    """The network of a peer: the /24 of IPv4, the /64 of IPv6, or `loopback`."""
    try:
        address = ipaddress.ip_address(address_of(remote))
    except ValueError:
        return OTHER
    if address.is_loopback:
        return LOOPBACK
    return str(ipaddress.ip_network((address, 24 if address.version == 4 else 64), strict=False))
