"""The applications: what they write, read, wait for, and how much at a time."""

from collections.abc import Iterator

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.limits import gain
from whyperf.explain.limits.limit import (
    LIMIT_FROM,
    SEGMENTS,
    WINDOWS,
    Limit,
    asleep,
    busy,
    clipped,
    figure,
    figures,
    has_log,
    is_far,
    known_figure,
    moving,
    or_zero,
    path_wait,
    samples,
    state_evidence,
)
from whyperf.explain.limits.windows import FULL, open_part
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import Conversation

LARGE_CALL_BYTES = 131_072
"""Calls that the change makes."""
OUTSTANDING = 8
"""Exchanges that the change has under way at once."""
READER = (S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW)


def pausing(facts: Facts) -> float:
    """Time in which the sender's application neither writes, nor computes, nor waits for room."""
    sender, seen = facts.sender, samples(facts.sender)
    if sender.calls.asleep_ratio is not None:
        # While it sleeps, Nagle's algorithm holds back what its next write would push.
        return min(sender.ratio(S.NOT_WRITING, S.NAGLE), sender.calls.asleep_ratio)
    idle = sender.ratio(S.NOT_WRITING)
    if not has_log(facts) and is_far(facts):
        # Over a path something is nearly always unacknowledged, so that the kernel's clocks take it for busy. Who waits
        # for room in a buffer has nothing more to send either.
        limited = or_zero(facts.windows.application_limited_ratio) - sender.ratio(S.SEND_BUFFER, *FULL)
        idle = max(idle, limited - _waiting_for_timers(facts))
    return clipped(min(idle - or_zero(seen.filled_ratio), asleep(sender)))


MIN_RTO_NS = 200_000_000
"""The shortest retransmission timeout of Linux (TCP_RTO_MIN, include/net/tcp.h)."""


def _waiting_for_timers(facts: Facts) -> float:
    """Time in which a connection waits for a timeout at least: the kernel still calls it limited by its application,
    as nothing new was sent (tcp_rate_check_app_limited, net/ipv4/tcp_rate.c)."""
    fired = facts.segments.timeouts
    if fired is None:
        fired = facts.sender.limits.counts.get("TcpExtTCPTimeouts", 0)
    timers = fired * MIN_RTO_NS / max(1, facts.life_ns * facts.connections)
    return max(clipped(timers), facts.segments.outage.span_ratio)


def slow_writer(facts: Facts) -> Limit | None:
    """Nothing waits to be sent: the application sleeps between its writes, and no answer is due."""
    if facts.watched_sides == "receiver":
        return _silent_peer(facts)
    share = pausing(facts)
    is_paced = facts.datagrams is not None and not facts.is_watched
    if share < LIMIT_FROM or facts.exchanges is not None or facts.asked.is_greedy or is_paced:
        # A sender that always has more to write pauses for others only, and own datagrams are sent at a rate.
        return None
    return Limit(
        Cause.SLOW_WRITER,
        share * (1 - _alternating(facts)),
        figures(
            state_evidence(facts.sender, "sender", S.NOT_WRITING),
            known_figure(
                "application_limited",
                WINDOWS,
                facts.sender,
                limited_ratio=facts.windows.application_limited_ratio,
            ),
            known_figure("asleep", "calls", facts.sender, asleep_ratio=facts.sender.calls.asleep_ratio),
        ),
        gain.of_ends(facts),
    )


def _silent_peer(facts: Facts) -> Limit | None:
    """The receiver alone: nothing comes for a part of the time, after segments that end what was written."""
    gaps, quiet = facts.segments.short_gap_ratio, samples(facts.receiver).quiet_ratio
    share = max(or_zero(gaps), or_zero(quiet)) * (1 - _alternating(facts))
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.SLOW_WRITER,
        share,
        figures(
            known_figure("short_gaps", SEGMENTS, facts.receiver, gap_ratio=gaps),
            known_figure("quiet", "tcp_info", facts.receiver, quiet_ratio=quiet),
        ),
    )


def _alternating(facts: Facts) -> float:
    """Part of the time that requests and answers of another program take turns."""
    talk = facts.conversation
    return 0.0 if talk is None else clipped(or_zero(talk.own_ratio) + or_zero(talk.peer_ratio))


