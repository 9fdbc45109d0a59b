"""Segments that are lost, late or taken for lost: by a queue, at random, in bursts, in the receiving host."""

from math import sqrt

from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.limits import gain
from whyperf.explain.limits.limit import (
    BUSY,
    LIMIT_FROM,
    SEGMENTS,
    WINDOWS,
    Limit,
    asleep,
    clipped,
    figure,
    figures,
    has_log,
    is_far,
    known_figure,
    lost_part,
    lost_to_losses,
    lost_to_reductions,
    or_zero,
    over_rate,
    samples,
    sides,
    state_evidence,
    unused,
)
from whyperf.explain.limits.path import (
    LOST_BY_ANY,
    LOST_FROM,
    MISSED_FROM,
    datagram_flow,
    datagram_rows,
    library_losses,
    library_trips,
)
from whyperf.explain.path_facts import LostRun
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

EITHER = 0.5
"""The part of losses that each of two kinds has where nothing separates them."""
MAX_LOG10 = 6.0
"""Bound of the logarithm of a likelihood ratio: beyond it a difference says nothing more."""


def at_random(facts: Facts) -> float:
    """Part of the losses that come without regard to a queue."""
    # By the own backlog what a queue of others drops is random; delays show their queue, too.
    return clipped(1 - in_queue(facts) - _in_queue_of_others(facts))


def in_queue(facts: Facts) -> float:
    """Part of the losses that come while the own segments fill a queue."""
    if facts.segments.losses.random_ratio is not None:
        return 1 - facts.segments.losses.random_ratio
    of_queue = facts.segments.queue.own_losses_ratio
    return EITHER if of_queue is None else of_queue


def _in_queue_of_others(facts: Facts) -> float:
    random, queue = facts.segments.losses.random_ratio, facts.segments.queue
    if random is None or queue.own_ratio is None:
        return 0.0
    return random * (1 - queue.own_ratio) * or_zero(queue.own_losses_ratio)


def in_bursts(facts: Facts) -> float:
    """Probability that losses come in bursts rather than one by one, of both alike before anything is seen."""
    ratio = facts.segments.losses.burst_likelihood_log10
    return EITHER if ratio is None else 1 / (1 + 10 ** -clipped(ratio, -MAX_LOG10, MAX_LOG10))


RENO_CONSTANT = 1.22
"""Of Reno's mean window, 1.22 / sqrt(p): Mathis, Semke, Mahdavi, Ott, CCR 27 (1997) 3, with an ACK for each segment."""


def by_losses(facts: Facts) -> float | None:
    """The rate over the present one that Reno's mean window allows at such losses."""
    trip, mss, lost = facts.windows.rtt_ns_median, facts.sender.sockets.mss_bytes, facts.segments.retransmitted_ratio
    if not trip or not mss or not lost:
        return None
    return over_rate(facts, 8e9 * RENO_CONSTANT / sqrt(lost) * mss * facts.connections / trip)


def loss_evidence(facts: Facts) -> tuple[Evidence, ...]:
    """Evidence of losses, and that they held the sender."""
    losses, again = facts.segments.losses, facts.segments.retransmitted_ratio
    states = (S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)
    return figures(
        state_evidence(facts.sender, "sender", *states) if facts.sender.ratio(*states) else None,
        known_figure("retransmitted", WINDOWS, facts.sender, retransmitted_ratio=again),
        figure(
            "losses",
            "segments",
            facts.receiver,
            loss_count=losses.runs,
            segments_per_loss=losses.segments_per_run or 1,
        )
        if losses.runs
        else None,
        known_figure("loss_rank", "segments", facts.sender, rank_ratio=losses.backlog_rank),
        *(_lost_run(facts, run) for run in losses.examples),
    )


def sent_again(facts: Facts) -> dict[str, Value | None]:
    """The number of segments that were sent again and had not arrived, and of all that were sent."""
    sent = facts.segments.data_segments or 0
    return {"lost_count": round(lost_part(facts) * sent), "sent_count": sent}


def _counted(facts: Facts) -> Evidence:
    return figure("lost_count", WINDOWS, facts.sender, lost_segments_ratio=lost_part(facts), **sent_again(facts))


def _lost_run(facts: Facts, run: LostRun) -> Evidence:
    """A single loss, with its place in the log."""
    found = figure(
        "lost_run",
        "segments",
        facts.sender,
        lost_segments=run.segments,
        sent_ns=run.begin_ns,
        were="was" if run.segments == 1 else "were all",
        rank_ratio=run.rank,
    )
    place = {"connection": run.connection, "from_ns": run.begin_ns, "to_ns": max(run.end_ns, run.begin_ns + 1)}
    return found.model_copy(update=place)


