"""The CPUs of both hosts: what the load does on them, what packets cost, and who keeps it from them."""

from collections.abc import Mapping

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts, Interruption, State
from whyperf.explain.limits import gain
from whyperf.explain.limits.application import answered_figure, own_side
from whyperf.explain.limits.limit import (
    BUSY,
    LIMIT_FROM,
    WINDOWS,
    Limit,
    asleep,
    busiest,
    busy,
    clipped,
    figure,
    figures,
    is_far,
    known_figure,
    most_moving,
    or_zero,
    samples,
    sides,
    state_evidence,
)
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

PACKET_NS = 10_000.0
"""CPU time of interrupt processing per packet from which on something beyond TCP has it: 1 to 5 µs are usual (tuning
set: 0.7 to 5; 31 with 1,500 firewall rules)."""
WRITTEN_NS = 15_000.0
"""The same for packets that leave within the write calls of a thread, with their copy (catalog and tuning set: up to 9
without offloads; 26 with 1,200 firewall rules)."""
SMALL_PACKET_BYTES = 16_384
"""Payload that such a packet carries at most: a segment of 64 KB, as on loopback, is copied for 8 to 27 µs."""


def sender_cpu(facts: Facts) -> Limit | None:
    """The sending application computes between its writes, or its packets are expensive."""
    idle = facts.sender.ratio(S.NOT_WRITING)
    if facts.sender.watched is not None:
        idle = max(idle, or_zero(facts.windows.application_limited_ratio))
    return _of_cpu(facts, Cause.SENDER_CPU, "sender", facts.sender, idle)


def receiver_cpu(facts: Facts) -> Limit | None:
    """The receiving application computes between its reads, or its packets are expensive."""
    idle, seen = facts.receiver.ratio(R.NOT_READING, R.UNREAD), samples(facts.receiver)
    if facts.receiver.watched is not None:
        idle = max(idle, min(or_zero(seen.pressed_ratio), or_zero(seen.unread_ratio)))
    return _of_cpu(facts, Cause.RECEIVER_CPU, "receiver", facts.receiver, idle)


def _of_cpu(facts: Facts, cause: Cause, role: str, end: HostFacts, idle: float) -> Limit | None:
    """The dearest of what an end's CPU does beyond moving payload: its program's work, or what each packet costs."""
    computing, packets, written = _computing(facts, end, idle), _of_interrupts(end), 0.0
    if role == "sender":
        written = _of_written(facts, end)
    talk, (own_role, _) = facts.conversation, own_side(facts)
    works = or_zero(talk.own_ratio) * (1 - asleep(end)) if talk is not None and own_role == role else 0.0
    share = clipped(max(computing, packets, written, works))
    if share < LIMIT_FROM:
        return None
    thread = end.processors.thread_ratio
    if max(packets, written) == share:
        return _of_packets(facts, cause, role, end, share, is_written=written == share)
    kind = "exchange" if works == share and works else "encrypting" if end.encrypts else ""
    if not kind and end.watched is not None and end.calls.computing_ratio is None:
        kind = "busy" if role == "sender" else "running"
    kbyte = 8e9 * 1024 * or_zero(thread) / facts.rate_bps if facts.rate_bps else 0.0
    return Limit(
        cause,
        share,
        figures(
            figure("computing", "calls", end, computing_ratio=share) if not end.watched else None,
            known_figure("program_thread", "threads", end, thread_ratio=thread) if end.watched else None,
            state_evidence(end, role, S.NOT_WRITING if role == "sender" else R.NOT_READING) if end.shares else None,
        ),
        # Without a log what the calls take is not known: the rest of the time is.
        gain.of_share(facts, share, saved=role)
        if end.calls.computing_ratio is None
        else gain.of_ends(facts, behind=role == "receiver"),
        variant=kind,
        values={
            "role": role,
            "thread_ratio": or_zero(thread),
            "idle_ratio": idle,
            "waiting_ratio": idle,
            "kbyte_ns": kbyte,
            "delay_ns": None if talk is None else talk.own_ns,
        },
    )