def think_time(facts: Facts) -> Limit | None:
    """The application pauses after an answer before it asks again."""
    exchanges, asked = facts.exchanges, facts.asked
    answered = None if exchanges is None else answered_figure(facts)
    if asked.paused_ratio >= LIMIT_FROM:
        # Whoever set the pauses of a workload has a reason that no figure shows, so no gain is promised.
        pauses = figure("asked_pauses", "transactions", facts.asker, pause_ns=asked.pause_ns)
        values: dict[str, Value | None] = {"pause_ns": asked.pause_ns}
        return Limit(Cause.THINK_TIME, asked.paused_ratio, figures(pauses, answered), variant="asked", values=values)
    if facts.conversation is not None:
        return _own_delay(facts, facts.conversation)
    thinks = facts.segments.cycle.think_ratio
    share = min(or_zero(thinks), pausing(facts))
    if thinks is None and exchanges is not None:
        share = min(pausing(facts), _unexplained(facts)) * exchanges.payload_ratio
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.THINK_TIME,
        share,
        figures(
            state_evidence(facts.sender, "sender", S.NOT_WRITING),
            known_figure("think", "segments", facts.sender, think_ratio=thinks),
            answered,
        ),
        gain.of_pauses(facts, share),
        variant="" if thinks is not None else "counted",
    )


def _unexplained(facts: Facts) -> float:
    """Part of the usual exchange that neither the path, nor opening a connection, nor a CPU takes."""
    exchanges = facts.exchanges
    if exchanges is None or not exchanges.latency_ns:
        return 0.0
    trip = or_zero(facts.windows.rtt_ns_median or facts.windows.rtt_ns_min)
    known = (trip + or_zero(exchanges.connect_ns)) / exchanges.latency_ns
    return clipped(1 - known - busy(facts.sender) - busy(facts.receiver))


def answered_figure(facts: Facts) -> Evidence:
    """Evidence of what the application counted of its transactions."""
    exchanges = facts.exchanges
    assert exchanges is not None
    return figure(
        "answered",
        "transactions",
        facts.asker,
        transactions_per_s=exchanges.per_s,
        transactions_count=exchanges.count,
        concurrent_times=None if exchanges.at_once is None else max(1.0, exchanges.at_once),
    )


def own_side(facts: Facts) -> tuple[str, HostFacts]:
    """The side that the delays of a conversation were measured at: the sender where it was watched."""
    return ("receiver", facts.receiver) if facts.watched_sides == "receiver" else ("sender", facts.sender)


UNSEEN = 0.5
"""The part of a delay that a program that nobody sees may sleep: it may work as well. An assumption."""


def _own_delay(facts: Facts, talk: Conversation) -> Limit | None:
    """A program has what it waited for, sleeps, and does not send the next message: the watched one, or its peer, of
    which nobody sees whether it sleeps."""
    role, end = own_side(facts)
    own, peer = or_zero(talk.own_ratio) * asleep(end), or_zero(talk.peer_ratio)
    if talk.peer_ns and facts.windows.rtt_ns_min:
        peer *= clipped(1 - facts.windows.rtt_ns_min / talk.peer_ns)
    share = max(own, UNSEEN * peer)
    if share < LIMIT_FROM:
        return None
    if own < share:
        values: dict[str, Value | None] = {"delay_ns": talk.peer_ns}
        rows, bare = tuple(conversation_rows(facts, talk, end)), gain.of_share(facts, share)
        return Limit(Cause.THINK_TIME, share, rows, bare, variant="peer", values=values)
    values = {
        "delay_ns": talk.own_ns,
        "role": role,
        "thread_ratio": end.processors.thread_ratio,
    }
    rows = tuple(conversation_rows(facts, talk, end))
    return Limit(Cause.THINK_TIME, share, rows, gain.of_share(facts, share), variant="exchange", values=values)


def conversation_rows(facts: Facts, talk: Conversation, end: HostFacts) -> Iterator[Evidence]:
    """Evidence of requests and answers of another program."""
    yield figure(
        "exchanges",
        WINDOWS,
        end,
        exchanges_count=talk.exchanges_most,
        own_ratio=talk.own_ratio,
        peer_ratio=talk.peer_ratio,
    )
    if facts.windows.rtt_ns_min:
        yield figure("min_rtt", "tcp_info", end, rtt_ns=facts.windows.rtt_ns_min)
    if end.processors.thread_ratio is not None:
        yield figure("program_thread", "threads", end, thread_ratio=end.processors.thread_ratio)


