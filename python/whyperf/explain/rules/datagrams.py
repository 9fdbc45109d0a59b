"""What becomes of datagrams: there is no window, so what the receiver cannot take is lost at its socket."""

from whyperf.analyze.quantity import octets, percent, significant
from whyperf.explain.causes import Cause
from whyperf.explain.facts import DatagramFacts, Facts
from whyperf.explain.rules.finding import BUSY, Finding, figure

LEAST_DROPPED_RATIO = 0.01
"""Fewer drops at the socket leave the rate as it is."""

LEAST_OTHERS_RATIO = 0.1
"""From here on other programs on the receiver's CPU are named."""


def is_dropping(facts: Facts) -> bool:
    """Whether the receiving socket drops more than a trace of what reaches it."""
    return facts.datagrams is not None and facts.datagrams.dropped_ratio >= LEAST_DROPPED_RATIO


def is_reader_busy(facts: Facts) -> bool:
    """Whether the receiving end has no CPU time left to take out more."""
    return (facts.receiver.wanted_ratio or 0.0) + (facts.receiver.other_ratio or 0.0) >= BUSY


def socket_loss(facts: Facts) -> Finding | None:
    """The receiving socket drops datagrams for want of room (udp_queue_rcv_skb, net/ipv4/udp.c; SK_MEMINFO_DROPS)."""
    told = facts.datagrams
    if told is None or not is_dropping(facts):
        return None
    busy = facts.receiver.wanted_ratio
    buffer = facts.receiver.buffer_bytes
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
    buffer = facts.receiver.buffer_bytes
    room = "its buffer" if buffer is None else f"its buffer of {octets(buffer)}"
    if is_reader_busy(facts):
        others = facts.receiver.other_ratio or 0.0
        whose = f", {percent(others)} of it other programs'," if others >= LEAST_OTHERS_RATIO else ""
        return f"the receiver's CPU{whose} has no time to read faster, and {room} fills"
    return f"{room} is too small for what comes between two reads, though the receiver's CPU has time"


def _flow(told: DatagramFacts) -> str:
    rates = (significant(told.per_s(one), 3) for one in (told.sent_count, told.taken_count))
    sent, taken = rates
    return f"{sent} datagrams a second were sent, and {taken} read: what is read is the goodput."


def lost_before(facts: Facts) -> str:
    """What was lost before the receiving socket, in a sentence; "" where that is next to nothing."""
    told = facts.datagrams
    if told is None or told.missed_ratio < LEAST_DROPPED_RATIO:
        return ""
    return (
        f"{percent(told.missed_ratio)} of the datagrams were lost before the receiving socket could count them: on the "
        "path, or in a host's queues."
    )