def _computing(facts: Facts, end: HostFacts, idle: float) -> float:
    """Time in which an end's program runs and moves no payload."""
    cpu, computing = end.processors, end.calls.computing_ratio
    outside = or_zero(cpu.own_user_ratio)
    if computing is not None:
        # Of several threads each has a part of the CPU.
        return min(computing, idle) if end.watched is not None else max(computing, outside * (facts.connections > 1))
    if cpu.thread_ratio is None or facts.own is not None:
        # QUIC, UDT and SRT are libraries of the application: what they do outside the kernel moves payload.
        return 0.0
    # A thread that serves several connections does not write to most of them because it writes to another.
    between = idle - or_zero(cpu.withheld_ratio) if facts.connections == 1 or end.watched is not None else 0.0
    return clipped(max(min(max(between, 0.0), cpu.thread_ratio), outside if end.watched is None else 0.0))


def _of_interrupts(end: HostFacts) -> float:
    """Time of a CPU that interrupt processing takes beyond what packets usually cost."""
    packets, span = end.limits.counts.get("softnet_processed", 0), end.limits.span_ns
    taken = or_zero(end.processors.softirq_ratio)
    return taken * clipped(1 - PACKET_NS / 2 * packets / (taken * span)) if packets and span and taken else 0.0


def _of_written(facts: Facts, end: HostFacts) -> float:
    """The same of a thread's write calls, for packets that carry little."""
    packets, segments = facts.segments.data_packets or end.devices.sent_packets, facts.segments.data_segments
    cpu, size = end.processors, end.calls.bytes_mean or 0.0
    if not packets or not segments or facts.exchanges is not None or size < SMALL_PACKET_BYTES / 2:
        return 0.0
    if end.sockets.payload_bytes > SMALL_PACKET_BYTES * packets or segments > 2 * packets:
        return 0.0
    each, others = or_zero(cpu.thread_ratio) * facts.life_ns / packets, or_zero(cpu.other_ratio)
    busy_ratio = or_zero(cpu.thread_ratio) - or_zero(end.calls.computing_ratio)
    # Who shares a CPU shares its caches and execution units, too.
    return clipped(busy_ratio * clipped(1 - WRITTEN_NS / 2 / max(each, 1.0)) - max(others, or_zero(cpu.steal_ratio)))


def _of_packets(facts: Facts, cause: Cause, role: str, end: HostFacts, share: float, *, is_written: bool) -> Limit:
    """Packets that are expensive for a host to process, whatever they carry."""
    if is_written:
        packets, taken = facts.segments.data_packets or end.devices.sent_packets or 1, end.processors.thread_ratio
        span = facts.life_ns
    else:
        packets, taken = end.limits.counts.get("softnet_processed", 1), end.processors.softirq_ratio
        span = end.limits.span_ns
    values: dict[str, Value | None] = {
        "packet_ns": or_zero(taken) * span / packets,
        "busy_ratio": or_zero(taken),
        "packets_count": packets,
    }
    row = (
        figure("written_cost", "flows", end, **values)
        if is_written
        else figure("packet_cost", "host_counters", end, **values)
    )
    other = (
        state_evidence(end, role, S.WRITE_CALL)
        if is_written
        else figure("interrupts", "cpu", end, busy_ratio=or_zero(taken), role=role)
    )
    variant = "packets.written" if is_written else "packets"
    return Limit(cause, share, (row, other), variant=variant, values={"role": role, **values})


def shared_cpu(facts: Facts) -> Limit | None:
    """The threads of sender and receiver run on one CPU of one machine."""
    sender, receiver = facts.sender.processors, facts.receiver.processors
    both = sender.cpus & receiver.cpus
    if not facts.one_machine or not both or len(sender.cpus | receiver.cpus) > 1:
        return None
    used = or_zero(sender.thread_ratio) + or_zero(receiver.thread_ratio)
    waited = max(or_zero(sender.run_queue_ratio), or_zero(receiver.run_queue_ratio))
    share = clipped(used + max(or_zero(sender.softirq_ratio), or_zero(receiver.softirq_ratio))) * max(waited, 0.5)
    if share < LIMIT_FROM:
        return None
    number = min(both)
    return Limit(
        Cause.SHARED_CPU,
        share,
        tuple(
            figure("on_cpu", "threads", end, thread_ratio=end.processors.thread_ratio, role=role, cpu=number)
            for role, end in sides(facts)
        ),
        gain.of_one_cpu(facts),
        values={"cpu": number, "waited_ratio": waited},
    )


