"""Activity of the threads of another program, and what its payload costs them."""

from typing import Literal

from whyperf.explain.host_facts import HostFacts
from whyperf.explain.rules.finding import clipped
from whyperf.explain.rules.gain import COPY_NS_PER_BYTE
from whyperf.explain.rules.packets import MIN_WRITTEN_NS
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import MIN_FULL, WatchedSockets

Doing = Literal["runs", "waits", "sleeps"]

MIN_COMPUTING = 0.35
"""As `cpu.MIN_OUTSIDE_KERNEL`: part of a CPU outside the kernel from which on a program computes."""
MIN_WITHHELD = 0.2
"""Share of the time that threads wait for a CPU, from which on that may be why a program is late."""
COSTLY_TIMES = 8.0
"""CPU time of a program for each byte over that of a copy, from which on most of it is something else: its own work, or
calls that move little."""


def doing(end: HostFacts) -> Doing | None:
    """Activity of the program most of the time, by its busiest thread; None where nobody sees its threads.

    A program that has payload to read, or room to write, and sleeps, has chosen to: it is not kept from a CPU, however
    long it waits for one when it wakes.
    """
    cpu = end.processors
    if cpu.thread_ratio is None:
        return None
    waited = cpu.withheld_ratio or 0.0
    shares: dict[Doing, float] = {
        "runs": cpu.thread_ratio,
        "waits": waited if waited >= MIN_WITHHELD else 0.0,
        "sleeps": clipped(1 - cpu.thread_ratio - max(waited, cpu.run_queue_ratio or 0.0)),
    }
    return max(shares, key=lambda name: shares[name])


def cpu_ns_per_byte(facts: Facts, end: HostFacts) -> float | None:
    """CPU time of the busiest thread for each byte of payload; None where it is not known."""
    if end.processors.thread_ratio is None or not facts.rate_bps:
        return None
    return end.processors.thread_ratio * 8e9 / facts.rate_bps


def is_costly(facts: Facts, end: HostFacts) -> bool:
    """True where a thread takes much longer for its payload than TCP and a copy need."""
    return excess_times(facts, end) >= 1


def excess_times(facts: Facts, end: HostFacts) -> float:
    """Time that a thread takes for its payload over what TCP and a copy need at most; 0 where it is not known.

    Where each full segment passes the stack by itself, TCP needs more: that much for each of them.
    """
    is_single = _is_segment_by_segment(facts) if end is facts.sender else end.devices.receive_offload is False
    if is_single:
        came = (end.watched or WatchedSockets()).came_segments
        counted = facts.segments.data_segments if end is facts.sender else came
        segments = (counted or 0) / max(1, facts.connections)
        spent_ns = (end.processors.thread_ratio or 0.0) * facts.life_ns
        return spent_ns / (MIN_WRITTEN_NS * segments) if segments else 0.0
    return (cpu_ns_per_byte(facts, end) or 0.0) / (COSTLY_TIMES * COPY_NS_PER_BYTE)


def _is_segment_by_segment(facts: Facts) -> bool:
    """True where large-send offload is not at work although segments are full: by counters of packets, else by those of
    all devices of the host. Of a program that writes little at a time they are not."""
    size, mss = facts.segments.segment_bytes_mean, facts.sender.sockets.mss_bytes
    if size is not None and mss and size < MIN_FULL * mss:
        return False
    of_tcp, segments = facts.segments.sent_segments_per_packet, facts.segments.data_segments
    if of_tcp is None and segments and facts.sender.devices.sent_packets:
        of_tcp = segments / facts.sender.devices.sent_packets
    return of_tcp is None or of_tcp < MIN_OFFLOADED


MIN_OFFLOADED = 4.0
"""Segments of a packet from which on what TCP needs for packets is little for a byte."""