def _of_kind(facts: Facts, cause: Cause, part: float) -> Limit | None:
    """A kind of loss on the path: its `part` of what losses cost."""
    if facts.own is not None:
        return _of_library(facts, cause)
    share, losses = lost_to_losses(facts) * part, facts.segments.losses
    if share < LIMIT_FROM or (losses.ratio is None and cause is not Cause.SMALL_QUEUE):
        # Only logs of both hosts show whether losses come one by one; a full queue shows in round trips.
        return None
    return Limit(
        cause,
        share,
        loss_evidence(facts),
        gain.of_share(facts, share, by_line=True),
        variant="counted" if losses.ratio is None else "",
        values={
            **sent_again(facts),
            "lost_data_ratio": or_zero(losses.ratio),
            "loss_count": losses.events or 0,
            "segments_per_loss": losses.segments_per_run or 1,
            "link_bps": facts.segments.bottleneck.bps,
            "use_ratio": or_zero(facts.segments.bottleneck.use_ratio),
        },
        ceiling=by_losses(facts),
    )


def _of_library(facts: Facts, cause: Cause) -> Limit | None:
    own = facts.own
    assert own is not None
    if own.lost_ratio <= LOST_FROM or not is_far(facts) or own.bottleneck.bps:
        return None
    return Limit(
        cause,
        LOST_BY_ANY,
        (library_losses(facts, own), library_trips(facts, own)),
        variant="transport" if cause is not Cause.BURST_LOSS else "counted",
        values={"lost_count": own.lost_packets, "sent_count": own.sent_packets},
    )


def small_queue(facts: Facts) -> Limit | None:
    """A queue runs over long before its line is busy (Appenzeller, Keslassy, McKeown, SIGCOMM 2004)."""
    # A reader that pauses lets its sender send in bursts, which overrun a queue that is large enough otherwise.
    pausing = facts.receiver.ratio(R.NOT_READING)
    if facts.watched_sides:
        pausing = min(or_zero(samples(facts.receiver).unread_ratio), asleep(facts.receiver))
    return _of_kind(facts, Cause.SMALL_QUEUE, in_queue(facts) * (1 - clipped(pausing)))


def random_loss(facts: Facts) -> Limit | None:
    """Losses that have nothing to do with a queue, one at a time; of exchanges, the few that wait for a repetition."""
    if facts.datagrams is not None:
        return _random_datagrams(facts)
    part = 1 - in_bursts(facts)
    held_up = _held_up(facts, Cause.RANDOM_LOSS, part)
    found = _of_kind(facts, Cause.RANDOM_LOSS, at_random(facts) * part)
    return held_up if held_up is not None and (found is None or held_up.share > found.share) else found


def _random_datagrams(facts: Facts) -> Limit | None:
    assert facts.datagrams is not None
    missed = facts.datagrams.missed_ratio
    if missed < MISSED_FROM:
        return None
    values: dict[str, Value | None] = {"missed_ratio": missed, "sent_bps": facts.datagrams.sent_bps}
    share = max(missed, LIMIT_FROM)
    return Limit(Cause.RANDOM_LOSS, share, datagram_rows(facts), None, variant="datagrams", values=values)


FEW = 3
"""Fewer segments that were sent again are a disturbance."""


def _held_up(facts: Facts, cause: Cause, part: float) -> Limit | None:
    """A kind of loss, with its `part` of what losses cost, holds up single transactions: with too little under way for
    fast retransmission, what is lost is sent again after a timeout, or a probe (RFC 6298, RFC 8985 section 7).
    """
    exchanges, slots = facts.exchanges, facts.asked.slots
    if exchanges is None or exchanges.latency_ns is None or not slots or facts.asked.intended_count is not None:
        return None
    again = [end.limits.counts.get("TcpRetransSegs", 0) * (facts.transport == "tcp") for _, end in sides(facts)]
    sent, taken = or_zero(facts.sender.sockets.payload_bytes), or_zero(facts.receiver.sockets.payload_bytes)
    is_unanswered = facts.transport != "tcp" and 0 < taken <= sent - FEW * (facts.sender.calls.bytes_mean or sent)
    longer = clipped(1 - or_zero(exchanges.at_once) / slots)
    share = longer * exchanges.payload_ratio * part
    if share < LIMIT_FROM or (sum(again) < FEW and not is_unanswered):
        return None
    slow = figure("slow_exchanges", "latencies", facts.asker, latency_ns=exchanges.latency_ns, slow_ratio=longer)
    lost = (
        figure("unanswered", "flows", facts.sender, sent_bytes=sent, taken_bytes=taken)
        if is_unanswered
        else figure("sent_again", "host_counters", facts.sender, sent_again_count=again[0], back_again_count=again[1])
    )
    return Limit(
        cause,
        share,
        (slow, lost),
        gain.of_pauses(facts, share),
        variant="exchanges",
        values={"latency_ns": exchanges.latency_ns, "transactions_per_s": exchanges.per_s, "lost_ratio": longer},
    )


