"""What the path does: its rate, its queue, losses, order, acknowledgments in the reverse direction."""

from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.model import Evidence, Value
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import (
    APPLICATION_LIMITED_RATIO,
    LOST_BEHIND_PATH,
    SEGMENTS,
    UNDECIDED,
    WINDOWS,
    Finding,
    clipped,
    figure,
    is_on_cpu,
    state_evidence,
)
from whyperf.explain.rules.gain import FULL_LINE_USE, NEIGHBOR_RTT_NS, is_line_seen
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts, LostRun

WAITS = (S.CONGESTION_WINDOW, S.SLOW_START, S.LOSS_RECOVERY, S.RTO_WAIT, S.PACING, S.DEVICE)
"""States in which the path, or the congestion control for its sake, holds the sender."""
MIN_OVERRUN_USE = 0.7
"""A line used so far is full where its queue runs over: a larger queue brings no more than the rest, a faster line
any rate."""
MIN_LOSSES = 3
SURELY = 0.2
"""A cause has some of the losses for sure where the whole interval of its part of them lies above."""
CLEAR_LIKELIHOOD_LOG10 = 1.0
"""From ten to one on evidence is strong (Jeffreys, Theory of Probability, appendix B)."""


def _path_wait(facts: Facts) -> float:
    """How long the path held the sender; all the time that nobody knows below the log."""
    return facts.sender.ratio(*WAITS) + (facts.sender.ratio(S.UNKNOWN) if facts.level != "segments" else 0.0)


def _losses(facts: Facts) -> tuple[Evidence, ...]:
    losses, retransmitted = facts.segments.losses, facts.segments.retransmitted_ratio
    evidence = [state_evidence(facts.sender, "sender", S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)]
    if retransmitted is not None:
        evidence.append(figure("retransmitted", WINDOWS, facts.sender, retransmitted_ratio=retransmitted))
    if losses.runs:
        each = losses.segments_per_run or 1
        evidence.append(figure("losses", "segments", facts.receiver, loss_count=losses.runs, segments_per_loss=each))
    if losses.backlog_rank is not None:
        evidence.append(figure("loss_rank", "segments", facts.sender, rank_ratio=losses.backlog_rank))
    return (*evidence, *(_lost_run(facts, run) for run in losses.examples))


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


def _has_losses(facts: Facts) -> bool:
    return (facts.segments.losses.events or 0) >= 1 and (facts.segments.losses.ratio or 0) > 0


def _overruns(facts: Facts) -> bool:
    """Whether most losses come where a queue is fullest."""
    return _has_losses(facts) and _scattered(facts) < 0.5


def _scattered(facts: Facts) -> float:
    """Part of the losses that came without regard to a queue; where no line is known, all of them."""
    part = facts.segments.losses.random_ratio
    return 1.0 if part is None else part


@dataclass(frozen=True)
class _Whose:
    """Whether random loss, and whether a queue, surely caused some of the losses."""

    random: bool
    queue: bool

    @property
    def is_open(self) -> bool:
        """Whether all of them may be either's."""
        return not self.random and not self.queue


def _whose(facts: Facts) -> _Whose:
    segments = facts.segments
    if segments.losses.random_low is None or segments.losses.random_high is None:
        return _Whose(random=True, queue=False)
    return _Whose(random=segments.losses.random_low >= SURELY, queue=segments.losses.random_high <= 1 - SURELY)


def _use(facts: Facts) -> float | None:
    """How much of the line was used while there was anything to send; None where no line is seen."""
    use = facts.segments.bottleneck.use_ratio
    if use is None or not is_line_seen(facts):
        return None
    return clipped(use / max(0.05, 1 - facts.sender.ratio(S.NOT_WRITING)))


def _unused(facts: Facts) -> float:
    """How long the path held the sender, as far as the line stayed empty; all of it where no line is seen."""
    wait, use = _path_wait(facts), _use(facts)
    return wait if use is None else wait * (1 - use)


