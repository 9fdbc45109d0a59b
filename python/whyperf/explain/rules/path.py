"""Behavior of the path's bottleneck: its rate, its queue and others that use it."""

from collections.abc import Iterator

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import (
    LOST_BEHIND_PATH,
    SEGMENTS,
    UNDECIDED,
    WINDOWS,
    Finding,
    assumed,
    clipped,
    figure,
    is_on_cpu,
    is_perhaps_idle,
    state_evidence,
)
from whyperf.explain.rules.gain import FULL_LINE_USE, HEADERS_BYTES, is_line_seen
from whyperf.explain.rules.pacing import pacing_rate
from whyperf.explain.rules.packets import costly_packets
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

HELD_STATES = (S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW, S.SEND_BUFFER)
"""States in which a window or a buffer holds the sender."""
WAITS = (S.CONGESTION_WINDOW, S.SLOW_START, S.LOSS_RECOVERY, S.RTO_WAIT, S.PACING, S.DEVICE)
"""States in which the path, or the congestion control for its sake, holds the sender."""
MIN_OVERRUN_USE = 0.7
"""A line used so far is full where its queue runs over: a larger queue brings no more than the rest, a faster line
any rate."""
MIN_REGROWN_USE = 0.5
"""A window that is halved when the line is full leaves half of the line in use (RFC 5681 section 3.1); with less, the
queue runs over before the line is full."""
MAX_REGROWN_EVENTS = 3
"""Loss events, in addition to those for which a halved window has time to grow back: the overshoot of slow start takes
some round trips (tuning set: up to 3)."""
MAX_EARLY_TIMES = 2
"""A queue that drops early, at random (RED), does so up to twice as often."""
MIN_OWN_LOSSES = 0.7
"""Part of the losses that a full queue explains from which on the queue drops (tuning set: 0.71 to 1 for
queues that the load fills alone, up to 0.3 for random loss; bursts up to 0.62)."""
MIN_MARKED_RATIO = 0.001
"""Part of the segments with a mark from which on a queue marks instead of dropping."""
MIN_STANDING_RATIO = 0.3
"""Part of the time in which a queue stands from which on it is no burst's."""
MAX_JITTER_RATIO = 0.5
"""A queue fills and drains; a delay that leaps by more than that part of itself is no queue's (tuning set: queues that
stand 0.01 to 0.25)."""
MAX_OWN_RATIO = 0.7
"""Part of the queueing delay that the own segments explain, up to which others have filled the queue (tuning set:
0.94 to 1 alone, 0 to 0.1 with others, 0.53 with others for a part of the time)."""
MAX_OWN_RATIO_UNSURE = 0.2
"""The same where the link's rate is not sure, and may be off by a factor of two (further set: 0.04 with 8 others)."""
MIN_SURE_STEADINESS = 0.5
"""Part of the pairs of segments at the link's rate, below which that rate may be off by 20 %."""
MIN_SHARED_SPREAD = 0.3
"""Spread of the own rate while the queue is full, from which on others take the rest (tuning set: up to 0.18
alone, 0.4 with others that vary)."""
MIN_ALWAYS_RATIO, MIN_OPEN_SPREAD, MAX_ALWAYS_JITTER = 0.8, 0.05, 0.1
"""A queue that stood so much of the time, with a rate that varies so far and a round trip that does not leap, may be
shared (tuning set: up to 0.02 alone, 0.07 with others at a constant rate)."""
MAX_ALWAYS_SPREAD = 0.2
"""Spread that the rate may have while the queue stands all the time: a transfer of pieces pauses between them."""
MIN_SHARED_STEPS = 5
MIN_SHARED_DELAY = 0.3
"""Delay of the longest queue over the smallest round trip from which on steps show full and empty apart: a window's
sawtooth in a short queue is over within a step or two (tuning set: 0.23 alone, 0.6 and more with others)."""
MIN_READER_ASLEEP = 0.5
"""Part of the time in which payload waits for the receiving application from which on its pauses time the ACKs."""
MIN_REORDERINGS = 3
"""Fewer times that the sender's kernel saw reordering are a disturbance."""
MIN_SPURIOUS = 0.5
"""Part of the retransmitted segments that had arrived (DSACK), from which on reordering made the sender repeat them."""
MAX_OVERTAKING = 0.01
"""Part of the segments out of order up to which the smallest delay is the path's: what overtakes has a smaller one."""
MIN_ACKS_ARRIVED = 0.8
"""With fewer ACKs that arrive, the round trip shows the reverse direction."""