def other_load(facts: Facts) -> Limit | None:
    """Threads want a CPU that others have, all the time or for a part of it."""
    role, end = max(sides(facts), key=lambda side: _withheld(side[1]))
    share, span = _withheld(end), _worst(facts, "withheld")
    if span is not None and span[2].other_ratio >= OTHERS and span[2].lost_ratio > share:
        return _of_span(facts, Cause.OTHER_LOAD, span, "part.programs")
    if share < LIMIT_FROM:
        return None
    cpu = end.processors
    others, stolen = or_zero(cpu.other_ratio), or_zero(cpu.steal_ratio)
    return Limit(
        Cause.OTHER_LOAD,
        share,
        figures(
            figure(
                "run_queue",
                "threads",
                end,
                withheld_ratio=cpu.withheld_ratio,
                waited_ratio=or_zero(cpu.run_queue_ratio),
            ),
            others_figure(facts, end),
            figure("steal", "cpu", end, steal_ratio=stolen) if stolen else None,
            state_evidence(end, role, S.WAITS_FOR_CPU if role == "sender" else R.WAITS_FOR_CPU) if end.shares else None,
        ),
        gain.of_share(facts, share, saved=role),
        variant="withheld.steal" if stolen > others else "withheld.programs",
        values={
            "role": role,
            "waited_ratio": or_zero(cpu.withheld_ratio),
            "other_ratio": others,
            "steal_ratio": stolen,
        },
    )


OTHERS = 0.1
"""Part of a CPU that other programs take where they are why threads wait for it."""


def _withheld(end: HostFacts) -> float:
    """Time in which an end's threads wait for a CPU that others have: a wait may be longer than what others run."""
    cpu = end.processors
    others = max(or_zero(cpu.other_ratio), or_zero(cpu.steal_ratio))
    return clipped(min(or_zero(cpu.withheld_ratio) - cpu.peer_ratio, 2 * others))


def others_figure(facts: Facts, end: HostFacts) -> Evidence:
    """Part that other programs take of the CPU that the load, or the watched program, runs on."""
    code = "other_load.watched" if facts.is_watched else "other_load"
    return figure(code, "cpu", end, other_ratio=or_zero(end.processors.other_ratio))


def cpu_quota(facts: Facts) -> Limit | None:
    """A control group keeps a side's threads from their CPUs because its quota is used up."""
    stopped = {role: _stopped(end) for role, end in sides(facts)}
    role, end = max(sides(facts), key=lambda side: stopped[side[0]])
    quota, share, span = end.limits.quota, stopped[role], _worst(facts, "withheld")
    if quota is None or share < LIMIT_FROM:
        # The group may be gone at the end. Threads that wait for a CPU that nobody uses are stopped by a quota.
        is_alone = span is not None and max(span[2].other_ratio, or_zero(span[1].processors.steal_ratio)) < OTHERS
        return _of_span(facts, Cause.CPU_QUOTA, span, "unseen") if span is not None and is_alone else None
    both = min(stopped.values()) >= LIMIT_FROM
    predicted = gain.of_share(facts, share, saved="both" if both else role)
    values: dict[str, Value | None] = {
        "role": role,
        "group": quota.group,
        "quota_per_s": quota.cpus,
        "throttled_ratio": quota.throttled_ratio,
        "stopped_ratio": share,
    }
    thread = end.processors.thread_ratio
    return Limit(
        Cause.CPU_QUOTA,
        min(share, 1 - 1 / predicted.ratio) if predicted.ratio > 1 else share,
        figures(
            figure("throttled", "host_counters", end, **values),
            known_figure("quota_thread", "threads", end, thread_ratio=thread, role=role),
        ),
        predicted,
        variant="both" if both else "",
        values={**values, "cpus_times": quota.cpus},
    )


def _stopped(end: HostFacts) -> float:
    """Share of the time for which a quota stopped a side.

    The kernel adds up the time of all CPUs. One thread was stopped for no longer than it did not run, and in no more
    periods than those in which the quota was used up.
    """
    quota = end.limits.quota
    if quota is None:
        return 0.0
    idle = 1 - or_zero(end.processors.thread_ratio)
    return clipped(min(quota.stopped_ratio, quota.throttled_ratio, idle), 0.0, 0.98)


def pause(facts: Facts) -> Limit | None:
    """A side's process did not run for a part of the time, though nobody kept it from a CPU."""
    span = _worst(facts, "paused")
    return None if span is None else _of_span(facts, Cause.PAUSE, span, "")


