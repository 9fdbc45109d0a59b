"""Scenes from which a limit takes much, and for each the changes after which it takes next to nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.host_facts import (
    ClassFacts,
    CostFacts,
    HostFacts,
    HostLimits,
    Interruption,
    MemoryLimit,
    Queue,
    Quota,
)
from whyperf.explain.limits.every import LIMITS
from whyperf.explain.limits.limit import Limit
from whyperf.explain.path_facts import OutageFacts, SegmentFacts, WindowFacts
from whyperf.explain.trial_facts import DatagramFacts, ExchangeFacts, Facts, RequestedLoad

MS = 1_000_000
ASKS = {ask.__name__: ask for ask in LIMITS}
MUCH, LITTLE_LEFT = 0.15, 1 / 3
"""Share of a limit in its scene at least, and the part of it that may be left where something speaks against it."""


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
    """A scene of which the limit of a cause takes much, and changes each of which leaves it next to nothing."""

    cause: Cause
    speaks: Facts
    against: tuple[Edit, ...]
    variant: str = ""

    @property
    def code(self) -> str:
        return f"{self.cause}.{self.variant}" if self.variant else str(self.cause)


def case(cause: Cause, speaks: Facts, *against: Edit, variant: str = "") -> Case:
    return Case(cause, speaks, against, variant)


def limit_of(cause: Cause, found: Facts) -> Limit:
    """The limit of a cause where it takes some of the time."""
    limit = ASKS[cause](found)
    assert limit is not None
    return limit


def share_of(cause: Cause, found: Facts) -> float:
    """What the limit of a cause takes; 0 where it does not speak."""
    limit = ASKS[cause](found)
    return 0.0 if limit is None else limit.share


def each_scene(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """A test of each case."""
    return pytest.mark.parametrize("case", cases, ids=[case.code for case in cases])


def each_change(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """A test of each change of each case."""
    pairs = [(case, edit) for case in cases for edit in case.against]
    return pytest.mark.parametrize(("case", "edit"), pairs, ids=[case.code for case, _ in pairs])


LOST = link(100e6, steadiness=0.6, use=0.3) | {
    "losses.ratio": 0.01, "retransmitted_ratio": 0.01,
    "losses.events": 20, "losses.runs": 20, "losses.segments_per_run": 1.0,
}  # fmt: skip
OF_QUEUE = {"losses.random_ratio": 0.1}
RANDOM_LOSSES = {"losses.random_ratio": 0.9}
OF_EITHER = {"losses.random_ratio": 0.5}
SINGLE = {"losses.segments_per_run": 1.1, "losses.burst_likelihood_log10": -3.0}
BURSTS = {"losses.segments_per_run": 8.0, "losses.burst_likelihood_log10": 30.0}
ON_CPU = cpu(thread=0.95)
ON_ONE_CPU = cpu(thread=0.45, run_queue=0.5) | {"processors.cpus": frozenset({0})}
IDLE = cpu(thread=0.05)


def costs(samples: int = 4_000, **cycles: float) -> CostFacts:
    """What the load's threads of a side spend on classes, in cycles per KByte; each has a function of its name."""
    classes = [ClassFacts(name, value, in_threads=value, functions=(f"{name}_run",)) for name, value in cycles.items()]
    return CostFacts(classes=tuple(sorted(classes, key=lambda found: -found.cycles)), samples=samples)


PATH = {"rtt_ns_min": 10 * MS, "rtt_ns_median": 12 * MS, "cwnd_segments_median": 30}
BEHIND_QUEUE = PATH | {"rtt_ns_median": 19 * MS}
WITHOUT_QUEUE = PATH | {"rtt_ns_median": 10.2 * MS}
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
AS_ASKED = DatagramFacts(
    sent_count=1_000, taken_count=1_000, dropped_count=0, taken_bytes=1_472_000, span_ns=1_000 * MS, asked_bps=11.8e6
)
FLOOD = DatagramFacts(sent_count=300, taken_count=100, dropped_count=200, taken_bytes=6400, span_ns=MS)
SINGLE_PACKETS = {"sent_segments_per_packet": 1.0, "taken_segments_per_packet": 1.0}
WHOLE_PACKETS = {"sent_segments_per_packet": 40.0, "taken_segments_per_packet": 40.0}

