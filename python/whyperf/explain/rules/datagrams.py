"""What becomes of datagrams: there is no window, so what the path or the receiver cannot take is lost."""

from whyperf.analyze.text import bit_rate, octets, percent, significant
from whyperf.explain.causes import Cause
from whyperf.explain.rules.finding import BUSY, UNDECIDED, Finding, figure
from whyperf.explain.trial_facts import DatagramFacts, Facts

LEAST_DROPPED_RATIO = 0.01
"""Fewer drops at the socket leave the rate as it is."""

LEAST_OTHERS_RATIO = 0.1
"""From here on other programs on the receiver's CPU are named."""


def is_dropping(facts: Facts) -> bool:
    """Whether the receiving socket drops more than a trace of what reaches it."""
    return facts.datagrams is not None and facts.datagrams.dropped_ratio >= LEAST_DROPPED_RATIO


def is_reader_busy(facts: Facts) -> bool:
    """Whether the receiving end has no CPU time left to take out more."""
    return (facts.receiver.wanted_ratio or 0.0) + (facts.receiver.processors.other_ratio or 0.0) >= BUSY


def socket_loss(facts: Facts) -> Finding | None:
    """The receiving socket drops datagrams for want of room (udp_queue_rcv_skb, net/ipv4/udp.c; SK_MEMINFO_DROPS)."""
    told = facts.datagrams
    if told is None or not is_dropping(facts):
        return None
    busy = facts.receiver.wanted_ratio
    buffer = facts.receiver.sockets.buffer_bytes
    evidence = [
        figure(
            f"The kernel counted {told.dropped_count:,} datagrams that reached the receiving socket and found no room.",
            "datagrams", facts.receiver, told.dropped_count, "count",
        ),
        figure(_flow(told), "datagrams", facts.receiver, told.per_s(told.taken_count), "1/s"),
    ]  # fmt: skip
    if buffer is not None:
        words = f"The socket's receive buffer is {octets(buffer)}, as the kernel reports it."
        evidence.append(figure(words, "flows", facts.receiver, buffer, "bytes"))
    if busy is not None:
        words = f"The receiver wanted a CPU {percent(busy)} of the time."
        evidence.append(figure(words, "cpu", facts.receiver, busy, "ratio"))
    return Finding(
        Cause.RECEIVER_LOSS,
        f"The receiving socket drops {percent(told.dropped_ratio)} of the datagrams that reach it: {_why(facts)}.",
        told.dropped_ratio,
        0.95,
        tuple(evidence),
        "The kernel's count of the socket's drops stays where it is, and as few datagrams arrive.",
        None,
        {"taken_bps": told.taken_bytes * 8e9 / told.span_ns},
        is_counted=True,
    )


def _why(facts: Facts) -> str:
    buffer = facts.receiver.sockets.buffer_bytes
    room = "its buffer" if buffer is None else f"its buffer of {octets(buffer)}"
    if is_reader_busy(facts):
        others = facts.receiver.processors.other_ratio or 0.0
        whose = f", {percent(others)} of it other programs'," if others >= LEAST_OTHERS_RATIO else ""
        return f"the receiver's CPU{whose} has no time to read faster, and {room} fills"
    return f"{room} is too small for what comes between two reads, though the receiver's CPU has time"


def _flow(told: DatagramFacts) -> str:
    rates = (significant(told.per_s(one), 3) for one in (told.sent_count, told.taken_count))
    sent, taken = rates
    return f"{sent} datagrams a second were sent, and {taken} read: what is read is the goodput."


def path_full(facts: Facts) -> Finding | None:
    """Datagrams that never reached the receiving socket, because the sender is faster than the path."""
    words = "at half the rate a full path loses none, a path with random loss as many as now"
    return _lost_before(facts, Cause.BOTTLENECK, "the path carries less than was sent", words)


def path_loss(facts: Facts) -> Finding | None:
    """Datagrams that never reached the receiving socket, whatever the rate."""
    words = "a run at half the rate shows whether fewer are lost"
    return _lost_before(facts, Cause.RANDOM_LOSS, "the path loses them at any rate", words)


def _lost_before(facts: Facts, cause: Cause, why: str, how: str) -> Finding | None:
    told = facts.datagrams
    if told is None or told.missed_ratio < LEAST_DROPPED_RATIO:
        return None
    missed = percent(told.missed_ratio)
    return Finding(
        cause,
        f"{missed} of the datagrams were lost before the receiving socket, possibly because {why}.",
        told.missed_ratio,
        UNDECIDED,
        (
            figure(f"{missed} reached no socket.", "datagrams", facts.receiver, told.missed_ratio, "ratio"),
            figure(_flow(told), "datagrams", facts.receiver, told.per_s(told.taken_count), "1/s"),
        ),
        "As many are lost at half the rate." if cause is Cause.BOTTLENECK else "None are lost at half the rate.",
        None,
        open_because=f"{missed} of the datagrams were lost before the receiving socket, on the path or in a host's "
        f"queues; {how}",
    )  # fmt: skip


def asked_rate(facts: Facts) -> Finding | None:
    """The sender sends at the rate that the user asked for, and what it sends arrives."""
    told = facts.datagrams
    if told is None or not told.is_sent_as_asked or _is_losing(told):
        return None
    return Finding(
        Cause.SLOW_WRITER,
        f"The rate that was asked for is the limit: {bit_rate(told.asked_bps or 0)} was asked for, "
        f"{bit_rate(told.sent_bps)} was sent, and {percent(1 - told.missed_ratio)} of the datagrams arrived.",
        1.0,
        0.95,
        (
            figure(f"The sender sent {bit_rate(told.sent_bps)}.", "datagrams", facts.sender, told.sent_bps, "bit/s"),
            figure(_flow(told), "datagrams", facts.receiver, told.per_s(told.taken_count), "1/s"),
        ),
        "The sender falls behind the rate that was asked for.",
        None,
        is_counted=True,
    )  # fmt: skip


def _is_losing(told: DatagramFacts) -> bool:
    return max(told.missed_ratio, told.dropped_ratio) >= LEAST_DROPPED_RATIO


OF_SENDER = frozenset(
    {Cause.SLOW_WRITER, Cause.THINK_TIME, Cause.TINY_WRITES, Cause.SENDER_CPU, Cause.PACING_RATE, Cause.OTHER_LOAD}
)
"""Causes that keep a sender from sending more datagrams."""


def is_sender_enough(facts: Facts) -> bool:
    """Whether more datagrams would not help: some are lost after the sender, or it sends all that was asked for."""
    told = facts.datagrams
    return told is not None and (_is_losing(told) or told.is_sent_as_asked)


def lost_before(facts: Facts) -> str:
    """What was lost before the receiving socket, in a sentence; "" where that is next to nothing."""
    told = facts.datagrams
    if told is None or told.missed_ratio < LEAST_DROPPED_RATIO:
        return ""
    return (
        f"{percent(told.missed_ratio)} of the datagrams were lost before the receiving socket could count them: on the "
        "path, or in a host's queues."
    )
