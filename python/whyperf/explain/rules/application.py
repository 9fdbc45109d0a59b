"""Behavior of the applications: writing, reading, pausing, answering."""

from whyperf.explain.causes import Cause
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.predicted import MIN_GAIN
from whyperf.explain.rules import gain
from whyperf.explain.rules.buffers import is_closed, zero_windows
from whyperf.explain.rules.datagrams import is_dropping
from whyperf.explain.rules.finding import (
    APPLICATION_LIMITED_RATIO,
    WINDOWS,
    Finding,
    clipped,
    figure,
    is_on_cpu,
    is_perhaps_idle,
    state_evidence,
)
from whyperf.explain.rules.gain import COPY_NS_PER_BYTE, NEIGHBOR_RTT_NS
from whyperf.explain.rules.repairs import slow_exchanges
from whyperf.explain.rules.transfers import MAX_ROUND_TRIPS, trips_of_transfer
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import ExchangeFacts, Facts

MAX_SEGMENT_BYTES = 1024
"""Writes and reads up to this size cost about as much as a call of one byte: the call itself is the cost."""
HUGE_READ_BYTES = 1 << 20
MIN_ANSWERS = 5
MIN_WRITES_PER_ANSWER = 8
"""Fewer writes than this are a message, which cannot be collected with the next before its answer has come."""
LARGE_CALL_BYTES = 131_072
"""Calls that the change makes."""
OUTSTANDING = 8
"""Exchanges that the change has under way at once."""
BUSY_RATIO = 0.5
"""Others that take so much of a CPU have it, rather than the load."""
READER_STATES = (S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW, S.RECEIVE_WINDOW_BUFFER)


def _exchanges(facts: Facts) -> ExchangeFacts | None:
    """Transactions of few calls, each with its answer; of many writes for one, these may be collected."""
    exchanges = facts.exchanges
    return exchanges if exchanges is not None and exchanges.calls_each < 2 * MIN_WRITES_PER_ANSWER else None


def _answers(facts: Facts) -> bool:
    """True where the sender gets answers, and waits for them: by the log, and without one as the application counts."""
    if facts.level != "segments" or facts.transport != "tcp":
        return facts.exchanges is not None
    segments = facts.segments
    return (segments.data_back_packets or 0) >= MIN_ANSWERS and segments.cycle.waiting_ratio >= 0.1


def _pausing(facts: Facts) -> float:
    """Share of the time in which the sender's application neither writes, nor computes, nor waits for an answer."""
    idle = facts.sender.ratio(S.NOT_WRITING)
    if facts.sender.calls.asleep_ratio is not None:
        # While it sleeps, Nagle's algorithm holds back what its next write would push.
        return min(facts.sender.ratio(S.NOT_WRITING, S.NAGLE), facts.sender.calls.asleep_ratio)
    idle = limited = max(idle, _application_limited(facts))
    waited = facts.sender.processors.run_queue_ratio or 0.0
    if facts.sender.processors.thread_ratio is not None:
        idle = min(idle, 1 - facts.sender.processors.thread_ratio - waited)
    if (facts.sender.processors.other_ratio or 0.0) >= BUSY_RATIO:
        # A sender that others keep off the CPU has nothing more to send either: that time is theirs.
        idle = min(idle, limited - waited)
    return max(0.0, idle)


def _application_limited(facts: Facts) -> float:
    """Without a log, part of the time in which the sender's kernel had too little to send.

    Over a path something is nearly always unacknowledged, so the kernel's clocks take a slow writer for busy. Between
    neighbors a sender whose CPU is the limit has too little to send as well, and so has one that waits for room.
    """
    limited = facts.windows.application_limited_ratio or 0.0
    near = (facts.windows.rtt_ns_min or 0) < NEIGHBOR_RTT_NS
    if facts.level == "segments" or limited < APPLICATION_LIMITED_RATIO or near or is_on_cpu(facts):
        return 0.0
    if facts.exchanges is not None:
        # Whoever waits for an answer has nothing to send either.
        return 0.0
    return clipped(limited - facts.sender.ratio(S.SEND_BUFFER, S.RECEIVE_WINDOW_BUFFER))


