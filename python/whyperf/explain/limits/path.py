"""The path's bottleneck, and who else uses it; rates that others set."""

from collections.abc import Iterator

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.gather.deliveries import MAX_OVER_FULL_JITTER
from whyperf.explain.host_facts import Queue
from whyperf.explain.limits import gain
from whyperf.explain.limits.limit import (
    LIMIT_FROM,
    SEGMENTS,
    WINDOWS,
    Limit,
    clipped,
    figure,
    figures,
    filled,
    has_log,
    is_far,
    known_figure,
    lost_part,
    lost_to_reductions,
    or_zero,
    others_ratio,
    over_rate,
    path_wait,
    samples,
    state_evidence,
    use_of_link,
    waiting_states,
)
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts, TransportFacts

HELD = (S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW, S.SEND_BUFFER)
"""States of windows and buffers, which a queue fills that a window larger than the path has made."""
FULL_USE = 0.85
"""Use of a link from which on it is full: the rest is gaps between the measured phases of a burst."""
QUEUED = 1.15
"""Median round trip over the smallest from which on a queue stands on the path."""


def bottleneck(facts: Facts) -> Limit | None:
    """The path's narrowest part carries all it can, and a queue stands before it."""
    if facts.datagrams is not None:
        return _full_of_datagrams(facts)
    if facts.own is not None:
        return _of_library(facts, facts.own)
    if facts.watched_sides == "receiver":
        return _of_arrivals(facts)
    link, queue, now = facts.segments.bottleneck, facts.segments.queue, or_zero(facts.rate_bps)
    standing, bps, use, standing_use = or_zero(queue.standing_ratio), link.bps, use_of_link(facts), 1.0
    if bps is None and queue.full_bps:
        # A link carries what came in all, whatever came while the queue was longest.
        bps = max(queue.full_bps, now)
        use, standing_use = (now / bps, standing) if bps else (0.0, 0.0)
    # A full buffer that leaves in bursts makes a queue each round trip; one that is more than the path holds, always.
    is_steady = or_zero(queue.jitter_ratio) <= MAX_OVER_FULL_JITTER
    held = max(facts.sender.ratio(*HELD), filled(facts) if is_steady else 0.0)
    share = clipped(path_wait(facts) + held * standing) * max(queued(facts), NO_QUEUE)
    # A queue loses much only while it is full, and round trips are much longer then.
    share *= use * standing_use * (1 - clipped(lost_part(facts) / MANY_LOST) * (1 - _full_queue(facts)))
    if share < LIMIT_FROM or bps is None:
        return None
    marked = queue.marked_ratio or None
    sending = 1 - facts.sender.ratio(S.NOT_WRITING)
    in_all = {"sending_ratio": sending, "whole_use_ratio": link.use_ratio} if sending < FULL_USE else {}
    is_lossy = lost_part(facts) > 0
    why = "regrown.marked" if marked else "regrown" if is_lossy else "unfilled"
    return Limit(
        Cause.BOTTLENECK,
        share,
        figures(
            state_evidence(facts.sender, "sender", *waiting_states(facts)),
            _link_rate(facts) if link.bps else None,
            known_figure("rtt_growth", WINDOWS, facts.sender, growth_times=facts.windows.rtt_growth),
            known_figure("lost_in_full", WINDOWS, facts.sender, full_ratio=queue.losses_full_ratio),
            known_figure("marked", WINDOWS, facts.sender, marked_ratio=marked),
        ),
        None,
        {"line_bps": bps},
        variant="" if use >= FULL_USE else why,
        values={
            "link_bps": bps,
            "use_ratio": use,
            **in_all,
            "rtt_ns_median": facts.windows.rtt_ns_median,
            "rtt_ns_min": facts.windows.rtt_ns_min,
        },
        ceiling=over_rate(facts, bps),
    )


NO_QUEUE = 0.5
"""The part of a full link's share that is left where no queue shows: a queue may be too short, or be kept short."""


