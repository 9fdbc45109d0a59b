"""Whose CPU is the limit, and what it is spent on."""

from math import sqrt

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import (
    LOST_BEHIND_PATH,
    Finding,
    clipped,
    figure,
    is_on_cpu,
    others_on_cpu,
    state_evidence,
)
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS, SUPER_SEGMENT_BYTES
from whyperf.explain.rules.pacing import pacing_rate
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

MANY = 32
"""Connections from which on changing between them costs more than what each has to do."""
HELD_STATES = (S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW, S.RECEIVE_WINDOW_BUFFER, S.SEND_BUFFER)
"""States in which the sender waits for the receiver to read."""
LARGE_SEGMENT_BYTES = 8948
"""Payload of a packet of 9000 bytes."""
SMALL_SEGMENT_BYTES = 1300
"""Below an Ethernet packet's usual payload, headers of tunnels taken off."""


def computing_sender(facts: Facts) -> Finding | None:
    """The sending application computes between its writes."""
    return _computing(facts, Cause.SENDER_CPU, "sender", facts.sender, facts.sender.ratio(S.NOT_WRITING))


def computing_receiver(facts: Facts) -> Finding | None:
    """The receiving application computes between its reads, and the sender waits for it."""
    # Between transactions the asking side computes while nothing is under way.
    is_waited_for = facts.exchanges is not None or facts.sender.ratio(*HELD_STATES) >= 0.1
    if facts.level == "segments" and not is_waited_for and not facts.is_watched:
        return None
    idle = facts.receiver.ratio(R.NOT_READING, R.UNREAD)
    return _computing(facts, Cause.RECEIVER_CPU, "receiver", facts.receiver, idle)


MIN_OUTSIDE_KERNEL = 0.35
"""Part of a CPU that the load's threads use outside the kernel, from which on the application computes (causes catalog:
0 to 0.12 for streams and small calls, 0.5 and more for applications that compute)."""


def _computing(facts: Facts, cause: Cause, role: str, end: HostFacts, idle: float) -> Finding | None:
    computing = end.calls.computing_ratio
    if computing is None and end.processors.thread_ratio is not None:
        # Of a thread that is kept from its CPU nobody saw what it would have done.
        idle = max(0.0, idle - (end.processors.withheld_ratio or 0.0))
        computing = min(idle, end.processors.thread_ratio) if end.processors.thread_ratio >= 0.5 else 0.0
        if facts.connections > 1 and not facts.is_watched:
            # A thread that serves several connections does not write to most of them because it writes to another.
            computing = 0.0
        # Calls of the kernel's transports spend their time in it; QUIC, UDT and SRT are libraries of the application.
        outside = end.processors.own_user_ratio or 0.0 if facts.own is None else 0.0
        if outside >= MIN_OUTSIDE_KERNEL:
            computing = max(computing, min(outside, end.processors.thread_ratio))
    lost = clipped(min(computing or 0.0, _most_computing(end)))
    if lost < 0.15:
        return None
    return Finding(
        cause,
        lost,
        0.9,
        (
            figure("computing", "calls", end, computing_ratio=lost),
            state_evidence(end, role, S.NOT_WRITING if role == "sender" else R.NOT_READING),
        ),
        # Without a log what the calls take is not known: the rest of the time is.
        gain.of_share(facts, lost, saved=role)
        if end.calls.computing_ratio is None
        else gain.of_ends(facts, behind=role == "receiver"),
        variant="encrypting" if end.encrypts else "",
    )


OWN_CLASSES = ("application", "encryption")
"""Classes of cost that an application's own work is."""


def _most_computing(end: HostFacts) -> float:
    """The share of the time that the application's own work takes at most, by the samples of its threads (95 %); all of
    it without samples.

    A log of calls takes what a thread does between two calls for work, also where it enters and leaves the kernel.
    """
    if end.cost is None or end.cost.samples == 0 or end.processors.thread_ratio is None:
        return 1.0
    share = sum(end.cost.share(name, "threads") for name in OWN_CLASSES)
    return end.processors.thread_ratio * (share + 1.96 * sqrt(0.25 / end.cost.samples))