def round_trip(facts: Facts) -> Limit | None:
    """Request, answer, request: one exchange in a round trip."""
    trip = facts.windows.rtt_ns_min
    if not trip or not is_far(facts):
        return None
    if facts.conversation is not None:
        return _peer_delay(facts, facts.conversation, trip)
    exchanges, cycle = facts.exchanges, facts.segments.cycle
    part = 1.0 if exchanges is None else exchanges.payload_ratio
    if exchanges is not None and exchanges.latency_ns:
        # What the usual one takes: the rest of the time goes to those that take longer.
        slots = facts.asked.slots
        part *= clipped(or_zero(exchanges.at_once) / slots) if slots and facts.asked.intended_count is None else 1.0
        share, each, variant = clipped(trip / exchanges.latency_ns) * part, exchanges.latency_ns, "counted"
        row = figure("latency", "latencies", facts.asker, latency_ns=each)
    elif cycle.answer_ratio and facts.segments.data_back_packets:
        each = cycle.answer_ratio * facts.life_ns * facts.connections / facts.segments.data_back_packets
        share, variant = cycle.answer_ratio * clipped(trip / each), ""
        row = figure("answer_wait", "segments", facts.sender, waiting_ratio=cycle.answer_ratio)
    elif (each := or_zero(_reply_ns(facts))) > 0:
        share, variant = clipped(trip / each), "replies"
        counts = {"back_count": facts.segments.data_back_packets, "calls_count": facts.sender.calls.count}
        row = figure("replies", WINDOWS, facts.sender, **counts)
    else:
        return None
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.ROUND_TRIP,
        share,
        (row, figure("min_rtt", "tcp_info", facts.sender, rtt_ns=trip)),
        gain.of_several(facts, share, OUTSTANDING),
        variant=variant,
        values={
            "answer_ns": each,
            "latency_ns": each,
            "rtt_ns": trip,
            "transactions_per_s": None if exchanges is None else exchanges.per_s,
        },
        ceiling=each / trip,
    )


REPLIED = 0.5
"""Segments with data that come back for a write, from which on the sender may wait for them."""


def _reply_ns(facts: Facts) -> float | None:
    """Time from a write to the next, where the sender has nothing to send and data comes back for most writes."""
    back, calls = or_zero(facts.segments.data_back_packets), facts.sender.calls.count
    idle = or_zero(facts.windows.application_limited_ratio)
    if not calls or facts.asked.is_greedy or back < REPLIED * calls or idle < REPLIED:
        return None
    return facts.life_ns * facts.connections / calls


def _peer_delay(facts: Facts, talk: Conversation, trip: int) -> Limit | None:
    """The next message is the peer's, after what the path's round trip takes."""
    role, end = own_side(facts)
    each = talk.peer_ns or facts.life_ns * facts.connections / max(1, talk.exchanges_most)
    share = clipped(trip / max(each, 1)) * (1.0 if talk.peer_ratio is None else talk.peer_ratio)
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.ROUND_TRIP,
        share,
        tuple(conversation_rows(facts, talk, end)),
        gain.of_several(facts, share, OUTSTANDING),
        variant="exchange" if talk.peer_ns else "exchange.counted",
        values={"delay_ns": each, "rtt_ns": trip, "role": role},
        ceiling=each / trip,
    )