def _full_queue(facts: Facts) -> float:
    """The certainty that a queue is full at times: it is seen to stand, or round trips are twice as long."""
    growth = facts.windows.rtt_growth
    return max(or_zero(facts.segments.queue.standing_ratio), 0.0 if growth is None else clipped(growth - 1))


def queued(facts: Facts) -> float:
    """The certainty that a queue stands on the path: by the time in which it does, or by how much longer trips take."""
    growth = facts.windows.rtt_growth
    longer = 0.0 if growth is None else clipped((growth - 1) / (QUEUED - 1))
    return max(or_zero(facts.segments.queue.standing_ratio), longer)


def _link_rate(facts: Facts) -> Evidence:
    """Evidence of the link's rate."""
    link = facts.segments.bottleneck
    values = {"link_bps": link.bps or 0.0, "steady_ratio": or_zero(link.steadiness)}
    if link.is_seen_when_full:
        return figure("full_rate", WINDOWS, facts.sender, link_bps=link.bps, spread_ratio=link.spread)
    if link.spread is None:
        return figure("segment_spacing", SEGMENTS, facts.receiver, **values)
    return figure("delivery_rate", WINDOWS, facts.sender, **values)


def _full_of_datagrams(facts: Facts) -> Limit | None:
    """Datagrams that never reached the receiving socket, because the sender is faster than the path."""
    assert facts.datagrams is not None
    missed = facts.datagrams.missed_ratio
    if missed < MISSED_FROM:
        return None
    arrived = facts.datagrams.taken_bytes * 8e9 / max(1, facts.datagrams.span_ns)
    return Limit(
        Cause.BOTTLENECK,
        max(missed, LIMIT_FROM),
        datagram_rows(facts),
        None,
        {"taken_bps": arrived},
        variant="datagrams.full" if missed >= FULL_LOST else "datagrams",
        values={"missed_ratio": missed, "arrived_bps": arrived, "sent_bps": facts.datagrams.sent_bps},
    )


MISSED_FROM = 0.01
"""Part of the datagrams from which on losses are a limit, however little they take: nobody sends them again."""
FULL_LOST = 0.5
"""No path that is in use loses so much at random: it carries less than was sent."""


def datagram_rows(facts: Facts) -> tuple[Evidence, ...]:
    """Evidence of datagrams that were lost before the receiving socket."""
    assert facts.datagrams is not None
    found, steps = facts.datagrams, facts.datagrams.steps
    return figures(
        figure("missed_datagrams", "datagrams", facts.receiver, missed_ratio=found.missed_ratio),
        figure("arrivals", "datagrams", facts.receiver, fewest_count=min(steps), most_count=max(steps))
        if steps
        else None,
        datagram_flow(facts),
    )


def datagram_flow(facts: Facts) -> Evidence:
    """The rates at which datagrams were sent and read: the goodput is what is read."""
    assert facts.datagrams is not None
    found = facts.datagrams
    sent, taken = (found.per_s(counted) for counted in (found.sent_count, found.taken_count))
    return figure("datagram_rates", "datagrams", facts.receiver, taken_per_s=taken, sent_per_s=sent)


def _of_library(facts: Facts, own: TransportFacts) -> Limit | None:
    """Packets of QUIC, UDT or SRT go at one rate, or are lost, while a queue stands on the path."""
    trip, least = or_zero(own.rtt_ns_median), or_zero(own.rtt_ns_min)
    if not is_far(facts) or not least:
        return None
    queued = clipped((trip / least - 1) / (QUEUED - 1))
    use = or_zero(own.bottleneck.use_ratio) if own.bottleneck.bps else LOST_BY_ANY * (own.lost_ratio > LOST_FROM)
    share = use * queued
    if share < LIMIT_FROM:
        return None
    rate = own.bottleneck
    return Limit(
        Cause.BOTTLENECK,
        share,
        figures(
            figure("own_rate", "transport_info", facts.sender, link_bps=rate.bps, steady_ratio=rate.steadiness)
            if rate.bps
            else library_losses(facts, own),
            library_trips(facts, own),
        ),
        None,
        {"line_bps": rate.bps} if rate.bps else {},
        variant="" if rate.bps else "transport",
        values={
            "link_bps": rate.bps,
            "use_ratio": rate.use_ratio,
            "rtt_ns_median": own.rtt_ns_median,
            "rtt_ns_min": own.rtt_ns_min,
            "lost_count": own.lost_packets,
            "sent_count": own.sent_packets,
        },
    )