def slow_writer(facts: Facts) -> Finding | None:
    """Nothing waits to be sent: the application sleeps between its writes, and no answer is due."""
    lost, is_open = _pausing(facts), False
    if lost < 0.1 and is_perhaps_idle(facts):
        lost, is_open = facts.windows.application_limited_ratio or 0.0, True
    if lost < 0.1 or _answers(facts) or _has_written_all(facts) or facts.asked.is_greedy or _replies(facts):
        # A sender that always has more to write pauses for others only.
        return None
    evidence = [state_evidence(facts.sender, "sender", S.NOT_WRITING)]
    if _application_limited(facts) or is_open:
        limited = facts.windows.application_limited_ratio or 0.0
        evidence.append(figure("application_limited", WINDOWS, facts.sender, limited_ratio=limited))
    if facts.sender.calls.asleep_ratio is not None:
        asleep = facts.sender.calls.asleep_ratio
        evidence.append(figure("asleep", "calls", facts.sender, asleep_ratio=asleep))
    return Finding(
        Cause.SLOW_WRITER,
        lost,
        # A log without calls does not separate a writer that waits for room in its buffer from one that sleeps; calls
        # do, and so do the kernel's clocks.
        0.45 if is_open or (facts.level == "segments" and facts.sender.calls.asleep_ratio is None) else 0.95,
        tuple(evidence),
        gain.of_ends(facts),
        open="application" if is_open else "",
    )


def _has_written_all(facts: Facts) -> bool:
    """True where connections end with a set amount of payload, so that no more is written before its end."""
    took = trips_of_transfer(facts)
    return facts.asked.transfer_bytes is not None and took is not None and took <= MAX_ROUND_TRIPS


def think_time(facts: Facts) -> Finding | None:
    """The application pauses after an answer before it asks again."""
    if facts.asked.paused_ratio >= MIN_PAUSED:
        return _asked_think_time(facts)
    if facts.level != "segments":
        return _counted_think_time(facts)
    thinks = facts.segments.cycle.think_ratio
    if not _answers(facts) or thinks is None or thinks < 0.1:
        return None
    lost = min(thinks, _pausing(facts))
    if lost < 0.1:
        return None
    return Finding(
        Cause.THINK_TIME,
        lost,
        0.9,
        (
            state_evidence(facts.sender, "sender", S.NOT_WRITING),
            figure("think", "segments", facts.sender, think_ratio=thinks),
        ),
        gain.of_pauses(facts, lost),
    )


MIN_PAUSED = 0.1


def _asked_think_time(facts: Facts) -> Finding:
    """The pauses of the workload itself. Whoever set them has a reason that no figure shows, so no gain is promised."""
    asked, exchanges = facts.asked, facts.exchanges
    answered = (
        ()
        if exchanges is None
        else (
            figure(
                "answered",
                "transactions",
                facts.asker,
                transactions_per_s=exchanges.per_s,
                transactions_count=exchanges.count,
            ),
        )
    )
    return Finding(
        Cause.THINK_TIME,
        asked.paused_ratio,
        0.97,
        (figure("asked_pauses", "transactions", facts.asker, pause_ns=asked.pause_ns), *answered),
        is_counted=True,
        variant="asked",
        values={"pause_ns": asked.pause_ns},
    )


def _counted_think_time(facts: Facts) -> Finding | None:
    """The same without a log: nothing is under way, and neither end's CPU works."""
    exchanges = facts.exchanges
    if exchanges is None:
        return None
    # While the sender has nothing to send, the receiver may be at work on the answer.
    lost = (_pausing(facts) - (facts.receiver.wanted_ratio or 0.0)) * exchanges.payload_ratio
    if lost < 0.1:
        return None
    return Finding(
        Cause.THINK_TIME,
        lost,
        0.9,
        (
            state_evidence(facts.sender, "sender", S.NOT_WRITING),
            figure(
                "answered",
                "transactions",
                facts.asker,
                transactions_per_s=exchanges.per_s,
                transactions_count=exchanges.count,
            ),
        ),
        gain.of_share(facts, lost),
        variant="counted",
    )


