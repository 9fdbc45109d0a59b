"""Requests and answers of another program: what each waits for that is sent by the watched program, or by its peer."""

from typing import Literal

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.rules import gain
from whyperf.explain.rules.buffers import DELAYED_ACK_NS, TIMER_ERROR_RATIO
from whyperf.explain.rules.finding import WINDOWS, Finding, figure, is_on_cpu
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.rules.watched.open import left_open
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import Conversation, WatchedSockets

MIN_DELAYS = 0.3
"""Part of the time that the delays of one side have, from which on they are what exchanges wait for."""
MAX_TRIPS = 2.0
"""Smallest round trips of a delay of the peer up to which the path is most of it: the rest is the peer's program."""
OUTSTANDING = 8
BUSY_RATIO = 0.35
"""Part of a CPU from which on a program that others wait for works, and does not sleep."""
MAX_STREAMING = 0.3
"""Share of the time in which data waits in the sender's kernel up to which nothing but requests and answers holds a
connection."""


def is_alternating(facts: Facts) -> bool:
    """True where requests and answers are what a connection waits for, and no stream."""
    talk = facts.conversation
    if talk is None:
        return False
    if talk.own_ratio is not None and talk.peer_ratio is not None:
        return talk.own_ratio + talk.peer_ratio >= MIN_DELAYS
    seen = _own(facts)[1].watched or WatchedSockets()
    return (seen.waiting_ratio or 0.0) <= MAX_STREAMING


def _own(facts: Facts) -> tuple[Literal["sender", "receiver"], HostFacts]:
    """The side that the delays were measured at: the sender where it was watched."""
    return ("receiver", facts.receiver) if facts.watched_sides == "receiver" else ("sender", facts.sender)


def own_delay(facts: Facts) -> Finding | None:
    """The watched program has what it waited for, and does not send the next message."""
    talk, (role, end) = facts.conversation, _own(facts)
    if talk is None or not is_alternating(facts) or (talk.own_ratio or 0.0) < MIN_DELAYS or is_on_cpu(facts):
        return None
    lost, thread = talk.own_ratio or 0.0, end.processors.thread_ratio
    evidence = tuple(_exchanges(facts, talk, end))
    values: dict[str, Value | None] = {"delay_ns": talk.own_ns, "role": role, "thread_ratio": thread}
    if not talk.is_logged:
        # Samples show that payload came last, and not whether the answer is complete.
        return left_open("sampled_delay", lost, _of_peer(facts, role, None), evidence, facts, **values)
    if thread is None:
        own = Cause.SENDER_CPU if role == "sender" else Cause.RECEIVER_CPU
        return left_open("own_delay", lost, (Cause.THINK_TIME, own, Cause.OTHER_LOAD), evidence, facts, **values)
    if thread >= BUSY_RATIO:
        cause = Cause.SENDER_CPU if role == "sender" else Cause.RECEIVER_CPU
        return Finding(
            cause, min(lost, thread), 0.8, evidence, gain.of_share(facts, lost), variant="exchange", values=values
        )
    return Finding(
        Cause.THINK_TIME, lost, 0.85, evidence, gain.of_share(facts, lost), variant="exchange", values=values
    )


def peer_delay(facts: Facts) -> Finding | None:
    """The next message is the peer's: the path's round trip, and what its program does."""
    talk, (role, end) = facts.conversation, _own(facts)
    if talk is None or not is_alternating(facts) or is_on_cpu(facts):
        return None
    if talk.peer_ratio is None:
        return _of_counts(facts, talk, end)
    lost, trip = talk.peer_ratio, facts.windows.rtt_ns_min
    if lost < MIN_DELAYS:
        return None
    evidence = tuple(_exchanges(facts, talk, end))
    values: dict[str, Value | None] = {"delay_ns": talk.peer_ns, "rtt_ns": trip}
    is_of_path = talk.peer_ns is not None and talk.peer_ns <= MAX_TRIPS * (trip or 0)
    if is_of_path and _is_queued(facts):
        return left_open("queued_delay", lost, IN_QUEUE, evidence, facts, **values)
    if talk.peer_ns is not None and trip and trip >= NEIGHBOR_RTT_NS and is_of_path:
        part = min(1.0, trip / talk.peer_ns) * lost
        predicted = gain.of_several(facts, part, OUTSTANDING)
        return Finding(Cause.ROUND_TRIP, part, 0.85, evidence, predicted, variant="exchange", values=values)
    return left_open("peer_delay", lost, _of_peer(facts, role, talk.peer_ns), evidence, facts, **values)


