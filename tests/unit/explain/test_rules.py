"""Each rule with facts from which its cause speaks, and the same with the one thing changed that speaks against it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from importlib import import_module
from typing import Any

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.cost_facts import ClassFacts, CostFacts
from whyperf.explain.explanation import Losses, Pattern, Spell, Verdict
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.host_limits import HostLimits, Interruption, MemoryLimit, Queue, Quota
from whyperf.explain.path_facts import LostRun, OutageFacts, QueueFacts, SegmentFacts, WindowFacts
from whyperf.explain.rules import RULES, judge
from whyperf.explain.rules.finding import MIN_CERTAINTY, Finding
from whyperf.explain.rules.judge import _counts
from whyperf.explain.rules.limits import _own_time
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import DatagramFacts, ExchangeFacts, Facts, RequestedLoad
from whyperf.profile import Factors

MS = 1_000_000


def with_values(found: Any, values: Mapping[str, Any]) -> Any:
    """`found` with values by their paths, such as "calls.count"."""
    for path, value in values.items():
        name, _, rest = path.partition(".")
        found = replace(found, **{name: with_values(getattr(found, name), {rest: value}) if rest else value})
    return found


def facts(
    sender: dict[str, Any] | None = None,
    receiver: dict[str, Any] | None = None,
    windows: dict[str, Any] | None = None,
    segments: dict[str, Any] | None = None,
    **whole: Any,
) -> Facts:
    """A second of one connection; what is not said is not known."""
    return Facts(
        trial="log01-c0001",
        life_ns=1_000 * MS,
        sender=with_values(HostFacts(host="near"), sender or {}),
        receiver=with_values(HostFacts(host="far"), receiver or {}),
        windows=WindowFacts(**(windows or {})),
        segments=with_values(SegmentFacts(), segments or {}),
        **whole,
    )


counted = partial(facts, level="counters")
"""The same without a segment log."""


def shares(**states: float) -> dict[str, Any]:
    """Of a side: the part of its time in each state."""
    return {"shares": states}


def cpu(**ratios: float | None) -> dict[str, Any]:
    """Of a side: `thread` is its `processors.thread_ratio`, and so on."""
    return {f"processors.{name}_ratio": ratio for name, ratio in ratios.items()}


def calls(size: float | None = None, *, count: int | None = None, **ratios: float) -> dict[str, Any]:
    """Of a side: mean bytes of a call, calls, and its ratios: `asleep` is `calls.asleep_ratio`."""
    named = {"bytes_mean": size, "count": count} | {f"{name}_ratio": ratio for name, ratio in ratios.items()}
    return {f"calls.{name}": value for name, value in named.items() if value is not None}


def link(bps: float | None, *, steadiness: float | None, use: float | None) -> dict[str, Any]:
    """Of segments: the rate of the bottleneck, how steady it is, and how much of it is used."""
    return {"bottleneck.bps": bps, "bottleneck.steadiness": steadiness, "bottleneck.use_ratio": use}


def limits(**found: Any) -> dict[str, Any]:
    """Of a side: what its host limits."""
    return {"limits": HostLimits(**found)}


Edit = Callable[[Facts], Facts]


def at_sender(changed: Mapping[str, Any]) -> Edit:
    return lambda found: replace(found, sender=with_values(found.sender, changed))


def at_receiver(changed: Mapping[str, Any]) -> Edit:
    return lambda found: replace(found, receiver=with_values(found.receiver, changed))


def of_asked(**changed: Any) -> Edit:
    return lambda found: replace(found, asked=replace(found.asked, **changed))


def of_segments(changed: Mapping[str, Any]) -> Edit:
    return lambda found: replace(found, segments=with_values(found.segments, changed))


def of_windows(**changed: Any) -> Edit:
    return lambda found: replace(found, windows=replace(found.windows, **changed))


def of_whole(**changed: Any) -> Edit:
    return lambda found: replace(found, **changed)


def all_of(*edits: Edit) -> Edit:
    """One edit after the other."""
    return lambda found: reduce(lambda edited, edit: edit(edited), edits, found)


@dataclass(frozen=True)
class Case:
    """What speaks for a cause, and the change after which it may not be named."""

    cause: Cause
    speaks: Facts
    against: Edit


def cases(cause: Cause, speaks: Facts, *against: Edit) -> Iterator[Case]:
    """What speaks for a cause, and several changes, each of which speaks against it alone."""
    return (Case(cause, speaks, edit) for edit in against)


MISMATCH = facts(
    shares(receive_window_buffer=0.8) | calls(7168.0) | {"sockets.mss_bytes": 4096},
    windows={"announced_bytes_max": 8192},
)
LOST = link(100e6, steadiness=0.6, use=0.3) | {
    "losses.ratio": 0.01, "retransmitted_ratio": 0.01,
    "losses.events": 20, "losses.runs": 20, "losses.segments_per_run": 1.0,
}  # fmt: skip
OF_QUEUE = {"losses.random_ratio": 0.1, "losses.random_low": 0.01, "losses.random_high": 0.3}
RANDOM_LOSSES = {"losses.random_ratio": 0.9, "losses.random_low": 0.7, "losses.random_high": 0.99}
OF_EITHER = {"losses.random_ratio": 0.5, "losses.random_low": 0.05, "losses.random_high": 0.95}
SINGLE = {"losses.segments_per_run": 1.1, "losses.burst_likelihood_log10": -3.0}
UNSURE_SINGLE, UNSURE_BURSTS = ({"losses.burst_likelihood_log10": likelihood} for likelihood in (-0.5, 0.5))
BURSTS = {"losses.segments_per_run": 8.0, "losses.burst_likelihood_log10": 30.0}
ON_CPU = cpu(thread=0.95)
ON_ONE_CPU = cpu(thread=0.45, run_queue=0.5) | {"processors.cpus": frozenset({0})}


def costs(samples: int = 4_000, **cycles: float) -> CostFacts:
    """What the load's threads of a side spend on classes, in cycles per KByte; each has a function of its name."""
    classes = [ClassFacts(name, value, in_threads=value, functions=(f"{name}_run",)) for name, value in cycles.items()]
    return CostFacts(classes=tuple(sorted(classes, key=lambda found: -found.cycles)), samples=samples)


PATH = {"rtt_ns_min": 10 * MS, "rtt_ns_median": 12 * MS, "cwnd_segments_median": 30}
BEHIND_QUEUE = PATH | {"rtt_ns_median": 19 * MS}
QUEUED = counted(
    shares(unknown=0.95),
    windows=BEHIND_QUEUE,
    segments=link(100e6, steadiness=0.95, use=0.99) | {
        "data_segments": 5_000, "out_of_order_ratio": 0.001, "retransmitted_ratio": 0.01, "spurious_ratio": 0.0,
        "reordering_events": 0,
    },
)  # fmt: skip
"""A full line without a log: a constant rate while a queue stood, and losses where the queue overflows."""
AS_ASKED = DatagramFacts(
    sent_count=1_000, taken_count=1_000, dropped_count=0, taken_bytes=1_472_000, span_ns=1_000 * MS, asked_bps=11.8e6
)
FLOOD = DatagramFacts(sent_count=300, taken_count=100, dropped_count=200, taken_bytes=6400, span_ns=MS)

QUOTA = Quota("/docker/4f", "cgroup v2", cpus=0.3, throttled_ratio=0.95, stopped_ratio=0.68)
STOPPED = Interruption(
    "paused", at_ns=1_900 * MS, longest_ns=700 * MS, length_ns=700 * MS, span_ratio=0.25, waited_ratio=0.0,
    other_ratio=0.0, rate_ratio=0.1,
)  # fmt: skip
HOGGED = replace(STOPPED, kind="withheld", waited_ratio=0.5, other_ratio=0.48, span_ratio=0.3, rate_ratio=0.45)
THROTTLED = replace(HOGGED, waited_ratio=0.85, other_ratio=0.03, rate_ratio=0.2)
SOCKETS_FULL = MemoryLimit("/docker/4f", "cgroup v1", limit_bytes=1 << 20, hits=0, tcp_hits=300)
SMALL_GROUP = replace(SOCKETS_FULL, tcp_hits=0, tcp_limit_bytes=262_144)
COSTLY = HostLimits(counts={"softnet_processed": 50_000}, span_ns=2_000 * MS)
FAILED = OutageFacts(longest_ns=600 * MS, length_ns=600 * MS, span_ratio=0.35, from_ns=400 * MS)
SHAPER = Queue("eth0", "tbf", sent_packets=10_000, overlimits=9_000, rate_bps=200e6, limit_bytes=65_536)
DROPPING = Queue("eth0", "pfifo_fast", sent_packets=10_000, dropped_packets=300)
GREEDY = RequestedLoad(is_greedy=True)
OPEN_LOOP = RequestedLoad(intended_count=152, ended_count=140, span_ns=2_000 * MS, slots=4)
ANSWERED = ExchangeFacts(count=140, per_s=70.0, calls_each=2.0, latency_ns=10.2 * MS)