LOST_BY_ANY, LOST_FROM = 0.8, 0.001
"""Share of losses of a library, of which nothing shows the time that they cost; and the part that must be lost."""


def library_losses(facts: Facts, own: TransportFacts) -> Evidence:
    """Evidence of packets that a library takes for lost."""
    return figure(
        "own_losses",
        "transport_info",
        facts.sender,
        lost_packets_ratio=own.lost_ratio,
        lost_count=own.lost_packets,
        sent_count=own.sent_packets,
    )


def library_trips(facts: Facts, own: TransportFacts) -> Evidence:
    """Evidence of a library's round trips."""
    return figure(
        "own_trips", "transport_info", facts.sender, rtt_ns_median=own.rtt_ns_median, rtt_ns_min=own.rtt_ns_min
    )


def _of_arrivals(facts: Facts) -> Limit | None:
    """The receiver alone: a queue always stands, and what comes through it comes at an even rate."""
    seen, handshake = samples(facts.receiver), facts.windows.rtt_ns_min
    base = min((value for value in (handshake, seen.receive_rtt_ns_low) if value), default=None)
    if not base or not seen.receive_rtt_ns or seen.rate_spread is None or not is_far(facts) or not facts.rate_bps:
        return None
    grown = clipped((seen.receive_rtt_ns / base - 1) / (QUEUED - 1) / 2)
    share = grown * clipped(1 - 2 * seen.rate_spread) * (1 - or_zero(seen.pressed_ratio))
    if share < LIMIT_FROM:
        return None
    values: dict[str, Value | None] = {
        "rate_bps": facts.rate_bps,
        "spread_ratio": seen.rate_spread,
        "rtt_ns_median": seen.receive_rtt_ns,
        "rtt_ns_min": base,
    }
    return Limit(
        Cause.BOTTLENECK,
        share,
        (
            figure("queued_arrivals", WINDOWS, facts.receiver, rtt_ns_median=seen.receive_rtt_ns, rtt_ns_min=base),
            figure("even_rate", "tcp_info", facts.receiver, spread_ratio=seen.rate_spread),
        ),
        None,
        {"line_bps": facts.rate_bps},
        variant="arrivals",
        values=values,
    )


VARYING = 0.5
"""Spread of the own rate while the queue is full at which others take all the rest: at least 0.4 with others that
vary, up to 0.18 alone (tuning set)."""
AS_MUCH, FEW = 0.5, 0.1
"""Part of what a device carries that is of others, from which on they take as much as the load itself: a fair share;
and below which it is of ACKs and the like."""


def shared_bottleneck(facts: Facts) -> Limit | None:
    """Others use the bottleneck too: the sending device carries what is theirs, or a queue stands that is not the own;
    or its rate changes."""
    return max(_of_standing(facts), _of_device(facts), key=lambda limit: 0.0 if limit is None else limit.share)


def _of_device(facts: Facts) -> Limit | None:
    """Others send over the same device, while a queue of the path holds the load."""
    others = others_ratio(facts)
    share = path_wait(facts) * queued(facts) * clipped(others / AS_MUCH)
    if others < FEW or share < LIMIT_FROM or not is_far(facts) or facts.segments.queue.is_of_acks:
        return None
    return Limit(
        Cause.SHARED_BOTTLENECK,
        share,
        (
            figure("others_of_device", "devices", facts.sender, others_ratio=others),
            state_evidence(facts.sender, "sender", *waiting_states(facts)),
        ),
        gain.of_share(facts, share, by_line=True),
        variant="device",
        values={"others_ratio": others},
    )