def bottleneck(facts: Facts) -> Finding | None:
    """The path's narrowest part carries all it can, and a queue stands before it."""
    segments, wait = facts.segments, _path_wait(facts)
    growth = facts.windows.rtt_growth
    if pacing_rate(facts) is not None:
        # A sender that is paced has a line's regularity.
        return None
    use = _use(facts)
    if segments.bottleneck.bps is None or use is None:
        return None
    if facts.level == "segments":
        overruns = _overruns(facts)
        queued = (growth is not None and growth >= 1.15) or overruns
    else:
        # Without a log the line is known only from the time in which a queue stood. What fills a CPU looks alike.
        queued = overruns = not is_on_cpu(facts)
    if use < (MIN_OVERRUN_USE if overruns else FULL_LINE_USE) or wait < 0.3 or not queued:
        return None
    evidence = [state_evidence(facts.sender, "sender", *WAITS), _link_rate(facts)]
    if growth is not None:
        evidence.append(figure("rtt_growth", WINDOWS, facts.sender, growth_times=growth))
    return Finding(
        Cause.BOTTLENECK,
        wait,
        # Counters show the constant rate of a queue as well as a log does.
        0.95,
        tuple(evidence),
        None,
        {"line_bps": segments.bottleneck.bps},
        is_counted=True,
        values={
            "link_bps": segments.bottleneck.bps,
            "use_ratio": use,
            "rtt_ns_median": facts.windows.rtt_ns_median,
            "rtt_ns_min": facts.windows.rtt_ns_min,
        },
    )


def _link_rate(facts: Facts) -> Evidence:
    """What shows the link's rate."""
    link = facts.segments.bottleneck
    values = {"link_bps": link.bps or 0.0, "steady_ratio": link.steadiness or 0.0}
    if facts.level == "segments":
        return figure("segment_spacing", SEGMENTS, facts.receiver, **values)
    return figure("delivery_rate", WINDOWS, facts.sender, **values)


def small_queue(facts: Facts) -> Finding | None:
    """A queue runs over long before its line is busy (Appenzeller, Keslassy, McKeown, SIGCOMM 2004)."""
    segments, wait = facts.segments, _path_wait(facts)
    if facts.level != "segments":
        return _counted_losses(facts, Cause.SMALL_QUEUE)
    if not _has_losses(facts) or wait < 0.1 or bottleneck(facts) is not None:
        return None
    whose = _whose(facts)
    if whose.random and not whose.queue:
        return None
    lost = _unused(facts) * (1 - _scattered(facts) if whose.random else 1.0)
    certainty = 0.9 if (segments.losses.events or 0) >= MIN_LOSSES else 0.65
    return Finding(
        Cause.SMALL_QUEUE,
        lost,
        UNDECIDED if whose.is_open else certainty,
        _losses(facts),
        gain.of_share(facts, lost, by_line=True),
        values={
            "link_bps": segments.bottleneck.bps,
            "use_ratio": segments.bottleneck.use_ratio or 0.0,
            **_loss_counts(facts),
        },
        open="few_losses" if whose.is_open else "",
    )


def _loss_counts(facts: Facts) -> dict[str, Value | None]:
    losses = facts.segments.losses
    return {"loss_count": losses.events or 0, "segments_per_loss": losses.segments_per_run}


def random_loss(facts: Facts) -> Finding | None:
    """Losses that have nothing to do with a queue, one at a time."""
    return _loss(facts, bursts=False)


def burst_loss(facts: Facts) -> Finding | None:
    """Losses that have nothing to do with a queue, many in a row."""
    return _loss(facts, bursts=True)


def _counted_losses(facts: Facts, cause: Cause) -> Finding | None:
    """Without a log: that segments are lost and that it costs the rate, but not where and when."""
    segments, seen = facts.segments, facts.windows
    lost_ratio = (segments.retransmitted_ratio or 0.0) * (1 - (segments.spurious_ratio or 0.0))
    if _path_wait(facts) < 0.3 or is_on_cpu(facts) or bottleneck(facts) is not None or pacing_rate(facts) is not None:
        return None
    if (seen.application_limited_ratio or 0.0) >= APPLICATION_LIMITED_RATIO:
        return None
    if (seen.rtt_ns_min or 0) < NEIGHBOR_RTT_NS or _lost_to_reductions(facts, lost_ratio) < MIN_LOST_TO_REDUCTIONS:
        return None
    counted: dict[str, Value | None] = {
        "lost_count": round(lost_ratio * (segments.data_segments or 0)),
        "sent_count": segments.data_segments or 0,
    }
    return Finding(
        cause,
        _unused(facts),
        UNDECIDED,
        (
            figure("lost_count", WINDOWS, facts.sender, lost_segments_ratio=lost_ratio, **counted),
            state_evidence(facts.sender, "sender", S.UNKNOWN),
        ),
        variant="counted",
        values=counted,
        open="counted_losses",
    )