MISMATCH = facts(
    shares(receive_window_buffer=0.8) | calls(7168.0) | {"sockets.mss_bytes": 4096},
    windows={"announced_bytes_max": 8192},
)
FILLED = counted(
    shares(unknown=1.0) | {"sockets.mss_bytes": 1448, "sockets.buffer_bytes": 16_384},
    windows=PATH | {
        "flight_bytes_median": 65_000, "cwnd_segments_median": 140, "announced_bytes_max": 250_000,
        "announced_bytes_median": 250_000, "application_limited_ratio": 0.95,
    },
    asked=GREEDY,
)  # fmt: skip
"""More is under way than the send buffer holds, with room in the windows."""
PACED = facts(
    shares(pacing=0.4, not_writing=0.6),
    segments={"pacing.bps": 500e6, "pacing.constant_ratio": 1.0},
    rate_bps=190e6,
)
"""Nearly the pacing rate, while there is something to send."""
ACKS_LATE = facts(
    shares(congestion_window=0.9),
    windows={"rtt_ns_min": 20 * MS},
    segments={"acks_arrived_ratio": 0.97, "queue.back_delay_ns_median": 15.0 * MS},
)
PIECES = counted(
    shares(unknown=0.9) | {"sockets.no_delay": False},
    windows={"rtt_ns_min": 46_000},
    segments={"ack_reasons": {"delayed_timer": 0.5}},
    exchanges=ExchangeFacts(count=35, per_s=22.0, calls_each=3.0, latency_ns=45.1 * MS),
)
"""Exchanges in pieces that take as long as the ACK timer."""

OF_WINDOWS = (
    case(Cause.RECEIVE_BUFFER,
         facts(shares(receive_window_buffer=0.9), windows={"announced_bytes_max": 16_384}),
         at_sender(shares(receive_window_reader=0.9))),
    case(Cause.SEND_BUFFER,
         facts(shares(send_buffer=0.8) | {"sockets.buffer_bytes": 16_384}), at_sender(shares(congestion_window=0.8))),
    # With no room in the congestion window that one is the limit.
    case(Cause.SEND_BUFFER, FILLED, of_windows(cwnd_segments_median=40)),
    case(Cause.WINDOW_SCALING,
         # The kernel's clocks call a full send buffer what waits for a full window.
         counted(shares(send_buffer=0.8), windows={
             "window_scaling": False, "announced_bytes_max": 65_535, "announced_bytes_median": 65_535,
             "flight_bytes_median": 65_535, "rtt_ns_min": 30 * MS}),
         of_windows(flight_bytes_median=20_000)),
    case(Cause.WINDOW_SCALING,
         facts(shares(receive_window_buffer=0.9), {"sockets.buffer_bytes": 6 << 20},
               windows=PATH | {"announced_bytes_max": 65_535, "window_scaling": False}),
         of_windows(window_scaling=True),
         # Half of a buffer is for bookkeeping, so this one is smaller than the window without scaling.
         at_receiver({"sockets.buffer_bytes": 65_536})),
    case(Cause.WRITE_WINDOW_MISMATCH, MISMATCH, at_sender(calls(1024.0))),
    case(Cause.WRITE_WINDOW_MISMATCH, of_windows(announced_bytes_max=7168)(MISMATCH), at_sender(calls(131_072.0)),
         variant="one_write"),
    case(Cause.PACING_RATE, PACED,
         of_segments({"pacing.constant_ratio": 0.01}),
         of_whole(rate_bps=19e6),
         # A congestion control that has a rate of its own may keep it.
         of_asked(paces_itself=True)),
    case(Cause.PACING_RATE, of_asked(pacing_bps=500e6)(PACED), of_whole(rate_bps=19e6), variant="asked"),
    case(Cause.PACING_RATE,
         counted(shares(unknown=0.9), segments={"pacing.bps": 20e6, "pacing.constant_ratio": 1.0}, rate_bps=19e6),
         of_segments({"pacing.constant_ratio": 0.1})),
    case(Cause.SLOW_START,
         facts(shares(slow_start=0.8), windows={"rtt_ns_min": 200 * MS}), of_whole(life_ns=100_000 * MS)),
    case(Cause.MEMORY_LIMIT,
         facts(shares(receive_window_buffer=0.8),
               limits(memory=SOCKETS_FULL, counts={"TcpExtTCPRcvQDrop": 12}) | {"sockets.buffer_bytes": 4096},
               windows=PATH),
         # A group that only reclaims its page cache meets its limit as well.
         at_receiver({"limits.memory": replace(SOCKETS_FULL, hits=900, tcp_hits=0)}),
         variant="group"),
    case(Cause.MEMORY_LIMIT,
         counted(limits(memory=SMALL_GROUP), windows=PATH | {
             "flight_bytes_median": 200_000, "application_limited_ratio": 0.95}, asked=GREEDY),
         of_windows(flight_bytes_median=20_000),
         variant="filled"),
    case(Cause.DELAYED_ACK,
         facts(shares(send_buffer=0.9), segments={"held_ratio": 0.9, "ack_reasons": {"delayed_timer": 0.9}}),
         of_segments({"held_ratio": 0.0})),
    case(Cause.DELAYED_ACK,
         facts(shares(send_buffer=0.9), shares(delayed_ack=0.9), segments={"ack_reasons": {"delayed_timer": 0.5}}),
         at_receiver(shares(waiting=0.9)),
         # The sender waits for nothing.
         at_sender(shares(not_writing=0.9)),
         # The timer sent next to none.
         of_segments({"ack_reasons": {"read_call": 1.0}, "acks_per_segment": 0.5, "data_segments": 1000})),
    case(Cause.NAGLE_DELAYED_ACK,
         facts(shares(nagle=0.9), segments={"ack_reasons": {"delayed_timer": 0.5}}),
         at_sender(shares(not_writing=0.1)),
         at_sender({"sockets.no_delay": True}),
         # What an application that sleeps has left over, its next write pushes.
         at_sender(calls(asleep=0.95))),
    case(Cause.NAGLE_DELAYED_ACK, PIECES,
         at_sender({"sockets.no_delay": True}),
         lambda found: with_values(found, {"exchanges.calls_each": 2.0}),
         lambda found: with_values(found, {"exchanges.latency_ns": 20.0 * MS}),
         # The path takes as long.
         of_windows(rtt_ns_min=44 * MS),
         variant="counted"),
    case(Cause.NAGLE_DELAYED_ACK,
         # A round trip until the first piece is acknowledged, and another one until the answer is there.
         of_windows(rtt_ns_min=15 * MS)(with_values(PIECES, {"exchanges.latency_ns": 72.0 * MS})),
         of_windows(rtt_ns_min=5 * MS),
         variant="counted"),
    case(Cause.QUICK_ACK,
         facts(ON_CPU, segments={"acks_per_segment": 1.0, "ack_reasons": {"quick": 0.98}}),
         of_segments({"ack_reasons": {"second_segment": 0.98}}),
         # Hundreds of connections begin with quick ACKs.
         of_segments({"ack_reasons": {"read_call": 0.9, "quick": 0.1}}),
         of_segments({"acks_per_segment": 0.02}),
         at_sender(IDLE)),
    case(Cause.ACK_THINNING,
         facts(shares(congestion_window=0.9), segments={"acks_arrived_ratio": 0.02}),
         of_segments({"acks_arrived_ratio": 0.99}),
         # What a full line makes the sender wait for is not the ACKs' doing.
         of_segments(link(100e6, steadiness=0.95, use=0.95))),
    case(Cause.ACK_PATH, ACKS_LATE,
         of_segments({"queue.back_delay_ns_median": 0.1 * MS}),
         # Between neighbors there is no path.
         of_windows(rtt_ns_min=50_000),
         variant="slow"),
    case(Cause.ACK_PATH,
         of_segments({"acks_arrived_ratio": 0.5, "queue.back_delay_ns_median": None})(ACKS_LATE),
         of_segments({"acks_arrived_ratio": 0.99}),
         variant="lossy"),
    case(Cause.ACK_PATH,
         facts(shares(slow_start=0.95), windows=PATH, segments={
             "outage": FAILED, "timeouts": 5, "needless_timeouts": 5}),
         of_segments({"needless_timeouts": 0}),
         variant="outage"),
)  # fmt: skip