def counted_nagle(facts: Facts) -> Finding | None:
    """The receiver alone, by counts: each request comes in two segments or more, is acknowledged by itself before it is
    answered, and takes as long as the delayed-ACK timer: the rest of it waited for that ACK (RFC 896)."""
    talk, seen, trip = facts.conversation, facts.receiver.watched or WatchedSockets(), facts.windows.rtt_ns_min or 0
    answers, parts = seen.went_segments or 0, seen.came_segments or 0
    if facts.watched_sides != "receiver" or talk is None or talk.is_logged or not answers:
        return None
    each = facts.life_ns / answers
    acks = ((seen.went_count or 0) - answers) / answers
    is_timer = 0 <= each - trip - DELAYED_ACK_NS <= TIMER_ERROR_RATIO * DELAYED_ACK_NS
    if not is_timer or parts < MIN_PARTS * answers or acks < MIN_ACKS or trip > DELAYED_ACK_NS / 2:
        return None
    return Finding(
        Cause.NAGLE_DELAYED_ACK,
        DELAYED_ACK_NS / each,
        0.8,
        (
            figure("exchange_parts", WINDOWS, facts.receiver, delay_ns=each, segments_per_request=parts / answers,
                   acks_per_request=acks),
            *_exchanges(facts, talk, facts.receiver),
        ),
        is_counted=True,
        variant="timer",
        values={"delay_ns": each, "timer_ns": DELAYED_ACK_NS},
    )  # fmt: skip


MIN_PARTS, MIN_ACKS = 1.5, 0.7
"""Segments of a request, and ACKs without payload for each answer, from which on most requests come in parts of which
the first is acknowledged by itself."""

IN_QUEUE = (Cause.ROUND_TRIP, Cause.SHARED_BOTTLENECK, Cause.BOTTLENECK)
"""Causes that an exchange may wait for whose round trip has grown."""
MIN_QUEUE_GROWTH = 1.3


def _is_queued(facts: Facts) -> bool:
    """True where round trips are longer than the smallest, as with a queue on the path."""
    return (facts.windows.rtt_growth or 1.0) >= MIN_QUEUE_GROWTH


def _of_peer(facts: Facts, role: str, delay_ns: float | None) -> tuple[Cause, ...]:
    """Possible causes at the peer meanwhile; what takes about as long as a delayed ACK may wait for that (RFC 896)."""
    computing = Cause.RECEIVER_CPU if role == "sender" else Cause.SENDER_CPU
    is_timer = (
        abs((delay_ns or 0.0) - (facts.windows.rtt_ns_min or 0) - DELAYED_ACK_NS) <= TIMER_ERROR_RATIO * DELAYED_ACK_NS
    )
    seen = facts.receiver.watched or WatchedSockets()
    is_lossy = (facts.segments.retransmitted_ratio or 0.0) > 0 or (seen.late_ratio or 0.0) > 0
    return (
        *((Cause.NAGLE_DELAYED_ACK,) if is_timer else ()),
        *(Cause.THINK_TIME, Cause.ROUND_TRIP, computing),
        *((Cause.RANDOM_LOSS,) if is_lossy else ()),
    )


def _of_counts(facts: Facts, talk: Conversation, end: HostFacts) -> Finding | None:
    """The same by counts of samples alone: how long an exchange takes at least shows whether the path is most of it."""
    trip, each = facts.windows.rtt_ns_min, facts.life_ns * facts.connections / talk.exchanges_most
    evidence = tuple(_exchanges(facts, talk, end))
    values: dict[str, Value | None] = {"delay_ns": each, "rtt_ns": trip}
    lost = 1.0 if facts.watched_sides == "receiver" else facts.sender.ratio(S.NOT_WRITING, S.IN_FLIGHT)
    if trip and trip >= NEIGHBOR_RTT_NS and trip <= each <= MAX_TRIPS * trip:
        part = min(1.0, trip / each)
        if _is_queued(facts):
            return left_open("queued_delay", part, IN_QUEUE, evidence, facts, **values)
        return Finding(Cause.ROUND_TRIP, part, 0.8, evidence, gain.of_several(facts, part, OUTSTANDING),
                       variant="exchange.counted", values=values)  # fmt: skip
    if lost < MIN_DELAYS:
        return None
    return left_open("exchanges", lost, _of_peer(facts, _own(facts)[0], each), evidence, facts, **values)


def _exchanges(facts: Facts, talk: Conversation, end: HostFacts) -> list[Evidence]:
    found = [
        figure(
            "exchanges",
            WINDOWS,
            end,
            exchanges_count=talk.exchanges_most,
            own_ratio=talk.own_ratio,
            peer_ratio=talk.peer_ratio,
        )
    ]
    if facts.windows.rtt_ns_min:
        found.append(figure("min_rtt", "tcp_info", end, rtt_ns=facts.windows.rtt_ns_min))
    if end.processors.thread_ratio is not None:
        found.append(figure("program_thread", "threads", end, thread_ratio=end.processors.thread_ratio))
    return found