def connection_setup(facts: Facts) -> Limit | None:
    """Every exchange opens a connection of its own (RFC 9293 section 3.5) and starts in slow start (RFC 5681)."""
    exchanges = facts.exchanges
    if exchanges is None or not exchanges.connect_ns or not exchanges.latency_ns:
        return None
    # The handshake is a round trip, of a connection that may be too short for any sample of TCP_INFO.
    trip = min(exchanges.connect_ns, facts.windows.rtt_ns_min or exchanges.connect_ns)
    kept = trip / exchanges.latency_ns if is_far(facts) else 1 - exchanges.connect_ns / exchanges.latency_ns
    share = clipped(1 - kept)
    if share < LIMIT_FROM:
        return None
    trips = exchanges.latency_ns / trip
    return Limit(
        Cause.CONNECTION_SETUP,
        share,
        (
            figure(
                "exchange_trips",
                "latencies",
                facts.asker,
                latency_ns=exchanges.latency_ns,
                rtts_per_exchange=trips,
            ),
            figure("connect", "latencies", facts.asker, connect_ns=exchanges.connect_ns),
        ),
        gain.of_kept_connection(facts, exchanges.latency_ns, exchanges.connect_ns, trip),
        values={
            "latency_ns": exchanges.latency_ns,
            "rtts_per_exchange": trips,
            "rtt_ns": trip,
            "connect_ns": exchanges.connect_ns,
        },
    )


def slow_reader(facts: Facts) -> Limit | None:
    """Payload waits, the application sleeps, and the window closes."""
    end, seen = facts.receiver, samples(facts.receiver)
    waits = facts.sender.ratio(*READER)
    if end.calls.asleep_ratio is not None or end.watched is not None:
        share, variant = min(end.ratio(R.NOT_READING), or_zero(end.calls.asleep_ratio)), ""
    else:
        closed = facts.sender.ratio(*FULL) * (1 - open_part(facts)) + facts.sender.ratio(S.ZERO_WINDOW)
        idle, variant = end.ratio(R.NOT_READING), "closed" if closed else ""
        share, waits = min(max(idle, closed), asleep(end)), max(waits, closed)
    unread, by = (0.0, "") if end.watched is None else _unread(facts)
    if unread > share:
        # A log that began later does not know what was unread by then; the socket does.
        share, variant, waits = unread, by, unread
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.SLOW_READER,
        share,
        tuple(_of_reader(facts)),
        gain.of_ends(facts, behind=True),
        variant=variant,
        values={
            "waiting_ratio": waits,
            "unread_bytes": seen.unread_bytes,
            "read_ratio": or_zero(facts.segments.ack_reasons.get("read_call")),
        },
    )


def _unread(facts: Facts) -> tuple[float, str]:
    """Time in which another program leaves payload unread while it sleeps, and the sender waits for its window, or for
    ACKs that its reads send (__tcp_ack_snd_check, net/ipv4/tcp_input.c)."""
    seen, by_reads = samples(facts.receiver), or_zero(facts.segments.ack_reasons.get("read_call"))
    pressed = min(or_zero(seen.pressed_ratio), or_zero(seen.unread_ratio))
    held = path_wait(facts) if facts.watched_sides == "both" else 1.0
    by_acks = min(or_zero(seen.unread_ratio) * by_reads, held)
    sleeps = min(asleep(facts.receiver), asleep(facts.sender))
    return max(pressed, by_acks) * sleeps, "behind" if pressed >= by_acks else "acks"


def _of_reader(facts: Facts) -> Iterator[Evidence]:
    """Evidence of payload that waits to be read, and of what the reader does."""
    end, seen, windows = facts.receiver, samples(facts.receiver), facts.windows
    if seen.unread_ratio is not None:
        yield figure(
            "unread",
            "sockets",
            end,
            unread_ratio=seen.unread_ratio,
            unread_bytes=seen.unread_bytes,
            pressed_ratio=seen.pressed_ratio,
        )
    elif end.shares:
        yield state_evidence(end, "receiver", R.NOT_READING)
    if windows.announced_bytes_median is not None and windows.announced_bytes_max and not has_log(facts):
        yield figure(
            "closed_window",
            WINDOWS,
            facts.sender,
            window_bytes=windows.announced_bytes_median,
            largest_bytes=windows.announced_bytes_max,
        )
    if end.processors.thread_ratio is not None:
        yield figure("reader_thread", "threads", end, thread_ratio=end.processors.thread_ratio)
    if closed := end.limits.counts.get("TcpExtTCPToZeroWindowAdv"):
        yield figure("zero_windows", "host_counters", end, closed_count=closed)
    if facts.sender.shares:
        yield state_evidence(facts.sender, "sender", *READER)