Span = tuple[str, HostFacts, Interruption]


def _worst(facts: Facts, kind: str) -> Span | None:
    """The spans that cost most, of those in which a side was kept from its work."""
    found = [(role, end, span) for role, end in sides(facts) for span in end.limits.interruptions if span.kind == kind]
    worst = max(found, key=lambda side: side[2].lost_ratio, default=None)
    return worst if worst is not None and worst[2].lost_ratio >= LIMIT_FROM else None


def _of_span(facts: Facts, cause: Cause, found: Span, variant: str) -> Limit:
    role, end, span = found
    values: dict[str, Value | None] = {
        "length_ns": span.length_ns,
        "longest_ns": span.longest_ns,
        "from_ns": span.at_ns,
        "waited_ratio": span.waited_ratio,
        "role": role,
    }
    others = {} if cause is Cause.PAUSE else {"other_ratio": span.other_ratio}
    code, table = ("pause", "intervals") if cause is Cause.PAUSE else ("withheld_span", "threads")
    return Limit(
        cause,
        span.lost_ratio,
        (
            figure(code, table, end, **values, **others),
            figure("rate_meanwhile", "intervals", end, rate_ratio=span.rate_ratio, span_ratio=span.span_ratio),
        ),
        gain.of_interruption(facts, span.lost_ratio),
        variant=variant,
        values={**values, **others},
    )


def _busiest_row(facts: Facts) -> Evidence:
    """Use of the busiest CPU, at the end that it belongs to."""
    end = max((facts.sender, facts.receiver), key=busy)
    return figure("busiest_cpu", "cpu", end, busy_ratio=busiest(facts))


MANY, OF_MANY = 32, 0.3
"""Connections from which on changing between them costs more than what each has to do, and what that costs at least."""


def many_connections(facts: Facts) -> Limit | None:
    """So many connections that a CPU changes between them more than it moves payload."""
    watched = [or_zero(samples(end).program_connections) for _, end in sides(facts)]
    count, end = round(max(facts.connections, *watched)), max((facts.sender, facts.receiver), key=busy)
    if count < MANY:
        return None
    share = clipped(OF_MANY + count / 10_000) * most_moving(facts)
    return Limit(
        Cause.MANY_CONNECTIONS,
        share,
        (figure("connections", "flows", end, connections_count=count), _busiest_row(facts)),
        gain.of_share(facts, share, saved="sender"),
        values={"connections_count": count, "busy_ratio": busiest(facts)},
    )


LARGE_SEGMENT_BYTES, SMALL_SEGMENT_BYTES, JUMBO_BYTES = 8948, 1300, 4000
"""Payload of a packet of 9000 bytes; what is below an Ethernet packet's usual payload, headers of tunnels taken off;
and up to where a segment that passes the stack by itself is small."""
SINGLE = 1.5
"""Segments of a packet that count as one."""
IP_TCP_BYTES = 40


def small_mtu(facts: Facts) -> Limit | None:
    """Small segments, each of which costs a CPU as much as a large one."""
    mss, write = facts.sender.sockets.mss_bytes, facts.sender.calls.bytes_mean
    if facts.is_watched and (held := _held_small(facts)) is not None:
        return held
    single = _per_packet(facts)
    is_single = single is not None and max(single) < SINGLE
    if mss is None or mss > (JUMBO_BYTES if is_single else SMALL_SEGMENT_BYTES) or (write is not None and write < mss):
        # What is written at a time may be smaller still.
        return None
    share = most_moving(facts) * clipped(1 - mss / LARGE_SEGMENT_BYTES, 0.0, 0.9)
    headers = _headers(mss) * (1 - or_zero(facts.windows.application_limited_ratio))
    if is_far(facts) and headers > max(LIMIT_FROM, share):
        values: dict[str, Value | None] = {
            "mss_bytes": mss,
            "header_ratio": gain.HEADERS_BYTES / (mss + gain.HEADERS_BYTES),
        }
        row = figure("mss", "flows", facts.sender, mss_bytes=mss)
        without = gain.gain(1 / (1 - headers), HEADERS_SPREAD, "smaller_headers")
        return Limit(Cause.SMALL_MTU, headers, (row,), without, variant="headers", values=values)
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.SMALL_MTU,
        share,
        (figure("mss", "flows", facts.sender, mss_bytes=mss), _busiest_row(facts)),
        gain.of_packets(facts, LARGE_SEGMENT_BYTES) if is_single else None,
        values={"mss_bytes": mss},
    )