def waiting_states(facts: Facts) -> tuple[S, ...]:
    """The states of a sender that the path holds, as far as evidence shows them."""
    return (*WAITS, S.IN_FLIGHT) if facts.sender.ratio(S.IN_FLIGHT) else WAITS


def path_wait(facts: Facts) -> float:
    """Time that the path held the sender; all the time that nobody knows below the log."""
    unknown = facts.sender.ratio(S.UNKNOWN) if facts.level != "segments" else 0.0
    return facts.sender.ratio(*WAITS, S.IN_FLIGHT) + unknown


def waits_for_acks(facts: Facts) -> bool:
    """Without a log: whether ACKs are what waits, and the receiver's threads were there to send them."""
    return facts.segments.queue.is_of_acks and (facts.receiver.processors.withheld_ratio or 0.0) < MAX_WITHHELD


MAX_WITHHELD = 0.2
"""Share of the time that a receiver waits for a CPU, from which on that is why its ACKs are late."""


def has_both_logs(facts: Facts) -> bool:
    """True where the logs of both hosts show which segments were lost, and what each waited for."""
    return facts.level == "segments" and facts.segments.losses.ratio is not None


def has_losses(facts: Facts) -> bool:
    """True where segments were lost on the path."""
    return (facts.segments.losses.events or 0) >= 1 and (facts.segments.losses.ratio or 0) > 0


def overruns(facts: Facts) -> bool:
    """True where most losses come where a queue is fullest."""
    return has_losses(facts) and scattered(facts) < 0.5


def scattered(facts: Facts) -> float:
    """Part of the losses that came without regard to a queue; where no line is known, all of them."""
    part = facts.segments.losses.random_ratio
    return 1.0 if part is None else part


def use_of_line(facts: Facts) -> float | None:
    """Part of the line that was used while there was anything to send; None where no line is seen."""
    use = facts.segments.bottleneck.use_ratio
    if use is None or not is_line_seen(facts):
        return None
    return clipped(use / max(0.05, 1 - facts.sender.ratio(S.NOT_WRITING)))


def unused(facts: Facts) -> float:
    """Time that the path held the sender, as far as the line stayed empty; all of it where no line is seen."""
    wait, use = path_wait(facts), use_of_line(facts)
    return wait if use is None else wait * (1 - use)


def bottleneck(facts: Facts) -> Finding | None:
    """The path's narrowest part carries all it can, and a queue stands before it."""
    segments, wait = facts.segments, path_wait(facts)
    # With costly packets they come at the rate at which a host can process them.
    if policer(facts) is not None or costly_packets(facts) is not None:
        return None
    shared = shared_bottleneck(facts)
    if pacing_rate(facts) is not None or (shared is not None and not shared.open):
        # A sender that is paced has a line's regularity, and what others leave of a line is no line.
        return None
    use = use_of_line(facts)
    if use is not None and use >= FULL_LINE_USE and (segments.queue.standing_ratio or 0.0) >= MIN_ALWAYS_RATIO:
        # A window that is larger than the path holds fills the queue.
        wait += facts.sender.ratio(*HELD_STATES)
    if segments.bottleneck.bps is None or use is None or wait < 0.3:
        is_others = shared is not None and shared.open != "queue"
        return None if segments.bottleneck.bps is not None or is_others else _perhaps_bottleneck(facts, wait)
    if segments.bottleneck.is_seen_when_full and (_is_overtaken(facts) or _leaps(facts)):
        return None
    if not _is_queued(facts) or use < _least_use(facts) or (use < FULL_LINE_USE and _is_held_behind(facts)):
        return None
    marked = segments.queue.marked_ratio or 0.0
    is_marked = marked >= MIN_MARKED_RATIO
    why = "shared" if shared is not None else "application" if is_perhaps_idle(facts) else ""
    if not why and use < FULL_LINE_USE and _is_lossy_otherwise(facts):
        why = "queue"
    return Finding(
        Cause.BOTTLENECK,
        wait,
        # Counters show the constant rate of a queue as well as a log does.
        UNDECIDED if why else 0.95 if use >= MIN_OVERRUN_USE else 0.9,
        tuple(_of_bottleneck(facts, marked if is_marked else None)),
        None,
        {"line_bps": segments.bottleneck.bps},
        is_counted=True,
        variant="" if use >= FULL_LINE_USE else _why_unfilled(facts),
        values={
            "link_bps": segments.bottleneck.bps,
            "use_ratio": use,
            **_use_in_all(facts),
            "rtt_ns_median": facts.windows.rtt_ns_median,
            "rtt_ns_min": facts.windows.rtt_ns_min,
        },
        open=why,
    )


