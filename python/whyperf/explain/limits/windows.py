"""Windows, buffers and the rates of the congestion control: what may be unacknowledged at once."""

from collections.abc import Iterator
from math import ceil, log2

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts, MemoryLimit
from whyperf.explain.limits import gain
from whyperf.explain.limits.limit import (
    LIMIT_FROM,
    WINDOWS,
    Limit,
    asleep,
    by_window,
    clipped,
    figure,
    figures,
    filled,
    has_log,
    is_far,
    known_figure,
    or_zero,
    over_rate,
    samples,
    sides,
    state_evidence,
)
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts, TransportFacts

UNSCALED_BYTES = 65_535
"""The largest window without window scaling (RFC 7323 section 2.1)."""
FULL = (S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW)
"""States of a window that is full, whether or not a log of the receiver says that all was read."""


def open_part(facts: Facts) -> float:
    """Part of the largest window that is usually open: what is less, unread payload has closed.

    Linux never takes back what it has announced. With logs of both hosts the states say themselves who closed it.
    """
    usual, largest = facts.windows.announced_bytes_median, facts.windows.announced_bytes_max
    if facts.sender.ratio(S.RECEIVE_WINDOW):
        shape = samples(facts.sender).peer_window
        usual, largest = shape.median_bytes, shape.high_bytes
    elif has_log(facts):
        return 1.0
    return 1.0 if usual is None or not largest else clipped(usual / largest)


def receive_buffer(facts: Facts) -> Limit | None:
    """The advertised window is full although the receiver has read everything."""
    if facts.own is not None:
        return _library_window(facts, facts.own)
    if facts.watched_sides == "receiver":
        return _own_window(facts)
    window = facts.windows.announced_bytes_max
    unread = or_zero(samples(facts.receiver).pressed_ratio) * asleep(facts.receiver)
    share = max(facts.sender.ratio(*FULL) * open_part(facts), _full_by_size(facts)) * (1 - unread)
    if share < LIMIT_FROM or is_unscaled(facts):
        # The missing option bounds the window, whatever the buffer is.
        return None
    usual = facts.windows.announced_bytes_median or window
    return Limit(
        Cause.RECEIVE_BUFFER,
        share,
        figures(
            state_evidence(facts.sender, "sender", *_full_states(facts)),
            _announced(facts, window, usual),
            known_figure("receive_buffer", "flows", facts.receiver, buffer_bytes=facts.receiver.sockets.buffer_bytes),
            known_figure("rtt", WINDOWS, facts.sender, rtt_ns=facts.windows.rtt_ns_median),
        ),
        gain.of_window(facts, share, window),
        {} if window is None else {"window_bytes": window / max(0.05, 1 - share)},
        variant="steady" if facts.watched_sides == "sender" else "",
        values={"window_bytes": usual},
        ceiling=by_window(facts, usual),
    )


NEARLY_FULL = 0.9
"""Bytes in flight over the window that is announced, from which on it has no room for another segment."""


def _full_states(facts: Facts) -> tuple[S, ...]:
    """The states that show a full window: where the application waits for room because of it, that is the state."""
    return (S.SEND_BUFFER,) if _full_by_size(facts) > facts.sender.ratio(*FULL) else FULL


def _full_by_size(facts: Facts) -> float:
    """Time in which the application waits for room in its send buffer because the window has none either."""
    flight, usual = facts.windows.flight_bytes_median, facts.windows.announced_bytes_median
    is_full = flight is not None and usual is not None and flight >= NEARLY_FULL * usual
    return facts.sender.ratio(S.SEND_BUFFER) if is_full and not has_log(facts) else 0.0


def _announced(facts: Facts, window: int | None, usual: int | None) -> Evidence | None:
    """Evidence of the window that the receiver announced; of another program's by samples."""
    shape = samples(facts.sender).peer_window
    if shape.median_bytes is not None:
        values = {"low_bytes": shape.low_bytes, "largest_bytes": shape.high_bytes}
        return figure("peer_window", WINDOWS, facts.sender, window_bytes=shape.median_bytes, **values)
    median = None if usual == window else usual
    return known_figure("max_window", WINDOWS, facts.sender, window_bytes=window, median_bytes=median)


