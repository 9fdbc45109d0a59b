"""Each rule on both sides of its limits: the last value at which it is silent, and the first at which it speaks.

What is right exactly at a limit is what the text of the limit says: "from ... on", "at least", "up to" and "at most"
include it; "below" does not.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.explain.test_rules import (
    ACKS_LATE,
    ANSWERED,
    AS_ASKED,
    ASKING_NEXT_TO_OTHERS,
    CASES,
    FAILED,
    FLOOD,
    HELD_UP,
    LOST,
    MISMATCH,
    MS,
    OF_QUEUE,
    PATH,
    POLICED,
    QUEUED,
    RANDOM_LOSSES,
    REGROWN,
    REPLIED,
    SHARED,
    SHARED_COUNTED,
    facts,
)
from tests.unit.explain.test_transport_rules import QUIC
from whyperf.explain.causes import Cause
from whyperf.explain.host_limits import HostLimits, MemoryLimit
from whyperf.explain.path_facts import BottleneckRate
from whyperf.explain.rules import (
    acks,
    application,
    buffers,
    cpu,
    datagrams,
    gain,
    host_limits,
    losses,
    pacing,
    packets,
    path,
    repairs,
    transfers,
    transports,
)
from whyperf.explain.rules.capacity import alternates
from whyperf.explain.rules.finding import Finding, is_on_cpu, is_perhaps_idle
from whyperf.explain.rules.judge import _counts
from whyperf.explain.rules.limits import _own_time
from whyperf.explain.trial_facts import ExchangeFacts, Facts, RequestedLoad

Holds = Callable[[Facts], object]


def changed(found: Any, values: Mapping[str, Any]) -> Any:
    """`found` with values by their paths, such as "sender.shares.nagle"."""
    for path_of_value, value in values.items():
        name, _, rest = path_of_value.partition(".")
        inner = found.get(name) if isinstance(found, Mapping) else getattr(found, name)
        new = changed(inner, {rest: value}) if rest else value
        found = {**found, name: new} if isinstance(found, Mapping) else replace(found, **{name: new})
    return found


def case(cause: Cause, number: int = 0) -> Facts:
    """What speaks for a cause in test_rules."""
    return [case.speaks for case in CASES if case.cause is cause][number]


def lacks_memory(found: Facts) -> bool:
    return host_limits._lacks_memory(found.receiver)


def is_stopped_by_a_quota(found: Facts) -> bool:
    finding = host_limits.short_load(found)
    return finding is not None and finding.cause is Cause.CPU_QUOTA


BUFFER = case(Cause.RECEIVE_BUFFER)
FILLED = case(Cause.SEND_BUFFER, 1)
RANDOM_HIGH = "segments.losses.random_high"
CLOSED = facts(
    {"sockets.mss_bytes": 1448},
    {"sockets.clamp_bytes": 40_000},
    windows={"announced_bytes_max": 40_000, "announced_bytes_median": 40_000},
    level="counters",
)
WAITS = facts({"shares": {"congestion_window": 0.9}}, windows=PATH, segments=LOST | OF_QUEUE)
RANDOM = facts({"shares": {"congestion_window": 0.9}}, windows=PATH, segments=LOST | RANDOM_LOSSES)
COUNTED = facts(
    {"shares": {"unknown": 0.95}},
    windows=PATH,
    segments={
        "retransmitted_ratio": 0.01,
        "data_segments": 5_000,
        "queue.losses_full_ratio": 0.3,
        "queue.lossy_count": 8,
        "spurious_ratio": 0.0,
    },
    level="counters",
)
ASKED = case(Cause.ROUND_TRIP)
COUNTED_TRIP = facts(windows=PATH, exchanges=replace(ANSWERED, latency_ns=15.0 * MS), level="counters")
LOGGED = changed(case(Cause.BOTTLENECK), {"segments.losses.ratio": 0.0})
PART_MISSED = facts(transport="udp", datagrams=AS_ASKED, level="counters")
OVERTAKEN = case(Cause.REORDERING, 1)
DELIVERED = facts(
    windows={**PATH, "rtt_ns_median": 20 * MS, "delivered_bps_high": 100e6, "delivered_bps_max": 110e6},
    rate_bps=50e6,
    level="counters",
)
ALTERNATING = facts(
    {"processors.thread_ratio": 0.3}, {"processors.thread_ratio": 0.3}, segments={"data_back_packets": 5}
)
PACED = facts(segments={"pacing.bps": 100e6, "pacing.constant_ratio": 0.9, "bottleneck.bps": 100e6})
MEMORY = facts(receiver={"limits": HostLimits(memory=MemoryLimit("/g", "cgroup v2", 1 << 20, hits=3, tcp_hits=0))})
COMPUTING = facts({"processors.thread_ratio": 0.9, "processors.own_user_ratio": 0.4}, level="counters")
UNSEEN = facts({"shares": {"not_writing": 0.6}, "processors.thread_ratio": 0.5}, level="counters")
SMALL = case(Cause.SMALL_MTU)
PER_PACKET = {"segments.sent_segments_per_packet": 1.0, "segments.taken_segments_per_packet": 1.0}
SINGLE = changed(SMALL, {**PER_PACKET, "segments.segment_bytes_mean": 4_000.0, "sender.sockets.mss_bytes": 4_000})
OFF = changed(case(Cause.OFFLOADS_OFF), {"segments.taken_segments_per_packet": 40.0})
OWN = facts(own=QUIC, transport="quic", level="counters")
FULL = changed(OWN, {"own.rtt_ns_median": 30.0 * MS, "own.bottleneck": BottleneckRate(20e6, 0.9, 0.99)})
WINDOW = changed(OWN, {"own.peer_window_bytes": 100_000.0, "own.flight_bytes": 90_000.0, "own.cwnd_bytes": 200_000.0})
GREEDY = changed(
    OWN,
    {
        "own.flight_bytes": 20_000.0,
        "own.lost_packets": 0,
        "asked": RequestedLoad(is_greedy=True),
    },
)
COSTLY_PACKETS = case(Cause.RECEIVER_CPU, 3)
COSTLY_WRITES = facts(
    {"processors.thread_ratio": 0.9, "calls.bytes_mean": 131_072.0, "sockets.mss_bytes": 1448},
    segments={"data_packets": 60_000, "data_segments": 60_000},
    level="counters",
)
ALWAYS = {"segments.queue.standing_ratio": 0.8, "segments.queue.full_spread": 0.2}

#: The rule, what speaks for it, the value that is changed, where the rule is still silent, and where it speaks.
LIMITS: tuple[tuple[Holds, Facts, str, Any, Any], ...] = (
    (buffers.receive_buffer, BUFFER, "sender.shares.receive_window_buffer", 0.0499, 0.05),
    (
        buffers.receive_buffer,
        changed(BUFFER, {"sender.processors.thread_ratio": 0.9}),
        "windows.announced_bytes_max", 1 << 20, (1 << 20) - 1,
    ),
    (
        buffers.receive_buffer,
        changed(BUFFER, {"windows.announced_bytes_max": 1 << 20}),
        "sender.processors.thread_ratio", 0.8, 0.799,
    ),
    (
        buffers.is_closed,
        changed(CLOSED, {"receiver.sockets.clamp_bytes": 0}),
        "windows.announced_bytes_median", 2 * 1448 + 1, 2 * 1448,
    ),
    (
        buffers.is_closed,
        changed(CLOSED, {"windows.announced_bytes_median": 1448, "receiver.sockets.clamp_bytes": 0}),
        "windows.announced_bytes_max", 20 * 1448 - 1, 20 * 1448,
    ),
    (buffers.is_closed, CLOSED, "receiver.limits.counts.TcpExtTCPToZeroWindowAdv", 9, 10),
    (buffers.is_closed, CLOSED, "windows.announced_bytes_median", 10_000, 9_999),
    (
        buffers.is_closed,
        changed(CLOSED, {"windows.announced_bytes_median": 9_000}),
        "receiver.sockets.clamp_bytes", 36_000, 36_001,
    ),
    (buffers.send_buffer, case(Cause.SEND_BUFFER), "sender.shares.send_buffer", 0.0499, 0.05),
    (buffers.send_buffer, FILLED, "windows.application_limited_ratio", 0.499, 0.5),
    (buffers.send_buffer, FILLED, "windows.flight_bytes_median", 13_107, 13_108),
    (buffers.send_buffer, FILLED, "windows.announced_bytes_median", 97_499, 97_500),
    (buffers.write_window_mismatch, MISMATCH, "sender.shares.receive_window_buffer", 0.0999, 0.1),
    (buffers.write_window_mismatch, MISMATCH, "sender.calls.bytes_mean", 9_103.0, 9_102.0),
    (buffers.write_window_mismatch, MISMATCH, "sender.calls.bytes_mean", 2_048.0, 2_049.0),
    (buffers.write_window_mismatch, MISMATCH, "sender.sockets.mss_bytes", 2_048, 2_049),
    (is_on_cpu, BUFFER, "receiver.processors.thread_ratio", 0.7999, 0.8),
    (is_perhaps_idle, QUEUED, "windows.application_limited_ratio", 0.1999, 0.2),
    (application.slow_writer, case(Cause.SLOW_WRITER), "sender.calls.asleep_ratio", 0.0999, 0.1),
    (application.slow_writer, case(Cause.SLOW_WRITER, 1), "windows.application_limited_ratio", 0.1999, 0.2),
    (application.think_time, case(Cause.THINK_TIME), "segments.cycle.think_ratio", 0.0999, 0.1),
    (application.think_time, case(Cause.THINK_TIME), "segments.data_back_packets", 4, 5),
    (application.round_trip, ASKED, "segments.cycle.answer_ratio", 0.0999, 0.1),
    (application.round_trip, ASKED, "windows.rtt_ns_min", 562_499, 562_500),
    (
        application.round_trip,
        changed(ASKED, {"segments.data_back_packets": 9_000}),
        "windows.rtt_ns_min", 199_999, 200_000,
    ),
    (application.round_trip, COUNTED_TRIP, "exchanges.latency_ns", 20.1 * MS, 20.0 * MS),
    (
        application.round_trip,
        changed(COUNTED_TRIP, {"exchanges.latency_ns": 200_000.0}),
        "windows.rtt_ns_min", 199_999, 200_000,
    ),
    (application.round_trip, REPLIED, "windows.application_limited_ratio", 0.499, 0.5),
    (application.slow_reader, case(Cause.SLOW_READER), "receiver.calls.asleep_ratio", 0.0999, 0.1),
    (application.slow_reader, case(Cause.SLOW_READER, 1), "sender.shares.receive_window_buffer", 0.0999, 0.1),
    (application.slow_reader, case(Cause.SLOW_READER, 1), "receiver.processors.thread_ratio", 0.8, 0.799),
    (application.slow_reader, case(Cause.SLOW_READER, 1), "receiver.processors.withheld_ratio", 0.2, 0.199),
    (application.tiny_writes, case(Cause.TINY_WRITES), "sender.calls.bytes_mean", 1_025.0, 1_024.0),
    (application.tiny_reads, case(Cause.READ_SIZE), "receiver.calls.bytes_mean", 1_025.0, 1_024.0),
    (
        application.tiny_reads,
        changed(case(Cause.READ_SIZE), {"receiver.calls.bytes_mean": 100.0}),
        "sender.calls.bytes_mean", 200.0, 200.1,
    ),
    (
        application.huge_reads,
        facts(receiver={"calls.bytes_mean": 4e6, "shares": {"read_call": 0.9}, "processors.thread_ratio": 0.95}),
        "receiver.calls.bytes_mean", (1 << 20) - 1.0, float(1 << 20),
    ),
    (path.bottleneck, LOGGED, "sender.shares.congestion_window", 0.299, 0.3),
    (path.bottleneck, LOGGED, "windows.rtt_ns_median", 11.49 * MS, 11.5 * MS),
    (path.bottleneck, LOGGED, "segments.bottleneck.use_ratio", 0.8499, 0.85),
    (path.bottleneck, QUEUED, "segments.bottleneck.use_ratio", 0.6999, 0.7),
    (path.bottleneck, REGROWN, "segments.queue.losses_full_ratio", 0.6999, 0.7),
    (path.bottleneck, REGROWN, "segments.bottleneck.use_ratio", 0.4999, 0.5),
    (path.bottleneck, REGROWN, "segments.queue.jitter_ratio", 0.501, 0.5),
    (path.drops_when_full, facts(), "segments.queue.marked_ratio", 0.00099, 0.001),
    (path._is_overtaken, OVERTAKEN, "segments.reordering_events", 2, 3),
    (path._is_overtaken, OVERTAKEN, "segments.spurious_ratio", 0.499, 0.5),
    (
        path._is_overtaken,
        changed(OVERTAKEN, {"level": "segments", "segments.losses.ratio": 0.0}),
        "segments.out_of_order_ratio", 0.01, 0.0101,
    ),
    (
        path._is_overtaken,
        changed(OVERTAKEN, {"level": "segments", "segments.losses.ratio": 0.01}),
        "segments.out_of_order_ratio", 0.04, 0.0401,
    ),
    (path._is_always_full, changed(QUEUED, ALWAYS), "segments.queue.full_spread", 0.201, 0.2),
    (path._is_always_full, changed(QUEUED, ALWAYS), "segments.queue.full_spread", None, 0.0),
    (path._is_always_full, changed(QUEUED, ALWAYS), "segments.queue.standing_ratio", 0.799, 0.8),
    (path.policer, POLICED, "segments.policing.lossy_ratio", 0.299, 0.3),
    (path.policer, POLICED, "segments.policing.faster_times", 1.199, 1.2),
    (path.policer, POLICED, "segments.policing.spread", 0.1001, 0.1),
    (path.policer, POLICED, "connections", 17, 16),
    (path.policer, POLICED, "segments.policing.delay_ns", 1e6 + 1, 1e6),
    (
        path.policer,
        changed(POLICED, {"windows.rtt_ns_min": 80 * MS}),
        "segments.policing.delay_ns", 2e6 + 1, 2e6,
    ),
    (path.shared_bottleneck, SHARED, "sender.shares.congestion_window", 0.299, 0.3),
    (path.shared_bottleneck, SHARED, "segments.queue.standing_ratio", 0.299, 0.3),
    (path.shared_bottleneck, SHARED, "segments.queue.jitter_ratio", 0.501, 0.5),
    (path.shared_bottleneck, SHARED, "segments.queue.own_ratio", 0.701, 0.7),
    (path.shared_bottleneck, SHARED, "segments.queue.losses_full_ratio", 0.699, 0.7),
    (path.shared_bottleneck, SHARED, "segments.queue.losses_full_ratio", 0.0, None),
    (path.shared_bottleneck, SHARED, "segments.acks_arrived_ratio", 0.799, 0.8),
    (path.shared_bottleneck, SHARED, "segments.bottleneck.use_ratio", 0.85, 0.849),
    (
        path.shared_bottleneck,
        changed(SHARED, {"segments.bottleneck.use_ratio": 0.75}),
        "segments.bottleneck.steadiness", 0.499, 0.5,
    ),
    (path.shared_bottleneck, ASKING_NEXT_TO_OTHERS, "segments.queue.own_ratio", 0.201, 0.2),
    (path.shared_bottleneck, ASKING_NEXT_TO_OTHERS, "segments.queue.jitter_ratio", 0.501, 0.0),
    (path.shared_bottleneck, ASKING_NEXT_TO_OTHERS, "segments.queue.delay_ns_median", 9.29 * MS, 9.31 * MS),
    (
        path.shared_bottleneck,
        changed(ASKING_NEXT_TO_OTHERS, {"windows.rtt_ns_min": 100 * MS}),
        "segments.queue.delay_ns_median", 29.9 * MS, 30.0 * MS,
    ),
    (
        lambda found: not path._shared_by_counters(found, 0.9).open,  # type: ignore[union-attr]
        SHARED_COUNTED, "segments.queue.full_count", 4, 5,
    ),
    (
        lambda found: not path._shared_by_counters(found, 0.9).open,  # type: ignore[union-attr]
        SHARED_COUNTED, "segments.queue.full_spread", 0.299, 0.3,
    ),
    (
        lambda found: not path._shared_by_counters(found, 0.9).open,  # type: ignore[union-attr]
        SHARED_COUNTED, "segments.queue.jitter_ratio", 0.1, 0.099,
    ),
    (
        lambda found: not path._shared_by_counters(found, 0.9).open,  # type: ignore[union-attr]
        SHARED_COUNTED, "segments.queue.delay_ns_high", 2.99 * MS, 3.0 * MS,
    ),
    (transfers.slow_start, case(Cause.SLOW_START), "sender.shares.slow_start", 0.199, 0.2),
    (transfers.slow_start, case(Cause.SLOW_START), "life_ns", 8_001 * MS, 8_000 * MS),
    (pacing.pacing_rate, case(Cause.PACING_RATE), "segments.pacing.constant_ratio", 0.499, 0.5),
    (pacing.pacing_rate, case(Cause.PACING_RATE, 1), "segments.pacing.constant_ratio", 0.449, 0.45),
    (pacing.pacing_rate, case(Cause.PACING_RATE), "sender.shares.pacing", 0.099, 0.1),
    (pacing.pacing_rate, case(Cause.PACING_RATE), "rate_bps", 299e6, 300e6),
    (pacing.pacing_rate, case(Cause.PACING_RATE), "rate_bps", 651e6, 650e6),
    (losses.small_queue, WAITS, "sender.shares.congestion_window", 0.099, 0.1),
    (losses.small_queue, changed(WAITS, {"segments.losses.random_low": 0.2}), RANDOM_HIGH, 0.801, 0.8),
    (
        losses.small_queue,
        changed(WAITS, {"segments.losses.events": 4, "segments.losses.random_low": 0.3}),
        RANDOM_HIGH, 0.501, 0.5,
    ),
    (
        losses.small_queue,
        changed(WAITS, {RANDOM_HIGH: 0.6, "segments.losses.random_low": 0.2}),
        "segments.losses.events", 4, 5,
    ),
    (
        losses.random_loss,
        changed(RANDOM, {"segments.losses.burst_likelihood_log10": 0.0}),
        "segments.losses.burst_likelihood_log10", 1.01, 1.0,
    ),
    (
        losses.burst_loss,
        changed(RANDOM, {"segments.losses.burst_likelihood_log10": 0.0}),
        "segments.losses.burst_likelihood_log10", -1.01, -1.0,
    ),
    (losses.outage, case(Cause.ACK_PATH, 2), "segments.outage.longest_ns", 100 * MS - 1, 100 * MS),
    (losses.outage, case(Cause.ACK_PATH, 2), "segments.outage.span_ratio", 0.099, 0.1),
    (losses._is_reverse_outage, case(Cause.ACK_PATH, 2), "segments.needless_timeouts", 2, 3),
    (losses._is_reverse_outage, facts(segments={"outage": FAILED}), "segments.acks_arrived_ratio", 0.95, 0.949),
    (losses._is_reverse_outage, facts(segments={"outage": FAILED}), "segments.acks_arrived_ratio", None, 0.0),
    (losses.random_loss, COUNTED, "sender.shares.unknown", 0.299, 0.3),
    (losses.random_loss, COUNTED, "windows.rtt_ns_min", 199_999, 10 * MS),
    (losses.random_loss, COUNTED, "windows.application_limited_ratio", 0.5, 0.499),
    (losses.reordering, OVERTAKEN, "segments.reordering_events", 2, 3),
    (acks.ack_thinning, case(Cause.ACK_THINNING), "segments.acks_arrived_ratio", 0.8, 0.799),
    (acks.ack_thinning, case(Cause.ACK_THINNING), "sender.shares.congestion_window", 0.0999, 0.1),
    (acks.ack_path, case(Cause.ACK_PATH), "sender.shares.congestion_window", 0.0999, 0.1),
    (acks.ack_path, case(Cause.ACK_PATH), "segments.queue.back_delay_ns_median", 3.99 * MS, 4.0 * MS),
    (acks.ack_path, changed(ACKS_LATE, {"windows.rtt_ns_min": 1}), "windows.rtt_ns_min", 199_999, 200_000),
    (
        acks.ack_path,
        changed(case(Cause.ACK_PATH), {"segments.queue.back_delay_ns_median": 0.0, "segments.acks_arrived_ratio": 0.6}),
        "segments.acks_arrived_ratio", 0.55, 0.551,
    ),
    (
        acks.ack_path,
        changed(case(Cause.ACK_PATH), {"segments.queue.back_delay_ns_median": 0.0, "segments.acks_arrived_ratio": 0.6}),
        "segments.acks_arrived_ratio", 0.8, 0.799,
    ),
    (datagrams.path_full, PART_MISSED, "datagrams.taken_count", 991, 990),
    (datagrams.path_loss, PART_MISSED, "datagrams.taken_count", 500, 501),
    (datagrams.socket_loss, changed(PART_MISSED, {"datagrams.taken_count": 900}), "datagrams.dropped_count", 9, 10),
    (cpu.many_connections, case(Cause.MANY_CONNECTIONS), "connections", 31, 32),
    (
        cpu.small_mtu,
        changed(case(Cause.SMALL_MTU), {"segments.segment_bytes_mean": 1_300.0}),
        "sender.sockets.mss_bytes", 1_301, 1_300,
    ),
    (cpu.other_load, case(Cause.OTHER_LOAD), "sender.processors.run_queue_ratio", 0.0999, 0.1),
    (cpu.other_load, case(Cause.OTHER_LOAD), "sender.processors.other_ratio", 0.1999, 0.2),
    (cpu.computing_sender, case(Cause.SENDER_CPU), "sender.calls.computing_ratio", 0.1499, 0.15),
    (cpu.shared_cpu, case(Cause.SHARED_CPU), "receiver.processors.thread_ratio", 0.1499, 0.151),
    (cpu.computing_sender, COMPUTING, "sender.processors.own_user_ratio", 0.349, 0.35),
    (cpu.computing_sender, UNSEEN, "sender.processors.thread_ratio", 0.499, 0.5),
    (cpu.other_load, case(Cause.OTHER_LOAD), "sender.shares.congestion_window", 0.901, 0.899),
    (cpu.small_mtu, SMALL, "sender.calls.bytes_mean", 523.0, 524.0),
    (cpu.small_mtu, SMALL, "segments.segment_bytes_mean", 366.7, 366.9),
    (cpu.small_mtu, SINGLE, "sender.sockets.mss_bytes", 4_001, 4_000),
    (cpu.small_mtu, SINGLE, "segments.sent_segments_per_packet", 1.5, 1.49),
    (cpu.offloads_off, OFF, "segments.sent_segments_per_packet", 1.5, 1.49),
    (cpu.offloads_off, OFF, "sender.calls.bytes_mean", 2_895.0, 2_896.0),
    (cpu.offloads_off, OFF, "windows.flight_bytes_median", 5_791, 5_792),
    (cpu._is_split_late, facts(segments={"data_packets": 100}), "sender.devices.sent_packets", 299, 300),
    # Packets of two segments and more were not taken apart.
    (
        cpu._is_split_late,
        changed(
            facts(segments={"data_packets": 100}),
            {"sender.sockets.mss_bytes": 1448, "sender.devices.sent_packets": 300},
        ),
        "sender.devices.sent_bytes",
        868_800,
        868_799,
    ),
    (
        cpu.receive_offload_off,
        case(Cause.OFFLOADS_OFF, 1),
        "segments.taken_segments_per_packet", 1.49, 1.5,
    ),
    (cpu.receiver_loss, case(Cause.RECEIVER_LOSS), "sender.shares.rto_wait", 0.099, 0.1),
    (transports.own_random_loss, changed(OWN, {"own.sent_packets": 1_000}), "own.lost_packets", 0, 1),
    (transports.own_random_loss, OWN, "own.rtt_ns_min", 199_999.0, 200_000.0),
    (transports.own_bottleneck, FULL, "own.bottleneck.use_ratio", 0.8499, 0.85),
    (transports.own_bottleneck, FULL, "own.bottleneck.use_ratio", None, 0.85),
    (transports.own_bottleneck, FULL, "own.rtt_ns_median", 22.99 * MS, 23.01 * MS),
    (transports.own_bottleneck, changed(FULL, {"transport": "udt"}), "own.rtt_ns_median", 32.99 * MS, 33.01 * MS),
    (transports.own_window, WINDOW, "own.flight_bytes", 79_999.0, 80_000.0),
    (transports.own_window, WINDOW, "own.cwnd_bytes", 99_999.0, 100_000.0),
    (transports.own_flow_control, GREEDY, "own.flight_bytes", 24_001.0, 24_000.0),
    (transports.own_flow_control, GREEDY, "own.lost_packets", 2, 1),
    (repairs.repairs, HELD_UP, "exchanges.per_s", 274.3, 274.1),
    (repairs.repairs, HELD_UP, "windows.flight_bytes_max", 14_481, 14_480),
    (repairs.repairs, HELD_UP, "sender.limits.counts.TcpRetransSegs", 2, 3),
    (repairs.repairs, case(Cause.RANDOM_LOSS, 2), "receiver.sockets.payload_bytes", 49_401, 49_400),
    (gain._of_deliveries, DELIVERED, "windows.rtt_ns_median", 12.99 * MS, 13.0 * MS),
    (gain._of_deliveries, DELIVERED, "windows.rtt_ns_median", None, 13.0 * MS),
    (gain._of_deliveries, DELIVERED, "windows.rtt_ns_min", 199_999, 200_000),
    (gain._of_deliveries, DELIVERED, "windows.delivered_bps_max", 116e6, 114e6),
    (gain._of_deliveries, changed(DELIVERED, {"windows.delivered_bps_max": 200e6}), "rate_bps", 69e6, 70e6),
    (gain._of_stated_line, changed(DELIVERED, {"link_bps": 50e6}), "rate_bps", 50.1e6, 50e6),
    (alternates, ALTERNATING, "segments.data_back_packets", 4, 5),
    (alternates, ALTERNATING, "receiver.processors.thread_ratio", 0.299, 0.3),
    (gain._is_paced, PACED, "segments.pacing.constant_ratio", 0.499, 0.5),
    (gain._is_paced, PACED, "segments.bottleneck.bps", 130e6, 129e6),
    (host_limits.cpu_quota, case(Cause.CPU_QUOTA), "sender.limits.quota.stopped_ratio", 0.099, 0.1),
    (host_limits.pause, case(Cause.PAUSE), "receiver.processors.softirq_ratio", 0.8, 0.799),
    (is_stopped_by_a_quota, case(Cause.CPU_QUOTA, 1), "sender.processors.steal_ratio", 0.1, 0.099),
    (host_limits.memory_limit, case(Cause.MEMORY_LIMIT), "sender.shares.receive_window_buffer", 0.099, 0.1),
    (host_limits.memory_limit, case(Cause.MEMORY_LIMIT, 1), "windows.flight_bytes_median", 78_643, 78_644),
    (host_limits.memory_limit, case(Cause.MEMORY_LIMIT, 1), "windows.flight_bytes_median", 288_359, 288_358),
    (host_limits.memory_limit, case(Cause.MEMORY_LIMIT, 1), "windows.announced_bytes_max", 399_999, 400_000),
    (host_limits.memory_limit, case(Cause.MEMORY_LIMIT, 1), "windows.application_limited_ratio", 0.499, 0.5),
    (lacks_memory, MEMORY, "receiver.limits.memory.stalled_ratio", 0.099, 0.1),
    (
        lacks_memory,
        changed(MEMORY, {"receiver.limits.counts.TcpExtTCPRcvQDrop": 1}),
        "receiver.sockets.buffer_bytes", 131_071, 131_072,
    ),
    (
        lacks_memory,
        changed(MEMORY, {"receiver.limits.memory.tcp_limit_bytes": 199_999, "receiver.sockets.buffer_bytes": 200_000}),
        "receiver.limits.counts.TcpExtPruneCalled", 9, 10,
    ),
    (
        lacks_memory,
        changed(MEMORY, {"receiver.limits.counts.TcpExtPruneCalled": 10, "receiver.sockets.buffer_bytes": 200_000}),
        "receiver.limits.memory.tcp_limit_bytes", 200_000, 199_999,
    ),
    (host_limits.local_queue, case(Cause.LOCAL_QUEUE), "rate_bps", 172.1e6, 172.2e6),
    (host_limits.local_queue, case(Cause.LOCAL_QUEUE, 1), "sender.shares.loss_recovery", 0.099, 0.1),
    (host_limits.window_scaling, case(Cause.WINDOW_SCALING), "sender.shares.receive_window_buffer", 0.0499, 0.05),
    (host_limits.is_unscaled, case(Cause.WINDOW_SCALING), "receiver.sockets.buffer_bytes", 131_069, 131_070),
    (host_limits.is_unscaled, case(Cause.WINDOW_SCALING), "windows.announced_bytes_max", 65_536, 65_535),
    (packets.costly_packets, COSTLY_PACKETS, "receiver.processors.softirq_ratio", 0.599, 0.6),
    (packets.costly_packets, COSTLY_PACKETS, "receiver.limits.counts.softnet_processed", 180_001, 180_000),
    (packets.costly_packets, COSTLY_WRITES, "segments.data_packets", 60_001, 60_000),
    (packets.costly_packets, COSTLY_WRITES, "segments.data_segments", 120_001, 120_000),
    (packets.costly_packets, COSTLY_WRITES, "sender.calls.bytes_mean", 8_191.0, 8_192.0),
    (packets.costly_packets, COSTLY_WRITES, "sender.calls.computing_ratio", 0.2, 0.199),
    (
        packets.costly_packets,
        changed(COSTLY_WRITES, {"segments.data_packets": 30_000}),
        "sender.processors.thread_ratio", 0.599, 0.6,
    ),
    (cpu.quick_ack, case(Cause.QUICK_ACK), "segments.ack_reasons.quick", 0.2499, 0.25),
    (cpu.quick_ack, case(Cause.QUICK_ACK), "segments.acks_per_segment", 0.0999, 0.1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "speaks", "name", "silent_at", "speaks_at"),
    LIMITS,
    ids=[f"{rule.__name__} {name} {last}" for rule, _, name, last, _ in LIMITS],
)
def test_limits(rule: Holds, speaks: Facts, name: str, silent_at: object, speaks_at: object) -> None:
    assert not rule(changed(speaks, {name: silent_at}))
    assert rule(changed(speaks, {name: speaks_at}))


@pytest.mark.parametrize(
    ("cause", "lost", "certainty", "counts_of_stream", "counts_of_lost_datagrams"),
    [
        (Cause.RECEIVER_CPU, 0.25, 0.48, True, True),
        (Cause.RECEIVER_CPU, 0.24, 0.49, False, False),
        (Cause.SENDER_CPU, 0.9, 0.9, True, False),
    ],
)
def test_a_finding_counts_from_a_strength_on_and_not_of_a_sender_whose_datagrams_are_lost(
    cause: Cause, lost: float, certainty: float, *, counts_of_stream: bool, counts_of_lost_datagrams: bool
) -> None:
    """0.12 = 0.25 × 0.48 is enough."""
    finding = Finding(cause, lost, certainty, ())
    assert _counts(finding, facts()) is counts_of_stream
    assert _counts(finding, facts(transport="udp", datagrams=FLOOD)) is counts_of_lost_datagrams


@pytest.mark.parametrize(
    ("busy", "latency_ms", "expected"),
    [(None, None, 2.0), (0.5, None, 2.0), (0.8, None, 1.25), (0.8, 35.0, 8 / 7), (0.3, 30.0, 4 / 3), (0.3, 10.0, 2.0)],
)
def test_twice_the_rate_ends_at_a_busy_cpu_or_at_what_may_be_under_way(
    busy: float | None, latency_ms: float | None, expected: float
) -> None:
    """4 transactions may be under way at once; with 100 a second, 35 ms each, 3.5 are."""
    exchanges = None if latency_ms is None else ExchangeFacts(100, 100.0, 2.0, latency_ms * MS)
    found = facts({"processors.thread_ratio": busy}, asked=RequestedLoad(slots=4), exchanges=exchanges)
    assert gain.of_twice(found).ratio == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cause", "values", "expected"),
    [
        (Cause.SLOW_READER, {"waiting_ratio": 0.3}, 0.3),
        (Cause.SLOW_READER, {"waiting_ratio": 0.9}, 0.8),
        (Cause.SLOW_READER, {}, 0.8),
        (Cause.SLOW_WRITER, {"waiting_ratio": 0.3}, 0.8),
    ],
)
def test_a_late_reader_has_only_the_time_that_its_sender_waits(
    cause: Cause, values: dict[str, float], expected: float
) -> None:
    assert _own_time(Finding(cause, 0.8, 0.9, (), values=values)) == expected