def round_trip(facts: Facts) -> Finding | None:
    """Request, answer, request: one exchange in a round trip."""
    if facts.level != "segments":
        return _counted_round_trip(facts)
    waits, trip = facts.segments.cycle.answer_ratio, facts.windows.rtt_ns_min
    back = facts.segments.data_back_packets
    if not _answers(facts) or waits is None or waits < 0.1 or not trip or not back:
        return None
    each = waits * facts.life_ns * facts.connections / back
    # Between neighbors the answer's time is that of CPUs; beyond a few round trips it is the other application's.
    if trip < NEIGHBOR_RTT_NS or each > 4 * trip:
        return None
    return Finding(
        Cause.ROUND_TRIP,
        min(waits, 1 - slow_exchanges(facts), _trips_part(facts, trip)),
        0.9,
        (
            figure("answer_wait", "segments", facts.sender, waiting_ratio=waits),
            figure("min_rtt", "tcp_info", facts.sender, rtt_ns=trip),
        ),
        gain.of_several(facts, waits, OUTSTANDING),
        values={"answer_ns": each, "rtt_ns": trip},
    )


MAX_COUNTED_TRIPS = 2.0
"""Smallest round trips of a transaction up to which they are most of it; without a log nothing shows what the rest is.
"""


def _trips_part(facts: Facts, trip: int) -> float:
    """Part of a transaction that the smallest round trip is; all of it where nobody counts transactions."""
    latency = None if facts.exchanges is None else facts.exchanges.latency_ns
    return 1.0 if not latency else clipped(trip / latency)


def _counted_round_trip(facts: Facts) -> Finding | None:
    """The same without a log, by the application's own times of its transactions."""
    exchanges, trip = facts.exchanges, facts.windows.rtt_ns_min
    if exchanges is None:
        return _replies(facts)
    if (
        exchanges.latency_ns is None
        or is_on_cpu(facts)
        or not trip
        or trip < NEIGHBOR_RTT_NS
        or exchanges.latency_ns > MAX_COUNTED_TRIPS * trip
    ):
        return None
    waits = clipped(trip / exchanges.latency_ns)
    return Finding(
        Cause.ROUND_TRIP,
        min(waits, 1 - slow_exchanges(facts)) * exchanges.payload_ratio,
        0.9,
        (
            figure("latency", "latencies", facts.asker, latency_ns=exchanges.latency_ns),
            figure("min_rtt", "tcp_info", facts.sender, rtt_ns=trip),
        ),
        gain.of_several(facts, waits, OUTSTANDING),
        variant="counted",
        values={"transactions_per_s": exchanges.per_s, "latency_ns": exchanges.latency_ns, "rtt_ns": trip},
    )


def _replies(facts: Facts) -> Finding | None:
    """The same for streams whose sender waits for a reply to what it wrote: data comes back for most writes."""
    trip, each = facts.windows.rtt_ns_min, _reply_ns(facts)
    if each is None or not trip or trip < NEIGHBOR_RTT_NS or each > 4 * trip or is_on_cpu(facts):
        return None
    waits = clipped(trip / each)
    counts = {"back_count": facts.segments.data_back_packets, "calls_count": facts.sender.calls.count}
    limited = facts.windows.application_limited_ratio or 0.0
    return Finding(
        Cause.ROUND_TRIP,
        waits,
        0.9,
        (
            figure("replies", WINDOWS, facts.sender, **counts),
            figure("application_limited", WINDOWS, facts.sender, limited_ratio=limited),
        ),
        gain.of_several(facts, waits, OUTSTANDING),
        variant="replies",
        values={"answer_ns": each, "rtt_ns": trip},
    )


MIN_REPLIED = 0.5
"""Segments with data that come back for a write, from which on the sender may wait for them."""


