"""The observations that there are, and how each is read from the facts of a trial."""

from collections.abc import Callable
from math import sqrt
from typing import TypeVar

from whyperf.explain.host_facts import HostFacts
from whyperf.explain.observe.observation import NO_SUCH_LOAD, Named, Source, Unit
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

Read = Callable[[HostFacts], float | None]
_NO_SAMPLES = WatchedSockets()


def _of_side(name: str, unit: Unit, source: Source, read: Read) -> tuple[Named, ...]:
    """The same figure of both sides."""
    return (
        Named(f"sender.{name}", unit, source, lambda facts: read(facts.sender)),
        Named(f"receiver.{name}", unit, source, lambda facts: read(facts.receiver)),
    )


Found = TypeVar("Found")


def _of(part: Found | None, read: Callable[[Found], float | None]) -> float | None:
    """A figure of a part of the facts; None where there is no such part."""
    return None if part is None else read(part)


def _samples(end: HostFacts) -> WatchedSockets:
    """Facts that samples show of the sockets of another program; nothing of the own load."""
    return end.watched or _NO_SAMPLES


def _dropped(end: HostFacts) -> float | None:
    """Part that a side's queueing disciplines dropped, of all that they sent."""
    sent = sum(queue.sent_packets for queue in end.limits.queues)
    return sum(queue.dropped_packets for queue in end.limits.queues) / sent if sent else None


MEMORY = ("TcpExtTCPMemoryPressures", "TcpExtTCPBacklogDrop", "TcpExtTCPRcvQDrop", "TcpExtTCPZeroWindowDrop")
"""Counters of TCP that lacks memory for what arrives (net/ipv4/proc.c)."""


def _counted(name: str, *counters: str) -> Named:
    """Sum of what the kernels of both hosts counted during the load; None where neither was read."""

    def read(facts: Facts) -> float | None:
        limits = [end.limits for end in (facts.sender, facts.receiver) if end.limits.span_ns]
        return sum(each.counts.get(counter, 0) for each in limits for counter in counters) if limits else None

    return Named(f"kernel.{name}", "count", "host_counters", read)


def _held(end: HostFacts) -> float | None:
    """Part of the packets that a side's queueing disciplines could not send at once."""
    sent = sum(queue.sent_packets for queue in end.limits.queues)
    return min(1.0, sum(queue.overlimits for queue in end.limits.queues) / sent) if sent else None


SIDES: tuple[Named, ...] = (
    *_of_side("cpu.thread", "ratio", "threads", lambda end: end.processors.thread_ratio),
    *_of_side("cpu.wanted", "ratio", "cpu", lambda end: end.wanted_ratio),
    *_of_side("cpu.waited", "ratio", "threads", lambda end: end.processors.run_queue_ratio),
    *_of_side("cpu.withheld", "ratio", "threads", lambda end: end.processors.withheld_ratio),
    *_of_side("cpu.softirq", "ratio", "cpu", lambda end: end.processors.softirq_ratio),
    *_of_side("cpu.other", "ratio", "cpu", lambda end: end.processors.other_ratio),
    *_of_side("cpu.steal", "ratio", "cpu", lambda end: end.processors.steal_ratio),
    *_of_side("cpu.peer", "ratio", "cpu", lambda end: end.processors.peer_ratio),
    *_of_side("calls.bytes", "bytes", "calls", lambda end: end.calls.bytes_mean),
    *_of_side("calls.time", "ns", "calls", lambda end: end.calls.ns_mean),
    *_of_side("calls.asleep", "ratio", "calls", lambda end: end.calls.asleep_ratio),
    *_of_side("calls.computing", "ratio", "calls", lambda end: end.calls.computing_ratio),
    *_of_side("calls.runnable", "ratio", "calls", lambda end: end.calls.runnable_ratio),
    *_of_side("buffer", "bytes", "tcp_info", lambda end: end.sockets.buffer_bytes),
    *_of_side("mss", "bytes", "tcp_info", lambda end: end.sockets.mss_bytes),
    *_of_side(
        "quota.stopped", "ratio", "host_counters", lambda end: _of(end.limits.quota, lambda quota: quota.stopped_ratio)
    ),
    *_of_side(
        "memory.hits", "count", "host_counters", lambda end: _of(end.limits.memory, lambda memory: memory.tcp_hits)
    ),
    *_of_side("queue.dropped", "ratio", "host_counters", _dropped),
    *_of_side(
        "interrupted",
        "ratio",
        "cpu",
        lambda end: max((span.lost_ratio for span in end.limits.interruptions), default=0.0),
    ),
    *_of_side("samples.unread", "ratio", "tcp_info", lambda end: _samples(end).unread_ratio),
    *_of_side("samples.pressed", "ratio", "tcp_info", lambda end: _samples(end).pressed_ratio),
    *_of_side("samples.waiting", "ratio", "tcp_info", lambda end: _samples(end).waiting_ratio),
    *_of_side("samples.filled", "ratio", "tcp_info", lambda end: _samples(end).filled_ratio),
    *_of_side("samples.silent", "ratio", "tcp_info", lambda end: _samples(end).silent_ratio),
    *_of_side("samples.quiet", "ratio", "tcp_info", lambda end: _samples(end).quiet_ratio),
    *_of_side("samples.late", "ratio", "tcp_info", lambda end: _samples(end).late_ratio),
)
"""Figures of one host."""