USUAL_SEGMENT_BYTES = 1448
"""Payload of an Ethernet packet: 1500 bytes (IEEE 802.3, clause 3.2.7) less IP and TCP with time stamps."""
HEADERS_SPREAD = 1.15
"""Factor by which such a gain may be off: the same as of a link that is seen (`_SURE` in gain.py)."""


def _headers(mss: int) -> float:
    """Part of a link's rate that segments of this size leave to headers, and usual ones do not."""
    return 1 - (mss / (mss + gain.HEADERS_BYTES)) / (USUAL_SEGMENT_BYTES / (USUAL_SEGMENT_BYTES + gain.HEADERS_BYTES))


def _held_small(facts: Facts) -> Limit | None:
    """Segments of another program that something keeps far below the path's MTU, between neighbors."""
    _, end = own_side(facts)
    seen = samples(end)
    if not seen.mss_bytes or not seen.pmtu_bytes or not facts.rate_bps or is_far(facts):
        return None
    window = seen.own_window if end is facts.receiver else seen.peer_window
    # A segment is no larger than half of the largest window (tcp_bound_to_half_wnd, include/net/tcp.h).
    most = min(seen.pmtu_bytes - IP_TCP_BYTES, window.high_bytes / 2 if window.high_bytes else seen.pmtu_bytes)
    packets = facts.rate_bps / 8 / seen.mss_bytes
    share = clipped(1 - seen.mss_bytes / most) * clipped(max(busy(end), packets * PACKET_NS / 2e9))
    if share < LIMIT_FROM:
        return None
    values = {"mss_bytes": seen.mss_bytes, "pmtu_bytes": seen.pmtu_bytes, "packets_per_s": packets}
    row = figure("mss_of_path", WINDOWS, end, **values)
    return Limit(Cause.SMALL_MTU, share, (row,), variant="held", values=values)


def _per_packet(facts: Facts) -> tuple[float, float] | None:
    """Segments of a packet as it leaves TCP and as it reaches TCP; None where that is not counted."""
    sent, taken = facts.segments.sent_segments_per_packet, facts.segments.taken_segments_per_packet
    return None if sent is None or taken is None else (sent, taken)


OF_BOTH, OF_ONE, OF_UNKNOWN = 0.6, 0.4, 0.25
"""The part of a CPU's time that offloads of both hosts, of one, or of a receiver whose packets nobody counts save."""
WHOLE_SEGMENTS = 8
"""Packets that leave TCP with so many segments are whole there."""


def offloads_off(facts: Facts) -> Limit | None:
    """Every segment goes through the stack by itself."""
    packets, mss, size = _per_packet(facts), facts.sender.sockets.mss_bytes, facts.sender.calls.bytes_mean
    if packets is None:
        return _receive_offload(facts)
    window, devices, sent = facts.windows.flight_bytes_max, facts.sender.devices, facts.segments.data_packets
    # Writes that fit a segment, or windows that hold few, leave nothing to put together; nor does loopback.
    if not mss or (size is not None and size < 2 * mss) or (window is not None and window < 4 * mss):
        return None
    if 2 * mss > gain.SUPER_SEGMENT_BYTES:
        return None
    through = or_zero(devices.sent_packets)
    # The sender's host takes packets apart itself, after TCP and before its device.
    is_late = bool(sent and through >= 3 * sent and or_zero(devices.sent_bytes) < 2 * mss * through)
    is_single = max(packets) < SINGLE
    least = 1.0 if is_late else min(packets)
    share = most_moving(facts) * (OF_BOTH if is_single else OF_ONE) * clipped(SINGLE / least) ** 2
    if share < LIMIT_FROM:
        return None
    place = "at the sender" if is_late or packets[0] < packets[1] else "at the receiver"
    is_whole = packets[0] >= WHOLE_SEGMENTS
    return Limit(
        Cause.OFFLOADS_OFF,
        share,
        (
            figure("sent_packets", "segments", facts.sender, segments_per_packet=packets[0]),
            figure("taken_packets", "segments", facts.receiver, segments_per_packet=packets[1]),
            _busiest_row(facts),
        ),
        gain.of_whole_packets(facts) if is_whole else gain.of_packets(facts, gain.SUPER_SEGMENT_BYTES),
        values={"place": "on both hosts" if is_single else place, "mss_bytes": mss},
    )