def _reply_ns(facts: Facts) -> float | None:
    """Time from a write to the next, where the sender has nothing to send and data comes back for most writes."""
    back, calls = facts.segments.data_back_packets or 0, facts.sender.calls.count or 0
    if facts.level == "segments" or facts.exchanges is not None or facts.asked.is_greedy:
        return None
    if back < MIN_ANSWERS or back < MIN_REPLIED * calls:
        return None
    if (facts.windows.application_limited_ratio or 0.0) < APPLICATION_LIMITED_RATIO:
        return None
    return facts.life_ns * facts.connections / calls if calls else None


def slow_reader(facts: Facts) -> Finding | None:
    """Payload waits, the application sleeps, and the window closes."""
    if facts.level != "segments" and is_closed(facts):
        return _closed_window(facts)
    idle = facts.receiver.ratio(R.NOT_READING)
    if facts.receiver.calls.asleep_ratio is not None:
        idle = min(idle, facts.receiver.calls.asleep_ratio)
    elif facts.receiver.processors.thread_ratio is not None:
        idle = min(idle, 1 - facts.receiver.processors.thread_ratio)
    waits = facts.sender.ratio(*READER_STATES)
    lost = clipped(idle)
    if lost < 0.1:
        return None
    return Finding(
        Cause.SLOW_READER,
        lost,
        0.9 if waits >= 0.1 else 0.6,
        (
            state_evidence(facts.receiver, "receiver", R.NOT_READING),
            state_evidence(facts.sender, "sender", S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW),
        ),
        gain.of_ends(facts, behind=True),
        values={"waiting_ratio": waits},
    )


MAX_READING = 0.8
"""Share of the time that a reader runs, from which on it does not sleep."""


def _closed_window(facts: Facts) -> Finding | None:
    """Without a log: the window is closed although the buffer is large, and the reader has a CPU."""
    lost = clipped(facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER))
    processors = facts.receiver.processors
    ran, withheld, closed = processors.thread_ratio or 0.0, processors.withheld_ratio or 0.0, zero_windows(facts)
    if lost < 0.1 or ran >= MAX_READING or withheld >= MAX_WITHHELD:
        return None
    return Finding(
        Cause.SLOW_READER,
        lost,
        0.85,
        (
            figure(
                "closed_window",
                WINDOWS,
                facts.sender,
                window_bytes=facts.windows.announced_bytes_median or 0,
                largest_bytes=facts.windows.announced_bytes_max,
            ),
            figure("reader_thread", "threads", facts.receiver, thread_ratio=ran),
            *((figure("zero_windows", "host_counters", facts.receiver, closed_count=closed),) if closed else ()),
            state_evidence(facts.sender, "sender", S.RECEIVE_WINDOW_BUFFER),
        ),
        gain.of_ends(facts, behind=True),
        is_counted=True,
        variant="closed",
        values={"waiting_ratio": lost},
    )


MAX_WITHHELD = 0.2
"""Share of the time that a reader waits for a CPU, from which on that is why it does not read."""


def tiny_writes(facts: Facts) -> Finding | None:
    """So little a call that the call itself is what the sender's CPU does."""
    size = facts.sender.calls.bytes_mean
    if size is None or size >= gain.SUPER_SEGMENT_BYTES or not _is_calling(facts, "sender"):
        return None
    if _exchanges(facts) is not None or is_dropping(facts):
        return None
    back, calls = facts.segments.data_back_packets, facts.sender.calls.count
    if _answers(facts) and back and calls and calls < MIN_WRITES_PER_ANSWER * back:
        return None
    larger, window = _of_larger_calls(facts, "sender", size), facts.windows.announced_bytes_max
    # A call that writes more may take its time for that, or wait for the window: then larger ones may bring nothing.
    is_sure = larger is not None and larger.low >= MIN_GAIN and not (window and window < LARGE_CALL_BYTES)
    if size > MAX_SEGMENT_BYTES and not is_sure:
        return None
    return _tiny(facts, Cause.TINY_WRITES, "sender", "write", size)