KERNELS: tuple[Named, ...] = (
    _counted("unaccepted", "TcpExtListenOverflows", "TcpExtListenDrops"),
    _counted("timeouts", "TcpExtTCPTimeouts"),
    _counted("zero_windows", "TcpExtTCPToZeroWindowAdv"),
    _counted("lacks_memory", *MEMORY),
    _counted("refused_datagrams", "UdpRcvbufErrors", "UdpSndbufErrors"),
)
"""Counters of both hosts together: they count connections that are too short to be looked at, too."""


def _sender_state(state: SenderState) -> Named:
    def read(facts: Facts) -> float | None:
        return facts.sender.ratio(state) if facts.sender.shares else None

    return Named(f"sender.state.{state}", "ratio", "segments", read)


def _receiver_state(state: ReceiverState) -> Named:
    def read(facts: Facts) -> float | None:
        return facts.receiver.ratio(state) if facts.receiver.shares else None

    return Named(f"receiver.state.{state}", "ratio", "segments", read)


STATES: tuple[Named, ...] = (*map(_sender_state, SenderState), *map(_receiver_state, ReceiverState))
"""Where the time of each side went."""


def _of_trip(facts: Facts, delay_ns: float | None) -> float | None:
    """A delay over the path's round trip, and one more so that none is 1."""
    trip = facts.windows.rtt_ns_min
    return None if delay_ns is None or not trip else 1 + delay_ns / trip


def _opening(facts: Facts) -> float | None:
    """Part of the time of an exchange that opening connections takes."""
    exchanges = facts.exchanges
    if exchanges is None or not exchanges.latency_ns:
        return None
    return (exchanges.connect_ns or 0.0) / exchanges.latency_ns