def shared_cpu(facts: Facts) -> Finding | None:
    """The threads of sender and receiver run on one CPU of one machine."""
    sender, receiver = facts.sender.processors, facts.receiver.processors
    both = sender.cpus & receiver.cpus
    if not facts.one_machine or not both or len(sender.cpus | receiver.cpus) > 1:
        return None
    used = (sender.thread_ratio or 0.0) + (receiver.thread_ratio or 0.0)
    waited = max(sender.run_queue_ratio or 0.0, receiver.run_queue_ratio or 0.0)
    if used + max(sender.softirq_ratio or 0.0, receiver.softirq_ratio or 0.0) < 0.6:
        return None
    number = min(both)
    lost = clipped(max(waited, 0.5))
    return Finding(
        Cause.SHARED_CPU,
        lost,
        0.97,
        tuple(
            figure("on_cpu", "threads", end, thread_ratio=end.processors.thread_ratio, role=role, cpu=number)
            for role, end in (("sender", facts.sender), ("receiver", facts.receiver))
        ),
        gain.of_one_cpu(facts),
        values={"cpu": number, "waited_ratio": waited},
    )


def other_load(facts: Facts) -> Finding | None:
    """Threads want a CPU that others have, and the rate waits for them."""
    if shared_cpu(facts) is not None:
        return None
    ends = (("sender", facts.sender, _sender_wait(facts)), ("receiver", facts.receiver, _receiver_wait(facts)))
    role, end, lost = max(ends, key=lambda side: side[2])
    waited, other = end.processors.run_queue_ratio, end.processors.other_ratio
    if waited is None or other is None or waited < 0.1 or other < 0.2 or lost < 0.1:
        return None
    return Finding(
        Cause.OTHER_LOAD,
        lost,
        # Whatever makes the load want so much of a CPU stands before who else wants it.
        0.7,
        (
            figure("run_queue", "threads", end, waited_ratio=waited),
            others_on_cpu(facts, end),
            state_evidence(end, role, S.WAITS_FOR_CPU if role == "sender" else R.WAITS_FOR_CPU),
        ),
        gain.of_share(facts, lost, saved=role),
        values={"role": role, "other_ratio": other, "waited_ratio": waited},
    )


ELSEWHERE = (
    *(S.HANDSHAKE, S.RTO_WAIT, S.LOSS_RECOVERY, S.RECEIVE_WINDOW_BUFFER, S.SLOW_START, S.CONGESTION_WINDOW, S.NAGLE),
    *(S.PACING, S.DEVICE, S.SEND_BUFFER),
)
"""States in which the sender waits for something that is not a CPU of either application."""


def _sender_wait(facts: Facts) -> float:
    """Time that the sender's thread wanted a CPU while nothing else held it up."""
    waited = facts.sender.processors.run_queue_ratio or 0.0
    seen = facts.sender.ratio(S.WAITS_FOR_CPU)
    if facts.sender.calls.in_call_ratio is not None:
        return seen
    asleep = facts.sender.ratio(*ELSEWHERE, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW)
    return clipped(min(waited, 1 - asleep))


def _receiver_wait(facts: Facts) -> float:
    """Time that the receiver's thread wanted a CPU while the sender waited for it to read."""
    waited = facts.receiver.processors.run_queue_ratio or 0.0
    held = facts.sender.ratio(S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW)
    trip = facts.windows.rtt_ns_min
    if trip is not None and trip < NEIGHBOR_RTT_NS:
        # No path holds a neighbor up: whatever the sender waits for is the other host's doing.
        held += facts.sender.ratio(S.SEND_BUFFER, S.CONGESTION_WINDOW, S.SLOW_START, S.RECEIVE_WINDOW_BUFFER)
    if facts.level != "segments":
        held = facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER)
    return min(waited, held)


def _busiest(facts: Facts) -> Evidence:
    """Use of the busiest CPU, at the end that it belongs to."""
    end = max((facts.sender, facts.receiver), key=lambda side: side.wanted_ratio or 0.0)
    return figure("busiest_cpu", "cpu", end, busy_ratio=facts.busiest_ratio or 0.0)