IDLE_AT_TIMES = counted(
    shares(unknown=0.95, not_writing=0.05),
    windows=PATH | {"application_limited_ratio": 0.9},
    segments={"retransmitted_ratio": 0.01, "spurious_ratio": 0.0, "data_segments": 5_000},
)
"""Over a path the kernel's clocks take a writer for busy that often has nothing to send."""
ASKING = facts(
    shares(not_writing=0.9) | calls(asleep=0.8, computing=0.0),
    windows={"rtt_ns_min": 2 * MS},
    segments={"data_back_packets": 400, "data_packets": 400, "cycle.think_ratio": 0.8, "cycle.answer_ratio": 0.1},
)
WAITING = of_segments({"cycle.think_ratio": 0.01, "cycle.answer_ratio": 0.9})(ASKING)
REPLIED = counted(
    shares(unknown=1.0) | calls(count=250),
    windows={"rtt_ns_min": 3 * MS, "rtt_ns_median": 3.5 * MS, "application_limited_ratio": 1.0},
    segments={"data_back_packets": 240},
)
"""A reply to each write, one at a time."""
CLOSING = {"announced_bytes_max": 3_000_000, "announced_bytes_median": 0, "rtt_ns_min": MS // 20}
"""Windows between neighbors that are closed half of the time."""
WRITING = calls(64.0, count=500_000) | cpu(thread=0.99)

OF_APPLICATIONS = (
    case(Cause.SLOW_WRITER,
         facts(shares(not_writing=0.9) | calls(asleep=0.9, computing=0.0)),
         at_sender(calls(asleep=0.0, computing=0.9))),
    # It waits within its calls.
    case(Cause.SLOW_WRITER,
         facts(shares(nagle=0.89, not_writing=0.06) | calls(asleep=0.95)), at_sender(calls(asleep=0.01))),
    case(Cause.SLOW_WRITER, IDLE_AT_TIMES,
         of_windows(application_limited_ratio=0.1),
         # A sender that always has more to write pauses for others only.
         of_whole(asked=GREEDY),
         of_whole(exchanges=ANSWERED)),
    case(Cause.THINK_TIME, ASKING, of_segments({"cycle.think_ratio": 0.01})),
    case(Cause.THINK_TIME,
         counted(shares(not_writing=0.9), exchanges=ANSWERED),
         # The receiver is at work on the answer.
         at_receiver(cpu(thread=0.85)),
         variant="counted"),
    case(Cause.THINK_TIME,
         of_asked(pause_ns=1e6, paused_ratio=0.8)(counted(exchanges=ANSWERED)), of_asked(paused_ratio=0.04),
         variant="asked"),
    case(Cause.ROUND_TRIP, WAITING, of_segments({"data_back_packets": 1}), of_windows(rtt_ns_min=50_000)),
    case(Cause.ROUND_TRIP, REPLIED,
         # What comes back now and then is no reply to a write.
         of_segments({"data_back_packets": 100}),
         # Of such long waits the round trip is a small part.
         of_whole(life_ns=8_000 * MS),
         variant="replies"),
    case(Cause.ROUND_TRIP,
         counted(windows=PATH, exchanges=ANSWERED),
         lambda found: with_values(found, {"exchanges.latency_ns": 100.0 * MS}),
         variant="counted"),
    case(Cause.CONNECTION_SETUP,
         counted(windows=PATH, exchanges=replace(ANSWERED, latency_ns=20.3 * MS, connect_ns=10.1 * MS)),
         of_whole(exchanges=ANSWERED)),
    case(Cause.SLOW_READER,
         facts(shares(receive_window_reader=0.5, zero_window=0.4),
               shares(not_reading=0.9) | calls(asleep=0.9, computing=0.0)),
         at_receiver(calls(asleep=0.0, computing=0.9))),
    case(Cause.SLOW_READER,
         counted(shares(receive_window_buffer=0.9), IDLE | {"sockets.buffer_bytes": 6_000_000}, windows=CLOSING),
         # A window that is always as large is not closed.
         of_windows(announced_bytes_median=3_000_000),
         # Who reads all the time does not sleep.
         at_receiver(ON_CPU),
         variant="closed"),
    case(Cause.TINY_WRITES,
         facts(shares(write_call=0.9) | WRITING),
         at_sender(calls(131_072.0)),
         # One message for each answer.
         of_whole(exchanges=ANSWERED)),
    case(Cause.READ_SIZE, facts(calls(131_072.0), shares(read_call=0.9) | WRITING), at_sender(calls(64.0))),
    case(Cause.READ_SIZE,
         facts(receiver=ON_CPU | calls(4e6) | shares(read_call=0.9)), at_receiver(calls(65_536.0)), variant="huge"),
)  # fmt: skip

FULL_LINE = facts(shares(congestion_window=0.95), windows=BEHIND_QUEUE, segments=link(100e6, steadiness=0.8, use=0.97))
QUEUED = counted(
    shares(unknown=0.95),
    windows=BEHIND_QUEUE,
    segments=link(100e6, steadiness=0.95, use=0.99) | {
        "data_segments": 5_000, "out_of_order_ratio": 0.001, "retransmitted_ratio": 0.01, "spurious_ratio": 0.0,
        "reordering_events": 0,
    },
)  # fmt: skip
"""A full line without a log: a constant rate while a queue stood, and losses where the queue overflows."""
REGROWN = counted(
    shares(unknown=0.95),
    windows=PATH,
    segments=link(100e6, steadiness=1.0, use=0.55) | {
        "bottleneck.spread": 0.02, "bottleneck.is_seen_when_full": True, "queue.standing_ratio": 0.05,
        "queue.jitter_ratio": 0.05, "queue.losses_full_ratio": 1.0, "data_segments": 5_000, "retransmitted_ratio": 0.02,
    },
)  # fmt: skip
"""One overshoot, after which the window grows back."""
RATE_UNSEEN = all_of(
    of_whole(rate_bps=57e6),
    of_segments(link(None, steadiness=None, use=None) | {"queue.full_bps": 60e6, "queue.standing_ratio": 1.0}),
)(REGROWN)
"""A queue always stands, and no rate of the link is seen."""
LITTLE_USE = of_segments({"bottleneck.use_ratio": 0.05})
SHARED = facts(
    shares(congestion_window=0.9),
    windows=BEHIND_QUEUE,
    segments=LOST | RANDOM_LOSSES | BURSTS | {
        "queue.standing_ratio": 0.97, "queue.delay_ns_median": 9.0 * MS, "queue.own_ratio": 0.05,
        "queue.jitter_ratio": 0.04, "queue.losses_full_ratio": 1.0,
    },
)  # fmt: skip
"""Most of what stands before the line is not the own."""
NEXT_TO_OTHERS = counted(
    shares(unknown=0.9) | {"devices.sent_bytes": 3_200_000}, windows=BEHIND_QUEUE, rate_bps=11.6e6,
    segments={"segment_bytes_mean": 1448.0, "data_segments": 1000},
)  # fmt: skip
SHARED_COUNTED = counted(
    shares(unknown=0.95),
    windows=BEHIND_QUEUE,
    segments={
        "queue.standing_ratio": 0.6, "queue.jitter_ratio": 0.05, "queue.full_bps": 40e6, "queue.full_spread": 0.6,
        "queue.losses_full_ratio": 0.95, "retransmitted_ratio": 0.01,
    },
)  # fmt: skip
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
POLICED = counted(
    shares(unknown=0.95),
    windows=WITHOUT_QUEUE,
    segments={
        "retransmitted_ratio": 0.1, "data_segments": 5_000, "policing.bps": 24e6, "policing.spread": 0.05,
        "policing.lossy_ratio": 0.9, "policing.delay_ns": 0.1 * MS, "policing.faster_times": 3.0,
    },
)  # fmt: skip
FEW_STEPS = counted(
    shares(unknown=0.95),
    windows=WITHOUT_QUEUE,
    segments=link(24e6, steadiness=0.9, use=0.98) | {"retransmitted_ratio": 0.1, "data_segments": 500},
)
"""A policer whose steps with losses are too few to show a rate."""
HELD_UP = counted(
    shares(unknown=0.97) | limits(counts={"TcpRetransSegs": 6}),
    windows={"rtt_ns_min": 3 * MS, "rtt_ns_median": 3.1 * MS, "flight_bytes_max": 1448},
    asked=RequestedLoad(slots=1),
    exchanges=ExchangeFacts(count=201, per_s=125.0, calls_each=2.0, latency_ns=3.1 * MS),
)
"""Transactions one after the other, of which a few wait for what is sent again."""
DATAGRAMS_HELD_UP = all_of(
    of_whole(transport="udp"),
    at_sender(calls(200.0) | limits() | {"sockets.payload_bytes": 50_000}),
    at_receiver({"sockets.payload_bytes": 48_800}),
)(HELD_UP)
MISSED = replace(AS_ASKED, taken_count=600, taken_bytes=600 * 1_472)
LOSSES = counted(
    shares(unknown=0.95),
    windows=PATH,
    segments={
        "retransmitted_ratio": 0.01, "spurious_ratio": 0.0, "data_segments": 5_000, "out_of_order_ratio": 0.0,
        "reordering_events": 0, "queue.losses_full_ratio": 0.1,
    },
)  # fmt: skip
"""Losses without a log."""
NEAR = of_windows(rtt_ns_min=50_000, rtt_ns_median=60_000)
"""Between neighbors a window grows back at once."""
OVERTAKEN = counted(
    shares(unknown=0.9),
    windows=PATH,
    segments={
        "out_of_order_ratio": 0.05, "retransmitted_ratio": 0.02, "data_segments": 5_000, "spurious_ratio": 1.0,
        "reordering_events": 40,
    },
)  # fmt: skip

OF_PATHS = (
    case(Cause.BOTTLENECK, FULL_LINE, LITTLE_USE),
    case(Cause.BOTTLENECK, QUEUED, LITTLE_USE,
         # What loses much without a queue is a policer.
         all_of(of_segments({"retransmitted_ratio": 0.1}), of_windows(rtt_ns_median=round(10.2 * MS)))),
    case(Cause.BOTTLENECK, REGROWN, LITTLE_USE, variant="regrown"),
    case(Cause.BOTTLENECK, of_segments({"retransmitted_ratio": 0.0})(REGROWN), LITTLE_USE, variant="unfilled"),
    case(Cause.BOTTLENECK, of_segments({"queue.marked_ratio": 0.01})(REGROWN), LITTLE_USE, variant="regrown.marked"),
    case(Cause.BOTTLENECK, RATE_UNSEEN, of_segments({"queue.standing_ratio": 0.05})),
    # A queue that is not always there is one of the window's bursts.
    case(Cause.BOTTLENECK,
         all_of(of_segments({"queue.standing_ratio": 0.99}),
                at_sender(shares(receive_window_buffer=0.87, unknown=0.1)))(QUEUED),
         of_segments({"queue.standing_ratio": 0.05})),
    case(Cause.BOTTLENECK, counted(transport="udp", datagrams=MISSED), of_whole(datagrams=AS_ASKED),
         variant="datagrams"),
    case(Cause.BOTTLENECK, counted(transport="udp", datagrams=replace(MISSED, taken_count=400)),
         of_whole(datagrams=AS_ASKED),
         variant="datagrams.full"),
    case(Cause.SHARED_BOTTLENECK, SHARED,
         # Its own segments fill the queue.
         of_segments({"queue.own_ratio": 0.95}),
         # Round trips that leap are no queue.
         of_segments({"queue.jitter_ratio": 0.8}),
         # Others leave it the line.
         of_segments({"bottleneck.use_ratio": 0.9})),
    case(Cause.SHARED_BOTTLENECK, NEXT_TO_OTHERS,
         # Its own segments are nearly all that the device sends, those included that were sent again.
         at_sender({"devices.sent_bytes": 1_600_000}),
         of_segments({"retransmitted_ratio": 0.5}),
         # It waits for its application.
         of_windows(application_limited_ratio=1.0),
         # They go another way: no queue stands on its own.
         of_windows(rtt_ns_median=10 * MS),
         variant="device"),
    case(Cause.SHARED_BOTTLENECK, SHARED_COUNTED, of_segments({"queue.full_spread": 0.02}), variant="counted"),
    case(Cause.SHARED_BOTTLENECK, ASKING_NEXT_TO_OTHERS,
         of_segments({"queue.own_ratio": 0.9}),
         # It is a small part of what a transaction takes.
         lambda found: with_values(found, {"exchanges.latency_ns": 300.0 * MS}),
         variant="exchanges"),
    case(Cause.SHARED_BOTTLENECK,
         # Long transactions: the window that losses keep small holds them, too.
         with_values(at_sender(shares(loss_recovery=0.5, congestion_window=0.4))(ASKING_NEXT_TO_OTHERS),
                     {"exchanges.latency_ns": 900.0 * MS}),
         at_sender(shares(not_writing=1.0)),
         variant="exchanges"),
    case(Cause.POLICER, POLICED,
         # Rates of random loss vary.
         of_segments({"policing.spread": 0.8}),
         # Before a link of this rate, a queue stands.
         of_segments({"policing.delay_ns": 8.0 * MS})),
    case(Cause.POLICER, FEW_STEPS, of_segments({"retransmitted_ratio": 0.001}), of_windows(rtt_ns_median=18 * MS),
         variant="lossy"),
    case(Cause.LOCAL_QUEUE,
         facts(limits(queues=(SHAPER,)) | {"sockets.mss_bytes": 1448}, windows=BEHIND_QUEUE,
               segments=link(200e6, steadiness=0.9, use=0.96), rate_bps=190e6),
         of_whole(rate_bps=90e6),
         variant="shaper"),
    # It counts segments, and of packets of 30 of them each one that waits.
    case(Cause.LOCAL_QUEUE,
         counted(limits(queues=(replace(SHAPER, sent_packets=30_000, overlimits=600),)) | {"sockets.mss_bytes": 1448},
                 segments={"sent_segments_per_packet": 30.0}, rate_bps=190e6),
         of_segments({"sent_segments_per_packet": 1.0}),
         variant="shaper"),
    case(Cause.LOCAL_QUEUE,
         counted(limits(queues=(DROPPING,)) | shares(loss_recovery=0.5), windows=PATH),
         at_sender({"limits.queues": (replace(DROPPING, dropped_packets=1),)})),
    case(Cause.ASKED_RATE,
         facts(shares(not_writing=0.9), goodput_bps=49.9e6, asked=RequestedLoad(bps=50e6)), of_asked(bps=60e6)),
    case(Cause.ASKED_RATE,
         # The fourth write of a second is not due yet.
         facts(calls(131_072.0) | shares(not_writing=0.9), goodput_bps=3.1e6, asked=RequestedLoad(bps=4e6)),
         at_sender(calls(1448.0))),
    case(Cause.ASKED_RATE,
         counted(transport="udp", datagrams=AS_ASKED),
         of_whole(datagrams=replace(AS_ASKED, asked_bps=2 * AS_ASKED.sent_bps)),
         of_whole(datagrams=MISSED),
         variant="datagrams"),
    case(Cause.ASKED_RATE,
         counted(windows=PATH, asked=OPEN_LOOP, exchanges=ANSWERED), of_asked(ended_count=100),
         variant="transactions"),
    case(Cause.SMALL_QUEUE,
         facts(shares(congestion_window=0.9), segments=LOST | OF_QUEUE),
         of_segments(RANDOM_LOSSES),
         # A reader that pauses makes its sender's bursts, which overrun any queue.
         at_receiver(shares(not_reading=0.9))),
    case(Cause.RANDOM_LOSS,
         facts(shares(congestion_window=0.9), segments=LOST | RANDOM_LOSSES | SINGLE),
         of_segments(BURSTS), of_segments(OF_QUEUE),
         # They come while a queue is full that others fill.
         of_segments({"queue.own_ratio": 0.05, "queue.losses_full_ratio": 1.0, "queue.full_ratio": 0.4})),
    case(Cause.RANDOM_LOSS, HELD_UP,
         # The usual transaction takes all of the time.
         lambda found: with_values(found, {"exchanges.per_s": 310.0}),
         # Nothing was sent again.
         at_sender(limits()),
         variant="exchanges"),
    # All datagrams arrived.
    case(Cause.RANDOM_LOSS, DATAGRAMS_HELD_UP, at_receiver({"sockets.payload_bytes": 50_000}), variant="exchanges"),
    case(Cause.RANDOM_LOSS, counted(transport="udp", datagrams=MISSED), of_whole(datagrams=AS_ASKED),
         variant="datagrams"),
    case(Cause.BURST_LOSS,
         facts(shares(loss_recovery=0.9), segments=LOST | RANDOM_LOSSES | BURSTS),
         of_segments(SINGLE), of_segments(OF_QUEUE)),
    case(Cause.BURST_LOSS,
         counted(shares(unknown=0.95), windows=PATH,
                 segments={"outage": FAILED, "acks_arrived_ratio": 0.999, "data_segments": 9_000}),
         of_segments({"outage.span_ratio": 0.05}),
         # ACKs were lost, and not data.
         of_segments({"acks_arrived_ratio": 0.3}),
         variant="outage"),
    case(Cause.PATH_LOSS, LOSSES,
         NEAR,
         # A few do not keep a rate down.
         of_segments({"retransmitted_ratio": 1e-4}),
         # What was sent again had arrived.
         of_segments({"spurious_ratio": 1.0})),
    case(Cause.REORDERING,
         facts(shares(congestion_window=0.9), segments={
             "out_of_order_ratio": 0.2, "losses.ratio": 0.0, "spurious_ratio": 1.0, "retransmitted_ratio": 0.01}),
         of_segments({"out_of_order_ratio": 0.01, "losses.ratio": 0.01})),
    # What was sent again had been lost, so that most of what is late came behind a gap.
    case(Cause.REORDERING, OVERTAKEN, of_segments({"spurious_ratio": 0.0, "retransmitted_ratio": 0.05})),
    case(Cause.REORDERING, of_segments({"out_of_order_ratio": None})(OVERTAKEN),
         of_segments({"reordering_events": 0}), variant="seen"),
    case(Cause.RECEIVER_LOSS,
         facts(shares(rto_wait=0.9), {"devices.dropped_packets": 100},
               segments={"data_packets": 5000, "retransmitted_ratio": 0.02}),
         at_receiver({"devices.dropped_packets": 0})),
    # Without a log nobody saw what the sender waited for.
    case(Cause.RECEIVER_LOSS,
         counted(shares(unknown=0.9), {"devices.dropped_packets": 100},
                 segments={"data_packets": 5000, "retransmitted_ratio": 0.02}),
         at_receiver({"devices.dropped_packets": 0})),
    case(Cause.RECEIVER_LOSS,
         facts(transport="udp", datagrams=FLOOD),
         of_whole(datagrams=replace(FLOOD, dropped_count=0, taken_count=300)),
         variant="socket.small_buffer"),
    case(Cause.RECEIVER_LOSS,
         facts(receiver=ON_CPU, transport="udp", datagrams=FLOOD),
         of_whole(datagrams=replace(FLOOD, dropped_count=0, taken_count=300)),
         variant="socket.reader_busy"),
)  # fmt: skip

LOOP = counted(shares(not_writing=0.96) | cpu(thread=0.97, busy=1.0, own_user=0.03))
"""A thread that runs all the time, and writes to its connection now and then."""
COSTLY_PACKETS = counted(
    cpu(thread=0.9) | calls(131_072.0) | {"sockets.mss_bytes": 1448},
    segments={"data_packets": 34_600, "data_segments": 34_600},
)
"""26 µs of a thread for each packet."""
ALTERNATING = counted(cpu(thread=0.3, run_queue=0.35), cpu(thread=0.3, run_queue=0.35), exchanges=ANSWERED)
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
    """A receiver whose CPU spends 40 % of its time on a class, or next to nothing, or of which few samples are."""
    cycles: dict[str, float] = {"copy": 600, name: 400}
    return case(
        cause,
        counted(receiver=ON_CPU | calls(32_768.0) | {"cost": costs(4_000, **cycles)}),
        at_receiver({"cost": costs(4_000, **{"copy": 600, name: 50})}),
        at_receiver({"cost": costs(200, **cycles)}),
        at_receiver(IDLE),
    )


OF_CPUS = (
    case(Cause.SENDER_CPU,
         facts(shares(not_writing=0.9) | calls(asleep=0.0, computing=0.9)), at_sender(calls(computing=0.01))),
    case(Cause.SENDER_CPU, LOOP,
         # It serves other connections.
         of_whole(connections=10),
         # It is kept from its CPU.
         at_sender(cpu(withheld=0.9))),
    case(Cause.SENDER_CPU, COSTLY_PACKETS,
         # 8 µs are usual.
         at_sender(cpu(thread=0.28)),
         # A segment of loopback carries 64 KB, and nobody needs a rule for what its copy takes.
         at_sender({"sockets.payload_bytes": 34_600 * 65_483}),
         variant="packets.written"),
    case(Cause.RECEIVER_CPU,
         facts(shares(receive_window_reader=0.8), shares(not_reading=0.9) | calls(asleep=0.0, computing=0.9)),
         at_receiver(calls(computing=0.01))),
    case(Cause.RECEIVER_CPU,
         counted(shares(receive_window_buffer=0.9) | {"sockets.mss_bytes": 1448}, cpu(thread=0.98, own_user=0.8),
                 windows=CLOSING),
         at_receiver(cpu(own_user=0.1))),
    case(Cause.RECEIVER_CPU,
         facts(shares(not_writing=0.98), calls(computing=0.65) | shares(waiting=0.9), exchanges=ANSWERED),
         at_receiver(calls(computing=0.05))),
    case(Cause.RECEIVER_CPU,
         facts(shares(receive_window_buffer=0.95), cpu(softirq=0.9) | {"limits": COSTLY},
               windows={"announced_bytes_max": 81_920, "rtt_ns_min": MS // 10}),
         at_receiver({"limits.counts": {"softnet_processed": 900_000}}),
         variant="packets"),
    case(Cause.SHARED_CPU,
         facts(ON_ONE_CPU, ON_ONE_CPU, one_machine=True),
         at_receiver({"processors.cpus": frozenset({1})}),
         of_whole(one_machine=False)),
    case(Cause.OTHER_LOAD,
         facts(cpu(withheld=0.5, other=0.5)),
         at_sender(cpu(withheld=0.01)),
         # Nobody else had the CPU.
         at_sender(cpu(other=0.0)),
         variant="withheld.programs"),
    case(Cause.OTHER_LOAD, facts(cpu(withheld=0.4, steal=0.4)), at_sender(cpu(steal=0.0)), variant="withheld.steal"),
    case(Cause.OTHER_LOAD,
         counted(limits(interruptions=(HOGGED,)) | ON_CPU),
         at_sender({"limits.interruptions": (replace(HOGGED, rate_ratio=0.95),)}),
         variant="part.programs"),
    case(Cause.CPU_QUOTA,
         counted(limits(quota=QUOTA) | shares(not_writing=0.7)),
         at_sender({"limits.quota": replace(QUOTA, stopped_ratio=0.02)})),
    case(Cause.CPU_QUOTA, counted(limits(interruptions=(THROTTLED,))),
         # Somebody else had the CPU.
         at_sender({"limits.interruptions": (replace(THROTTLED, other_ratio=0.5),)}),
         at_sender(cpu(steal=0.4)),
         variant="unseen"),
    case(Cause.PAUSE,
         counted(receiver=limits(interruptions=(STOPPED,))),
         at_receiver({"limits.interruptions": (replace(STOPPED, rate_ratio=0.95),)})),
    case(Cause.MANY_CONNECTIONS, facts(ON_CPU, connections=400), of_whole(connections=4)),
    case(Cause.SMALL_MTU,
         facts(ON_CPU | {"sockets.mss_bytes": 524}, segments={"segment_bytes_mean": 520.0}),
         at_sender({"sockets.mss_bytes": 8948}),
         at_sender(IDLE),
         # What is written at a time is smaller still.
         at_sender(calls(64.0))),
    case(Cause.OFFLOADS_OFF,
         facts(ON_CPU | {"sockets.mss_bytes": 1448} | calls(131_072.0), segments=SINGLE_PACKETS),
         of_segments(WHOLE_PACKETS),
         # A segment is as large as a packet can be.
         at_sender({"sockets.mss_bytes": 65_483}),
         at_sender(calls(1448.0))),
    case(Cause.OFFLOADS_OFF,
         facts(ON_CPU, {"devices.receive_offload": False}),
         at_receiver({"devices.receive_offload": True}),
         at_receiver({"devices.receive_offload": None}),
         of_segments(WHOLE_PACKETS),
         at_sender(IDLE),
         variant="receive"),
    case(Cause.CAPACITY, facts(ON_CPU | calls(131_072.0)), at_sender(IDLE)),
    case(Cause.CAPACITY, ALTERNATING,
         all_of(at_sender(cpu(thread=0.05, run_queue=0.0)), at_receiver(cpu(thread=0.05, run_queue=0.0))),
         variant="alternating"),
    *(of_cost(cause, name) for cause, name in CLASS_CAUSES),
)  # fmt: skip

CASES = (*OF_WINDOWS, *OF_APPLICATIONS, *OF_PATHS, *OF_CPUS)