CONNECTION: tuple[Named, ...] = (
    Named("window.announced", "bytes", "segments", lambda facts: facts.windows.announced_bytes_median),
    Named("window.flight", "bytes", "segments", lambda facts: facts.windows.flight_bytes_median),
    Named("window.congestion", "count", "tcp_info", lambda facts: facts.windows.cwnd_segments_median),
    Named("rtt.least", "ns", "segments", lambda facts: facts.windows.rtt_ns_min),
    Named("rtt.growth", "times", "segments", lambda facts: facts.windows.rtt_growth),
    Named("load.idle", "ratio", "tcp_info", lambda facts: facts.windows.application_limited_ratio),
    Named("rate", "bps", "load", lambda facts: facts.goodput_bps or facts.rate_bps),
    Named("link.rate", "bps", "segments", lambda facts: facts.segments.bottleneck.bps),
    Named("link.used", "ratio", "segments", lambda facts: facts.segments.bottleneck.use_ratio),
    Named("link.steady", "ratio", "segments", lambda facts: facts.segments.bottleneck.steadiness),
    Named("link.spread", "ratio", "segments", lambda facts: facts.segments.bottleneck.spread),
    Named("queue.held", "ratio", "host_counters", lambda facts: _held(facts.sender)),
    Named("queue.standing", "ratio", "segments", lambda facts: facts.segments.queue.standing_ratio),
    Named("queue.delay", "times", "segments", lambda facts: _of_trip(facts, facts.segments.queue.delay_ns_median)),
    Named("queue.own", "ratio", "segments", lambda facts: facts.segments.queue.own_ratio),
    Named("queue.jitter", "ratio", "segments", lambda facts: facts.segments.queue.jitter_ratio),
    Named("queue.full", "ratio", "segments", lambda facts: facts.segments.queue.full_ratio),
    Named("queue.full_spread", "ratio", "segments", lambda facts: facts.segments.queue.full_spread),
    Named("queue.losses", "ratio", "segments", lambda facts: facts.segments.queue.own_losses_ratio),
    Named("queue.marked", "ratio", "segments", lambda facts: facts.segments.queue.marked_ratio),
    Named(
        "queue.of_acks", "times", "segments", lambda facts: _of_trip(facts, facts.segments.queue.back_delay_ns_median)
    ),
    Named("loss.repeated", "ratio", "tcp_info", lambda facts: facts.segments.retransmitted_ratio),
    Named("loss.lost", "ratio", "segments", lambda facts: facts.segments.losses.ratio),
    Named("loss.random", "ratio", "segments", lambda facts: facts.segments.losses.random_ratio),
    Named("loss.rank", "ratio", "segments", lambda facts: facts.segments.losses.backlog_rank),
    Named("loss.run", "count", "segments", lambda facts: facts.segments.losses.segments_per_run),
    Named("loss.bursts", "log10", "segments", lambda facts: facts.segments.losses.burst_likelihood_log10),
    Named("loss.timeouts", "count", "tcp_info", lambda facts: facts.segments.timeouts),
    Named("loss.spurious", "ratio", "tcp_info", lambda facts: facts.segments.spurious_ratio),
    Named(
        "loss.in_receiver", "ratio", "segments", lambda facts: facts.lost_in_receiver_ratio if facts.patterns else None
    ),
    Named("loss.policed", "ratio", "tcp_info", lambda facts: facts.segments.policing.spread),
    Named("loss.policed_faster", "times", "tcp_info", lambda facts: facts.segments.policing.faster_times),
    Named("outage", "ratio", "tcp_info", lambda facts: facts.segments.outage.span_ratio),
    Named("order.late", "ratio", "segments", lambda facts: facts.segments.out_of_order_ratio),
    Named("order.events", "count", "tcp_info", lambda facts: facts.segments.reordering_events),
    Named("segment.bytes", "bytes", "segments", lambda facts: facts.segments.segment_bytes_mean),
    Named("segment.sent_together", "count", "segments", lambda facts: facts.segments.sent_segments_per_packet),
    Named("segment.taken_together", "count", "segments", lambda facts: facts.segments.taken_segments_per_packet),
    Named("ack.arrived", "ratio", "segments", lambda facts: facts.segments.acks_arrived_ratio),
    Named("ack.each", "ratio", "segments", lambda facts: facts.segments.acks_per_segment),
    Named("ack.held", "ratio", "segments", lambda facts: facts.segments.held_ratio),
    Named("pacing.rate", "bps", "tcp_info", lambda facts: facts.segments.pacing.bps),
    Named("pacing.constant", "ratio", "tcp_info", lambda facts: facts.segments.pacing.constant_ratio),
    Named("cycle.answer", "ratio", "segments", lambda facts: facts.segments.cycle.answer_ratio),
    Named("cycle.think", "ratio", "segments", lambda facts: facts.segments.cycle.think_ratio),
    Named("connections", "count", "load", lambda facts: facts.connections),
    Named("load.paused", "ratio", "load", lambda facts: facts.asked.paused_ratio),
    Named("load.asked", "bps", "load", lambda facts: facts.asked.bps, NO_SUCH_LOAD),
    Named(
        "exchange.time",
        "ns",
        "transactions",
        lambda facts: _of(facts.exchanges, lambda found: found.latency_ns),
        NO_SUCH_LOAD,
    ),
    Named("exchange.opening", "ratio", "transactions", _opening, NO_SUCH_LOAD),
    Named(
        "exchange.rate",
        "per_s",
        "transactions",
        lambda facts: _of(facts.exchanges, lambda found: found.per_s),
        NO_SUCH_LOAD,
    ),
    Named(
        "datagram.dropped",
        "ratio",
        "datagrams",
        lambda facts: _of(facts.datagrams, lambda found: found.dropped_ratio),
        NO_SUCH_LOAD,
    ),
    Named(
        "datagram.missed",
        "ratio",
        "datagrams",
        lambda facts: _of(facts.datagrams, lambda found: found.missed_ratio),
        NO_SUCH_LOAD,
    ),
    Named(
        "turns.own",
        "ratio",
        "tcp_info",
        lambda facts: _of(facts.conversation, lambda found: found.own_ratio),
        NO_SUCH_LOAD,
    ),
    Named(
        "turns.peer",
        "ratio",
        "tcp_info",
        lambda facts: _of(facts.conversation, lambda found: found.peer_ratio),
        NO_SUCH_LOAD,
    ),
)
"""Figures of the connections, the path and the load."""