def _of_standing(facts: Facts) -> Limit | None:
    """A queue stands before the bottleneck that is not the own: others fill it, or its rate changes."""
    queue, exchanges = facts.segments.queue, facts.exchanges
    # A queue fills and drains; a delay that leaps is none.
    standing = or_zero(queue.standing_ratio) * (1 - clipped(or_zero(queue.jitter_ratio)))
    if queue.is_of_acks:
        return None
    others = 1 - queue.own_ratio if queue.own_ratio is not None else clipped(or_zero(queue.full_spread) / VARYING)
    if not standing or not is_far(facts):
        return None
    delay = or_zero(queue.delay_ns_median)
    # Without a log the use of a link is that of the part which others leave.
    left = 1 - use_of_link(facts) if queue.own_ratio is not None else 1.0
    single, waits = 0.0, path_wait(facts)
    is_seen = queue.own_ratio is not None and facts.segments.bottleneck.bps is not None
    variant = "" if is_seen else "counted"
    if exchanges is not None and exchanges.latency_ns and delay:
        variant = "exchanges"
        single = clipped(delay / exchanges.latency_ns) * others * exchanges.payload_ratio
        # What waits for an answer waits for no window.
        waits = facts.sender.ratio(S.CONGESTION_WINDOW, S.SLOW_START, S.LOSS_RECOVERY, S.RTO_WAIT)
    share = max(single, waits * standing * others * left)
    predicted = gain.of_pauses(facts, share) if share == single else gain.of_share(facts, share, by_line=True)
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.SHARED_BOTTLENECK,
        share,
        tuple(_of_others(facts, variant)),
        predicted,
        variant=variant,
        values={
            "link_bps": None if variant == "exchanges" else facts.segments.bottleneck.bps,
            "use_ratio": facts.segments.bottleneck.use_ratio,
            "standing_ratio": queue.standing_ratio,
            "full_bps": queue.full_bps or facts.rate_bps,
            "spread_ratio": or_zero(queue.full_spread),
            "delay_ns": delay,
            "latency_ns": None if exchanges is None else exchanges.latency_ns,
        },
    )


def _of_others(facts: Facts, variant: str) -> Iterator[Evidence]:
    queue = facts.segments.queue
    if queue.own_ratio is not None and queue.delay_ns_median is not None:
        yield figure(
            "queue_delay",
            SEGMENTS,
            facts.receiver,
            delay_ns=queue.delay_ns_median,
            standing_ratio=queue.standing_ratio,
            own_ratio=queue.own_ratio,
        )
    elif queue.full_bps:
        yield figure(
            "varying_rate",
            WINDOWS,
            facts.sender,
            full_bps=queue.full_bps,
            spread_ratio=or_zero(queue.full_spread),
            standing_ratio=queue.standing_ratio,
        )
    if variant == "exchanges" and facts.exchanges is not None:
        yield figure("latency", "latencies", facts.asker, latency_ns=facts.exchanges.latency_ns)
    else:
        yield state_evidence(facts.sender, "sender", *waiting_states(facts))


EVEN = 0.5
"""Spread of the rate in steps with losses at which no policer sets it: up to 0.07 under one, 0.5 and more with random
loss (tuning set)."""
POLICED_NS, POLICED_TRIPS = 2e6, 0.1
"""Delay of a queue, in ns and over the smallest round trip, from which on there is one: a policer has none, and hosts
take up to a ms."""
UNSEEN_SPREAD, OF_UNSEEN = 0.25, 0.5
"""Spread where nothing shows one, and the part of the share that is left where only samples show no queue:
assumptions, not measured."""
BURST_TIMES, NO_BURST = 1.2, 0.5
"""The path once let that much more through, before the bucket was empty; and what is left of the share where it never
did: the bucket may be small."""
MANY_LOST = 0.03
"""Part of the segments that is lost under a policer, which lets a window grow until it drops many; a queue that runs
over, and losses that hold a window, are fewer (Flach et al., section 2)."""