MIN_IDLE_RATIO = 0.1


def _use_in_all(facts: Facts) -> dict[str, Value | None]:
    """Use of the link in all, where the sender has nothing to send for a part of the time."""
    sending = 1 - facts.sender.ratio(S.NOT_WRITING)
    if sending > 1 - MIN_IDLE_RATIO:
        return {}
    return {"sending_ratio": sending, "whole_use_ratio": facts.segments.bottleneck.use_ratio}


def _why_unfilled(facts: Facts) -> str:
    """Variant of the text for a link that is the limit and not full all the time: whether its queue marks or drops.

    Without a loss or a mark nothing shows what the queue does when it is full, or that it ever was.
    """
    if (facts.segments.queue.marked_ratio or 0.0) >= MIN_MARKED_RATIO:
        return "regrown.marked"
    return "regrown" if _is_lossy(facts) else "unfilled"


def _is_lossy(facts: Facts) -> bool:
    """True where segments were lost, by both logs or by what the sender sent again and had not arrived."""
    segments = facts.segments
    if has_losses(facts) or segments.queue.losses_full_ratio is not None:
        return True
    return bool(segments.retransmitted_ratio) and (segments.spurious_ratio or 0.0) < 1


def _is_lossy_otherwise(facts: Facts) -> bool:
    """Without a log: whether the losses are not those of a full queue alone, and may be what leaves the line unused."""
    return not has_both_logs(facts) and bool(facts.segments.retransmitted_ratio) and not drops_when_full(facts)


def _is_held_behind(facts: Facts) -> bool:
    """True where what halved the window was lost behind the link, or a pausing reader made bursts that overran it."""
    asleep = facts.receiver.ratio(R.NOT_READING)
    return facts.lost_in_receiver_ratio >= LOST_BEHIND_PATH or asleep >= MIN_READER_ASLEEP


def _perhaps_bottleneck(facts: Facts, wait: float) -> Finding | None:
    """Without a log: losses come with a full queue, but no rate of a link shows."""
    queue = facts.segments.queue
    if has_both_logs(facts) or is_on_cpu(facts) or wait < 0.3 or not drops_when_full(facts) or _is_overtaken(facts):
        return None
    if not queue.full_bps or not facts.rate_bps or waits_for_acks(facts):
        return None
    # A link carries what came in all, whatever came while the queue was longest.
    link = max(queue.full_bps, facts.rate_bps)
    use = facts.rate_bps / link
    is_always = _is_always_full(facts)
    return Finding(
        Cause.BOTTLENECK,
        wait,
        0.85 if is_always else UNDECIDED,
        tuple(_of_bottleneck(facts, queue.marked_ratio or None)),
        is_counted=is_always,
        variant=_why_unfilled(facts),
        values={"link_bps": link, "use_ratio": use},
        open="" if is_always else "queue",
    )


def _is_always_full(facts: Facts) -> bool:
    """True where a queue always stands, at an even rate: it keeps its link busy, however often it runs over."""
    queue = facts.segments.queue
    return (queue.standing_ratio or 0.0) >= MIN_ALWAYS_RATIO and assumed(queue.full_spread, 1.0) <= MAX_ALWAYS_SPREAD


def _of_bottleneck(facts: Facts, marked: float | None) -> Iterator[Evidence]:
    """Evidence of a full line: who waits, its rate, its queue, and what the queue does when it is full."""
    yield state_evidence(facts.sender, "sender", *waiting_states(facts))
    if facts.segments.bottleneck.bps is not None:
        yield _link_rate(facts)
    if (growth := facts.windows.rtt_growth) is not None:
        yield figure("rtt_growth", WINDOWS, facts.sender, growth_times=growth)
    if (full := facts.segments.queue.losses_full_ratio) is not None:
        yield figure("lost_in_full", WINDOWS, facts.sender, full_ratio=full)
    if marked is not None:
        yield figure("marked", WINDOWS, facts.sender, marked_ratio=marked)