def _library_window(facts: Facts, own: TransportFacts) -> Limit | None:
    """The window of QUIC, UDT or SRT. QUIC's sender does not count its peer's (RFC 9000 section 4): a congestion window
    that stays open shows it."""
    flight, room = own.in_flight_bytes, own.peer_window_bytes
    if not flight or not is_far(facts):
        return None
    by_flow = 1 - flight / own.cwnd_bytes if own.cwnd_bytes and facts.transport == "quic" else 0.0
    share = clipped(flight / room if room else by_flow, 0.0, 0.95)
    if share < LIMIT_FROM:
        return None
    values: dict[str, Value | None] = {"window_bytes": room, "flight_bytes": flight, "cwnd_bytes": own.cwnd_bytes}
    return Limit(
        Cause.RECEIVE_BUFFER,
        share,
        figures(
            known_figure("own_window", "transport_info", facts.sender, window_bytes=room),
            figure("own_flight", "transport_info", facts.sender, flight_bytes=flight),
            known_figure("own_cwnd", "transport_info", facts.sender, cwnd_bytes=own.cwnd_bytes),
            figure(
                "own_trips",
                "transport_info",
                facts.sender,
                rtt_ns_median=own.rtt_ns_median,
                rtt_ns_min=own.rtt_ns_min,
            ),
        ),
        None,
        {"window_bytes": 4 * (room or flight)},
        variant="transport" if room else "flow_control",
        values=values,
        ceiling=over_rate(facts, 8e9 * (room or flight) / own.rtt_ns_min) if own.rtt_ns_min else None,
    )


def _arriving_window(facts: Facts) -> tuple[int, float] | None:
    """A receiver that was watched alone: the window that it announces, and the part of it that comes in a round trip;
    None where unread payload makes the window vary."""
    shape, trip = samples(facts.receiver).own_window, facts.windows.rtt_ns_median or facts.windows.rtt_ns_min
    if not trip or not facts.rate_bps or not shape.median_bytes:
        return None
    if not shape.is_steady(facts.receiver.sockets.mss_bytes or 0):
        return None
    window = min(shape.median_bytes, UNSCALED_BYTES) if facts.windows.window_scaling is False else shape.median_bytes
    return window, clipped(facts.rate_bps * trip / 8e9 / window, 0.0, 0.95)


def _own_window(facts: Facts) -> Limit | None:
    """The receiver alone: its program reads all that comes, and a full window comes in each round trip."""
    seen, found = samples(facts.receiver), _arriving_window(facts)
    if found is None or not is_far(facts) or is_unscaled(facts):
        return None
    window, full = found
    share = full * (1 - or_zero(seen.pressed_ratio))
    if share < LIMIT_FROM:
        return None
    fixed = figure("fixed_buffer", "watched", facts.receiver, option="SO_RCVBUF") if seen.receive_buffer_fixed else None
    return Limit(
        Cause.RECEIVE_BUFFER,
        share,
        figures(*_of_own_window(facts, window, full), fixed),
        None,
        {"window_bytes": 4 * window},
        variant="own",
        values={"window_bytes": window},
        ceiling=by_window(facts, window),
    )


def _of_own_window(facts: Facts, window: int, full: float) -> Iterator[Evidence]:
    low = samples(facts.receiver).own_window.low_bytes
    yield figure("own_window_full", WINDOWS, facts.receiver, window_bytes=window, full_ratio=full)
    yield figure("own_window_steady", WINDOWS, facts.receiver, window_bytes=window, low_bytes=low)


def send_buffer(facts: Facts) -> Limit | None:
    """All that the send buffer holds is in flight, and the application waits for room."""
    seen, buffer = samples(facts.sender), facts.sender.sockets.buffer_bytes
    flight = facts.windows.flight_bytes_max
    share = max(facts.sender.ratio(S.SEND_BUFFER), filled(facts))
    if share < LIMIT_FROM:
        return None
    buffer = seen.send_buffer_bytes or buffer
    # The size is that of one instant: a larger flight cannot be of it (a super-segment is begun while there is room).
    is_of_it = flight is not None and (buffer is None or flight <= buffer + gain.SUPER_SEGMENT_BYTES)
    return Limit(
        Cause.SEND_BUFFER,
        share,
        figures(
            state_evidence(facts.sender, "sender", S.SEND_BUFFER) if facts.sender.shares else None,
            known_figure("filled_buffer", "sockets", facts.sender, filled_ratio=seen.filled_ratio, buffer_bytes=buffer)
            or known_figure("send_buffer", "flows", facts.sender, buffer_bytes=buffer),
            figure("max_in_flight", WINDOWS, facts.sender, flight_bytes=flight) if is_of_it else None,
            figure("fixed_buffer", "watched", facts.sender, option="SO_SNDBUF") if seen.send_buffer_fixed else None,
        ),
        gain.of_window(facts, share, flight or buffer),
        {} if buffer is None else {"buffer_bytes": buffer / max(0.05, 1 - share)},
        ceiling=by_window(facts, flight or buffer),
    )