def policer(facts: Facts) -> Limit | None:
    """The path drops what exceeds a rate, without a queue (Flach et al., SIGCOMM 2016)."""
    found, line, segments = facts.segments.policing, facts.segments.bottleneck, facts.segments
    policed, spread, lossy = found.bps, found.spread, found.lossy_ratio
    if policed is None:
        # Too few steps with losses to show a rate: a link that is full, without a queue, and loses much.
        policed = line.bps or facts.rate_bps
        spread = 1 - use_of_link(facts) if line.bps else segments.queue.full_spread
        spread = UNSEEN_SPREAD if spread is None else spread
        lossy = clipped(lost_part(facts) / MANY_LOST)
    if policed is None or spread is None or facts.own is not None or facts.datagrams is not None:
        return None
    faster = max(found.faster_times, line.bps / policed if has_log(facts) and line.bps else 1.0)
    burst = 1.0 if found.bps is None else clipped((faster - 1) / (BURST_TIMES - 1))
    even = 1 - clipped(spread / EVEN)
    least, usual = or_zero(facts.windows.rtt_ns_min), or_zero(facts.windows.rtt_ns_median)
    delay = found.delay_ns if found.bps is not None else usual - least
    no_queue = 1 - clipped(delay / max(POLICED_NS, POLICED_TRIPS * least))
    if found.bps is None and segments.queue.standing_ratio is not None:
        # The usual round trip is longer where the last segments of a burst wait for a timer of the receiver.
        no_queue = max(no_queue, OF_UNSEEN * (1 - _full_queue(facts)))
    share = max(path_wait(facts), lossy) * no_queue * even * lossy * max(NO_BURST, burst)
    if share < LIMIT_FROM:
        return None
    if found.bps is None:
        sent = segments.data_segments or 0
        counted = {"lost_count": round(lost_part(facts) * sent), "sent_count": sent}
        return Limit(
            Cause.POLICER,
            share,
            (
                figure("lost_count", WINDOWS, facts.sender, lost_segments_ratio=lost_part(facts), **counted),
                state_evidence(facts.sender, "sender", *waiting_states(facts)),
            ),
            targets={"policed_bps": policed},
            variant="lossy",
            values={"policed_bps": policed, **counted},
            ceiling=over_rate(facts, line.bps),
        )
    return Limit(
        Cause.POLICER,
        share,
        (
            figure(
                "policed_rate",
                WINDOWS,
                facts.sender,
                policed_bps=policed,
                spread_ratio=spread,
                lossy_ratio=lossy,
                faster_times=faster,
            ),
            state_evidence(facts.sender, "sender", *waiting_states(facts)),
        ),
        targets={"policed_bps": policed},
        values={"policed_bps": policed, "lossy_ratio": lossy},
        ceiling=over_rate(facts, policed),
    )


HEADER_BYTES = 66
"""Headers of IP version 4, of TCP with timestamps and of Ethernet, which a queueing discipline counts."""
DELAYED, SHAPED = 0.05, 0.9
"""Packets that had to wait for a shaper, over all, below which something else sets the rate: a full one delays nearly
every packet (overlimits in net/sched/sch_tbf.c); and the part of its rate from which on it is the limit."""
DROPPED_FROM = 1e-4
"""Drops over packets of an own queue, below which they cost less than what repeating a trial changes: one in 10,000
super-packets is less than one loss in a second at 1 Gbit/s with packets of 64 KB."""


def local_queue(facts: Facts) -> Limit | None:
    """A queueing discipline of the sending host limits the rate, or drops what it should send."""
    found = [limit for queue in facts.sender.limits.queues if (limit := _of_queue(facts, queue)) is not None]
    return max(found, key=lambda limit: limit.share, default=None)