def burst_loss(facts: Facts) -> Limit | None:
    """Losses that have nothing to do with a queue, many in a row; or spans in which the path let nothing through."""
    part = in_bursts(facts)
    found = (
        None if is_reverse_outage(facts) else outage_of(facts, Cause.BURST_LOSS),
        None if facts.datagrams else _of_kind(facts, Cause.BURST_LOSS, at_random(facts) * part),
        _held_up(facts, Cause.BURST_LOSS, part),
    )
    return max((limit for limit in found if limit is not None), key=lambda limit: limit.share, default=None)


def outage_of(facts: Facts, cause: Cause) -> Limit | None:
    """The path, or its reverse direction, let nothing through for some time."""
    found = facts.segments.outage
    if found.span_ratio < LIMIT_FROM:
        return None
    values: dict[str, Value | None] = {
        "outage_ns": found.longest_ns,
        "sum_ns": None if found.length_ns == found.longest_ns else found.length_ns,
        "outage_ratio": found.span_ratio,
        "from_ns": found.from_ns,
    }
    return Limit(
        cause,
        min(0.98, found.span_ratio),
        (
            figure("outage", WINDOWS, facts.sender, **values),
            state_evidence(facts.sender, "sender", S.RTO_WAIT, S.LOSS_RECOVERY, S.SLOW_START, *unseen(facts.sender)),
        ),
        gain.of_interruption(facts, min(0.98, found.span_ratio)),
        variant="outage",
        values=values,
    )


MAX_ACKS = 0.95
"""Part of the ACKs that arrived, up to which the reverse direction lost them while nothing was acknowledged."""


def is_reverse_outage(facts: Facts) -> bool:
    """True if ACKs were lost, and not data: by the receiver's log, else by how many ACKs arrived, and by data that the
    receiver says to have had (DSACK, RFC 2883).
    """
    segments = facts.segments
    if segments.needless_timeouts is not None and segments.timeouts:
        return segments.needless_timeouts >= segments.timeouts / 2
    had = facts.sender.limits.counts.get("TcpExtTCPDSACKRecv", 0)
    return (1.0 if segments.acks_arrived_ratio is None else segments.acks_arrived_ratio) < MAX_ACKS or had > 0


def unseen(end: HostFacts) -> tuple[S, ...]:
    """The state of data that nobody saw what holds it: another program's has a name of its own."""
    return (S.IN_FLIGHT,) if end.ratio(S.IN_FLIGHT) else (S.UNKNOWN,)


def path_loss(facts: Facts) -> Limit | None:
    """The path loses segments, and no logs of both hosts show which kind of loss it is."""
    if facts.watched_sides == "receiver":
        return _late_arrivals(facts)
    share, is_separated = lost_to_losses(facts), has_log(facts) and facts.segments.losses.ratio is not None
    if facts.own is not None or facts.datagrams is not None or share < LIMIT_FROM or is_separated:
        return None
    is_alone = facts.watched_sides == "sender"
    causes = [str(cause) for cause in sorted(LOSS_KINDS)] + ([str(Cause.RECEIVER_LOSS)] if is_alone else [])
    return Limit(
        Cause.PATH_LOSS,
        share,
        (_counted(facts), *loss_evidence(facts)),
        gain.of_share(facts, share, by_line=True),
        variant="far" if is_alone else "",
        values={**sent_again(facts), "causes": causes},
        ceiling=by_losses(facts),
    )


USUAL_LATE = 2.0
"""Segments behind a gap in a round trip where losses hold a window: of W segments that are halved at each loss there is
one in W / 2 round trips, and up to W segments come behind it (RFC 5681 section 3.1)."""


def _late_arrivals(facts: Facts) -> Limit | None:
    """The receiver alone: segments come behind gaps so often that the sender's window stays small."""
    seen, trip = samples(facts.receiver), facts.windows.rtt_ns_min
    late = seen.late_ratio if seen.late_ratio is not None else facts.segments.out_of_order_ratio
    full = seen.full_bytes or facts.receiver.sockets.mss_bytes
    if not late or not trip or not full or not facts.rate_bps or not is_far(facts):
        return None
    per_trip = facts.rate_bps * trip / 8e9 / full
    share = clipped(late * per_trip / USUAL_LATE, 0.0, 0.9) * (1 - or_zero(seen.pressed_ratio))
    if share < LIMIT_FROM:
        return None
    kinds = (Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.SMALL_QUEUE, Cause.POLICER, Cause.RECEIVER_LOSS)
    return Limit(
        Cause.PATH_LOSS,
        share,
        (
            figure("late", "tcp_info", facts.receiver, late_ratio=late),
            figure("late_per_trip", "tcp_info", facts.receiver, late_segments=late * per_trip, trip_segments=per_trip),
        ),
        variant="arrivals",
        values={"late_ratio": late, "trip_segments": per_trip, "causes": [str(cause) for cause in kinds]},
    )


