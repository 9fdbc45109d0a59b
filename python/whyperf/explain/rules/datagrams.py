"""Fate of datagrams: there is no window, so what the path or the receiver cannot take is lost."""

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import BUSY, UNDECIDED, Finding, figure
from whyperf.explain.trial_facts import DatagramFacts, Facts

MIN_DROPPED_RATIO = 0.01
"""Fewer drops at the socket leave the rate as it is."""

MIN_OTHERS_RATIO = 0.1
"""From here on other programs on the receiver's CPU are named."""


def is_dropping(facts: Facts) -> bool:
    """True where the receiving socket drops more than a trace of what reaches it."""
    return facts.datagrams is not None and facts.datagrams.dropped_ratio >= MIN_DROPPED_RATIO


def is_reader_busy(facts: Facts) -> bool:
    """True where the receiving end has no CPU time left to take out more."""
    return (facts.receiver.wanted_ratio or 0.0) + (facts.receiver.processors.other_ratio or 0.0) >= BUSY


def socket_loss(facts: Facts) -> Finding | None:
    """The receiving socket drops datagrams because it has no room (udp_queue_rcv_skb, net/ipv4/udp.c;
    SK_MEMINFO_DROPS)."""
    datagrams = facts.datagrams
    if datagrams is None or not is_dropping(facts):
        return None
    busy = facts.receiver.wanted_ratio
    buffer = facts.receiver.sockets.buffer_bytes
    evidence = [
        figure("dropped_datagrams", "datagrams", facts.receiver, dropped_count=datagrams.dropped_count),
        _flow(facts, datagrams),
    ]
    if buffer is not None:
        evidence.append(figure("receive_buffer", "flows", facts.receiver, buffer_bytes=buffer))
    if busy is not None:
        evidence.append(figure("wanted_cpu", "cpu", facts.receiver, wanted_ratio=busy, role="receiver"))
    others = facts.receiver.processors.other_ratio or 0.0
    return Finding(
        Cause.RECEIVER_LOSS,
        datagrams.dropped_ratio,
        0.95,
        tuple(evidence),
        None,
        {"taken_bps": datagrams.taken_bytes * 8e9 / datagrams.span_ns},
        is_counted=True,
        variant="socket.reader_busy" if is_reader_busy(facts) else "socket.small_buffer",
        values={
            "dropped_ratio": datagrams.dropped_ratio,
            "buffer_bytes": buffer,
            "other_ratio": others if others >= MIN_OTHERS_RATIO else None,
        },
    )


def _flow(facts: Facts, datagrams: DatagramFacts) -> Evidence:
    """The goodput is what is read."""
    sent, taken = (datagrams.per_s(counted) for counted in (datagrams.sent_count, datagrams.taken_count))
    return figure("datagram_rates", "datagrams", facts.receiver, taken_per_s=taken, sent_per_s=sent)


def path_full(facts: Facts) -> Finding | None:
    """Datagrams that never reached the receiving socket, because the sender is faster than the path."""
    return _lost_before(facts, Cause.BOTTLENECK)


def path_loss(facts: Facts) -> Finding | None:
    """Datagrams that never reached the receiving socket, whatever the rate."""
    return _lost_before(facts, Cause.RANDOM_LOSS)


def _lost_before(facts: Facts, cause: Cause) -> Finding | None:
    datagrams = facts.datagrams
    if datagrams is None or datagrams.missed_ratio < MIN_DROPPED_RATIO:
        return None
    sure = _decided(datagrams)
    if sure is not None:
        return _decided_loss(facts, datagrams, *sure) if sure[0] is cause else None
    missed = figure("missed_datagrams", "datagrams", facts.receiver, missed_ratio=datagrams.missed_ratio)
    return Finding(
        cause,
        datagrams.missed_ratio,
        UNDECIDED,
        (missed, _flow(facts, datagrams)),
        variant="datagrams",
        values={"missed_ratio": datagrams.missed_ratio},
        open="datagrams",
    )


FULL_LOST_RATIO = 0.5
"""No path that is in use loses so much at random: it carries less than was sent."""
MIN_STEPS, MIN_EXPECTED = 10, 9.0
"""Intervals, and variance of the datagrams in one if losses are random, from which on the variance is evidence."""
RARELY = 0.005
"""Probability with which random losses make the variance so small, or so large."""