REPLIED = counted(
    shares(unknown=1.0) | calls(count=250),
    windows={"rtt_ns_min": 3 * MS, "rtt_ns_median": 3.5 * MS, "application_limited_ratio": 1.0},
    segments={"data_back_packets": 240},
)
"""A reply to each write, one at a time."""
HELD_UP = counted(
    shares(unknown=0.97) | limits(counts={"TcpRetransSegs": 6}) | {"sockets.mss_bytes": 1448},
    windows={"rtt_ns_min": 3 * MS, "rtt_ns_median": 3.1 * MS, "flight_bytes_max": 1448},
    asked=RequestedLoad(slots=1),
    exchanges=ExchangeFacts(count=201, per_s=125.0, calls_each=2.0, latency_ns=3.1 * MS),
)
"""Transactions one after the other, of which a few wait for what is sent again."""
DATAGRAMS_HELD_UP = all_of(
    of_whole(transport="udp"),
    at_sender(calls(200.0) | {"sockets.payload_bytes": 50_000}),
    at_receiver({"sockets.payload_bytes": 48_800}),
)(HELD_UP)
ASKING_NEXT_TO_OTHERS = facts(
    shares(not_writing=1.0),
    windows={"rtt_ns_min": 25 * MS, "rtt_ns_median": 55 * MS},
    segments={
        "losses.ratio": 0.0, "queue.standing_ratio": 0.9, "queue.own_ratio": 0.001, "queue.jitter_ratio": 0.17,
        "queue.delay_ns_median": 37.0 * MS,
    },
    exchanges=ExchangeFacts(count=26, per_s=16.0, calls_each=3.6, latency_ns=62.0 * MS),
)  # fmt: skip
"""Transactions that wait in a queue of others."""
ACKS_LATE = facts(
    shares(congestion_window=0.9), segments={"acks_arrived_ratio": 0.97, "queue.back_delay_ns_median": 15.0 * MS}
)
SHARED = facts(
    shares(congestion_window=0.9),
    windows=BEHIND_QUEUE,
    segments=LOST | RANDOM_LOSSES | BURSTS | {
        "queue.standing_ratio": 0.97, "queue.delay_ns_median": 9.0 * MS, "queue.own_ratio": 0.05,
        "queue.jitter_ratio": 0.04, "queue.losses_full_ratio": 1.0,
    },
)  # fmt: skip
"""Most of what stands before the line is not the own."""
SHARED_COUNTED = counted(
    shares(unknown=0.95),
    windows=BEHIND_QUEUE,
    segments={
        "queue.standing_ratio": 0.6, "queue.jitter_ratio": 0.05, "queue.full_bps": 40e6, "queue.full_spread": 0.6,
        "queue.full_count": 9, "queue.delay_ns_high": 12.0 * MS, "queue.losses_full_ratio": 0.95,
        "retransmitted_ratio": 0.01,
    },
)  # fmt: skip
REGROWN = counted(
    shares(unknown=0.95),
    windows=PATH,
    segments=link(100e6, steadiness=1.0, use=0.55) | {
        "bottleneck.spread": 0.02, "bottleneck.is_seen_when_full": True, "queue.standing_ratio": 0.05,
        "queue.jitter_ratio": 0.05, "queue.losses_full_ratio": 1.0, "data_segments": 5_000, "retransmitted_ratio": 0.02,
    },
)  # fmt: skip
"""One overshoot, after which the window grows back."""
POLICED = counted(
    shares(unknown=0.95),
    windows=PATH,
    segments={
        "retransmitted_ratio": 0.1, "data_segments": 5_000, "policing.bps": 24e6, "policing.spread": 0.05,
        "policing.lossy_ratio": 0.9, "policing.delay_ns": 0.1 * MS, "policing.faster_times": 3.0,
    },
)  # fmt: skip
CLOSING = {"announced_bytes_max": 3_000_000, "announced_bytes_median": 0, "rtt_ns_min": MS // 20}
"""Windows between neighbors that are closed half of the time."""
SINGLE_PACKETS = {"sent_segments_per_packet": 1.0, "taken_segments_per_packet": 1.0}

CLASS_CAUSES = (
    (Cause.PACKET_FILTERS, "filter_rules"),
    (Cause.OTHER_BPF, "other_bpf"),
    (Cause.CALL_CHECKS, "security_modules"),
    (Cause.SOFTWARE_CHECKSUMS, "checksums"),
    (Cause.MEMORY_PRESSURE, "memory_pressure"),
    (Cause.LOCK_CONTENTION, "contention"),
    (Cause.MITIGATIONS, "mitigations"),
)


def of_cost(cause: Cause, name: str) -> Case:
    """A receiver whose CPU spends 40 % of its time on a class, or next to nothing."""
    return Case(
        cause,
        counted(receiver=ON_CPU | calls(32_768.0) | {"cost": costs(**{"copy": 600, name: 400})}),
        at_receiver({"cost": costs(**{"copy": 600, name: 50})}),
    )


CASES = (
    Case(Cause.RECEIVE_BUFFER,
         facts(shares(receive_window_buffer=0.9), windows={"announced_bytes_max": 16_384}),
         at_sender(shares(receive_window_reader=0.9))),
    Case(Cause.SEND_BUFFER,
         facts(shares(send_buffer=0.8) | {"sockets.buffer_bytes": 16_384}), at_sender(shares(congestion_window=0.8))),
    Case(Cause.WRITE_WINDOW_MISMATCH, MISMATCH, at_sender(calls(1024.0))),
    Case(Cause.DELAYED_ACK,
         facts(shares(send_buffer=0.9), segments={"held_ratio": 0.9, "ack_reasons": {"delayed_timer": 0.9}}),
         of_segments({"held_ratio": 0.0, "ack_reasons": {"read_call": 0.9}})),
    Case(Cause.DELAYED_ACK,
         facts(shares(send_buffer=0.9), shares(delayed_ack=0.9), segments={"ack_reasons": {"delayed_timer": 0.5}}),
         of_segments({"ack_reasons": {"read_call": 0.9}})),
    Case(Cause.NAGLE_DELAYED_ACK,
         facts(shares(nagle=0.9), segments={"ack_reasons": {"delayed_timer": 0.5}}),
         at_sender(shares(not_writing=0.1))),
    Case(Cause.SLOW_WRITER,
         facts(shares(not_writing=0.9) | calls(asleep=0.9, computing=0.0)),
         at_sender(calls(asleep=0.0, computing=0.9))),
    Case(Cause.THINK_TIME,
         facts(shares(not_writing=0.9) | calls(asleep=0.8, computing=0.0), segments={
             "data_back_packets": 500, "data_packets": 500, "cycle.think_ratio": 0.8, "cycle.answer_ratio": 0.1}),
         of_segments({"cycle.think_ratio": 0.01})),
    Case(Cause.ROUND_TRIP,
         facts(shares(not_writing=0.9), windows={"rtt_ns_min": 2 * MS}, segments={
             "data_back_packets": 400, "data_packets": 400, "cycle.think_ratio": 0.01, "cycle.answer_ratio": 0.9}),
         of_segments({"data_back_packets": 1})),
    *cases(Cause.ROUND_TRIP, REPLIED,
           # What comes back now and then is no reply to a write.
           of_segments({"data_back_packets": 100}),
           # Of such long waits the round trip is a small part.
           of_whole(life_ns=8_000 * MS)),
    *cases(Cause.RANDOM_LOSS, HELD_UP,
           # The usual transaction takes all of the time.
           lambda found: with_values(found, {"exchanges.per_s": 310.0}),
           # Nothing was sent again.
           at_sender(limits())),
    # All datagrams arrived.
    Case(Cause.RANDOM_LOSS, DATAGRAMS_HELD_UP, at_receiver({"sockets.payload_bytes": 50_000})),
    Case(Cause.SLOW_READER,
         facts(shares(receive_window_reader=0.5, zero_window=0.4),
               shares(not_reading=0.9) | calls(asleep=0.9, computing=0.0)),
         at_receiver(calls(asleep=0.0, computing=0.9))),
    Case(Cause.TINY_WRITES,
         facts(shares(write_call=0.9) | calls(64.0, count=500_000) | cpu(thread=0.99)), at_sender(calls(131_072.0))),
    Case(Cause.READ_SIZE,
         facts(calls(131_072.0), shares(read_call=0.9) | calls(64.0, count=500_000) | cpu(thread=0.99)),
         at_sender(calls(64.0))),
    Case(Cause.BOTTLENECK,
         facts(shares(congestion_window=0.95), windows={"rtt_ns_min": 10 * MS, "rtt_ns_median": 18 * MS},
               segments=link(100e6, steadiness=0.8, use=0.97)),
         of_segments({"bottleneck.use_ratio": 0.3})),
    Case(Cause.SMALL_QUEUE,
         facts(shares(congestion_window=0.9), segments=LOST | OF_QUEUE), of_segments(RANDOM_LOSSES)),
    Case(Cause.RANDOM_LOSS,
         facts(shares(congestion_window=0.9), segments=LOST | RANDOM_LOSSES | SINGLE), of_segments(BURSTS)),
    Case(Cause.BURST_LOSS,
         facts(shares(loss_recovery=0.9), segments=LOST | RANDOM_LOSSES | BURSTS), of_segments(SINGLE)),
    Case(Cause.REORDERING,
         facts(shares(congestion_window=0.9), segments={
             "out_of_order_ratio": 0.2, "losses.ratio": 0.0, "spurious_ratio": 1.0, "retransmitted_ratio": 0.01}),
         of_segments({"out_of_order_ratio": 0.01, "losses.ratio": 0.01})),
    Case(Cause.ACK_THINNING,
         facts(shares(congestion_window=0.9), segments={"acks_arrived_ratio": 0.02}),
         of_segments({"acks_arrived_ratio": 0.99})),
    Case(Cause.ACK_PATH,
         of_windows(rtt_ns_min=20 * MS)(ACKS_LATE), of_segments({"queue.back_delay_ns_median": 0.1 * MS})),
    *cases(Cause.SHARED_BOTTLENECK, SHARED,
           # Its own segments fill the queue: an own queue that is too small.
           of_segments({"queue.own_ratio": 0.95}),
           # Round trips that leap are no queue.
           of_segments({"queue.jitter_ratio": 0.8}),
           # Of a rate that is not sure, so much may be all.
           of_segments({"bottleneck.steadiness": 0.35, "bottleneck.use_ratio": 0.8}),
           # What is lost at any delay no queue drops.
           of_segments({"queue.losses_full_ratio": 0.5})),
    *cases(Cause.SHARED_BOTTLENECK, SHARED_COUNTED,
           of_segments({"queue.full_spread": 0.02}),
           # The queue is one of ACKs.
           of_segments({"queue.is_of_acks": True})),
    Case(Cause.ACK_PATH,
         of_segments({"queue.is_of_acks": True, "queue.back_delay_ns_median": 30.0 * MS, "retransmitted_ratio": 0.0})(
             SHARED_COUNTED),
         of_segments({"queue.is_of_acks": False})),
    *cases(Cause.POLICER, POLICED,
           # Rates of random loss vary; then it is one of the reasons that losses may have.
           all_of(of_segments({"policing.spread": 0.8}), of_whole(level="segments")),
           # Before a link of this rate, a queue stands.
           of_segments({"policing.delay_ns": 8.0 * MS}),
           # Nothing shows that the path carries more.
           of_segments({"policing.faster_times": 1.05})),
    # Losses at any length of the queue are the path's.
    Case(Cause.BOTTLENECK, REGROWN, of_segments({"queue.losses_full_ratio": 0.2})),
    Case(Cause.SLOW_START,
         facts(shares(slow_start=0.8), windows={"rtt_ns_min": 200 * MS}), of_whole(life_ns=100_000 * MS)),
    Case(Cause.PACING_RATE,
         facts(shares(pacing=0.95), segments={"pacing.bps": 500e6, "pacing.constant_ratio": 1.0}, rate_bps=490e6),
         of_segments({"pacing.constant_ratio": 0.01})),
    Case(Cause.SENDER_CPU,
         facts(shares(not_writing=0.9) | calls(asleep=0.0, computing=0.9)), at_sender(calls(computing=0.01))),
    Case(Cause.RECEIVER_CPU,
         facts(shares(receive_window_reader=0.8), shares(not_reading=0.9) | calls(asleep=0.0, computing=0.9)),
         at_receiver(calls(computing=0.01))),
    Case(Cause.SHARED_CPU,
         facts(ON_ONE_CPU, ON_ONE_CPU, one_machine=True),
         at_receiver({"processors.cpus": frozenset({1})})),
    Case(Cause.OTHER_LOAD,
         facts(cpu(run_queue=0.5, other=0.5) | {"processors.cpus": frozenset({0})}), at_sender(cpu(run_queue=0.01))),
    Case(Cause.MANY_CONNECTIONS, facts(ON_CPU, connections=400), of_whole(connections=4)),
    Case(Cause.SMALL_MTU,
         facts(ON_CPU | {"sockets.mss_bytes": 524}, segments={"segment_bytes_mean": 520.0}),
         at_sender({"sockets.mss_bytes": 8948})),
    Case(Cause.OFFLOADS_OFF,
         facts(ON_CPU | {"sockets.mss_bytes": 1448} | calls(131_072.0), segments=SINGLE_PACKETS),
         of_segments({"sent_segments_per_packet": 40.0, "taken_segments_per_packet": 40.0})),
    Case(Cause.OFFLOADS_OFF,
         facts(ON_CPU, {"devices.receive_offload": False}), at_receiver({"devices.receive_offload": True})),
    Case(Cause.QUICK_ACK,
         facts(ON_CPU, segments={"acks_per_segment": 1.0, "ack_reasons": {"quick": 0.98}}),
         of_segments({"ack_reasons": {"second_segment": 0.98}})),
    Case(Cause.RECEIVER_LOSS,
         facts(shares(rto_wait=0.9), {"devices.dropped_packets": 100},
               segments={"data_packets": 5000, "retransmitted_ratio": 0.02}),
         at_receiver({"devices.dropped_packets": 0})),
    Case(Cause.RECEIVER_LOSS,
         facts(transport="udp", datagrams=FLOOD),
         of_whole(datagrams=replace(FLOOD, dropped_count=0, taken_count=300))),
    Case(Cause.BOTTLENECK, QUEUED, at_sender(ON_CPU)),
    # What was sent again had been lost, so the reordering cost nothing.
    Case(Cause.REORDERING,
         counted(shares(unknown=0.9), windows=PATH, segments={
             "out_of_order_ratio": 0.05, "retransmitted_ratio": 0.02, "data_segments": 5_000, "spurious_ratio": 1.0,
             "reordering_events": 40}),
         of_segments({"spurious_ratio": 0.0})),
    Case(Cause.PACING_RATE,
         counted(shares(unknown=0.9), segments={"pacing.bps": 20e6, "pacing.constant_ratio": 1.0}, rate_bps=19e6),
         of_segments({"pacing.constant_ratio": 0.4})),
    Case(Cause.SLOW_WRITER,
         counted(shares(unknown=0.95, not_writing=0.05), windows=PATH | {"application_limited_ratio": 0.9},
                 segments={"retransmitted_ratio": 0.01, "spurious_ratio": 0.0, "data_segments": 5_000}),
         of_windows(application_limited_ratio=0.1)),
    Case(Cause.ASKED_RATE,
         counted(transport="udp", datagrams=AS_ASKED),
         of_whole(datagrams=replace(AS_ASKED, asked_bps=2 * AS_ASKED.sent_bps))),
    Case(Cause.ASKED_RATE,
         facts(shares(not_writing=0.9), goodput_bps=49.9e6, asked=RequestedLoad(bps=50e6)),
         of_whole(asked=RequestedLoad(bps=60e6))),
    Case(Cause.CONNECTION_SETUP,
         counted(windows=PATH, exchanges=replace(ANSWERED, latency_ns=20.3 * MS, connect_ns=10.1 * MS)),
         of_whole(exchanges=ANSWERED)),
    Case(Cause.CONNECTION_SETUP,
         counted(windows=PATH, exchanges=replace(ANSWERED, latency_ns=50.3 * MS, connect_ns=10.1 * MS)),
         at_sender(ON_CPU)),
    Case(Cause.ASKED_RATE,
         counted(windows=PATH, asked=OPEN_LOOP, exchanges=ANSWERED),
         of_whole(asked=replace(OPEN_LOOP, ended_count=100))),
    Case(Cause.CPU_QUOTA,
         counted(limits(quota=QUOTA) | shares(not_writing=0.7)),
         at_sender({"limits.quota": replace(QUOTA, stopped_ratio=0.02)})),
    *cases(Cause.CPU_QUOTA, counted(limits(interruptions=(THROTTLED,))),
           # Somebody else had the CPU.
           at_sender({"limits.interruptions": (replace(THROTTLED, other_ratio=0.5),)}),
           at_sender(cpu(steal=0.4))),
    *cases(Cause.PAUSE, counted(receiver=limits(interruptions=(STOPPED,))),
           # Interrupts have the CPU.
           at_receiver(cpu(softirq=0.95)),
           at_receiver({"limits.interruptions": (replace(STOPPED, rate_ratio=0.95),)})),
    Case(Cause.OTHER_LOAD,
         counted(limits(interruptions=(HOGGED,)) | ON_CPU),
         at_sender({"limits.interruptions": (replace(HOGGED, rate_ratio=0.95),)})),
    Case(Cause.MEMORY_LIMIT,
         facts(shares(receive_window_buffer=0.8),
               limits(memory=SOCKETS_FULL, counts={"TcpExtTCPRcvQDrop": 12}) | {"sockets.buffer_bytes": 4096},
               windows=PATH),
         at_receiver({"limits.memory": replace(SOCKETS_FULL, hits=900, tcp_hits=0)})),
    Case(Cause.LOCAL_QUEUE,
         facts(limits(queues=(SHAPER,)) | {"sockets.mss_bytes": 1448}, windows=BEHIND_QUEUE,
               segments=link(200e6, steadiness=0.9, use=0.96), rate_bps=190e6),
         of_whole(rate_bps=90e6)),
    Case(Cause.LOCAL_QUEUE,
         counted(limits(queues=(DROPPING,)) | shares(loss_recovery=0.5), windows=PATH),
         at_sender({"limits.queues": (replace(DROPPING, dropped_packets=1),)})),
    Case(Cause.WINDOW_SCALING,
         facts(shares(receive_window_buffer=0.9), {"sockets.buffer_bytes": 6 << 20},
               windows=PATH | {"announced_bytes_max": 65_535, "window_scaling": False}),
         of_windows(window_scaling=True)),
    Case(Cause.RECEIVER_CPU,
         counted(shares(receive_window_buffer=0.9) | {"sockets.mss_bytes": 1448}, cpu(thread=0.98, own_user=0.8),
                 windows=CLOSING),
         at_receiver(cpu(own_user=0.1))),
    # A window that the kernel holds to a small buffer is not closed.
    Case(Cause.SLOW_READER,
         counted(shares(receive_window_buffer=0.9) | {"sockets.mss_bytes": 1448},
                 cpu(thread=0.05) | {"sockets.buffer_bytes": 6_000_000}, windows=CLOSING),
         of_windows(announced_bytes_median=8_688)),
    # With no room in the congestion window that one is the limit.
    Case(Cause.SEND_BUFFER,
         counted(shares(unknown=1.0) | {"sockets.mss_bytes": 1448, "sockets.buffer_bytes": 16_384},
                 windows=PATH | {
                     "flight_bytes_median": 65_000, "cwnd_segments_median": 140, "announced_bytes_max": 250_000,
                     "announced_bytes_median": 250_000, "application_limited_ratio": 0.95},
                 asked=GREEDY),
         of_windows(cwnd_segments_median=46)),
    # A queue that is not always there is one of the window's bursts.
    Case(Cause.BOTTLENECK,
         all_of(of_segments({"queue.standing_ratio": 0.99}),
                at_sender(shares(receive_window_buffer=0.87, unknown=0.1)))(QUEUED),
         of_segments({"queue.standing_ratio": 0.5})),
    *cases(Cause.SHARED_BOTTLENECK, ASKING_NEXT_TO_OTHERS,
           # The own segments fill that queue.
           of_segments({"queue.own_ratio": 0.9}),
           # It is a small part of what a transaction takes.
           lambda found: with_values(found, {"exchanges.latency_ns": 300.0 * MS})),
    Case(Cause.RECEIVER_CPU,
         facts(shares(not_writing=0.98), calls(computing=0.65) | shares(waiting=0.9), exchanges=ANSWERED),
         at_receiver(calls(computing=0.05))),
    # It waits within its calls.
    Case(Cause.SLOW_WRITER,
         facts(shares(nagle=0.89, not_writing=0.06) | calls(asleep=0.95)), at_sender(calls(asleep=0.01))),
    # Few closed windows come with losses, too.
    Case(Cause.SLOW_READER,
         counted(shares(receive_window_buffer=0.3, unknown=0.65) | {"sockets.mss_bytes": 1448},
                 cpu(thread=0.4) | {"sockets.buffer_bytes": 6_000_000} | limits(
                     counts={"TcpExtTCPToZeroWindowAdv": 33}),
                 windows=CLOSING | {"announced_bytes_median": 2_000_000}),
         at_receiver(limits(counts={"TcpExtTCPToZeroWindowAdv": 2}))),
    Case(Cause.MEMORY_LIMIT,
         counted(limits(memory=SMALL_GROUP) | {"sockets.mss_bytes": 1448},
                 windows=PATH | {
                     "flight_bytes_median": 200_000, "cwnd_segments_median": 600, "announced_bytes_max": 5 << 20,
                     "application_limited_ratio": 0.95},
                 asked=GREEDY),
         of_windows(cwnd_segments_median=150)),
    Case(Cause.RECEIVER_CPU,
         facts(shares(receive_window_buffer=0.95), cpu(softirq=0.9) | {"limits": COSTLY},
               windows={"announced_bytes_max": 81_920, "rtt_ns_min": MS // 10}),
         at_receiver({"limits.counts": {"softnet_processed": 900_000}})),
    Case(Cause.BURST_LOSS,
         counted(shares(unknown=0.95), windows=PATH,
                 segments={"outage": FAILED, "acks_arrived_ratio": 0.999, "data_segments": 9_000}),
         of_segments({"outage.span_ratio": 0.05})),
    Case(Cause.ACK_PATH,
         facts(shares(slow_start=0.95), windows=PATH,
               segments={"outage": FAILED, "timeouts": 5, "needless_timeouts": 5}),
         of_segments({"needless_timeouts": 0})),
    *(of_cost(cause, name) for cause, name in CLASS_CAUSES),
)  # fmt: skip


def causes(found: Facts) -> list[Cause]:
    """The causes that are named, the first first."""
    return [verdict.cause for verdict in judge(found)]


def first(found: Facts) -> Cause:
    return causes(found)[0]


named = pytest.mark.parametrize("case", CASES, ids=[case.cause.value for case in CASES])


@named
def test_a_cause_is_named_first_where_it_speaks(case: Case) -> None:
    verdicts = judge(case.speaks)
    assert verdicts[0].cause is case.cause
    assert verdicts[0].evidence
    assert verdicts[0].refuted_by
    assert verdicts[0].change is not None


@named
def test_a_cause_is_not_named_where_something_speaks_against_it(case: Case) -> None:
    assert case.cause not in causes(case.against(case.speaks))


def test_a_queue_of_others_is_left_open_where_segments_are_lost_and_round_trips_leap() -> None:
    leaping = of_segments({"queue.jitter_ratio": 0.2})(SHARED_COUNTED)
    found = judge(leaping)
    assert found[0].cause is Cause.NOT_KNOWN
    assert Cause.SHARED_BOTTLENECK in {verdict.cause for verdict in found[1:]}
    # Without losses no path that loses segments is another reason.
    whole = of_segments({"retransmitted_ratio": 0.0, "queue.losses_full_ratio": None})(leaping)
    assert first(whole) is Cause.SHARED_BOTTLENECK


def test_a_queue_that_never_drains_serves_one_load_at_a_constant_rate_and_may_be_shared_else() -> None:
    always = {
        "queue.standing_ratio": 0.95,
        "queue.full_count": 9,
        "queue.full_bps": 99e6,
        "queue.delay_ns_high": 9.0 * MS,
        "bottleneck.use_ratio": 0.95,
    }
    alone = of_segments(always)(REGROWN)
    assert causes(alone) == [Cause.BOTTLENECK]
    varying = of_segments({"bottleneck.spread": 0.1, "queue.full_spread": 0.1})(alone)
    found = causes(varying)
    assert found == [Cause.NOT_KNOWN, Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK]
    # Where ACKs are lost, they come in bursts, and so do the rates.
    assert first(of_segments({"acks_arrived_ratio": 0.3})(varying)) is Cause.BOTTLENECK


def test_a_slow_ack_path_needs_a_path() -> None:
    assert Cause.ACK_PATH not in causes(of_windows(rtt_ns_min=50_000)(ACKS_LATE))


def test_a_cause_that_a_full_link_makes_costless_is_never_first() -> None:
    costly = facts(
        shares(congestion_window=0.9),
        windows=PATH,
        segments=LOST | RANDOM_LOSSES | SINGLE | link(100e6, steadiness=0.9, use=0.3) | {"segment_bytes_mean": 1448.0},
        rate_bps=30e6,
    )
    assert first(costly) is Cause.RANDOM_LOSS
    # The trials without the log fill the link in spite of the losses.
    costless = replace(costly, goodput_bps=94e6)
    assert causes(costless) == [Cause.NOT_KNOWN, Cause.RANDOM_LOSS]


RATE_UNSEEN = all_of(
    of_windows(cwnd_segments_median=60),
    of_segments(link(None, steadiness=None, use=None) | {"queue.full_bps": 60e6, "retransmitted_ratio": 0.05}),
)(REGROWN)


def test_losses_of_a_queue_without_a_rate_leave_open_whose_it_is() -> None:
    queued = of_whole(rate_bps=40e6)(RATE_UNSEEN)
    assert causes(queued) == [Cause.NOT_KNOWN, Cause.BOTTLENECK, Cause.SMALL_QUEUE]
    # Losses at any time are not the queue's.
    at_any_time = of_segments({"queue.losses_full_ratio": 0.1})(queued)
    assert Cause.BOTTLENECK not in causes(at_any_time)


def test_a_pause_comes_before_the_link_that_is_full_without_it() -> None:
    queued = of_segments({"bottleneck.use_ratio": 0.75, "retransmitted_ratio": 0.0})(QUEUED)

    def stopped(span_ratio: float) -> Edit:
        return at_sender({"limits.interruptions": (replace(STOPPED, span_ratio=span_ratio, rate_ratio=0.0),)})

    assert causes(stopped(0.3)(queued))[:2] == [Cause.PAUSE, Cause.BOTTLENECK]
    # One that leaves the link full costs nothing, and stands behind it.
    assert first(stopped(0.3)(QUEUED)) is Cause.BOTTLENECK
    # A pause that costs little does not.
    assert first(stopped(0.12)(queued)) is Cause.BOTTLENECK


@pytest.mark.parametrize(
    # Bytes, and calls in a second of a thread. Copying 48 KB takes 5.9 of 8 µs; a call of 128 KB 2.1 + 15.7 µs: 1.2 ×.
    ("size", "count", "gains"),
    [(2_048, 180_000, True), (8_192, 60_000, True), (16_384, 53_000, True), (49_152, 125_000, False)],
)
def test_writes_are_small_where_larger_calls_surely_gain(size: int, count: int, gains: bool) -> None:
    rate = 8.0 * size * count
    sender = shares(write_call=0.9) | calls(float(size), count=count) | cpu(thread=0.99)
    found = facts(sender, rate_bps=rate, goodput_bps=rate)
    assert (first(found) is Cause.TINY_WRITES) is gains


def test_pauses_of_the_workload_are_named_and_promise_nothing() -> None:
    """12,529 transactions per second became 815 with a pause of 1 ms, where both CPUs were busy with other programs."""
    busy = cpu(thread=0.3, run_queue=0.35)
    asking = facts(busy, busy, level="user", exchanges=ExchangeFacts(815, 815.0, 2.0, 1.2e6))
    assert judge(asking)[0].code == "capacity.alternating"
    verdict = judge(of_asked(pause_ns=1e6, paused_ratio=0.815)(asking))[0]
    assert (verdict.code, verdict.lost_ratio, verdict.predicted_gain) == ("think_time.asked", 0.815, None)
    assert "1.00 ms in each transaction" in verdict.claim
    assert verdict.change is not None
    assert not verdict.change.command
    assert "think_time.asked" not in {verdict.code for verdict in judge(of_asked(paused_ratio=0.05)(asking))}


def test_a_rate_that_was_asked_for_promises_nothing_and_that_of_a_congestion_control_is_none() -> None:
    paced = next(case.speaks for case in CASES if case.cause is Cause.PACING_RATE)
    asked = judge(of_asked(pacing_bps=500e6)(paced))[0]
    assert (asked.code, asked.predicted_gain, asked.predicted_high) == ("pacing_rate.asked", None, None)
    by_itself = judge(of_asked(paces_itself=True)(paced))
    assert Cause.PACING_RATE not in {verdict.cause for verdict in by_itself}


def test_that_nothing_can_be_removed_is_not_said_where_larger_writes_were_not_tried() -> None:
    with_writes = at_sender(calls(8192.0, count=100))
    small = judge(with_writes(FULL_RECEIVER))[0]
    assert (small.cause, small.code.endswith("small_writes")) == (Cause.CAPACITY, True)
    assert "No removable cause" not in small.claim
    assert "larger writes" in small.claim
    large = judge(facts(ON_CPU | calls(131_072.0)))[0]
    assert large.claim.startswith("No removable cause")
    # Nobody counts the bytes of another program's writes.
    others = judge(facts(ON_CPU, watched_sides="both"))[0]
    assert (others.cause, "larger writes" in others.claim) == (Cause.CAPACITY, True)


FULL_RECEIVER = facts(
    shares(receive_window_reader=0.56, send_buffer=0.2) | calls(8704) | {"sockets.mss_bytes": 9148},
    cpu(thread=0.99),
    windows={"announced_bytes_max": 32_768},
    segments=SINGLE_PACKETS | {"segment_bytes_mean": 7_700},
)


def test_a_window_is_full_because_of_a_receiver_that_is_busy_all_the_time() -> None:
    assert causes(FULL_RECEIVER) == [Cause.CAPACITY]
    waiting = at_receiver(cpu(thread=0.7))(FULL_RECEIVER)
    assert first(waiting) is Cause.WRITE_WINDOW_MISMATCH
    # Larger packets would take less of that CPU.
    for larger in ({"segment_bytes_mean": 4_096}, {"taken_segments_per_packet": 2.0}):
        assert Cause.CAPACITY not in causes(of_segments(larger)(FULL_RECEIVER))
    merging = at_receiver({"devices.receive_offload": True})(FULL_RECEIVER)
    assert first(merging) is Cause.WRITE_WINDOW_MISMATCH


def test_a_write_of_the_windows_size_is_said_to_fill_it() -> None:
    waiting = at_receiver(cpu(thread=0.7))(FULL_RECEIVER)
    equal = replace(waiting, windows=replace(waiting.windows, announced_bytes_max=8_704))
    assert "holds one write of 8,704 bytes" in judge(equal)[0].claim
    assert "holds fewer than four writes" in judge(waiting)[0].claim


def test_a_cpu_that_is_not_full_is_not_said_to_do_all_it_can() -> None:
    def verdict_of(busy: float, **whole: Any) -> Verdict:
        return judge(facts(cpu(thread=busy), **({"rate_bps": 28.8e6} | whole)))[0]

    full, busy = verdict_of(0.97), verdict_of(0.82)
    assert (full.code, busy.code) == ("capacity", "capacity.not_full")
    assert "28.8 Mbit/s is what it can do" in full.claim
    assert "can do" not in busy.claim
    assert "82 % busy" in busy.claim
    assert "the other 18 %" in busy.claim
    assert "1.2 × as much" in busy.claim
    exchanges = ExchangeFacts(count=1000, per_s=500.0, calls_each=2.0, latency_ns=2e6)
    answering = verdict_of(0.82, exchanges=exchanges)
    assert answering.code == "capacity.transactions.not_full"
    assert "can do" not in answering.claim


@pytest.mark.parametrize(
    ("seen", "code", "says"),
    [
        ({}, "bottleneck.unfilled", "no loss was seen"),
        ({"retransmitted_ratio": None}, "bottleneck.unfilled", "no loss was seen"),
        # What was sent again had arrived.
        ({"retransmitted_ratio": 0.01, "spurious_ratio": 1.0}, "bottleneck.unfilled", "no loss was seen"),
        ({"retransmitted_ratio": 0.01, "queue.losses_full_ratio": 1.0}, "bottleneck.regrown", "drops segments"),
        ({"queue.marked_ratio": 0.01}, "bottleneck.regrown.marked", "marks segments"),
    ],
)
def test_a_queue_drops_or_marks_only_where_losses_or_marks_were_seen(
    seen: dict[str, Any], code: str, says: str
) -> None:
    quiet = {"bottleneck.use_ratio": 0.83, "queue.losses_full_ratio": None, "retransmitted_ratio": 0.0}
    verdicts = judge(of_segments(quiet | seen)(REGROWN))
    found = next(verdict for verdict in verdicts if verdict.cause is Cause.BOTTLENECK)
    assert found.code == code
    assert says in found.claim
    assert found.change is not None
    assert ("queue with room" in found.change.by_hand) == (code != "bottleneck.unfilled")


def test_a_line_used_in_part_whose_losses_no_queue_explains_is_open() -> None:
    lossy = of_segments({"bottleneck.use_ratio": 0.75, "queue": QueueFacts(losses_full_ratio=0.3, lossy_count=8)})(
        QUEUED
    )
    verdicts = judge(lossy)
    assert verdicts[0].cause is Cause.NOT_KNOWN
    assert {Cause.BOTTLENECK, Cause.RANDOM_LOSS} <= {verdict.cause for verdict in verdicts}
    # With losses that come when the queue is full, it is the line.
    full = of_segments({"queue": QueueFacts(losses_full_ratio=0.95, lossy_count=8)})(lossy)
    assert first(full) is Cause.BOTTLENECK


def test_a_constant_rate_of_an_application_that_often_has_nothing_to_send_is_open() -> None:
    idle = of_windows(application_limited_ratio=0.3)(QUEUED)
    verdicts = judge(idle)
    assert verdicts[0].code == "not_known.open.application"
    assert {verdict.cause for verdict in verdicts[1:]} == {Cause.BOTTLENECK, Cause.SLOW_WRITER}
    # A stream that always has more to write has no clock of its own.
    assert first(replace(idle, asked=GREEDY)) is Cause.BOTTLENECK


def test_pauses_of_a_writer_come_before_the_link_that_its_pieces_fill() -> None:
    pausing = all_of(
        at_sender(shares(congestion_window=0.6, not_writing=0.37) | calls(asleep=0.97)), of_whole(level="segments")
    )(QUEUED)
    assert causes(pausing)[:2] == [Cause.SLOW_WRITER, Cause.BOTTLENECK]


def test_a_window_that_has_shrunk_is_full_of_what_the_reader_leaves() -> None:
    shrunk = counted(
        shares(receive_window_buffer=0.95) | {"sockets.mss_bytes": 1448},
        {"sockets.clamp_bytes": 3_800_000, "sockets.buffer_bytes": 6_000_000},
        windows=PATH | {"announced_bytes_max": 1_800_000, "announced_bytes_median": 131_072},
    )
    assert first(shrunk) is Cause.SLOW_READER
    # As large as it ever was, it is what the buffer allows.
    assert first(of_windows(announced_bytes_max=131_072)(shrunk)) is Cause.RECEIVE_BUFFER


def test_packets_that_are_expensive_to_write_are_no_matter_of_their_number() -> None:
    def writing(packet_ns: float) -> Facts:
        return counted(
            cpu(thread=0.9) | calls(131_072.0) | {"sockets.mss_bytes": 1448},
            segments={"data_packets": round(0.9e9 / packet_ns), "data_segments": round(0.9e9 / packet_ns)},
        )

    def codes(found: Facts) -> set[str]:
        return {verdict.code for verdict in judge(found)}

    costly = writing(26_000.0)
    assert judge(costly)[0].code == "sender_cpu.packets.written"
    assert "sender_cpu.packets.written" not in codes(writing(8_000.0))
    # A segment of loopback carries 64 KB, and nobody needs a rule for what its copy takes.
    large = (costly.segments.data_packets or 0) * 65_483
    assert "sender_cpu.packets.written" not in codes(at_sender({"sockets.payload_bytes": large})(costly))
    # What shares a CPU with other programs is slower for them.
    for name in ("other", "withheld", "steal"):
        assert "sender_cpu.packets.written" not in codes(at_sender(cpu(**{name: 0.35}))(costly))


def test_others_fill_a_queue_of_which_the_own_segments_are_next_to_nothing() -> None:
    unsure = {"bottleneck.steadiness": 0.2, "bottleneck.use_ratio": 0.1, "queue.standing_ratio": 0.98}
    varying = {"queue.own_ratio": 0.04, "queue.full_spread": 0.8, "queue.full_count": 12}
    assert first(of_segments(unsure | varying)(SHARED)) is Cause.SHARED_BOTTLENECK
    # An even rate may be that of a link that is slower than it seems.
    even = judge(of_segments(unsure | varying | {"queue.full_spread": 0.05})(SHARED))
    assert Cause.SHARED_BOTTLENECK not in {verdict.cause for verdict in even}


def test_a_queue_that_always_stands_keeps_its_link_busy() -> None:
    standing = {"queue.standing_ratio": 1.0, "queue.full_spread": 0.15, "queue.jitter_ratio": 0.3}
    queued = all_of(of_whole(rate_bps=57e6), of_segments(standing))(RATE_UNSEEN)
    assert first(queued) is Cause.BOTTLENECK
    assert first(of_segments({"queue.full_spread": 0.28})(queued)) is Cause.NOT_KNOWN


def test_losses_behind_the_link_do_not_make_it_full() -> None:
    behind = Pattern(
        trial="log01-c0001", connection=0, phases=[], words="", missing=[],
        losses=Losses(kinds={"fast": 200}, timeout_wait_ns=0, lost_in_receiver=15, lost_on_path=1),
    )  # fmt: skip
    found = facts(
        shares(congestion_window=0.9),
        windows=PATH | {"rtt_ns_median": 15 * MS},
        segments=LOST | OF_QUEUE | {"bottleneck.use_ratio": 0.75, "data_packets": 9_000, "data_segments": 9_000},
    )
    assert first(found) is Cause.BOTTLENECK
    assert first(replace(found, patterns=(behind,))) is Cause.RECEIVER_LOSS


def test_a_link_is_not_full_while_its_reader_sleeps() -> None:
    found = facts(
        shares(congestion_window=0.95),
        shares(not_reading=0.8) | calls(asleep=0.8),
        windows=PATH | {"rtt_ns_median": 15 * MS},
        segments=LOST | OF_QUEUE | {"bottleneck.use_ratio": 0.75, "data_segments": 9_000},
    )
    assert first(found) is Cause.SLOW_READER
    assert first(at_receiver(shares(not_reading=0.2))(found)) is Cause.BOTTLENECK


@pytest.mark.parametrize(("events", "high", "is_named"), [(9, 0.7, True), (3, 0.7, False), (3, 0.4, True)])
def test_few_losses_are_a_queues_only_where_half_of_them_surely_are(
    events: int, high: float, *, is_named: bool
) -> None:
    lost = of_segments(OF_QUEUE | {"losses.events": events, "losses.random_high": high})
    found = judge(lost(facts(shares(congestion_window=0.9), windows=PATH, segments=LOST | OF_QUEUE)))
    assert (found[0].cause is Cause.SMALL_QUEUE) is is_named


def test_few_losses_cost_little() -> None:
    """Two in two minutes cannot be why nine tenths of the link are unused."""
    found = facts(
        shares(congestion_window=0.9),
        windows=PATH,
        segments=LOST | OF_QUEUE | {"losses.events": 2, "bottleneck.use_ratio": 0.1, "data_segments": 9_000},
    )
    assert Cause.SMALL_QUEUE in causes(replace(found, life_ns=200 * MS))
    assert Cause.SMALL_QUEUE not in causes(replace(found, life_ns=120_000 * MS))


def test_overtaken_segments_make_no_queue() -> None:
    late = of_segments({"reordering_events": 40, "spurious_ratio": 0.9})(REGROWN)
    assert Cause.BOTTLENECK not in causes(late)


def test_every_rule_has_a_case() -> None:
    silent = [rule.__name__ for rule in RULES if not any(rule(case.speaks) for case in CASES)]
    # Read calls beyond the caches and possible policers have tests of their own, and so have short transfers and
    # transports of a library of their own (test_transport_rules.py); what a run of datagrams loses on the path is open.
    assert [name for name in silent if not name.startswith("own_")] == [
        "huge_reads", "possible_policer", "path_full", "path_loss", "short_transfer",
    ]  # fmt: skip


def test_reads_beyond_the_caches_are_named() -> None:
    found = facts(receiver=ON_CPU | calls(4e6) | shares(read_call=0.9))
    assert first(found) is Cause.READ_SIZE
    assert first(at_receiver({"calls.bytes_mean": 65_536.0})(found)) is Cause.CAPACITY


def test_no_offload_is_missed_where_a_segment_is_as_large_as_a_packet() -> None:
    for mss, is_named in ((9_000, True), (65_483, False)):
        found = facts(ON_CPU | {"sockets.mss_bytes": mss} | calls(1e6), segments=SINGLE_PACKETS)
        assert (Cause.OFFLOADS_OFF in causes(found)) == is_named


def test_reads_of_a_whole_tiny_window_are_not_small() -> None:
    few = shares(read_call=0.9) | calls(576.0, count=500_000) | cpu(thread=0.28)
    found = facts(calls(131_072.0), few)
    assert first(found) is Cause.READ_SIZE
    assert Cause.READ_SIZE not in causes(of_windows(announced_bytes_max=576)(found))


def test_a_paced_sender_that_pauses_is_paced_and_no_line_is_full() -> None:
    found = facts(
        shares(pacing=0.4, not_writing=0.6),
        windows={"rtt_ns_min": MS, "rtt_ns_median": 2 * MS},
        segments={"pacing.bps": 500e6, "pacing.constant_ratio": 1.0} | link(500e6, steadiness=0.9, use=0.38),
        rate_bps=190e6,
    )
    assert Cause.PACING_RATE in causes(found)
    assert Cause.BOTTLENECK not in causes(found)
    assert Cause.PACING_RATE not in causes(replace(found, rate_bps=19e6))


def test_a_busy_cpu_alone_is_capacity() -> None:
    verdicts = judge(facts(shares(write_call=0.97) | cpu(thread=0.98)))
    assert [verdict.cause for verdict in verdicts] == [Cause.CAPACITY]
    assert verdicts[0].change is None


@pytest.mark.parametrize("level", ["segments", "counters", "user"])
def test_nothing_known_is_said(level: str) -> None:
    verdicts = judge(facts(shares(unknown=1.0), level=level))
    assert [verdict.cause for verdict in verdicts] == [Cause.NOT_KNOWN]
    assert ("--evidence segments" in str(verdicts[0].values["more"])) is (level != "segments")


def test_a_gain_ends_where_the_other_end_is_busy() -> None:
    found = facts(shares(receive_window_buffer=0.9), cpu(thread=0.5))
    assert judge(found)[0].model_gain == pytest.approx(2.0)
    assert judge(at_receiver(cpu(thread=0.01))(found))[0].model_gain == pytest.approx(10.0)


def test_the_change_undoes_what_the_cell_set() -> None:
    found = facts(shares(receive_window_buffer=0.9), windows={"announced_bytes_max": 16_384})

    def changed(factors: Factors) -> Factors:
        change = judge(found, Setup(factors))[0].change
        assert change is not None
        return dict(change.factors)

    assert changed({"window_bytes": 16_384}) == {"window_bytes": "default"}
    assert changed({"receive_buffer_bytes": 8192, "window_bytes": 16_384}) == {"receive_buffer_bytes": "default"}
    assert changed({})["receive_buffer_bytes"] == 262_144


def test_what_arrived_and_is_asked_for_again_was_lost_in_the_receiver_and_not_on_the_path() -> None:
    found = facts(
        shares(rto_wait=0.9),
        segments={"out_of_order_ratio": 0.2, "losses.ratio": 0.0, "retransmitted_ratio": 0.1, "data_packets": 1000},
    )
    assert first(found) is Cause.REORDERING
    losses = Losses(kinds={"timeout": 100}, timeout_wait_ns=900 * MS, lost_in_receiver=90, lost_on_path=0)
    pattern = Pattern(trial="log01-c0001", connection=0, phases=[], words="", losses=losses)
    verdict = judge(replace(found, patterns=(pattern,)))[0]
    assert verdict.cause is Cause.RECEIVER_LOSS
    assert verdict.evidence[0].value == 90


@pytest.mark.parametrize(
    ("whose", "sizes", "named"),
    [
        (OF_EITHER, SINGLE, [Cause.NOT_KNOWN, Cause.SMALL_QUEUE, Cause.RANDOM_LOSS]),
        (OF_EITHER, BURSTS, [Cause.NOT_KNOWN, Cause.SMALL_QUEUE, Cause.BURST_LOSS]),
        (RANDOM_LOSSES, UNSURE_SINGLE, [Cause.NOT_KNOWN, Cause.RANDOM_LOSS, Cause.BURST_LOSS]),
        (RANDOM_LOSSES, UNSURE_BURSTS, [Cause.NOT_KNOWN, Cause.BURST_LOSS, Cause.RANDOM_LOSS]),
    ],
)
def test_what_the_losses_do_not_show_is_not_known_and_the_candidates_are_named(
    whose: dict[str, float], sizes: dict[str, float], named: list[Cause]
) -> None:
    verdicts = judge(facts(shares(congestion_window=0.9), segments=LOST | whose | sizes))
    assert [verdict.cause for verdict in verdicts] == named
    assert verdicts[0].values["causes"] == named[1:]
    assert verdicts[0].code == ("not_known.open.few_losses" if whose is OF_EITHER else "not_known.open.few_bursts")
    assert verdicts[0].evidence
    assert {verdict.confidence for verdict in verdicts} == {"low"}


def test_what_is_known_stands_before_what_is_not() -> None:
    known = facts(shares(congestion_window=0.3, receive_window_buffer=0.6), segments=LOST | OF_EITHER | SINGLE)
    assert first(known) is Cause.RECEIVE_BUFFER


def test_a_queue_and_random_loss_may_both_have_some_of_the_losses() -> None:
    both = {"losses.random_ratio": 0.6, "losses.random_low": 0.4, "losses.random_high": 0.75}
    verdicts = judge(facts(shares(congestion_window=0.95), segments=LOST | both | SINGLE))
    assert [verdict.cause for verdict in verdicts] == [Cause.RANDOM_LOSS, Cause.SMALL_QUEUE]
    assert all((verdict.certainty or 0) > MIN_CERTAINTY for verdict in verdicts)


def test_a_loss_can_be_looked_up_in_the_log() -> None:
    run = LostRun(connection=3, begin_ns=5 * MS, end_ns=6 * MS, segments=8, rank=0.4)
    found = LOST | RANDOM_LOSSES | BURSTS | {"losses.examples": (run,)}
    evidence = judge(facts(shares(loss_recovery=0.9), segments=found))[0].evidence
    placed = [(row.connection, row.from_ns, row.to_ns, row.value) for row in evidence if row.connection is not None]
    assert placed == [(3, 5 * MS, 6 * MS, 8.0)]


@pytest.mark.parametrize(
    ("setup", "window"),
    [
        (Setup({"window_bytes": 8192}), "default"),
        (Setup({"window_bytes": "default"}), 32_768),
        (Setup({"window_bytes": 8192, "hosts": "sparc2+sba-100@2.2.6"}, testbed="model"), 32_768),
    ],
)
def test_a_window_that_writes_do_not_fit_gets_one_that_is_larger_there(setup: Setup, window: str | int) -> None:
    (verdict, *_) = [verdict for verdict in judge(MISMATCH, setup) if verdict.cause is Cause.WRITE_WINDOW_MISMATCH]
    assert verdict.change is not None
    assert verdict.change.factors == {"window_bytes": window}


@pytest.mark.parametrize(("level", "tables"), [("counters", {"tcp_info", "counters"}), ("user", {"tcp_info"})])
def test_without_a_log_no_evidence_claims_to_be_from_it(level: str, tables: set[str]) -> None:
    found = judge(replace(MISMATCH, level=level))
    assert {row.table for verdict in found for row in verdict.evidence} == tables
    assert {row.table for verdict in judge(MISMATCH) for row in verdict.evidence} == {"segments"}


@pytest.mark.parametrize(
    ("level", "state", "said"), [("counters", "unknown", False), ("segments", "congestion_window", True)]
)
def test_a_state_that_the_kernels_clocks_do_not_have_is_no_evidence(level: str, state: str, said: bool) -> None:
    late = {"out_of_order_ratio": 0.05, "retransmitted_ratio": 0.02}
    found = judge(facts({"shares": {state: 0.9}}, segments=late, level=level))
    (verdict,) = [verdict for verdict in found if verdict.cause is Cause.REORDERING]
    assert any(row.code == "state" for row in verdict.evidence) is said


def test_quick_acks_are_reported_with_offloads_that_are_off_by_the_reasons_of_acks() -> None:
    acks = {"acks_per_segment": 0.25, "ack_reasons": {"read_call": 0.6, "quick": 0.4}}
    sender = ON_CPU | calls(131_072.0) | {"sockets.mss_bytes": 1448}
    found = facts(sender, segments=SINGLE_PACKETS | acks)
    assert {Cause.OFFLOADS_OFF, Cause.QUICK_ACK} <= {verdict.cause for verdict in judge(found)}
    # So many are quick in the first ACKs of hundreds of connections.
    first = of_segments({"ack_reasons": {"read_call": 0.9, "quick": 0.1}})(found)
    few = of_segments({"acks_per_segment": 0.02})(found)
    for other in (first, few):
        assert Cause.QUICK_ACK not in causes(other)


def test_receive_offload_that_is_off_is_reported_by_the_device_where_nobody_saw_how_large_packets_arrive() -> None:
    found = counted(ON_CPU, {"devices.receive_offload": False})
    verdict = judge(found)[0]
    assert (verdict.cause, verdict.predicted_gain) == (Cause.OFFLOADS_OFF, None)
    assert [row.table for row in verdict.evidence][:1] == ["devices"]
    merged = of_segments({"sent_segments_per_packet": 36.0, "taken_segments_per_packet": 36.0})
    assert Cause.OFFLOADS_OFF not in causes(merged(found))
    assert first(at_receiver({"devices.receive_offload": True})(found)) is Cause.CAPACITY
    assert first(at_receiver({"devices.receive_offload": None})(found)) is Cause.CAPACITY
    # Whose CPU has time left is not held up by it.
    idle = replace(found, sender=HostFacts(host="near"))
    assert Cause.OFFLOADS_OFF not in causes(idle)


def test_a_faulty_rule_is_reported_and_the_others_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny_hosts(_: Facts) -> None:
        raise ZeroDivisionError("division by zero")

    # By the name of the package it would be the function.
    monkeypatch.setattr(import_module("whyperf.explain.rules.judge"), "RULES", (tiny_hosts, *RULES))
    faults: list[str] = []
    verdicts = judge(CASES[0].speaks, on_fault=faults.append)
    assert [verdict.cause for verdict in verdicts] == [CASES[0].cause]
    assert faults == [
        "The rule for tiny hosts failed (ZeroDivisionError: division by zero); this cause was not checked. "
        "Please report it."
    ]
    with pytest.raises(ZeroDivisionError):
        judge(CASES[0].speaks)


def test_a_state_says_how_often_it_was_and_when_longest() -> None:
    spells = tuple(Spell(connection=2, from_ns=at * MS, to_ns=(at + long) * MS) for at, long in ((500, 30), (100, 20)))
    seen = {"longest": {"receive_window_buffer": spells}, "spells": {"receive_window_buffer": 40}}
    found = judge(facts(shares(receive_window_buffer=0.6) | seen, windows={"announced_bytes_max": 65536}))
    state = found[0].evidence[0]

    values = state.values
    assert (values["state_ratio"], values["longest_ns"], values["from_ns"]) == (0.6, 30 * MS, 500 * MS)
    assert (state.connection, state.from_ns, state.to_ns, state.spells_count) == (2, 500 * MS, 530 * MS, 40)
    assert state.spells == list(spells)


@pytest.mark.parametrize(("is_turned", "factors"), [(False, {"receive_buffer_bytes": 131072}), (True, {})])
def test_no_factor_is_named_that_would_change_the_other_end(is_turned: bool, factors: dict[str, int]) -> None:
    found = facts(shares(receive_window_buffer=0.5), windows={"announced_bytes_max": 65536}, is_turned=is_turned)
    change = judge(found)[0].change

    assert change is not None
    assert change.factors == factors
    assert ("wrong_factors" in change.values) is is_turned


def test_a_sender_kept_from_its_cpu_is_not_taken_for_an_idle_application_without_a_log() -> None:
    reordered = {"out_of_order_ratio": 0.002, "retransmitted_ratio": 0.0001, "losses.ratio": 0.0}
    sender = shares(not_writing=0.5, unknown=0.45) | cpu(thread=0.07, run_queue=0.5, other=0.89)
    starved = counted(sender | {"processors.cpus": frozenset({0})}, segments=reordered)
    assert first(starved) is Cause.OTHER_LOAD
    alone = at_sender(cpu(run_queue=0.01, other=0.02))(starved)
    assert Cause.SLOW_WRITER in causes(alone)
    assert Cause.OTHER_LOAD not in causes(alone)


def test_the_usual_window_stands_next_to_the_largest() -> None:
    found = facts(
        shares(receive_window_buffer=0.9),
        windows={"announced_bytes_max": 78_370, "announced_bytes_median": 65_536},
    )
    row = judge(found)[0].evidence[1]
    assert (row.code, row.values["window_bytes"], row.values["median_bytes"]) == ("max_window", 78_370, 65_536)


LOSSES = counted(
    shares(unknown=0.95),
    windows=PATH,
    segments={
        "retransmitted_ratio": 0.01, "spurious_ratio": 0.0, "data_segments": 5_000, "out_of_order_ratio": 0.0,
        "reordering_events": 0, "queue": QueueFacts(losses_full_ratio=0.1, lossy_count=8),
    },
)  # fmt: skip


def test_losses_without_a_log_are_of_the_path_and_never_reordering() -> None:
    verdicts = judge(LOSSES)
    assert verdicts[0].cause is Cause.PATH_LOSS
    assert verdicts[0].confidence != "low"
    kinds = {Cause.SMALL_QUEUE, Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.POLICER}
    assert {verdict.cause for verdict in verdicts[1:]} == kinds
    assert (verdicts[0].values["lost_count"], verdicts[0].values["sent_count"]) == (50, 5_000)
    assert all(verdict.predicted_gain is None for verdict in verdicts)
    # Between neighbors hosts lose them, and a few do not keep a rate down.
    near = of_windows(rtt_ns_min=50_000)(LOSSES)
    few = of_segments({"retransmitted_ratio": 1e-4})(LOSSES)
    assert [causes(found) for found in (near, few)] == [[Cause.NOT_KNOWN]] * 2


def test_the_losses_of_many_connections_at_an_even_rate_may_be_random_ones() -> None:
    verdicts = judge(replace(POLICED, connections=64))
    assert verdicts[0].cause in {Cause.PATH_LOSS, Cause.NOT_KNOWN}
    assert {Cause.POLICER, Cause.RANDOM_LOSS} < {verdict.cause for verdict in verdicts[1:]}


def test_a_policer_is_a_candidate_where_neither_rate_nor_queue_speaks_against_it() -> None:
    for values, is_candidate in (
        ({"policing.spread": 0.8}, True),
        ({"policing.bps": 40e6, "policing.delay_ns": 8.0 * MS}, False),
        ({"policing.bps": 40e6, "policing.faster_times": 1.05}, False),
    ):
        verdicts = judge(of_segments(values)(LOSSES))
        assert verdicts[0].cause is Cause.PATH_LOSS
        assert (Cause.POLICER in {verdict.cause for verdict in verdicts}) == is_candidate
        assert ("policer" in str(verdicts[0].values["causes"])) == is_candidate


def test_losses_while_a_queue_was_full_may_be_those_of_a_full_path() -> None:
    for queue in (
        QueueFacts(losses_full_ratio=0.8, lossy_count=8),
        QueueFacts(losses_full_ratio=0.1, lossy_count=2),
        QueueFacts(),
    ):
        found = causes(of_segments({"queue": queue})(LOSSES))
        assert Cause.PATH_LOSS not in found, queue
        assert found[0] is Cause.NOT_KNOWN, queue


def test_reordering_that_the_kernel_did_not_see_is_not_claimed() -> None:
    case = next(case for case in CASES if case.cause is Cause.REORDERING and case.speaks.level == "counters")
    assert Cause.REORDERING not in causes(of_segments({"reordering_events": 0})(case.speaks))
    # A record from before the kernel's counts were taken leaves it open.
    old = of_segments({"reordering_events": None, "spurious_ratio": None})
    assert first(old(case.speaks)) is Cause.NOT_KNOWN


def test_what_a_full_line_makes_the_sender_wait_for_is_not_the_acks_doing() -> None:
    assert causes(of_segments({"acks_arrived_ratio": 0.1})(QUEUED)) == [Cause.BOTTLENECK]


BUSY = cpu(thread=0.5, run_queue=0.4)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (cpu(withheld=0.4, other=0.45), "other_load"),
        (cpu(withheld=0.4, steal=0.4), "other_load.withheld.steal"),
        (cpu(withheld=0.4, other=0.0), "other_load.withheld.quota"),
    ],
)
def test_a_cpu_that_is_not_its_own_is_no_capacity(end: dict[str, Any], code: str) -> None:
    found = judge(counted(BUSY | end, rate_bps=1e9))[0]
    assert found.cause is Cause.OTHER_LOAD
    assert found.code == code
    # Waiting for its own threads is use.
    assert first(counted(BUSY | cpu(withheld=0.05), rate_bps=1e9)) is Cause.CAPACITY


def test_capacity_is_never_less_than_what_was_measured() -> None:
    assert judge(facts(ON_CPU, rate_bps=40e9, goodput_bps=46.1e9))[0].values["max_bps"] == 46.1e9


@pytest.mark.parametrize("asked", [None, 11.8e6])
def test_datagrams_lost_on_the_way_come_before_what_the_sender_does(asked: float | None) -> None:
    lost = replace(AS_ASKED, taken_count=600, taken_bytes=600 * 1_472, asked_bps=asked)
    sender = cpu(thread=0.9) | calls(64.0, count=100_000, asleep=0.5)
    found = judge(counted(sender, transport="udp", datagrams=lost))
    assert [verdict.cause for verdict in found] == [Cause.NOT_KNOWN, Cause.BOTTLENECK, Cause.RANDOM_LOSS]
    assert found[0].values["missed_ratio"] == pytest.approx(0.4)


def test_a_sender_that_sends_what_was_asked_for_is_not_held_by_others() -> None:
    sender = cpu(thread=0.05, run_queue=0.3, withheld=0.3, other=0.9)
    found = judge(counted(sender, transport="udp", datagrams=AS_ASKED))
    assert (found[0].code, found[0].values["requested_bps"]) == ("asked_rate.datagrams", 11.8e6)
    assert Cause.OTHER_LOAD not in {verdict.cause for verdict in found}


def test_requests_under_way_at_once_are_no_pause_of_the_application() -> None:
    asked = ExchangeFacts(count=800, per_s=400.0, calls_each=2.0, latency_ns=20.0 * MS)
    windows = PATH | {"rtt_ns_min": 20 * MS, "application_limited_ratio": 1.0}
    assert causes(counted(shares(unknown=1.0), windows=windows, exchanges=asked)) == [Cause.ROUND_TRIP]


def test_a_thread_that_is_kept_from_its_cpu_does_not_compute() -> None:
    shared = cpu(thread=0.52, run_queue=0.45, withheld=0.45, other=0.45)
    found = causes(counted(shares(unknown=0.7, not_writing=0.24) | shared))
    assert found[0] is Cause.OTHER_LOAD
    assert Cause.SENDER_CPU not in found


def test_a_thread_that_serves_other_connections_does_not_compute() -> None:
    loop = shares(not_writing=0.96) | cpu(thread=0.97, busy=1.0, own_user=0.03)

    def of_loop(connections: int, **ratios: float) -> list[Cause]:
        return causes(counted(loop | cpu(**ratios), connections=connections))

    assert Cause.SENDER_CPU in of_loop(1)
    assert Cause.SENDER_CPU not in of_loop(10)
    assert Cause.SENDER_CPU in of_loop(10, own_user=0.6)


def test_datagrams_that_arrive_at_a_constant_rate_come_over_a_full_path() -> None:
    steady = replace(AS_ASKED, taken_count=600, taken_bytes=600 * 1_472, asked_bps=None, steps=(30.0, 31.0) * 10)
    found = judge(facts(transport="udp", datagrams=steady, level="user"))
    assert [(verdict.code, verdict.certainty) for verdict in found] == [("bottleneck.datagrams.full", 0.9)]
    # What varies as random losses do is lost at random, if the sender keeps its rate.
    random = replace(steady, steps=(26.0, 34.0, 29.0, 31.0, 35.0) * 4, asked_bps=11.8e6)
    assert [verdict.code for verdict in judge(facts(transport="udp", datagrams=random))] == [
        "random_loss.datagrams.random"
    ]
    # A sender that does not may as well have made the variation, and so may more than random losses.
    assert first(facts(transport="udp", datagrams=replace(random, asked_bps=None))) is Cause.NOT_KNOWN
    wild = replace(random, steps=(5.0, 55.0) * 10)
    assert first(facts(transport="udp", datagrams=wild)) is Cause.NOT_KNOWN


def test_acks_of_a_neighbor_wait_in_no_queue() -> None:
    near = all_of(of_windows(rtt_ns_min=40_000), of_segments({"queue.back_delay_ns_median": 12_000.0}))
    assert Cause.ACK_PATH not in causes(near(ACKS_LATE))


PIECES = ExchangeFacts(count=35, per_s=22.0, calls_each=3.0, latency_ns=45.1 * MS)


def test_exchanges_in_pieces_that_take_as_long_as_the_ack_timer_wait_for_it_without_a_log() -> None:
    held = counted(
        shares(unknown=0.9) | {"sockets.no_delay": False},
        windows={"rtt_ns_min": 46_000},
        segments={"ack_reasons": {"delayed_timer": 0.5}},
        exchanges=PIECES,
    )
    assert judge(held)[0].code == "nagle_delayed_ack.counted"
    others = [
        at_sender({"sockets.no_delay": True})(held),
        of_segments({"ack_reasons": {"delayed_timer": 0.0}})(held),
        replace(held, exchanges=replace(PIECES, calls_each=2.0)),
        replace(held, exchanges=replace(PIECES, latency_ns=20.0 * MS)),
        of_windows(rtt_ns_min=44 * MS)(held),
    ]
    assert all(verdict.cause is not Cause.NAGLE_DELAYED_ACK for found in others for verdict in judge(found))


def test_a_sender_that_always_has_more_to_write_is_no_slow_writer() -> None:
    idle = counted(shares(not_writing=0.6, unknown=0.4), windows=PATH)
    assert Cause.SLOW_WRITER in causes(idle)
    assert Cause.SLOW_WRITER not in causes(replace(idle, asked=GREEDY))


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