def is_unscaled(facts: Facts) -> bool:
    """True where the missing option bounds the window, and not the buffer: half of a buffer is for bookkeeping."""
    largest, buffer = facts.windows.announced_bytes_max, facts.receiver.sockets.buffer_bytes
    is_small = buffer is not None and buffer < 2 * UNSCALED_BYTES
    return facts.windows.window_scaling is False and or_zero(largest) <= UNSCALED_BYTES and not is_small


def window_scaling(facts: Facts) -> Limit | None:
    """Without window scaling no window is above 65,535 bytes, however large the buffer is."""
    largest, buffer = facts.windows.announced_bytes_max, facts.receiver.sockets.buffer_bytes
    if not is_unscaled(facts):
        return None
    usual, share = facts.windows.announced_bytes_median or largest, max(facts.sender.ratio(*FULL), _full_by_size(facts))
    own: tuple[Evidence, ...] = ()
    if facts.watched_sides == "receiver" and (found := _arriving_window(facts)) is not None:
        usual, share = found
        own = tuple(_of_own_window(facts, *found))
    if share < LIMIT_FROM or usual is None:
        return None
    end = facts.receiver if own else facts.sender
    return Limit(
        Cause.WINDOW_SCALING,
        share * clipped(usual / UNSCALED_BYTES),
        figures(
            figure("unscaled", "tcp_options", end, window_bytes=usual, buffer_bytes=buffer),
            *own,
            None if own else state_evidence(facts.sender, "sender", *_full_states(facts)),
            known_figure("rtt", WINDOWS, facts.sender, rtt_ns=facts.windows.rtt_ns_median),
        ),
        None if own else gain.of_window(facts, share, usual),
        variant="own" if own else "",
        values={"window_bytes": usual, "buffer_bytes": buffer},
        ceiling=by_window(facts, usual),
    )


MANY_WRITES, MAX_ONE_WRITE = 4, 1.1
"""Writes, and segments, from which on a window is never empty while one of them waits for its ACK; and writes up to
which it holds one."""
HELD_BY_WINDOW = (S.RECEIVE_WINDOW_BUFFER, S.SEND_BUFFER, S.NAGLE, S.ZERO_WINDOW, S.RECEIVE_WINDOW_READER)


def write_window_mismatch(facts: Facts) -> Limit | None:
    """A window that holds few writes and few segments: each waits for the acknowledgment of the one before."""
    share, window = facts.sender.ratio(*HELD_BY_WINDOW), facts.windows.announced_bytes_max
    write, mss = facts.sender.calls.bytes_mean, facts.sender.sockets.mss_bytes
    if share < LIMIT_FROM or window is None or write is None or not mss:
        return None
    # Writes much larger than the window are cut to fit it: that is a small buffer, not a mismatch.
    fits = window / write
    if not 0.9 <= fits < MANY_WRITES or window >= MANY_WRITES * mss:
        return None
    phase, late = facts.longest_phase, or_zero(facts.segments.ack_reasons.get("delayed_timer"))
    return Limit(
        Cause.WRITE_WINDOW_MISMATCH,
        share,
        figures(
            None if phase is None else figure("cycle", "segments", facts.sender, cycle=phase.words, waits=phase.waits),
            state_evidence(facts.sender, "sender", *HELD_BY_WINDOW[:3]),
            figure("writes_per_window", WINDOWS, facts.sender, writes_per_window=fits),
            figure("timer_acks", "segments", facts.receiver, timer_ratio=late),
        ),
        gain.of_window(facts, share, window),
        {"write_size_bytes": write, "window_bytes": 4 * max(write, mss)},
        variant="one_write" if fits < MAX_ONE_WRITE else "",
        values={"write_bytes": write, "window_bytes": window},
        ceiling=by_window(facts, window),
    )


PACED_SPREAD = (0.6, 1.3)
"""The rate over the pacing rate, while there is something to send, where that rate is what sets it."""