def _decided(datagrams: DatagramFacts) -> tuple[Cause, float] | None:
    """Decides whether the path is full or loses at random, and how surely; None where either may be.

    Of datagrams that each get lost with the probability p, the number that arrives in an interval is binomial: its
    variance is p times its mean, and the estimate of that varies like chi-square. A full path delivers as many in each.
    """
    steps, p = datagrams.steps, datagrams.missed_ratio
    mean = sum(steps) / len(steps) if steps else 0.0
    if len(steps) >= MIN_STEPS and p * mean >= MIN_EXPECTED:
        from scipy.special import gammaincinv  # noqa: PLC0415 (slow to load)

        squares = sum((step - mean) ** 2 for step in steps) / (p * mean)
        low, high = (2 * float(gammaincinv((len(steps) - 1) / 2, part)) for part in (RARELY, 1 - RARELY))
        if squares < low:
            return Cause.BOTTLENECK, 0.9
        if squares <= high and datagrams.is_sent_as_asked and p < FULL_LOST_RATIO:
            return Cause.RANDOM_LOSS, 0.85
    return (Cause.BOTTLENECK, 0.85) if p >= FULL_LOST_RATIO else None


def _decided_loss(facts: Facts, datagrams: DatagramFacts, cause: Cause, certainty: float) -> Finding:
    """Lost before the socket, by a full path or at random."""
    arrived_bps = datagrams.taken_bytes * 8e9 / max(1, datagrams.span_ns)
    missed = figure("missed_datagrams", "datagrams", facts.receiver, missed_ratio=datagrams.missed_ratio)
    steps = [*datagrams.steps] or [0.0]
    spread = figure("arrivals", "datagrams", facts.receiver, fewest_count=min(steps), most_count=max(steps))
    return Finding(
        cause,
        datagrams.missed_ratio,
        certainty,
        (missed, spread, _flow(facts, datagrams)),
        None,
        {"taken_bps": arrived_bps},
        is_counted=True,
        variant="datagrams.full" if cause is Cause.BOTTLENECK else "datagrams.random",
        values={"missed_ratio": datagrams.missed_ratio, "arrived_bps": arrived_bps, "sent_bps": datagrams.sent_bps},
    )


def asked_rate(facts: Facts) -> Finding | None:
    """The sender sends at the rate that the user asked for, and what it sends arrives."""
    datagrams = facts.datagrams
    if datagrams is None or not datagrams.is_sent_as_asked or _is_losing(datagrams):
        return None
    return Finding(
        Cause.ASKED_RATE,
        1.0,
        0.95,
        (
            figure("sent_rate", "datagrams", facts.sender, sent_bps=datagrams.sent_bps),
            _flow(facts, datagrams),
        ),
        gain.of_twice(facts),
        is_counted=True,
        variant="datagrams",
        values={
            "requested_bps": datagrams.asked_bps or 0.0,
            "sent_bps": datagrams.sent_bps,
            "arrived_ratio": 1 - datagrams.missed_ratio,
        },
    )


def _is_losing(datagrams: DatagramFacts) -> bool:
    return max(datagrams.missed_ratio, datagrams.dropped_ratio) >= MIN_DROPPED_RATIO


OF_SENDER = frozenset(
    {Cause.SLOW_WRITER, Cause.THINK_TIME, Cause.TINY_WRITES, Cause.SENDER_CPU, Cause.PACING_RATE, Cause.OTHER_LOAD}
)
"""Causes that keep a sender from sending more datagrams."""


def is_sender_enough(facts: Facts) -> bool:
    """True where more datagrams would not help: some are lost after the sender, or it sends all that was asked for."""
    datagrams = facts.datagrams
    return datagrams is not None and (_is_losing(datagrams) or datagrams.is_sent_as_asked)


def missed_ratio(facts: Facts) -> float | None:
    """Part of the datagrams that was lost before the receiving socket; None where that is next to nothing."""
    datagrams = facts.datagrams
    if datagrams is None or datagrams.missed_ratio < MIN_DROPPED_RATIO:
        return None
    return datagrams.missed_ratio
