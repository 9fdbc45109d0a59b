"""Where a cause is: at the sender, at the receiver or between them; and what a difference between hosts may cause."""

from collections.abc import Mapping
from typing import Literal

from whyperf.analyze.fleet.result import HostDifference
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.explanation import Verdict

Place = Literal["sender", "receiver", "path", "not_known"]

_SENDER: tuple[Cause, ...] = (
    *(Cause.SEND_BUFFER, Cause.SLOW_WRITER, Cause.THINK_TIME, Cause.TINY_WRITES, Cause.NAGLE_DELAYED_ACK),
    *(Cause.WRITE_WINDOW_MISMATCH, Cause.PACING_RATE, Cause.SENDER_CPU, Cause.LOCAL_QUEUE, Cause.ASKED_RATE),
    *(Cause.SLOW_START, Cause.CONNECTION_SETUP),
)
_RECEIVER: tuple[Cause, ...] = (
    *(Cause.RECEIVE_BUFFER, Cause.SLOW_READER, Cause.READ_SIZE, Cause.RECEIVER_CPU, Cause.RECEIVER_LOSS),
    *(Cause.DELAYED_ACK, Cause.QUICK_ACK),
)
_PATH: tuple[Cause, ...] = (
    *(Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.POLICER, Cause.PATH_LOSS, *LOSS_KINDS),
    *(Cause.REORDERING, Cause.ACK_THINNING, Cause.ACK_PATH, Cause.ROUND_TRIP),
)
_PLACES: Mapping[Cause, Place] = {
    **dict.fromkeys(_SENDER, "sender"),
    **dict.fromkeys(_RECEIVER, "receiver"),
    **dict.fromkeys(_PATH, "path"),
}

LOSSES = frozenset({Cause.PATH_LOSS, Cause.POLICER, *LOSS_KINDS})
"""Counters alone do not separate these."""
OF_CPUS = frozenset({
    *(Cause.CAPACITY, Cause.SENDER_CPU, Cause.RECEIVER_CPU, Cause.SHARED_CPU, Cause.MANY_CONNECTIONS),
    *(Cause.OFFLOADS_OFF, Cause.SMALL_MTU, Cause.TINY_WRITES, Cause.READ_SIZE, Cause.OTHER_LOAD),
})  # fmt: skip
"""A CPU is the limit, whatever makes its work expensive."""
WAITS = frozenset({Cause.SENDER_CPU, Cause.RECEIVER_CPU, Cause.SHARED_CPU, Cause.OTHER_LOAD})
"""A thread waits for a CPU, or uses all of one. Hosts that share CPUs all do."""
FAMILIES = (
    LOSSES,
    OF_CPUS,
    frozenset({Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.LOCAL_QUEUE, Cause.PACING_RATE, Cause.SMALL_QUEUE}),
    frozenset({Cause.OTHER_LOAD, Cause.CPU_QUOTA, Cause.PAUSE, *OF_CPUS}),
)
"""Causes that look alike from the rate and the states of one pair; what differs between hosts separates them."""


def place_of(verdict: Verdict) -> Place:
    """Where the cause of a verdict is; that of a CPU is where the verdict says."""
    role = verdict.values.get("role")
    if role == "sender":
        return "sender"
    if role == "receiver":
        return "receiver"
    return _PLACES.get(verdict.cause, "not_known")


def cause_of(difference: HostDifference, role: str) -> Cause | None:
    """The cause by which such a difference slows a host with this role; None where it explains nothing by itself."""
    if difference.code == "sysctl":
        return _of_buffer(difference, role)
    cause = _CAUSES.get(difference.code)
    if cause is None or not _is_worse(difference):
        return None
    return Cause.BOTTLENECK if cause is Cause.LOCAL_QUEUE and role == "receiver" else cause


_CAUSES: Mapping[str, Cause] = {
    "mtu": Cause.SMALL_MTU,
    "segment_size": Cause.SMALL_MTU,
    "qdisc_rate": Cause.LOCAL_QUEUE,
    "link_speed": Cause.BOTTLENECK,
    **dict.fromkeys(("tso", "gso", "gro"), Cause.OFFLOADS_OFF),
    "cpu_quota": Cause.CPU_QUOTA,
    **dict.fromkeys(("other_programs", "waited_ratio"), Cause.OTHER_LOAD),
    "retransmitted_ratio": Cause.PATH_LOSS,
    "rtt_ns_min": Cause.ROUND_TRIP,
}


def _is_worse(difference: HostDifference) -> bool:
    """True where the host has less of it, or has what limits it and not its peers."""
    if difference.code in {"mtu", "segment_size", "link_speed"}:
        return difference.ratio is not None and difference.ratio < 1
    if difference.code in {"qdisc_rate", "cpu_quota"}:
        return difference.host != "none"
    if difference.code in {"tso", "gso", "gro"}:
        return difference.host == "off"
    return True


def _of_buffer(difference: HostDifference, role: str) -> Cause | None:
    """A smaller bound of buffers, where that side's buffer holds payload."""
    name = difference.detail
    cause = Cause.SEND_BUFFER if "wmem" in name else Cause.RECEIVE_BUFFER if "rmem" in name else None
    is_its_side = role == "pair" or (role == "sender") == (cause is Cause.SEND_BUFFER)
    if cause is None or not is_its_side:
        return None
    own, others = (_largest(text) for text in (difference.host, difference.others))
    return cause if own is not None and others is not None and own < others else None


def _largest(text: str) -> int | None:
    """The last number of a setting: the largest size that the kernel chooses."""
    numbers = text.split()
    return int(numbers[-1]) if numbers and numbers[-1].isdecimal() else None
