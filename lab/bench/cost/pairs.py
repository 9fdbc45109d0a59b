"""It finds the cause of a difference: in 12 pairs of known conditions the class that must grow grows most.

The table was written before anything was measured; it says why each class must grow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.bench.cost.experiment import Setting, measured, planned, profile_of
from lab.bench.row import Row, counted
from whyperf.compare import CellPair, Source, compare_sources
from whyperf.profile.conditions import in_two_conditions

MIN_RIGHT = 11

PROFILE = """
[fixed]
duration_s = 0.8
warmup_s = 0.2
cooldown_s = 0.05
[[sweep]]
name = "stream"
[sweep.fixed]
workload = "stream"
"""

#: One packet of the wire is one packet of the stack.
ONE_PACKET = {"gso": False, "tso": False, "gro": False}


@dataclass(frozen=True)
class Pair:
    """Two conditions, the side to look at, and the class that must grow most from the first to the second.

    There are two classes where one cause has two direct effects and their order depends on the processor.
    """

    name: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    role: str
    classes: tuple[str, ...]
    both: Mapping[str, Any] = field(default_factory=dict)


PAIRS: Sequence[Pair] = (
    # TCP hands over each segment alone: for each, a packet is allocated and freed, and the CPU of the other side is
    # signaled, which leaves the virtual machine (the example of docs/how-to/compare.md).
    Pair("GSO on → off", {"gso": True, "tso": True}, {"gso": False, "tso": False}, "sender", ("hypervisor", "memory")),
    # Each segment passes the stack alone instead of merged: the backlog and the protocol handlers of the device layer,
    # and TCP's receive path. Segments must arrive alone, so the sender has no GSO.
    Pair(
        "GRO on → off",
        *({"gro": True}, {"gro": False}),
        *("receiver", ("receive", "devices")),
        both={"gso": False, "tso": False},
    ),
    # 16 calls for each KByte: each enters the kernel, and each goes through TCP's sendmsg.
    Pair(
        "writes of 128 KB → 64 bytes",
        *({"write_size_bytes": 131072}, {"write_size_bytes": 64}),
        *("sender", ("system_calls", "transmit")),
    ),
    # MSG_TRUNC discards the payload; without it, it is copied.
    Pair("MSG_TRUNC on → off", {"truncate": True}, {"truncate": False}, "receiver", ("copy",)),
    # What waits in 1000 sockets is no longer in a cache when it is read, and its pages go back to the allocator beyond
    # what each CPU keeps at hand.
    Pair("1 → 1000 connections", {"connections": 1}, {"connections": 1000}, "receiver", ("copy", "memory")),
    # An ACK for each segment instead of each second one. Each goes through TCP's receive path before it is processed.
    Pair(
        "delayed → quick ACK",
        *({"quick_ack": False}, {"quick_ack": True}),
        *("sender", ("acks", "receive")),
        both=ONE_PACKET,
    ),
    # 6 times as many packets, as with GSO off.
    Pair(
        "MTU 9000 → 1500",
        *({"mtu_bytes": 9000}, {"mtu_bytes": 1500}),
        *("sender", ("hypervisor", "memory")),
        both=ONE_PACKET,
    ),
    # Without MSG_ZEROCOPY the sender copies into the socket buffer. (With it, veth copies at the receiver.)
    Pair("zero copy on → off", {"zero_copy": True}, {"zero_copy": False}, "sender", ("copy",)),
    # The other side's CPU is signaled for packets and for waking its thread; and pages come back from the other CPU's
    # cache.
    Pair(
        "one CPU → two",
        *({"near_cpus": "0", "far_cpus": "0"}, {"near_cpus": "0", "far_cpus": "1"}),
        *("sender", ("hypervisor", "copy")),
    ),
    # Each packet is compared with each rule.
    Pair("netfilter rules 0 → 200", {"firewall_rules": 0}, {"firewall_rules": 200}, "receiver", ("filter_rules",)),
    # QUIC is a library in the program, and it encrypts. The agent's own functions have no names.
    Pair("TCP → QUIC", {"transport": "tcp"}, {"transport": "quic"}, "sender", ("application", "encryption")),
    # A poll(2) before each read of 1 KB: it enters the kernel, and asks the socket.
    Pair(
        "blocking reads → poll",
        *({"read_wait": "block"}, {"read_wait": "poll"}),
        *("receiver", ("system_calls", "events")),
        both={"read_size_bytes": 1024},
    ),
)


def run(setting: Setting) -> list[Row]:
    """Measures all pairs."""
    rows = [_row(pair, _compared(pair, setting, number)) for number, pair in enumerate(PAIRS, start=1)]
    return [*rows, counted("pairs", "the class that must grow is first", rows, MIN_RIGHT)]


def _compared(pair: Pair, setting: Setting, number: int) -> CellPair:
    """The comparison of both conditions, measured as `whyperf compare --run` does."""
    asked = profile_of(PROFILE, "pairs").with_overrides(dict(pair.both))
    profile = in_two_conditions(asked, dict(pair.before), dict(pair.after))
    plan = planned(profile, setting.of(10, 2))
    experiment = measured(plan, profile, setting.folder / f"pair-{number:02d}")
    return compare_sources([Source("A", experiment)], explains=False).pairs[0]


def growth(pair: CellPair, role: str) -> list[tuple[str, float]]:
    """The classes of a side with their growth in cycles per KByte, the largest first; nothing if it has no cost."""
    found = [(entry.name, entry.test.difference) for side in pair.sides if side.role == role for entry in side.classes]
    return sorted(found, key=lambda entry: -entry[1])


def _row(pair: Pair, found: CellPair) -> Row:
    grown = growth(found, pair.role)
    first = ", ".join(f"{name} {difference:+,.0f}" for name, difference in grown[:3]) or "no cost"
    is_right = bool(grown) and grown[0][0] in pair.classes and grown[0][1] > 0
    return Row(
        "pairs",
        f"{pair.name}, {pair.role}",
        " or ".join(pair.classes),
        first,
        is_right,
        is_bar=False,
        values={"growth": dict(grown), "notes": found.notes},
    )