def _calling(facts: Facts, end: HostFacts, size: float) -> float:
    """Part of the time that an end's calls cost beyond what moving their bytes takes."""
    each = end.calls.ns_mean or facts.life_ns * or_zero(end.processors.thread_ratio) / max(1, end.calls.count or 1)
    called = or_zero(end.calls.in_call_ratio) + or_zero(end.calls.computing_ratio)
    calling = called / max(0.05, 1 - or_zero(end.calls.runnable_ratio)) if called else moving(facts, end)
    wasted = clipped(1 - gain.COPY_NS_PER_BYTE * size / max(1.0, each))
    return clipped(calling) * wasted * clipped(1 - size / gain.SUPER_SEGMENT_BYTES)


OF_BATCH = 0.3
"""The part of a datagram's call that a batch saves: its entry into the kernel, and not its way to the device. An
assumption: no batch was measured."""


def tiny_writes(facts: Facts) -> Limit | None:
    """So little a call that the call itself is what the sender's CPU does."""
    size = facts.sender.calls.bytes_mean
    if size is None or _is_one_message(facts):
        return None
    # A thread of another program that runs all the time may work for something else, but not where it sleeps.
    share = _calling(facts, facts.sender, size) * (1.0 if facts.datagrams is None else OF_BATCH)
    return None if share < LIMIT_FROM else _of_calls(facts, Cause.TINY_WRITES, facts.sender, "write", share)


MANY_WRITES = 8
"""Fewer writes than this are a message, which cannot be collected with the next before its answer has come."""


def _is_one_message(facts: Facts) -> bool:
    """True where a message is written for each answer."""
    exchanges, back, calls = facts.exchanges, facts.segments.data_back_packets, facts.sender.calls.count
    if exchanges is not None:
        return exchanges.calls_each < 2 * MANY_WRITES
    return bool(back and calls and calls < MANY_WRITES * back)


SMALL_READ_BYTES, HUGE_READ_BYTES, OF_HUGE_READS = 4096, 1 << 20, 0.3
"""Reads that a call costs more than, and those whose payload no longer fits the CPU's caches, with their cost."""


def read_size(facts: Facts) -> Limit | None:
    """Read calls so small that the call is the cost, or so large that what they copy no longer fits a CPU's caches."""
    end, size = facts.receiver, facts.receiver.calls.bytes_mean
    if size is None or _is_one_message(facts) or facts.datagrams is not None:
        # An answer is as large as it is, and a datagram is read by itself.
        return None
    if size >= HUGE_READ_BYTES:
        share = OF_HUGE_READS * moving(facts, end)
        row = figure("read_bytes", "flows", end, call_bytes=size)
        values: dict[str, Value | None] = {"call_bytes": size}
        predicted = gain.of_share(facts, share, saved="receiver")
        return Limit(Cause.READ_SIZE, share, (row,), predicted, variant="huge", values=values)
    share = _calling(facts, end, size) if size <= SMALL_READ_BYTES else 0.0
    # A reader that keeps up gets what was written: then the writes are small.
    as_written = clipped(size / facts.sender.calls.bytes_mean) if facts.sender.calls.bytes_mean else 0.0
    share *= 1 - as_written * (1 - facts.sender.ratio(*READER, *FULL))
    return None if share < LIMIT_FROM else _of_calls(facts, Cause.READ_SIZE, end, "read", share)


def _of_calls(facts: Facts, cause: Cause, end: HostFacts, call: str, share: float) -> Limit:
    size, thread = or_zero(end.calls.bytes_mean), end.processors.thread_ratio
    is_datagrams, larger = facts.datagrams is not None, gain.of_calls(facts, end, size, LARGE_CALL_BYTES)
    if call == "read" and larger is not None:
        larger = gain.least((larger, gain.of_ends(facts, saved="receiver")))
    return Limit(
        cause,
        share,
        figures(
            figure("calls", "flows", end, call_bytes=size, calls_count=end.calls.count or 0, call=call),
            known_figure("thread", "threads", end, thread_ratio=thread),
        ),
        # How much a batch of datagrams saves was never measured here.
        None if is_datagrams else larger or gain.of_share(facts, share, saved="both"),
        variant="datagrams" if is_datagrams else "",
        values={
            "call_bytes": size,
            "call_ns": end.calls.ns_mean or facts.life_ns * or_zero(thread) / max(1, end.calls.count or 1),
        },
    )