FULL_READ = 0.5
"""Part of the largest window from which on a read takes what the buffer holds: a larger call would find no more."""


def tiny_reads(facts: Facts) -> Finding | None:
    """So little a call that the call itself is what the receiver's CPU does."""
    size = facts.receiver.calls.bytes_mean
    if size is None or size > MAX_SEGMENT_BYTES or not _is_calling(facts, "receiver"):
        return None
    if _exchanges(facts) is not None or facts.datagrams is not None:
        # An answer is as large as it is, and a datagram is read by itself.
        return None
    window = facts.windows.announced_bytes_max
    if window and size >= FULL_READ * window:
        return None
    sent = facts.sender.calls.bytes_mean
    # A reader that keeps up gets what was written: then the writes are small.
    if sent is not None and size >= 0.5 * sent and facts.sender.ratio(*READER_STATES) < 0.3:
        return None
    return _tiny(facts, Cause.READ_SIZE, "receiver", "read", size)


def _is_calling(facts: Facts, role: str) -> bool:
    """True where that end's CPU is the limit, in its calls."""
    end = facts.sender if role == "sender" else facts.receiver
    share = end.ratio(S.WRITE_CALL) if role == "sender" else end.ratio(R.READ_CALL)
    return max(share, end.calls.in_call_ratio or 0.0, end.wanted_ratio or 0.0) >= 0.4


def _tiny(facts: Facts, cause: Cause, role: str, call: str, size: float) -> Finding:
    end = facts.sender if role == "sender" else facts.receiver
    # Copying takes a fraction of a ns a byte; a call some hundred ns at least.
    each = end.calls.ns_mean or facts.life_ns / max(1, end.calls.count or 1)
    wasted = clipped(1 - COPY_NS_PER_BYTE * size / max(1.0, each), 0.0, 0.995)
    lost = wasted * _calling_share(end)
    thread = end.processors.thread_ratio
    calls = figure("calls", "flows", end, call_bytes=size, calls_count=end.calls.count or 0, call=call)
    is_datagrams = facts.datagrams is not None
    return Finding(
        cause,
        lost,
        0.95,
        (calls,) if thread is None else (calls, figure("thread", "threads", end, thread_ratio=thread)),
        # How much a batch of datagrams saves was never measured here.
        None if is_datagrams else _of_larger_calls(facts, role, size) or gain.of_share(facts, lost, saved="both"),
        variant="datagrams" if is_datagrams else "",
        values={"call_bytes": size, "call_ns": each},
    )


def _of_larger_calls(facts: Facts, role: str, size: float) -> gain.Gain | None:
    """Gain of larger calls. Small reads leave the sender's work as it is, small writes make the receiver's more."""
    if role == "sender":
        return gain.of_calls(facts, facts.sender, size, LARGE_CALL_BYTES)
    calls = gain.of_calls(facts, facts.receiver, size, LARGE_CALL_BYTES)
    return None if calls is None else gain.least((calls, gain.of_ends(facts, saved="receiver")))


def _calling_share(end: HostFacts) -> float:
    """Part of its time that the end calls, of what other programs leave it; all of it where its calls are not known."""
    if end.calls.in_call_ratio is None:
        return 1.0
    called = end.calls.in_call_ratio + (end.calls.computing_ratio or 0.0)
    return clipped(called / max(0.05, 1 - (end.calls.runnable_ratio or 0.0)))


def huge_reads(facts: Facts) -> Finding | None:
    """Read calls so large that what they copy no longer fits the CPU's caches."""
    size = facts.receiver.calls.bytes_mean
    if size is None or size < HUGE_READ_BYTES or not _is_calling(facts, "receiver"):
        return None
    return Finding(
        Cause.READ_SIZE,
        0.3,
        0.9,
        (figure("read_bytes", "flows", facts.receiver, call_bytes=size),),
        gain.of_share(facts, 0.3, saved="receiver"),
        variant="huge",
        values={"call_bytes": size},
    )
