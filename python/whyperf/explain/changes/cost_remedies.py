"""Changes that make a transfer cheaper, and a congestion control that uses a fast path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import DEVICE
from whyperf.explain.explanation import Level
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts

Role = Literal["sender", "receiver"]
BOTH: tuple[Role, ...] = ("sender", "receiver")


@dataclass(frozen=True)
class Remedy:
    """Remedy for a class of cost.

    Attributes:
        classes: that it removes, as far as they can be.
        code: its sentence in the catalog; "" where it is the change of another cause, `like`.
        roles: of which side.
        factors: of whyperf that make the change.
        command: on the side's host.
        applies: whether it can help, by facts.
        like: a cause whose change it is.
        has_larger_calls: whether larger calls are a part of it, where calls are small.
        needs_network: whether the factors change nothing between two sides on one machine.
    """

    classes: tuple[str, ...]
    code: str = ""
    roles: tuple[Role, ...] = BOTH
    factors: Mapping[str, Level] = field(default_factory=dict)
    command: str = ""
    applies: Callable[[Facts, HostFacts], bool] = lambda _, __: True
    like: Cause | None = None
    has_larger_calls: bool = False
    needs_network: bool = False


MIN_ZERO_COPY_BYTES = 10_000
"""Smaller writes cost less to copy than to pin (Documentation/networking/msg_zerocopy.rst)."""
SMALL_CALL_BYTES = 65_536
"""Calls below move less than the largest packet of segmentation offload."""
SMALL_PACKET_BYTES = 2048
"""Packets below hold one segment of an Ethernet packet."""
MAX_SINGLE = 1.5
"""Segments of a packet that count as one."""
MANY_CONNECTIONS = 32


def _has_large_writes(facts: Facts, end: HostFacts) -> bool:
    return facts.transport == "tcp" and not end.encrypts and (end.calls.bytes_mean or 0.0) >= MIN_ZERO_COPY_BYTES


def has_small_calls(_: Facts, end: HostFacts) -> bool:
    """True where a side's calls could be larger."""
    return end.calls.bytes_mean is not None and end.calls.bytes_mean < SMALL_CALL_BYTES


def _has_single_segments(facts: Facts, end: HostFacts) -> bool:
    """True where calls hold several segments, and each passes the side's stack by itself."""
    segments, mss = facts.segments, facts.sender.sockets.mss_bytes
    per_packet = segments.sent_segments_per_packet if end is facts.sender else segments.taken_segments_per_packet
    size = facts.sender.calls.bytes_mean
    return per_packet is not None and per_packet < MAX_SINGLE and bool(mss and size and size >= 2 * mss)


def _has_small_packets(_: Facts, end: HostFacts) -> bool:
    return end.cost is not None and (end.cost.packets_per_kbyte or 0.0) >= 1024 / SMALL_PACKET_BYTES


_PACKETS = ("transmit", "receive", "ip", "devices", "segmentation", "acks", "interrupts", "memory")

REMEDIES: tuple[Remedy, ...] = (
    Remedy(("copy",), "cost.copy", ("sender",), {"zero_copy": True}, applies=_has_large_writes),
    Remedy(("copy",), "cost.discard", ("receiver",), {"truncate": True}, applies=lambda facts, _: not facts.own),
    Remedy(
        ("encryption",), "encrypting.library", BOTH, {}, "perf top -p PID", applies=lambda facts, _: bool(facts.own)
    ),
    Remedy(("encryption",), "encrypting", BOTH, {"ktls": "both"}, "perf top -p PID"),
    # What cuts super-segments in software, or handles each packet, is the same as for these causes.
    Remedy(("segmentation",), roles=("sender",), like=Cause.OFFLOADS_OFF),
    Remedy(_PACKETS, like=Cause.OFFLOADS_OFF, applies=_has_single_segments),
    Remedy(_PACKETS, like=Cause.SMALL_MTU, applies=_has_small_packets),
    Remedy(
        ("scheduling",), like=Cause.MANY_CONNECTIONS, applies=lambda facts, _: facts.connections >= MANY_CONNECTIONS
    ),
    Remedy(("scheduling", "hypervisor"), "cost.wake_ups", ("receiver",), {"busy_poll_us": 50}, needs_network=True),
    Remedy(("scheduling", "hypervisor"), "cost.wake_ups", ("sender",)),
    Remedy(("filter_rules",), "packet_filters", command=f"nft list ruleset; tc filter show dev {DEVICE}"),
    Remedy(("other_bpf",), "other_bpf", command="bpftool prog show; bpftool net show; bpftool perf show"),
    Remedy(("checksums",), "software_checksums", command=f"ethtool -k {DEVICE}"),
    Remedy(("memory_pressure",), "memory_pressure", command="free -m; cat /proc/pressure/memory"),
    Remedy(("contention",), "lock_contention", command="perf lock contention -a -b sleep 5"),
    Remedy(
        ("security_modules",),
        "call_checks",
        command="cat /sys/kernel/security/lsm; auditctl -l; grep -H TracerPid /proc/[0-9]*/status",
        has_larger_calls=True,
    ),
    Remedy(
        ("mitigations",),
        "mitigations",
        command="grep . /sys/devices/system/cpu/vulnerabilities/*",
        has_larger_calls=True,
    ),
    Remedy(("system_calls",), roles=("sender",), like=Cause.TINY_WRITES, applies=has_small_calls),
    Remedy(("system_calls",), roles=("receiver",), like=Cause.READ_SIZE, applies=has_small_calls),
)


def remedy_for(name: str, role: str, facts: Facts) -> Remedy | None:
    """Remedy for a class of cost of a side; None where nothing is known to remove it."""
    end = facts.sender if role == "sender" else facts.receiver
    return next(
        (found for found in REMEDIES if name in found.classes and role in found.roles and found.applies(facts, end)),
        None,
    )


ALPHAS = ((120_000_000, 200), (12_000_000, 20), (0, 8))
"""Segments that a connection of FAST keeps in the queue, by its rate in bit/s (Jin, Wei, Low, INFOCOM 2004, section
IV-C; `crates/congestion/src/bpf/fast.h`)."""


def starved_alpha(setup: Setup) -> int | None:
    """FAST's alpha in segments where the queue of the path holds fewer of them; None elsewhere.

    It then never sees the delay that it steers by, so it grows until the queue runs over, and reacts to the loss as
    Reno does (RFC 5681).
    """
    bottleneck, connections = setup.bottleneck(), setup.level("connections")
    if setup.level("congestion_control") != "fast" or bottleneck is None or not isinstance(connections, int):
        return None
    rate_bps, held_packets = bottleneck
    alpha = next(alpha for above_bps, alpha in ALPHAS if rate_bps / connections > above_bps)
    return alpha if held_packets < alpha * connections else None


def fast_queue(alpha: int, setup: Setup) -> int:
    """Packets of a queue that holds the segments which all connections keep there, and as many again."""
    connections = setup.level("connections")
    return 2 * alpha * (connections if isinstance(connections, int) else 1)