def reordering(facts: Facts) -> Limit | None:
    """Segments overtake one another, and the sender takes it for loss."""
    segments = facts.segments
    late, events = or_zero(segments.out_of_order_ratio), segments.reordering_events
    lost = segments.losses.ratio
    if lost is None:
        lost = lost_part(facts)
    # Of what comes late the part that nothing lost explains; without arrivals, what was sent again for nothing.
    overtaking = late / (late + SEGMENTS_BEHIND * lost) if late >= LATE_FROM else 0.0
    if not late and events:
        overtaking = or_zero(segments.spurious_ratio)
    share = unused(facts) * overtaking
    if facts.segments.losses.ratio is None:
        # Nobody saw what the sender waited for: what was sent again for nothing reduced its window.
        share = min(share, lost_to_reductions(facts, or_zero(segments.retransmitted_ratio)) if events else share)
    if share < LIMIT_FROM:
        return None
    values: dict[str, Value | None] = {
        "late_ratio": late,
        "events_count": events,
        "spurious_ratio": segments.spurious_ratio,
    }
    return Limit(
        Cause.REORDERING,
        share,
        figures(
            figure("out_of_order", SEGMENTS, facts.receiver, late_ratio=late)
            if late
            else figure("seen_reordering", WINDOWS, facts.sender, **{name: values[name] for name in SEEN}),
            *loss_evidence(facts),
        ),
        gain.of_share(facts, share, by_line=True),
        variant="" if late else "seen",
        values=values,
    )


SEEN = ("events_count", "spurious_ratio")
LATE_FROM, SEGMENTS_BEHIND = 0.002, 4
"""Part of the segments that is late from which on it matters; and those that come behind each one that is lost."""


def receiver_loss(facts: Facts) -> Limit | None:
    """The receiving host drops what has arrived: devices count it, or what the log saw arrive is asked for again."""
    if facts.datagrams is not None:
        return _socket_loss(facts)
    dropped, again = facts.receiver.devices.dropped_packets or 0, or_zero(facts.segments.retransmitted_ratio)
    states = (S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW, S.PACING)
    held = clipped(facts.sender.ratio(*states, *(() if has_log(facts) else unseen(facts.sender))))
    part = max(facts.lost_in_receiver_ratio, EITHER if dropped and again else 0.0)
    if held * part < LIMIT_FROM:
        return None
    missed = facts.lost_in_receiver
    return Limit(
        Cause.RECEIVER_LOSS,
        held * part,
        figures(
            figure("lost_after_arrival", "segments", facts.receiver, missed_segments=missed) if missed else None,
            figure("dropped_packets", "devices", facts.receiver, dropped_packets=dropped) if dropped else None,
            state_evidence(facts.sender, "sender", S.LOSS_RECOVERY, S.RTO_WAIT),
        ),
        gain.of_share(facts, held * part),
        values={"dropped_packets": max(dropped, missed)},
    )


OTHERS = 0.1
"""Part of a CPU from which on other programs are named."""


def is_reader_busy(facts: Facts) -> bool:
    """True where the receiving end has no CPU time left to take out more."""
    return or_zero(facts.receiver.wanted_ratio) + or_zero(facts.receiver.processors.other_ratio) >= BUSY


def _socket_loss(facts: Facts) -> Limit | None:
    """The receiving socket drops datagrams because it has no room (udp_queue_rcv_skb, net/ipv4/udp.c)."""
    found, buffer = facts.datagrams, facts.receiver.sockets.buffer_bytes
    assert found is not None
    if found.dropped_ratio < MISSED_FROM:
        return None
    others = or_zero(facts.receiver.processors.other_ratio)
    return Limit(
        Cause.RECEIVER_LOSS,
        max(found.dropped_ratio, LIMIT_FROM),
        figures(
            figure("dropped_datagrams", "datagrams", facts.receiver, dropped_count=found.dropped_count),
            datagram_flow(facts),
            known_figure("receive_buffer", "flows", facts.receiver, buffer_bytes=buffer),
            known_figure(
                "wanted_cpu", "cpu", facts.receiver, wanted_ratio=facts.receiver.wanted_ratio, role="receiver"
            ),
        ),
        None,
        {"taken_bps": found.taken_bytes * 8e9 / max(1, found.span_ns)},
        variant="socket.reader_busy" if is_reader_busy(facts) else "socket.small_buffer",
        values={
            "dropped_ratio": found.dropped_ratio,
            "buffer_bytes": buffer,
            "other_ratio": others if others >= OTHERS else None,
        },
    )
