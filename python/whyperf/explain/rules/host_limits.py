"""Limits of a load from outside its sockets: CPU quotas, pauses, memory limits, own queues, window scaling.

All of it is counted where it happens: by the kernel in control groups, queueing disciplines and TCP, or by the load's
own threads. A log of segments would show the effects only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.host_limits import Interruption, MemoryLimit, Queue
from whyperf.explain.rules import gain
from whyperf.explain.rules.cpu import other_load, shared_cpu
from whyperf.explain.rules.finding import APPLICATION_LIMITED_RATIO, WINDOWS, Finding, clipped, figure, state_evidence
from whyperf.explain.rules.losses import SLOWLY_REGROWN_TIMES, most_by_reductions
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

MIN_LOST = 0.1
"""Least that a cause must cost, as with other causes: that little is within what repeating a trial changes."""
MAX_UNSCALED_BYTES = 65_535
"""The largest window without window scaling (RFC 7323 section 2.1)."""
FULLY_OPEN = 0.9
"""A median window so near to the largest possible one is held by nothing else: the receiver has read everything."""
SHAPED_RATIO = 0.9
"""Part of a shaper's rate, headers of the link included, from which on it is the limit: `gain.FULL_LINE_USE` with the
ACKs of the other direction."""
ETHERNET_BYTES = 14
"""Bytes that a queueing discipline counts of a packet in addition to the IP packet."""
IP_TCP_BYTES = 52
"""Headers of IP version 4 and TCP with timestamps."""
DELAYED_RATIO = 0.05
"""Packets that had to wait for a shaper, over all, below which something else sets the rate: a full one delays nearly
every packet (overlimits in net/sched/sch_tbf.c)."""
DROPPED_RATIO = 1e-4
"""Drops over packets of an own queue, below which they cost less than what repeating a trial changes: one in 10,000
super-packets is less than one loss in a second at 1 Gbit/s with packets of 64 KB."""


def _sides(facts: Facts) -> tuple[tuple[str, HostFacts], tuple[str, HostFacts]]:
    return ("sender", facts.sender), ("receiver", facts.receiver)


def cpu_quota(facts: Facts) -> Finding | None:
    """A control group keeps a side's threads from their CPUs because its quota is used up."""
    stopped = {role: _stopped(end) for role, end in _sides(facts)}
    role, end = max(_sides(facts), key=lambda side: stopped[side[0]])
    quota, lost = end.limits.quota, stopped[role]
    if quota is None or lost < MIN_LOST:
        return None
    both = min(stopped.values()) >= MIN_LOST
    predicted = gain.of_share(facts, lost, saved="both" if both else role)
    lost = min(lost, 1 - 1 / predicted.ratio)
    values: dict[str, Value | None] = {
        "role": role,
        "group": quota.group,
        "quota_per_s": quota.cpus,
        "throttled_ratio": quota.throttled_ratio,
        "stopped_ratio": stopped[role],
    }
    return Finding(
        Cause.CPU_QUOTA,
        lost,
        0.97,
        (
            figure("throttled", "host_counters", end, **values),
            *(() if end.processors.thread_ratio is None else (_thread(end, role),)),
        ),
        predicted,
        is_counted=True,
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
    idle = 1 - (end.processors.thread_ratio or 0.0)
    return clipped(min(quota.stopped_ratio, quota.throttled_ratio, idle), 0.0, 0.98)


LIKE_STOPPED = frozenset(
    {Cause.SLOW_WRITER, Cause.SLOW_READER, Cause.THINK_TIME, Cause.SENDER_CPU, Cause.RECEIVER_CPU, Cause.OTHER_LOAD}
)
"""Causes that a stopped side looks like: it neither writes nor reads, and its threads do not run."""


def without_stopped(found: Sequence[Finding], facts: Facts) -> list[Finding]:
    """The findings without the time in which a quota or a pause stopped a side: nobody chose not to work then."""
    stopped = max((_stopped_share(end) for _, end in _sides(facts)), default=0.0)
    if stopped < MIN_LOST:
        return list(found)
    own = {finding.cause for finding in found} & {Cause.CPU_QUOTA, Cause.PAUSE}
    if not own:
        return list(found)
    less = [
        replace(finding, lost=finding.lost - stopped) if _is_like_stopped(finding) else finding for finding in found
    ]
    return [finding for finding in less if finding.lost >= MIN_LOST or not _is_like_stopped(finding)]


def _is_like_stopped(finding: Finding) -> bool:
    return finding.cause in LIKE_STOPPED


def _stopped_share(end: HostFacts) -> float:
    """Share of the time in which a side was stopped."""
    pauses = [span.lost_ratio for span in end.limits.interruptions if span.kind == "paused"]
    return max((_stopped(end), *pauses))


def _thread(end: HostFacts, role: str) -> Evidence:
    return figure("quota_thread", "threads", end, thread_ratio=end.processors.thread_ratio, role=role)


def pause(facts: Facts) -> Finding | None:
    """A side's process did not run for a part of the time, though nobody kept it from a CPU."""
    found = _costliest(facts, "paused")
    if found is None:
        return None
    role, end, span = found
    if (end.processors.softirq_ratio or 0.0) >= MAX_INTERRUPTED:
        # Interrupts have the CPU, so that no thread runs.
        return None
    values = _span_values(role, span)
    return Finding(
        Cause.PAUSE,
        span.lost_ratio,
        0.9,
        (figure("pause", "intervals", end, **values), figure("rate_meanwhile", "intervals", end, **_rates(span))),
        gain.of_interruption(facts, span.lost_ratio),
        is_counted=True,
        values=values,
    )


MAX_INTERRUPTED = 0.8
"""Part of a CPU that interrupt processing takes, from which on it keeps a process from running."""


def short_load(facts: Facts) -> Finding | None:
    """For a part of the time threads waited for a CPU, and the rate was lower meanwhile.

    Over the whole trial that may be little; what the rate was without it shows what it costs.
    """
    found = _costliest(facts, "withheld")
    if found is None:
        return None
    role, end, span = found
    if _stopped(end) >= MIN_LOST or other_load(facts) is not None or shared_cpu(facts) is not None:
        return None
    values = {**_span_values(role, span), "other_ratio": span.other_ratio}
    steal = end.processors.steal_ratio or 0.0
    is_alone = span.waited_ratio >= MIN_STOPPED and span.other_ratio < MIN_OTHER and steal < MIN_OTHER
    return Finding(
        Cause.CPU_QUOTA if is_alone else Cause.OTHER_LOAD,
        span.lost_ratio,
        0.9,
        (
            figure("withheld_span", "threads", end, **values),
            figure("rate_meanwhile", "intervals", end, **_rates(span)),
        ),
        gain.of_interruption(facts, span.lost_ratio),
        is_counted=True,
        variant="unseen" if is_alone else f"part.{'programs' if span.other_ratio >= MIN_OTHER else 'unknown'}",
        values=values,
    )


MIN_OTHER = 0.1
"""Part of a CPU that other programs take where they are why threads wait for it."""


MIN_STOPPED = 0.5
"""Part of these intervals in which threads wait for a CPU that nobody uses, from which on a quota stops them."""


def _costliest(facts: Facts, kind: str) -> tuple[str, HostFacts, Interruption] | None:
    found = [(role, end, span) for role, end in _sides(facts) for span in end.limits.interruptions if span.kind == kind]
    worst = max(found, key=lambda side: side[2].lost_ratio, default=None)
    return worst if worst is not None and worst[2].lost_ratio >= MIN_LOST else None


def _span_values(role: str, span: Interruption) -> dict[str, Value | None]:
    return {
        "length_ns": span.length_ns,
        "longest_ns": span.longest_ns,
        "from_ns": span.at_ns,
        "waited_ratio": span.waited_ratio,
        "role": role,
    }


def _rates(span: Interruption) -> Mapping[str, float]:
    return {"rate_ratio": span.rate_ratio, "span_ratio": span.span_ratio}


MEMORY_PRESSURE = "TcpExtTCPMemoryPressures"
"""All sockets together are near net.ipv4.tcp_mem (sk_enter_memory_pressure, net/core/sock.c)."""
DROPPING_COUNTS = ("TcpExtRcvPruned", "TcpExtTCPRcvQDrop")
"""TCP dropped what arrived, because the buffer or the memory had no room (tcp_try_rmem_schedule, tcp_input.c)."""
MEMORY_COUNTS = (MEMORY_PRESSURE, *DROPPING_COUNTS, "TcpExtPruneCalled", "TcpExtOfoPruned", "TcpExtTCPRcvCollapsed")
"""Counters that TCP raises when it has no room for what arrives."""
STALLED_RATIO = 0.1
"""Part of the time that threads waited for memory, from which on it costs as much as `MIN_LOST`."""
ROOMY_BUFFER_BYTES = 131_072
"""A receive buffer from here on is not why TCP drops what arrives: the kernel's own first size (net.ipv4.tcp_rmem)."""
HELD_BY_MEMORY = (
    *(S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW, S.SEND_BUFFER, S.LOSS_RECOVERY, S.RTO_WAIT),
)
"""States that a lack of memory makes: small or closed windows, no room to write, and what the receiver drops."""


def memory_limit(facts: Facts) -> Finding | None:
    """The memory of a control group, or of all TCP sockets, is used up: windows stay small, or data is dropped."""
    lost = _without_memory(facts)
    found = [(role, end) for role, end in _sides(facts) if _lacks_memory(end)]
    if not found and _fills_limit(facts):
        return _filled(facts, lost)
    if not found or lost < MIN_LOST:
        return None
    role, end = max(found, key=lambda side: _memory_hits(side[1]))
    memory = end.limits.memory
    counts = {name: end.limits.counts.get(name, 0) for name in MEMORY_COUNTS}
    values: dict[str, Value | None] = {
        "hits_count": _memory_hits(end),
        "role": role,
        "group": None if memory is None else memory.group,
        "limit_bytes": None if memory is None else _binding(memory),
    }
    evidence = [state_evidence(facts.sender, "sender", *HELD_BY_MEMORY)]
    if any(counts.values()):
        counted = [f"{name} {count:,}" for name, count in counts.items() if count]
        evidence.insert(0, figure("no_memory", "host_counters", end, hits_count=sum(counts.values()), counters=counted))
    if memory is not None:
        evidence.insert(0, figure("memory_group", "host_counters", end, **values))
    return Finding(
        Cause.MEMORY_LIMIT,
        lost,
        0.95,
        tuple(evidence),
        gain.of_share(facts, lost),
        is_counted=True,
        variant="" if memory is None else "group",
        values=values,
    )


def _filled(facts: Facts, held: float) -> Finding | None:
    """The sender's sockets hold as much as their group's memory allows."""
    memory, seen = facts.sender.limits.memory, facts.windows
    assert memory is not None
    lost = max(held, seen.application_limited_ratio or 0.0)
    values: dict[str, Value | None] = {
        "role": "sender",
        "group": memory.group,
        "limit_bytes": memory.tcp_limit_bytes,
        "flight_bytes": (seen.flight_bytes_median or 0) * facts.connections,
        "limited_ratio": seen.application_limited_ratio,
    }
    return Finding(
        Cause.MEMORY_LIMIT,
        lost,
        0.9,
        (
            figure("memory_filled", "host_counters", facts.sender, **values),
            state_evidence(facts.sender, "sender", *HELD_BY_MEMORY),
        ),
        gain.of_share(facts, lost),
        is_counted=True,
        variant="filled",
        values=values,
    )


def _without_memory(facts: Facts) -> float:
    """Share of the time that a lack of memory may have cost.

    Where the receiver's drops are why the sender's timer expired, the small congestion windows after it are their
    doing as well. Without a log the time of these is not known.
    """
    held = facts.sender.ratio(*HELD_BY_MEMORY)
    dropped = sum(facts.receiver.limits.counts.get(name, 0) for name in DROPPING_COUNTS) + _pruned(facts.receiver)
    timeouts = facts.sender.limits.counts.get("TcpExtTCPTimeouts", 0)
    if not timeouts or dropped < timeouts / 2:
        return held
    return facts.sender.ratio(*HELD_BY_MEMORY, S.CONGESTION_WINDOW, S.SLOW_START, S.UNKNOWN, S.IN_FLIGHT)


MIN_FILLED_RATIO, MAX_FILLED_RATIO = 0.3, 1.1
"""Payload under way over a limit of memory for sockets that it fills: each packet takes more than its payload."""
MIN_ROOM_TIMES = 2.0
"""Windows this much larger than what is under way hold nothing back."""


def _fills_limit(facts: Facts) -> bool:
    """True where the sender's sockets use up their group's memory, though nothing counts it.

    TCP lets a sender that is at the limit buffer less (sk_stream_moderate_sndbuf, include/net/sock.h): an application
    that always writes then looks as if it wrote too little, with windows that have room.
    """
    memory, seen = facts.sender.limits.memory, facts.windows
    if memory is None or not memory.tcp_limit_bytes or not facts.asked.is_greedy or facts.is_turned:
        return False
    flight = (seen.flight_bytes_median or 0) * facts.connections
    window = min(
        (seen.cwnd_segments_median or 0) * (facts.sender.sockets.mss_bytes or 0), seen.announced_bytes_max or 0
    )
    is_full = MIN_FILLED_RATIO <= flight / memory.tcp_limit_bytes <= MAX_FILLED_RATIO
    is_open = window * facts.connections >= MIN_ROOM_TIMES * flight
    return is_full and is_open and (seen.application_limited_ratio or 0.0) >= APPLICATION_LIMITED_RATIO


def _binding(memory: MemoryLimit) -> int | None:
    """The limit that was met: that of the sockets, unless only the whole group's was."""
    is_of_sockets = memory.tcp_limit_bytes is not None and (memory.tcp_hits or not memory.hits)
    return memory.tcp_limit_bytes if is_of_sockets else memory.limit_bytes


def _lacks_memory(end: HostFacts) -> bool:
    """True where memory is what the side's sockets lack. A group that only reclaims its page cache meets its limit,
    too, and a small receive buffer makes TCP drop data as well."""
    memory, counts = end.limits.memory, end.limits.counts
    if counts.get(MEMORY_PRESSURE) or (memory is not None and memory.tcp_hits):
        return True
    if memory is None:
        return False
    drops = any(counts.get(name) for name in DROPPING_COUNTS) or _pruned(end) >= MIN_PRUNED
    is_roomy = (end.sockets.buffer_bytes or 0) >= ROOMY_BUFFER_BYTES
    # Linux 6.18 does not count the hits of the limit of sockets (memory.kmem.tcp.failcnt stays 0); the drops show them.
    if drops and is_roomy and (memory.hits or memory.tcp_limit_bytes is not None):
        return True
    return memory.hits > 0 and (memory.stalled_ratio or 0.0) >= STALLED_RATIO


def _pruned(end: HostFacts) -> int:
    """Times that TCP made room because a group's memory for sockets was used up, and not the larger receive buffer
    (tcp_prune_queue, net/ipv4/tcp_input.c)."""
    memory, buffer = end.limits.memory, end.sockets.buffer_bytes or 0
    is_less = memory is not None and memory.tcp_limit_bytes is not None and memory.tcp_limit_bytes < buffer
    return end.limits.counts.get("TcpExtPruneCalled", 0) if is_less else 0


MIN_PRUNED = 10
"""Fewer are a burst's."""


def _memory_hits(end: HostFacts) -> int:
    """Number of times memory was lacking, as far as it was counted."""
    memory, counts = end.limits.memory, end.limits.counts
    of_group = 0 if memory is None else memory.tcp_hits or memory.hits
    return of_group or max(_pruned(end), *(counts.get(name, 0) for name in (MEMORY_PRESSURE, *DROPPING_COUNTS)))


def local_queue(facts: Facts) -> Finding | None:
    """A queueing discipline of the sending host limits the rate, or drops what it should send."""
    found = [finding for queue in facts.sender.limits.queues if (finding := _of_queue(facts, queue)) is not None]
    return max(found, key=lambda finding: finding.strength, default=None)


def _of_queue(facts: Facts, queue: Queue) -> Finding | None:
    ratio = queue.dropped_packets / max(1, queue.sent_packets + queue.dropped_packets)
    values: dict[str, Value | None] = {
        "device": queue.device,
        "kind": queue.kind,
        "dropped_packets": queue.dropped_packets,
        "dropped_ratio": ratio,
    }
    evidence = figure("queue", "host_counters", facts.sender, **values, overlimits_count=queue.overlimits)
    use = _shaper_use(facts, queue)
    if use is not None and use >= SHAPED_RATIO:
        return Finding(
            Cause.LOCAL_QUEUE,
            1.0,
            0.97,
            (figure("shaper", "host_counters", facts.sender, rate_bps=queue.rate_bps, use_ratio=use), evidence),
            is_counted=True,
            variant="shaper",
            values={**values, "rate_bps": queue.rate_bps, "use_ratio": use},
        )
    # What an own queue drops TCP sends again without counting it as a retransmission, but halves its window for it
    # (tcp_enter_cwr in __tcp_transmit_skb, net/ipv4/tcp_output.c): without a log a shaper's rate shows the cost.
    states = facts.sender.ratio(S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)
    lost = min(states if use is None else clipped(1 - use), _most_by_drops(facts, queue))
    # A window that was halved for a single drop grows back slowly; then it is the only reason why it is small.
    is_only = not facts.segments.retransmitted_ratio and facts.windows.leaves_slow_start is True
    if queue.dropped_packets < (1 if is_only else MIN_DROPPED) or ratio < DROPPED_RATIO or lost < MIN_LOST:
        return None
    return Finding(
        Cause.LOCAL_QUEUE,
        lost,
        0.95,
        (evidence, state_evidence(facts.sender, "sender", S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)),
        gain.of_share(facts, lost) if use is None else gain.of_shaper(use),
        is_counted=True,
        values=values,
    )


def _most_by_drops(facts: Facts, queue: Queue) -> float:
    """The most that so few drops can have cost. Each halves a window that then grows back, to what the shaper's rate
    needs where it has one; what an application does not offer in the meantime is none of theirs."""
    offered = 1 - (facts.windows.application_limited_ratio or 0.0)
    trip, size = facts.windows.rtt_ns_median, facts.segments.segment_bytes_mean or facts.sender.sockets.mss_bytes
    if not queue.rate_bps or not trip or not size:
        sent = facts.segments.data_segments
        return min(offered, most_by_reductions(facts, queue.dropped_packets / sent)) if sent else offered
    window = queue.rate_bps * trip / 8e9 / size / max(1, facts.connections)
    trips = max(1.0, facts.life_ns / trip)
    return min(offered, queue.dropped_packets * SLOWLY_REGROWN_TIMES * window / 2 / trips)


MIN_DROPPED = 3
"""Fewer drops may be of another program's packets."""


def _shaper_use(facts: Facts, queue: Queue) -> float | None:
    """Part of a shaper's rate that the payload and its headers use; None where it has no rate or held nothing back."""
    rate, size = (
        facts.goodput_bps or facts.rate_bps,
        facts.segments.segment_bytes_mean or facts.sender.sockets.mss_bytes,
    )
    if not queue.rate_bps or not rate or queue.overlimits < DELAYED_RATIO * queue.sent_packets:
        return None
    headers = 0 if not size else (IP_TCP_BYTES + ETHERNET_BYTES) / size
    return rate * (1 + headers) / queue.rate_bps


def window_scaling(facts: Facts) -> Finding | None:
    """Without window scaling no window is above 65,535 bytes, however large the buffer is."""
    full = S.RECEIVE_WINDOW if facts.sender.ratio(S.RECEIVE_WINDOW) else S.RECEIVE_WINDOW_BUFFER
    lost = facts.sender.ratio(full)
    usual = facts.windows.announced_bytes_median or facts.windows.announced_bytes_max
    if lost < MIN_LOST / 2 or usual is None or not is_unscaled(facts):
        return None
    trip, buffer = facts.windows.rtt_ns_median, facts.receiver.sockets.buffer_bytes
    evidence = [
        figure("unscaled", "tcp_options", facts.sender, window_bytes=usual, buffer_bytes=buffer),
        state_evidence(facts.sender, "sender", full),
    ]
    if trip is not None:
        evidence.append(figure("rtt", WINDOWS, facts.sender, rtt_ns=trip))
    is_open = usual >= FULLY_OPEN * MAX_UNSCALED_BYTES
    if full is S.RECEIVE_WINDOW and not is_open:
        # Unread payload may have taken the rest: the receiver was not logged.
        return None
    return Finding(
        Cause.WINDOW_SCALING,
        lost,
        0.95 if is_open else 0.7,
        tuple(evidence),
        gain.of_window(facts, lost, usual),
        is_counted=is_open,
        values={"window_bytes": usual, "buffer_bytes": buffer},
    )


def is_unscaled(facts: Facts) -> bool:
    """True where the missing option bounds the window, and not the buffer: half of a buffer is for bookkeeping."""
    buffer, largest = facts.receiver.sockets.buffer_bytes, facts.windows.announced_bytes_max
    if facts.windows.window_scaling is not False or (largest or 0) > MAX_UNSCALED_BYTES:
        return False
    return buffer is None or buffer >= 2 * MAX_UNSCALED_BYTES