def many_connections(facts: Facts) -> Finding | None:
    """So many connections that a CPU changes between them more than it moves payload."""
    if facts.connections < MANY or not is_on_cpu(facts):
        return None
    busy = facts.busiest_ratio or 0.0
    lost = clipped(0.3 + 0.1 * (facts.connections / 1000))
    return Finding(
        Cause.MANY_CONNECTIONS,
        lost,
        0.8,
        (
            figure("connections", "flows", facts.sender, connections_count=facts.connections),
            _busiest(facts),
        ),
        gain.of_share(facts, lost, saved="sender"),
        values={"connections_count": facts.connections, "busy_ratio": busy},
    )


def small_mtu(facts: Facts) -> Finding | None:
    """Small segments, each of which costs a CPU as much as a large one."""
    size, mss = facts.segments.segment_bytes_mean, facts.sender.sockets.mss_bytes
    if mss is None or mss > (JUMBO_BYTES if _is_single(facts) else SMALL_SEGMENT_BYTES) or not is_on_cpu(facts):
        return None
    write = facts.sender.calls.bytes_mean
    if write is not None and write < mss:
        # What is written at a time is smaller still.
        return None
    if size is not None and size < 0.7 * mss:
        return None
    lost = clipped(1 - mss / LARGE_SEGMENT_BYTES, 0.0, 0.9)
    return Finding(
        Cause.SMALL_MTU,
        lost,
        # The usual MTU is blamed after missing offloads, an unusual one before.
        0.6 if SMALL_SEGMENT_BYTES < mss <= USUAL_SEGMENT_BYTES else 0.9,
        (figure("mss", "flows", facts.sender, mss_bytes=mss), _busiest(facts)),
        gain.of_packets(facts, LARGE_SEGMENT_BYTES) if _is_single(facts) else None,
        values={"mss_bytes": mss},
    )


USUAL_SEGMENT_BYTES = 1460
"""Ethernet's MTU of 1500 bytes less IP and TCP headers."""
JUMBO_BYTES = 4000
"""Without offloads every segment up to here is a small one: the link could have larger packets."""


def _is_single(facts: Facts) -> bool:
    """True where every segment goes through both stacks by itself."""
    sent, taken = facts.segments.sent_segments_per_packet, facts.segments.taken_segments_per_packet
    return sent is not None and taken is not None and max(sent, taken) < 1.5


MAX_SINGLE_MSS = 2
"""A packet of fewer bytes, in maximum segment sizes, is one segment with its headers."""
WHOLE_SEGMENTS = 8
"""Packets that leave TCP with so many segments are whole there."""


def _is_split_late(facts: Facts) -> bool:
    """True where the sender's host takes packets apart itself, after TCP and before its device."""
    devices, mss = facts.sender.devices, facts.sender.sockets.mss_bytes
    through, packets = devices.sent_packets, facts.segments.data_packets
    if not through or not packets or through < 3 * packets:
        return False
    # Large packets are not taken apart: there are so many because the devices carry more than this connection.
    return devices.sent_bytes is None or mss is None or devices.sent_bytes < MAX_SINGLE_MSS * mss * through


def offloads_off(facts: Facts) -> Finding | None:
    """Every segment goes through the stack by itself."""
    segments = facts.segments
    sent, taken = segments.sent_segments_per_packet, segments.taken_segments_per_packet
    if not is_on_cpu(facts) or sent is None or taken is None:
        return None
    late = _is_split_late(facts)
    if min(sent, taken) >= 1.5 and not late:
        return None
    size, mss = facts.sender.calls.bytes_mean, facts.sender.sockets.mss_bytes
    # Writes that fit a segment, or windows that hold few, leave nothing to put together.
    window = facts.windows.flight_bytes_median
    if mss is None or (size is not None and size < 2 * mss) or (window is not None and window < 4 * mss):
        return None
    # As over loopback: no packet holds two segments.
    if 2 * mss > SUPER_SEGMENT_BYTES:
        return None
    place = "on both hosts" if _is_single(facts) else ("at the sender" if late or sent < taken else "at the receiver")
    lost = 0.6 if _is_single(facts) else 0.4
    return Finding(
        Cause.OFFLOADS_OFF,
        lost,
        0.85,
        (
            figure("sent_packets", "segments", facts.sender, segments_per_packet=sent),
            figure("taken_packets", "segments", facts.receiver, segments_per_packet=taken),
            _busiest(facts),
        ),
        gain.of_packets(facts, SUPER_SEGMENT_BYTES) if sent < WHOLE_SEGMENTS else gain.of_whole_packets(facts),
        values={"place": place, "mss_bytes": mss},
    )