def _receive_offload(facts: Facts) -> Limit | None:
    """The receiving device puts nothing together, and how large packets arrive is not known."""
    share = OF_UNKNOWN * most_moving(facts)
    if facts.receiver.devices.receive_offload is not False or share < LIMIT_FROM:
        return None
    row = figure("receive_offload_off", "devices", facts.receiver, receive_offload=0)
    return Limit(Cause.OFFLOADS_OFF, share, (row, _busiest_row(facts)), variant="receive")


BUSY_ALL_THE_TIME = 0.95
"""Busy share of a CPU from which on the present rate is what it can do: the rest is less than what trials differ by."""
SMALL_WRITES = "small_writes"
"""Variant where larger writes, which make larger packets, may take less of a CPU's time a byte: nobody tried."""
WORKING: Mapping[str, tuple[State, ...]] = {
    "sender": (S.WRITE_CALL, S.WAITS_FOR_CPU),
    "receiver": (R.READ_CALL, R.SOFTIRQ),
}
"""States of a side whose CPU is at work."""
BUSY_FROM = 0.3
"""Less of a CPU is no limit of it, by itself or in turns with the other."""


def capacity(facts: Facts) -> Limit | None:
    """A host's CPU is busy moving payload: no cause that could be removed."""
    role, end = max(sides(facts), key=lambda side: busy(side[1]))
    # What others have of the CPU is not what it can do.
    share, exchanges = clipped(busy(end) - _withheld(end)), facts.exchanges
    if role == "sender" and facts.connections == 1 and exchanges is None:
        # A thread that does not write moves no payload.
        share = min(share, 1 - facts.sender.ratio(S.NOT_WRITING))
    both = busy(facts.sender) + busy(facts.receiver)
    alternates = exchanges is not None or or_zero(facts.segments.data_back_packets) >= 5
    if alternates and share < BUSY and both > share:
        return _alternating(facts, clipped(both)) if both >= BUSY_FROM else None
    if share < BUSY_FROM:
        return None
    is_full, size = share >= BUSY_ALL_THE_TIME, facts.sender.calls.bytes_mean
    most = max((rate for rate in (facts.rate_bps, facts.goodput_bps) if rate is not None), default=None)
    # Of a program of others nobody counts the bytes of a write.
    is_stream = exchanges is None and facts.datagrams is None
    has_small = facts.is_watched and role == "sender" if size is None else size < gain.SUPER_SEGMENT_BYTES
    names = (
        ("transactions", exchanges is not None),
        ("not_full", not is_full),
        (SMALL_WRITES, is_stream and has_small),
    )
    return Limit(
        Cause.CAPACITY,
        share,
        figures(
            figure("cpu_busy", "cpu", end, busy_ratio=share, role=role),
            state_evidence(end, role, *WORKING[role]) if end.shares else None,
        ),
        variant=".".join(name for name, applies in names if applies),
        values={
            "role": role,
            "busy_ratio": share,
            "max_bps": most if is_full else None,
            "left_ratio": None if is_full else 1 - share,
            "busy_times": None if is_full else 1 / share,
            "adapters_count": end.limits.adapters_count if end.limits.adapters_count > 1 else None,
            "transactions_per_s": None if exchanges is None else exchanges.per_s,
            "call_bytes": size,
            "check_with": "ethtool -k" if facts.receiver.devices.receive_offload is None else None,
        },
        ceiling=1 / share,
    )


def _alternating(facts: Facts, share: float) -> Limit:
    """No cause to remove: each exchange is work of both hosts, one after the other, and the path between them."""
    exchanges = facts.exchanges
    shares = {f"{role}_ratio": busy(end) for role, end in sides(facts)}
    return Limit(
        Cause.CAPACITY,
        share,
        figures(
            *(
                figure("wanted_cpu", "cpu", end, wanted_ratio=shares[f"{role}_ratio"], role=role)
                for role, end in sides(facts)
            ),
            None if exchanges is None else answered_figure(facts),
        ),
        variant="alternating",
        values={
            **shares,
            "transaction_ns": facts.segments.cycle.cycle_ns if exchanges is None else exchanges.latency_ns,
            "transactions_per_s": None if exchanges is None else exchanges.per_s,
        },
    )