def pacing_rate(facts: Facts) -> Limit | None:
    """The socket's greatest pacing rate binds (SO_MAX_PACING_RATE)."""
    pacing, control = facts.segments.pacing, samples(facts.sender).congestion_control
    if facts.asked.paces_itself or control.startswith("bbr") or not pacing.bps or facts.rate_bps is None:
        # A rate that a congestion control finds may stand still as well.
        return None
    sending = max(0.05, 1 - facts.sender.ratio(S.NOT_WRITING))
    paced = facts.rate_bps / (pacing.bps * facts.connections * sending)
    share = or_zero(pacing.constant_ratio)
    if share < LIMIT_FROM or not PACED_SPREAD[0] <= paced <= PACED_SPREAD[1]:
        return None
    code = "paced_segments" if has_log(facts) else "paced_samples"
    return Limit(
        Cause.PACING_RATE,
        share,
        (
            figure(code, WINDOWS, facts.sender, pacing_bps=pacing.bps, constant_ratio=pacing.constant_ratio),
            state_evidence(facts.sender, "sender", S.PACING),
        ),
        # Who asked for a rate has a reason that no figure here shows, such as a queue: without it, one rate was halved.
        None if facts.asked.pacing_bps else gain.of_ends_in_large_packets(facts, saved="sender"),
        variant="asked" if facts.asked.pacing_bps else "",
        values={"pacing_bps": pacing.bps},
        ceiling=over_rate(facts, pacing.bps * facts.connections),
    )


INITIAL_SEGMENTS = 10
"""Segments that a new connection sends before its first acknowledgment (RFC 6928; TCP_INIT_CWND of Linux)."""
MAX_ROUND_TRIPS = 40
"""A transfer of more round trips has left slow start behind for most of its time."""


def slow_start(facts: Facts) -> Limit | None:
    """The connection ends before its congestion window has grown (RFC 5681 section 3.1)."""
    trip, is_late = facts.windows.rtt_ns_min, samples(facts.sender).is_whole is False
    if not trip or not is_far(facts) or is_late:
        return None
    size, mss, each = facts.asked.transfer_bytes, facts.sender.sockets.mss_bytes, facts.receiver.sockets.each_ns
    took = each / trip + 0.5 if size and each is not None else facts.life_ns / trip
    if took > MAX_ROUND_TRIPS:
        return None
    needed = max(1.0, ceil(log2(size / (INITIAL_SEGMENTS * mss) + 1))) if size and mss else None
    seen = facts.sender.ratio(S.SLOW_START)
    share = max(seen, clipped((needed - 0.5) / took) if needed else 0.0)
    if share < LIMIT_FROM:
        return None
    variant = "" if needed is None or seen > LIMIT_FROM else "one_window" if needed <= 1 else "counted"
    return Limit(
        Cause.SLOW_START,
        share,
        figures(
            state_evidence(facts.sender, "sender", S.SLOW_START) if facts.sender.shares else None,
            figure("transfer", WINDOWS, facts.sender, rtts_per_transfer=took, rtt_ns=trip),
            known_figure("transfer_bytes", "flows", facts.sender, transfer_bytes=size),
        ),
        None if variant else gain.of_share(facts, share, by_line=True),
        variant=variant,
        values={"transfer_bytes": size, "rtts_per_transfer": took, "slow_start_count": needed, "rtt_ns": trip},
    )


PRESSURE = "TcpExtTCPMemoryPressures"
"""All sockets together are near net.ipv4.tcp_mem (sk_enter_memory_pressure, net/core/sock.c)."""
DROPPING = ("TcpExtRcvPruned", "TcpExtTCPRcvQDrop")
"""TCP dropped what arrived, because the buffer or the memory had no room (tcp_try_rmem_schedule, tcp_input.c)."""
LACKING = (PRESSURE, *DROPPING, "TcpExtPruneCalled", "TcpExtOfoPruned", "TcpExtTCPRcvCollapsed")
"""Counters that TCP raises when it has no room for what arrives."""
ROOMY_BYTES = 131_072
"""A receive buffer from here on is not why TCP drops what arrives: the kernel's own first size (net.ipv4.tcp_rmem)."""
HELD_BY_MEMORY = (
    *(S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW, S.SEND_BUFFER, S.LOSS_RECOVERY, S.RTO_WAIT),
)
"""States that a lack of memory makes: small or closed windows, no room to write, and what the receiver drops."""
FILLED_MEMORY = (0.3, 1.1)
"""Payload under way over a limit of memory for sockets that it fills: each packet takes more than its payload."""


