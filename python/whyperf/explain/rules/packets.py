"""Packets that are expensive for a host to process, whatever they carry."""

from whyperf.explain.causes import Cause
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.rules.finding import Finding, clipped, figure, state_evidence
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

MIN_PACKET_NS = 10_000.0
"""CPU time of interrupt processing per packet from which on something beyond TCP has it: 1 to 5 µs are usual (tuning
set: 0.7 to 5; 31 with 1,500 firewall rules)."""
MIN_PACKETS_RATIO = 0.6
"""Part of a CPU that this processing takes from which on it is the limit."""


def costly_packets(facts: Facts) -> Finding | None:
    """A host's interrupt processing is at its CPU's limit, and each packet takes much longer than TCP needs."""
    if (written := _costly_writes(facts)) is not None:
        return written
    ends = (("sender", facts.sender), ("receiver", facts.receiver))
    role, end = max(ends, key=lambda side: side[1].processors.softirq_ratio or 0.0)
    busy, packets, span = end.processors.softirq_ratio or 0.0, end.limits.counts.get(PACKETS, 0), end.limits.span_ns
    if busy < MIN_PACKETS_RATIO or not packets or not span or busy * span < MIN_PACKET_NS * packets:
        return None
    values = {"packet_ns": busy * span / packets, "busy_ratio": busy, "packets_count": packets}
    return Finding(
        Cause.SENDER_CPU if role == "sender" else Cause.RECEIVER_CPU,
        clipped(busy),
        0.9,
        (
            figure("packet_cost", "host_counters", end, **values),
            figure("interrupts", "cpu", end, busy_ratio=busy, role=role),
        ),
        is_counted=True,
        variant="packets",
        values={"role": role, **values},
    )


MIN_WRITTEN_NS = 15_000.0
"""The same for packets that leave within the write calls of a thread, with their copy (catalog and tuning set: up to 9
without offloads; 26 with 1,200 firewall rules)."""
MAX_WRITTEN_SEGMENTS = 2.0
"""Segments that such a packet carries at most: those of large-send offload cost more, for what they carry."""
MAX_WRITTEN_BYTES = 16_384
"""Payload that such a packet carries at most: a segment of 64 KB, as on loopback, is copied for 8 to 27 µs (0.12 ns a
byte at best; 27 µs measured on a busy host without any rule). Jumbo frames have 9 KB."""
MAX_OTHERS = 0.3
"""Part other programs take of the thread's CPU, or it waits for them, up to which its time a packet is its own: they
share caches and execution units with it (catalog: 0.22 next to 1,200 firewall rules)."""


def _costly_writes(facts: Facts) -> Finding | None:
    """The sender's thread is at its CPU's limit, and each packet that leaves takes much longer than TCP needs."""
    end, segments = facts.sender, facts.segments.data_segments
    packets, busy = facts.segments.data_packets or end.devices.sent_packets, end.processors.thread_ratio or 0.0
    if busy < MIN_PACKETS_RATIO or not packets or not segments or segments > MAX_WRITTEN_SEGMENTS * packets:
        return None
    cost, size = busy * facts.life_ns / packets, end.calls.bytes_mean or 0.0
    if cost < MIN_WRITTEN_NS or size < MIN_LARGE_WRITE_BYTES or facts.exchanges is not None:
        return None
    if end.sockets.payload_bytes > MAX_WRITTEN_BYTES * packets or _has_neighbors(end):
        return None
    if (end.calls.computing_ratio or 0.0) >= COMPUTING_RATIO:
        return None
    values = {"packet_ns": cost, "busy_ratio": busy, "packets_count": packets}
    return Finding(
        Cause.SENDER_CPU,
        clipped(busy),
        0.9,
        (
            figure("written_cost", "flows", end, **values),
            state_evidence(end, "sender", S.WRITE_CALL),
        ),
        is_counted=True,
        variant="packets.written",
        values={"role": "sender", **values},
    )


def _has_neighbors(end: HostFacts) -> bool:
    """True if other programs or guests are on the CPU so much that they make its work slower."""
    cpu = end.processors
    return max(cpu.other_ratio or 0.0, cpu.withheld_ratio or 0.0, cpu.steal_ratio or 0.0) > MAX_OTHERS


MIN_LARGE_WRITE_BYTES = 8192
"""Smaller writes make packets expensive by their calls."""
COMPUTING_RATIO = 0.2

PACKETS = "softnet_processed"
"""Packets that a host's interrupts processed (/proc/net/softnet_stat)."""