def _of_queue(facts: Facts, queue: Queue) -> Limit | None:
    dropped = queue.dropped_packets / max(1, queue.sent_packets + queue.dropped_packets)
    rate, size = (
        facts.goodput_bps or facts.rate_bps,
        facts.segments.segment_bytes_mean or facts.sender.sockets.mss_bytes,
    )
    use = None
    # It counts segments that it sent, and packets that had to wait: one of many segments waits once.
    packets = queue.sent_packets / max(1.0, or_zero(facts.segments.sent_segments_per_packet))
    packets = min(packets, facts.sender.devices.sent_packets or packets)
    if queue.rate_bps and rate and queue.overlimits >= DELAYED * packets:
        use = rate * (1 + (HEADER_BYTES / size if size else 0.0)) / queue.rate_bps
    values: dict[str, Value | None] = {
        "device": queue.device,
        "kind": queue.kind,
        "dropped_packets": queue.dropped_packets,
        "dropped_ratio": dropped,
    }
    row = figure("queue", "host_counters", facts.sender, **values, overlimits_count=queue.overlimits)
    if use is not None and use >= SHAPED:
        return Limit(
            Cause.LOCAL_QUEUE,
            1.0,
            (figure("shaper", "host_counters", facts.sender, rate_bps=queue.rate_bps, use_ratio=use), row),
            variant="shaper",
            values={**values, "rate_bps": queue.rate_bps, "use_ratio": use},
            ceiling=1 / use,
        )
    # What an own queue drops TCP sends again without counting it as a retransmission, but halves its window for it
    # (tcp_enter_cwr in __tcp_transmit_skb, net/ipv4/tcp_output.c): without a log a shaper's rate shows the cost.
    states = facts.sender.ratio(S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)
    share = min(states if use is None else clipped(1 - use), lost_to_reductions(facts, dropped))
    if dropped < DROPPED_FROM or share < LIMIT_FROM:
        return None
    return Limit(
        Cause.LOCAL_QUEUE,
        share,
        (row, state_evidence(facts.sender, "sender", S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)),
        gain.of_share(facts, share) if use is None else gain.of_shaper(use),
        values=values,
    )


SENT_AS_ASKED = 0.97
"""Share of the rate that was asked for from which on a sender reaches it: pacing by timers falls short by a little."""


MAX_WRITE_PART = 0.5
"""Part of the asked rate that a write not counted explains at most, an assumption: less has another limit."""


def asked_rate(facts: Facts) -> Limit | None:
    """A load that reaches the rate that it was asked for has no other limit."""
    if facts.datagrams is not None:
        return _asked_datagrams(facts)
    asked, reached, end = facts.asked, facts.goodput_bps or facts.rate_bps, facts.receiver
    # At a low rate the last write may be under way, or not due yet: it does not count.
    write_bps = 8e9 * or_zero(facts.sender.calls.bytes_mean) * facts.connections / max(1, facts.life_ns)
    if asked.bps and reached and reached >= SENT_AS_ASKED * asked.bps - min(write_bps, MAX_WRITE_PART * asked.bps):
        part = min(1.0, reached / asked.bps)
        row = figure("reached_rate", "flows", end, reached_bps=reached, reached_ratio=part)
        values: dict[str, Value | None] = {"requested_bps": asked.bps, "reached_bps": reached}
        return Limit(Cause.ASKED_RATE, 1.0, (row,), gain.of_ends(facts), values=values)
    if not asked.are_all_ended:
        return None
    requested, ended = asked.per_s(asked.intended_count or 0), asked.per_s(asked.ended_count)
    row = figure("open_loop", "transactions", facts.asker, ended_per_s=ended, started_per_s=requested)
    latency = None if facts.exchanges is None else facts.exchanges.latency_ns
    values = {"requested_per_s": requested, "ended_per_s": ended, "latency_ns": latency}
    return Limit(Cause.ASKED_RATE, 1.0, (row,), gain.of_twice(facts), variant="transactions", values=values)


def _asked_datagrams(facts: Facts) -> Limit | None:
    found = facts.datagrams
    assert found is not None
    if not found.is_sent_as_asked or max(found.missed_ratio, found.dropped_ratio) >= LIMIT_FROM / 5:
        return None
    return Limit(
        Cause.ASKED_RATE,
        1.0,
        (figure("sent_rate", "datagrams", facts.sender, sent_bps=found.sent_bps), datagram_flow(facts)),
        gain.of_twice(facts),
        variant="datagrams",
        values={
            "requested_bps": found.asked_bps or 0.0,
            "sent_bps": found.sent_bps,
            "arrived_ratio": 1 - found.missed_ratio,
        },
    )