MIN_LOST_TO_REDUCTIONS = 0.1
"""Part of the time from which on reductions of the congestion window are what keeps the rate down."""


def _loss(facts: Facts, *, bursts: bool) -> Finding | None:
    if facts.level != "segments":
        return _counted_losses(facts, Cause.BURST_LOSS if bursts else Cause.RANDOM_LOSS)
    segments, wait = facts.segments, _path_wait(facts)
    each, likelihood = segments.losses.segments_per_run, segments.losses.burst_likelihood_log10
    if not _has_losses(facts) or wait < 0.1 or each is None or likelihood is None:
        return None
    whose = _whose(facts)
    if (whose.queue and not whose.random) or (bursts and likelihood < -CLEAR_LIKELIHOOD_LOG10) or (
        not bursts and likelihood > CLEAR_LIKELIHOOD_LOG10
    ):  # fmt: skip
        return None
    even = abs(likelihood) <= CLEAR_LIKELIHOOD_LOG10
    lost = _unused(facts) * (_scattered(facts) if whose.queue else 1.0)
    certainty = 0.9 if (segments.losses.events or 0) >= MIN_LOSSES else 0.65
    why = "few_losses" if whose.is_open else "few_bursts" if even else ""
    # Of two that are as likely the likelier one stands first.
    less = 0.02 if even and bursts != (likelihood > 0) else 0.0
    return Finding(
        Cause.BURST_LOSS if bursts else Cause.RANDOM_LOSS,
        lost,
        UNDECIDED - less if why else certainty,
        _losses(facts),
        gain.of_share(facts, lost, by_line=True),
        values={
            "lost_data_ratio": segments.losses.ratio or 0.0,
            **_loss_counts(facts),
            **({"loss_count": segments.losses.runs or 0} if why == "few_bursts" else {}),
        },
        open=why,
    )


def reordering(facts: Facts) -> Finding | None:
    """Segments overtake one another, and the sender takes it for loss."""
    segments, wait = facts.segments, _path_wait(facts)
    late = segments.out_of_order_ratio or 0.0
    repaired = segments.losses.ratio or 0.0
    if late < 0.002 or late < 4 * repaired or wait < 0.1 or (late < 0.01 and not segments.retransmitted_ratio):
        return None
    # What had arrived and is asked for again nevertheless was lost behind the path.
    if facts.lost_in_receiver_ratio >= LOST_BEHIND_PATH:
        return None
    lost, certainty = _unused(facts), 0.9
    if facts.level != "segments":
        if segments.reordering_events is not None and segments.reordering_events < MIN_REORDERINGS:
            return None
        # Nobody saw what the sender waited for: no more than what it sent again for nothing can have cost its window.
        needless = (segments.retransmitted_ratio or 0.0) * (
            1.0 if segments.spurious_ratio is None else segments.spurious_ratio
        )
        lost = min(lost, _lost_to_reductions(facts, needless))
        certainty = UNDECIDED if segments.reordering_events is None or segments.spurious_ratio is None else certainty
    spurious = segments.spurious_ratio
    return Finding(
        Cause.REORDERING,
        lost,
        certainty,
        (figure("out_of_order", SEGMENTS, facts.receiver, late_ratio=late), *_losses(facts)),
        gain.of_share(facts, lost, by_line=True),
        values={"late_ratio": late, "spurious_ratio": spurious},
    )


MIN_REORDERINGS = 3
"""Fewer times that the sender's kernel saw reordering are a disturbance."""