def _is_queued(facts: Facts) -> bool:
    """True where a queue stands before the line, or runs over."""
    if not has_both_logs(facts):
        # Without a log the line is known only from the time in which a queue stood. What fills a CPU looks alike.
        return not is_on_cpu(facts)
    growth = facts.windows.rtt_growth
    return (growth is not None and growth >= 1.15) or overruns(facts) or drops_when_full(facts)


def _least_use(facts: Facts) -> float:
    """Part of the line that must be used for it to be the limit."""
    if drops_when_full(facts) and _grows_back(facts):
        return MIN_REGROWN_USE
    return MIN_OVERRUN_USE if not has_both_logs(facts) or overruns(facts) else FULL_LINE_USE


def drops_when_full(facts: Facts) -> bool:
    """True where the queue drops, or marks, when it is full, and hardly anything is lost otherwise."""
    queue = facts.segments.queue
    if queue.own_losses_ratio is None:
        return (queue.marked_ratio or 0.0) >= MIN_MARKED_RATIO
    return queue.own_losses_ratio >= MIN_OWN_LOSSES


def _grows_back(facts: Facts) -> bool:
    """True if losses are so rare that a halved window grows back from one to the next, one segment a round trip."""
    events, trip = facts.segments.losses.events, facts.windows.rtt_ns_min
    line, size = facts.segments.bottleneck.bps, facts.segments.segment_bytes_mean
    if events is None or not trip or not line or not size:
        return True
    halved = line * trip / 8e9 / (size + HEADERS_BYTES) / 2 / facts.connections
    often = facts.life_ns / max(1.0, halved * trip)
    return events / facts.connections <= MAX_REGROWN_EVENTS + MAX_EARLY_TIMES * often


MAX_POLICED_SPREAD, SPREAD_CONNECTIONS = 0.1, 4
"""Spread of the rate under a policer, over some steps, with up to so many connections (tuning set: 0.01 to 0.07;
random loss 0.5 and more). Of more connections the rates of random loss add up to a more even one."""
MIN_POLICED_RATIO = 0.3
"""Part of the steps with losses from which on they are what holds the sender."""
MAX_POLICED_DELAY_NS, MAX_POLICED_TRIP_RATIO = 1e6, 0.025
"""Delay of a queue up to which there is none, or that part of the round trip."""
MIN_FASTER_TIMES = 1.2
"""The path once let that much more through, before the bucket was empty: no link of this rate."""


def policer(facts: Facts) -> Finding | None:
    """The path drops what exceeds a rate, without a queue (Flach et al., SIGCOMM 2016)."""
    found, trip = facts.segments.policing, facts.windows.rtt_ns_min
    if found.bps is None or found.spread is None or not trip or is_on_cpu(facts):
        return None
    most = MAX_POLICED_SPREAD * min(1.0, (SPREAD_CONNECTIONS / facts.connections) ** 0.5)
    if found.lossy_ratio < MIN_POLICED_RATIO or found.faster_times < MIN_FASTER_TIMES:
        return None
    if found.spread > most or is_in_queue(facts, found.delay_ns):
        return None
    if has_both_logs(facts) and _is_lost_in_queue(facts):
        return None
    waits = max(path_wait(facts), found.lossy_ratio)
    return Finding(
        Cause.POLICER,
        waits,
        0.9,
        (
            figure(
                "policed_rate",
                WINDOWS,
                facts.sender,
                policed_bps=found.bps,
                spread_ratio=found.spread,
                lossy_ratio=found.lossy_ratio,
                faster_times=found.faster_times,
            ),
            state_evidence(facts.sender, "sender", *waiting_states(facts)),
        ),
        targets={"policed_bps": found.bps},
        values={"policed_bps": found.bps, "lossy_ratio": found.lossy_ratio},
    )


def is_in_queue(facts: Facts, delay_ns: float) -> bool:
    """True where segments were lost with a delay that a policer does not make."""
    return delay_ns > max(MAX_POLICED_DELAY_NS, MAX_POLICED_TRIP_RATIO * (facts.windows.rtt_ns_min or 0))


def _is_lost_in_queue(facts: Facts) -> bool:
    """True where segments were lost while a queue before the bottleneck was long, which a policer does not have."""
    queue, trip = facts.segments.queue, facts.windows.rtt_ns_min or 0
    longest = queue.delay_ns_high or 0.0
    return (queue.losses_full_ratio or 0.0) >= MIN_OWN_LOSSES and longest > max(
        MAX_POLICED_DELAY_NS, MIN_FULL_TRIP_RATIO * trip
    )