def receive_offload_off(facts: Facts) -> Finding | None:
    """The receiving device puts nothing together, and how large packets arrive is not known.

    Where they are known to arrive large, as a veth hands super-segments on whole, there is nothing to put together: the
    switch gained nothing in 4 of 4 such runs. Where they arrive small, `offloads_off` has the counts.
    """
    is_known = facts.segments.taken_segments_per_packet is not None
    if not is_on_cpu(facts) or facts.receiver.devices.receive_offload is not False or is_known:
        return None
    return Finding(
        Cause.OFFLOADS_OFF,
        0.25,
        0.7,
        (figure("receive_offload_off", "devices", facts.receiver, receive_offload=0), _busiest(facts)),
        variant="receive",
    )


QUICK_RATIO = 0.25
"""Part of the ACKs in quick-ACK mode from which on an option of the socket is the reason. Left alone, Linux is in it
for the first 16 ACKs of a connection and after a pause (TCP_MAX_QUICKACKS, tcp_input.c)."""
MIN_ACKS_PER_PACKET = 0.1
"""Fewer cost next to nothing."""


def quick_ack(facts: Facts) -> Finding | None:
    """Acknowledgments at once, more of them than delayed ones would be.

    Offloads that are off make as many packets and leave the ACKs' reasons alone: an end whose CPU is the limit may have
    both, and an ACK costs about what a packet does. Their counts show how much of the CPU that is.
    """
    segments = facts.segments
    quick = segments.ack_reasons.get("quick", 0.0)
    if segments.acks_per_segment is None or quick < QUICK_RATIO or not is_on_cpu(facts):
        return None
    each = segments.acks_per_segment * (segments.taken_segments_per_packet or 1.0)
    if each < MIN_ACKS_PER_PACKET:
        return None
    lost = clipped(each / (1 + each), 0.0, MAX_LOST_TO_ACKS)
    return Finding(
        Cause.QUICK_ACK,
        lost,
        0.97,
        (
            figure("acks_per_packet", "segments", facts.receiver, acks_per_packet=each),
            figure("quick_acks", "segments", facts.receiver, quick_ratio=quick),
        ),
        gain.of_share(facts, lost, saved="both"),
        values={"quick_ratio": quick, "acks_per_packet": each},
    )


MAX_LOST_TO_ACKS = 0.3
"""With an ACK for each packet about as much stays as moving the payload takes, and an ACK for every second one."""


def receiver_loss(facts: Facts) -> Finding | None:
    """The receiving host drops what has arrived: devices count it, or what the log saw arrive is asked for again."""
    dropped, sent = facts.receiver.devices.dropped_packets, facts.segments.data_packets
    again = facts.segments.retransmitted_ratio or 0.0
    missed = facts.lost_in_receiver if facts.lost_in_receiver_ratio >= LOST_BEHIND_PATH else 0
    if not (dropped or missed) or not sent or again <= 0:
        return None
    lost = facts.sender.ratio(S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)
    if pacing_rate(facts) is None:
        # What a congestion control paces by is what it sees lost.
        lost += facts.sender.ratio(S.PACING)
    if lost < 0.1:
        return None
    evidence = [state_evidence(facts.sender, "sender", S.LOSS_RECOVERY, S.RTO_WAIT)]
    if dropped:
        evidence.insert(0, figure("dropped_packets", "devices", facts.receiver, dropped_packets=dropped))
    if missed:
        evidence.insert(0, figure("lost_after_arrival", "segments", facts.receiver, missed_segments=missed))
    return Finding(
        Cause.RECEIVER_LOSS,
        lost,
        0.9,
        tuple(evidence),
        gain.of_share(facts, lost),
        values={"dropped_packets": max(dropped or 0, missed)},
    )