def _lost_to_reductions(facts: Facts, ratio: float) -> float:
    """Part of the time that reductions of the congestion window can have cost, one for `ratio` of the segments each.

    A window W that was halved grows back in W / 2 round trips, over which a quarter of it is missing in the mean (RFC
    5681 section 3.1): W / 8 round trips' worth, and the one in which it was found.
    """
    segments, seen = facts.segments, facts.windows
    if segments.data_segments is None or seen.rtt_ns_median is None:
        return 1.0 if ratio else 0.0
    reductions = ratio * segments.data_segments / max(1, facts.connections)
    trips = 1 + (seen.cwnd_segments_median or 0) / 8
    return clipped(reductions * trips * seen.rtt_ns_median / max(1, facts.life_ns))


def ack_thinning(facts: Facts) -> Finding | None:
    """Acknowledgments that the receiver sent do not reach the sender."""
    arrived = facts.segments.acks_arrived_ratio
    if arrived is None or arrived >= 0.8:
        return None
    waits = facts.sender.ratio(*WAITS, S.RECEIVE_WINDOW_BUFFER, S.SEND_BUFFER, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW)
    if facts.level != "segments":
        # What a full line makes the sender wait for is not the ACKs' doing.
        waits = (waits + facts.sender.ratio(S.UNKNOWN)) * (1 - (_use(facts) or 0.0))
    lost = clipped(waits)
    if lost < 0.1:
        return None
    return Finding(
        Cause.ACK_THINNING,
        lost,
        0.98,
        (
            figure("acks_arrived", "segments", facts.sender, arrived_ratio=arrived),
            state_evidence(facts.sender, "sender", *WAITS, S.RECEIVE_WINDOW_BUFFER),
        ),
        gain.of_share(facts, lost, by_line=True),
        values={"arrived_ratio": arrived},
    )


def slow_start(facts: Facts) -> Finding | None:
    """The connection ends before its congestion window has grown (RFC 5681 section 3.1)."""
    lost = facts.sender.ratio(S.SLOW_START)
    trip = facts.windows.rtt_ns_min
    if lost < 0.2 or not trip or _has_losses(facts):
        return None
    trips = facts.life_ns / trip
    if trips > 40:
        return None
    return Finding(
        Cause.SLOW_START,
        lost,
        0.9,
        (
            state_evidence(facts.sender, "sender", S.SLOW_START),
            figure("transfer", WINDOWS, facts.sender, rtts_per_transfer=trips, rtt_ns=trip),
        ),
        gain.of_share(facts, lost, by_line=True),
        values={"rtts_per_transfer": trips},
    )


def pacing_rate(facts: Facts) -> Finding | None:
    """The socket's greatest pacing rate binds (SO_MAX_PACING_RATE)."""
    segments = facts.segments
    constant = segments.pacing.constant_ratio or 0.0
    if segments.pacing.bps is None or constant < (0.5 if facts.level == "segments" else MIN_SAMPLES_PACED):
        return None
    lost = facts.sender.ratio(S.PACING, S.DEVICE, S.SEND_BUFFER, S.CONGESTION_WINDOW, S.UNKNOWN)
    # No faster than that in all, and about as fast while there is anything to send.
    paced = segments.pacing.bps * facts.connections
    sending = max(0.05, 1 - facts.sender.ratio(S.NOT_WRITING))
    if lost < 0.1 or facts.rate_bps is None or not 0.6 * sending <= facts.rate_bps / paced <= 1.3:
        return None
    return Finding(
        Cause.PACING_RATE,
        lost,
        0.97,
        (
            figure(
                "paced_segments" if facts.level == "segments" else "paced_samples",
                WINDOWS,
                facts.sender,
                pacing_bps=segments.pacing.bps,
                constant_ratio=constant,
            ),
            state_evidence(facts.sender, "sender", S.PACING),
        ),
        gain.of_ends_in_large_packets(facts, saved="sender"),
        values={"pacing_bps": segments.pacing.bps},
    )


MIN_SAMPLES_PACED = 0.9
"""Part of the samples with the same pacing rate: a congestion control changes it from one to the next."""