MIN_FULL_TRIP_RATIO = 0.1
"""Delay of a full queue over the smallest round trip: what jitter makes is shorter."""


def shared_bottleneck(facts: Facts) -> Finding | None:
    """A queue stands before the bottleneck that is not the own: others fill it, or its rate changes."""
    queue, wait = facts.segments.queue, path_wait(facts)
    if (behind := _shared_by_exchanges(facts)) is not None:
        return behind
    if wait < 0.3 or (queue.standing_ratio or 0.0) < MIN_STANDING_RATIO or waits_for_acks(facts):
        return None
    if queue.jitter_ratio is None or queue.jitter_ratio > MAX_JITTER_RATIO:
        return None
    if assumed(facts.segments.acks_arrived_ratio, 1.0) < MIN_ACKS_ARRIVED or _is_overtaken(facts):
        return None
    return _shared_by_log(facts, wait) if has_both_logs(facts) else _shared_by_counters(facts, wait)


def _shared_by_exchanges(facts: Facts) -> Finding | None:
    """Transactions wait in a queue that their own segments do not fill."""
    queue, exchanges, trip = facts.segments.queue, facts.exchanges, facts.windows.rtt_ns_min or 0
    if not has_both_logs(facts) or exchanges is None or not exchanges.latency_ns or queue.own_ratio is None:
        return None
    delay, is_leaping = queue.delay_ns_median or 0.0, assumed(queue.jitter_ratio, 1.0) > MAX_JITTER_RATIO
    if (queue.standing_ratio or 0.0) < MIN_STANDING_RATIO or queue.own_ratio > MAX_OWN_RATIO_UNSURE or is_leaping:
        return None
    if delay < max(MIN_SHARED_DELAY * trip, MIN_SHARED_WAIT * exchanges.latency_ns):
        return None
    values = {"delay_ns": delay, "standing_ratio": queue.standing_ratio, "latency_ns": exchanges.latency_ns}
    lost = clipped(delay / exchanges.latency_ns) * exchanges.payload_ratio
    return Finding(
        Cause.SHARED_BOTTLENECK,
        lost,
        0.9,
        (
            figure("queue_delay", SEGMENTS, facts.receiver, delay_ns=delay, standing_ratio=queue.standing_ratio,
                   own_ratio=queue.own_ratio),
            figure("latency", "latencies", facts.asker, latency_ns=exchanges.latency_ns),
        ),
        gain.of_pauses(facts, lost),
        variant="exchanges",
        values=values,
    )  # fmt: skip


MIN_SHARED_WAIT = 0.15
"""Part of a transaction that it waits in a queue from which on that counts."""


def _leaps(facts: Facts) -> bool:
    """True where the delay leaps by as much as it grows, which no queue does: a pausing reader delays its ACKs so."""
    return (facts.segments.queue.jitter_ratio or 0.0) > MAX_JITTER_RATIO and not has_both_logs(facts)


def _is_overtaken(facts: Facts) -> bool:
    """True where segments overtake others: the smallest delay is that of those, and the rest is no queue."""
    if not has_both_logs(facts):
        is_spurious = (facts.segments.spurious_ratio or 0.0) >= MIN_SPURIOUS
        return (facts.segments.reordering_events or 0) >= MIN_REORDERINGS and is_spurious
    late = facts.segments.out_of_order_ratio or 0.0
    return late > MAX_OVERTAKING and late > 4 * (facts.segments.losses.ratio or 0.0)


def _shared_by_log(facts: Facts, wait: float) -> Finding | None:
    segments, queue, use = facts.segments, facts.segments.queue, use_of_line(facts)
    # Of a rate that few pairs of segments have, a part that is almost all of it may be all.
    is_sure = (segments.bottleneck.steadiness or 0.0) >= MIN_SURE_STEADINESS
    most = FULL_LINE_USE if is_sure else MIN_OVERRUN_USE
    if use is None and _is_of_others(facts):
        use = segments.bottleneck.use_ratio
    if use is None or use >= most or queue.own_ratio is None or queue.own_ratio > MAX_OWN_RATIO:
        return None
    if assumed(queue.losses_full_ratio, 1.0) < MIN_OWN_LOSSES:
        # What is lost at any delay no queue drops: the path's delay varies, and it loses segments.
        return None
    lost = wait * (1 - use)
    return Finding(
        Cause.SHARED_BOTTLENECK,
        lost,
        0.95,
        (
            figure(
                "queue_delay",
                SEGMENTS,
                facts.receiver,
                delay_ns=queue.delay_ns_median,
                standing_ratio=queue.standing_ratio,
                own_ratio=queue.own_ratio,
            ),
            _link_rate(facts),
            state_evidence(facts.sender, "sender", *waiting_states(facts)),
        ),
        gain.of_share(facts, lost, by_line=True),
        values={"link_bps": segments.bottleneck.bps, "use_ratio": use, "standing_ratio": queue.standing_ratio},
    )