def memory_limit(facts: Facts) -> Limit | None:
    """The memory of a control group, or of all TCP sockets, is used up: windows stay small, or data is dropped."""
    role, end = max(sides(facts), key=lambda side: _lacks(side[1]))
    hits, memory = _lacks(end), end.limits.memory
    held = facts.sender.ratio(*HELD_BY_MEMORY)
    if not hits and (sent := facts.sender.limits.memory) is not None and _fills(facts, sent):
        return _filled_memory(facts, sent, held)
    share = max(held, or_zero(memory.stalled_ratio) if memory else 0.0)
    if not hits or share < LIMIT_FROM:
        return None
    counts = {name: end.limits.counts.get(name, 0) for name in LACKING}
    counted = [f"{name} {count:,}" for name, count in counts.items() if count]
    is_of_sockets = memory is not None and memory.tcp_limit_bytes is not None and (memory.tcp_hits or not memory.hits)
    values: dict[str, Value | None] = {
        "hits_count": hits,
        "role": role,
        "group": None if memory is None else memory.group,
        "limit_bytes": None if memory is None else memory.tcp_limit_bytes if is_of_sockets else memory.limit_bytes,
    }
    return Limit(
        Cause.MEMORY_LIMIT,
        share,
        figures(
            None if memory is None else figure("memory_group", "host_counters", end, **values),
            figure("no_memory", "host_counters", end, hits_count=sum(counts.values()), counters=counted)
            if counted
            else None,
            state_evidence(facts.sender, "sender", *HELD_BY_MEMORY),
        ),
        gain.of_share(facts, share),
        variant="" if memory is None else "group",
        values=values,
    )


def _lacks(end: HostFacts) -> int:
    """Number of times that a side's sockets had no memory, as far as it was counted.

    A group that only reclaims its page cache meets its limit, too, and a small receive buffer makes TCP drop as well.
    Linux 6.18 does not count the hits of the limit of sockets (memory.kmem.tcp.failcnt stays 0); the drops show them.
    """
    memory, counts = end.limits.memory, end.limits.counts
    known = counts.get(PRESSURE, 0) + (memory.tcp_hits if memory else 0)
    if memory is None:
        return known
    is_roomy = or_zero(end.sockets.buffer_bytes) >= ROOMY_BYTES
    dropped = sum(counts.get(name, 0) for name in (*DROPPING, "TcpExtPruneCalled")) if is_roomy else 0
    is_stalled = or_zero(memory.stalled_ratio) >= LIMIT_FROM
    has_bound = memory.tcp_limit_bytes is not None or memory.hits
    return known + (dropped if has_bound else 0) + (memory.hits if is_stalled else 0)


def _fills(facts: Facts, memory: MemoryLimit) -> bool:
    """True where the sender's sockets use up their group's memory, though nothing counts it.

    TCP lets a sender that is at the limit buffer less (sk_stream_moderate_sndbuf, include/net/sock.h): an application
    that always writes then looks as if it wrote too little, with windows that have room.
    """
    if not memory.tcp_limit_bytes or not facts.asked.is_greedy or facts.is_turned:
        return False
    flight = or_zero(facts.windows.flight_bytes_median) * facts.connections
    return FILLED_MEMORY[0] <= flight / memory.tcp_limit_bytes <= FILLED_MEMORY[1]


def _filled_memory(facts: Facts, memory: MemoryLimit, held: float) -> Limit | None:
    """The sender's sockets hold as much as their group's memory allows."""
    share = max(held, or_zero(facts.windows.application_limited_ratio))
    values: dict[str, Value | None] = {
        "role": "sender",
        "group": memory.group,
        "limit_bytes": memory.tcp_limit_bytes,
        "flight_bytes": or_zero(facts.windows.flight_bytes_median) * facts.connections,
        "limited_ratio": facts.windows.application_limited_ratio,
    }
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.MEMORY_LIMIT,
        share,
        (
            figure("memory_filled", "host_counters", facts.sender, **values),
            state_evidence(facts.sender, "sender", *HELD_BY_MEMORY),
        ),
        gain.of_share(facts, share),
        variant="filled",
        values=values,
    )