def _over_rate(facts: Facts, ceiling_bps: float | None) -> float | None:
    """A rate that something allows, over the present one."""
    now = facts.goodput_bps or facts.rate_bps
    return ceiling_bps / now if ceiling_bps and now else None


def _by_window(facts: Facts, held_bytes: float | None) -> float | None:
    """Rate that a window allows: one of them in each round trip of each connection."""
    trip = facts.windows.rtt_ns_min
    return _over_rate(facts, 8e9 * held_bytes * facts.connections / trip if held_bytes and trip else None)


RENO_CONSTANT = 1.22
"""Of Reno's mean window, 1.22 / sqrt(p): Mathis, Semke, Mahdavi, Ott, CCR 27 (1997) 3, with an ACK for each segment."""


def _by_losses(facts: Facts) -> float | None:
    """Rate that Reno's mean window allows."""
    trip, mss, ratio = facts.windows.rtt_ns_median, facts.sender.sockets.mss_bytes, facts.segments.retransmitted_ratio
    if not trip or not mss or not ratio:
        return None
    return _over_rate(facts, 8e9 * RENO_CONSTANT / sqrt(ratio) * mss * facts.connections / trip)


def _by_exchanges(facts: Facts) -> float | None:
    """The time of an exchange over the path's round trip, of which each takes one at least."""
    taken, trip = facts.exchanges and facts.exchanges.latency_ns, facts.windows.rtt_ns_min
    return taken / trip if taken and trip else None


def _by_queue(facts: Facts) -> float | None:
    """Rate that the sender's queueing disciplines allow, headers included."""
    rates = [queue.rate_bps for queue in facts.sender.limits.queues if queue.rate_bps]
    return _over_rate(facts, min(rates, default=None))


def _of_each(facts: Facts, bps: float | None) -> float | None:
    return _over_rate(facts, None if bps is None else bps * facts.connections)


CEILINGS: tuple[Named, ...] = (
    Named("ceiling.window", "times", "segments", lambda facts: _by_window(facts, facts.windows.announced_bytes_max)),
    Named("ceiling.buffer", "times", "tcp_info", lambda facts: _by_window(facts, facts.sender.sockets.buffer_bytes)),
    Named("ceiling.flight", "times", "segments", lambda facts: _by_window(facts, facts.windows.flight_bytes_max)),
    Named("ceiling.losses", "times", "tcp_info", _by_losses),
    Named("ceiling.link", "times", "segments", lambda facts: _over_rate(facts, facts.segments.bottleneck.bps)),
    Named("ceiling.pacing", "times", "tcp_info", lambda facts: _of_each(facts, facts.segments.pacing.bps)),
    Named("ceiling.queue", "times", "host_counters", _by_queue),
    Named("ceiling.asked", "times", "load", lambda facts: _over_rate(facts, facts.asked.bps), NO_SUCH_LOAD),
    Named("ceiling.round_trip", "times", "transactions", _by_exchanges, NO_SUCH_LOAD),
)
"""Rates that single limits allow, over the present one: near 1 the limit holds it."""

NAMED: tuple[Named, ...] = (*SIDES, *KERNELS, *STATES, *CONNECTION, *CEILINGS)
"""All observations."""