def _is_of_others(facts: Facts) -> bool:
    """True if the queue is others' even if the link's rate is not sure: it always stands, the own segments are next to
    nothing in it, and what they get of the link varies.
    """
    queue = facts.segments.queue
    if queue.own_ratio is None or queue.own_ratio > MAX_OWN_RATIO_UNSURE:
        return False
    varies = (queue.full_count or 0) >= MIN_SHARED_STEPS and (queue.full_spread or 0.0) >= MIN_SHARED_SPREAD
    return (queue.standing_ratio or 0.0) >= MIN_ALWAYS_RATIO and varies


def _shared_by_counters(facts: Facts, wait: float) -> Finding | None:
    """A full queue is served at the line's rate: an own rate that varies then is what others leave."""
    queue = facts.segments.queue
    is_open = is_perhaps_shared(facts)
    if is_on_cpu(facts) or queue.full_spread is None or (facts.segments.bottleneck.bps is not None and not is_open):
        return None
    is_short = (queue.delay_ns_high or 0.0) < MIN_SHARED_DELAY * (facts.windows.rtt_ns_min or 0)
    is_even = (queue.full_count or 0) < MIN_SHARED_STEPS or queue.full_spread < MIN_SHARED_SPREAD
    is_unsure = not is_open and (is_short or is_even)
    is_unsteady = bool(facts.segments.retransmitted_ratio) and (queue.jitter_ratio or 0.0) >= MAX_ALWAYS_JITTER
    if is_unsure and (queue.full_spread < MIN_OPEN_SPREAD or _is_always_full(facts)):
        return None
    if is_unsure and not facts.segments.retransmitted_ratio:
        return None
    values: dict[str, Value | None] = {
        "full_bps": queue.full_bps, "spread_ratio": queue.full_spread, "standing_ratio": queue.standing_ratio
    }  # fmt: skip
    return Finding(
        Cause.SHARED_BOTTLENECK,
        wait * (queue.standing_ratio or 0.0),
        UNDECIDED if is_open or is_unsure or is_unsteady else 0.9,
        (
            figure("varying_rate", WINDOWS, facts.sender, **values),
            state_evidence(facts.sender, "sender", *waiting_states(facts)),
        ),
        variant="counted",
        values=values,
        open="shared" if is_open else "queue" if is_unsure or is_unsteady else "",
    )


def is_perhaps_shared(facts: Facts) -> bool:
    """Without a log: whether a queue stood all the time, and the rate was neither constant nor very different.

    A queue that never drains serves one load at the line's rate exactly; what others leave varies a little at least.
    """
    queue, link = facts.segments.queue, facts.segments.bottleneck
    if has_both_logs(facts) or (queue.standing_ratio or 0.0) < MIN_ALWAYS_RATIO:
        return False
    spread = link.spread if link.bps is not None else queue.full_spread
    return (
        spread is not None
        and MIN_OPEN_SPREAD <= spread < MIN_SHARED_SPREAD
        and assumed(facts.segments.acks_arrived_ratio, 1.0) >= MIN_ACKS_ARRIVED
        and queue.jitter_ratio is not None
        and queue.jitter_ratio < MAX_ALWAYS_JITTER
    )


def _link_rate(facts: Facts) -> Evidence:
    """Evidence of the link's rate."""
    link = facts.segments.bottleneck
    values = {"link_bps": link.bps or 0.0, "steady_ratio": link.steadiness or 0.0}
    if link.is_seen_when_full:
        return figure("full_rate", WINDOWS, facts.sender, link_bps=link.bps, spread_ratio=link.spread)
    if link.spread is None:
        return figure("segment_spacing", SEGMENTS, facts.receiver, **values)
    return figure("delivery_rate", WINDOWS, facts.sender, **values)
