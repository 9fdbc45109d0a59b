"""Losses of the path and what it mixes up: queues that are too small, random loss, policers, reordering."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.path_facts import LostRun
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import (
    APPLICATION_LIMITED_RATIO,
    LOST_BEHIND_PATH,
    SEGMENTS,
    UNDECIDED,
    WINDOWS,
    Finding,
    assumed,
    clipped,
    figure,
    is_on_cpu,
    state_evidence,
    unseen,
)
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.rules.pacing import pacing_rate
from whyperf.explain.rules.path import (
    MIN_FASTER_TIMES,
    MIN_REORDERINGS,
    bottleneck,
    drops_when_full,
    has_both_logs,
    has_losses,
    is_in_queue,
    path_wait,
    policer,
    scattered,
    shared_bottleneck,
    unused,
)
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

MIN_LOSSES = 3
SURELY = 0.2
"""A cause has some of the losses for sure where the whole interval of its part of them lies above."""
MIN_SURE_LOSSES, FEW_RANDOM = 5, 0.5
"""Loss events from which on they show that a queue has a part in them; of fewer, the most that may be random."""
CLEAR_LIKELIHOOD_LOG10 = 1.0
"""From ten to one on evidence is strong (Jeffreys, Theory of Probability, appendix B)."""


def _is_of_bottleneck(facts: Facts) -> bool:
    """True where the line is what keeps the rate down, so that its losses are how it does."""
    found = (rule(facts) for rule in (policer, bottleneck, shared_bottleneck))
    return any(finding is not None and finding.open != "queue" for finding in found)


def loss_evidence(facts: Facts) -> tuple[Evidence, ...]:
    """Evidence of losses, and that they held the sender."""
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


@dataclass(frozen=True)
class _Whose:
    """True where random loss, and where a queue, surely caused some of the losses."""

    random: bool
    queue: bool

    @property
    def is_open(self) -> bool:
        """True where all of them may be either's."""
        return not self.random and not self.queue


def _whose(facts: Facts) -> _Whose:
    segments = facts.segments
    if segments.losses.random_low is None or segments.losses.random_high is None:
        return _Whose(random=True, queue=False)
    is_few = (segments.losses.events or 0) < MIN_SURE_LOSSES
    most = 1 - SURELY if not is_few else FEW_RANDOM
    return _Whose(random=segments.losses.random_low >= SURELY, queue=segments.losses.random_high <= most)


def small_queue(facts: Facts) -> Finding | None:
    """A queue runs over long before its line is busy (Appenzeller, Keslassy, McKeown, SIGCOMM 2004)."""
    segments, wait = facts.segments, path_wait(facts)
    if not has_both_logs(facts):
        return _counted_losses(facts, Cause.SMALL_QUEUE)
    if not has_losses(facts) or wait < 0.1 or _is_of_bottleneck(facts):
        return None
    whose = _whose(facts)
    if whose.random and not whose.queue:
        return None
    lost = unused(facts) * (1 - scattered(facts) if whose.random else 1.0)
    # A reader that pauses lets its sender send in bursts, which overrun a queue that is large enough otherwise.
    lost = min(lost, _most_by_events(facts)) * (1 - facts.receiver.ratio(R.NOT_READING))
    certainty = 0.9 if (segments.losses.events or 0) >= MIN_LOSSES else 0.65
    return Finding(
        Cause.SMALL_QUEUE,
        lost,
        UNDECIDED if whose.is_open else certainty,
        loss_evidence(facts),
        gain.of_share(facts, lost, by_line=True),
        values={
            "link_bps": segments.bottleneck.bps,
            "use_ratio": segments.bottleneck.use_ratio or 0.0,
            **_loss_counts(facts),
        },
        open="few_losses" if whose.is_open else "",
    )


SLOWLY_REGROWN_TIMES = 4.0
"""Factor by which a CUBIC window may grow back slower than a Reno one (RFC 9438 section 4.2), recovery included."""


def _most_by_events(facts: Facts) -> float:
    """The most that so few losses can have cost, each with the time in which its window grows back."""
    events, sent = facts.segments.losses.events or 0, facts.segments.data_segments or 0
    return most_by_reductions(facts, events / sent) if sent else 1.0


def _loss_counts(facts: Facts) -> dict[str, Value | None]:
    losses = facts.segments.losses
    return {"loss_count": losses.events or 0, "segments_per_loss": losses.segments_per_run}


MIN_OUTAGE_TRIPS = 10.0
"""Round trips that a span without any delivery lasts from which on it is no loss of a single window."""
MAX_ACKS_OF_OUTAGE = 0.95
"""Part of the ACKs that arrived, up to which the reverse direction lost them while nothing was acknowledged."""


def outage(facts: Facts) -> Finding | None:
    """The path, or its reverse direction, let nothing through for some time."""
    found, trip = facts.segments.outage, facts.windows.rtt_ns_min or 0
    if found.longest_ns < MIN_OUTAGE_TRIPS * trip or found.span_ratio < MIN_STRENGTH_OF_OUTAGE:
        return None
    is_back = _is_reverse_outage(facts)
    cause = Cause.ACK_PATH if is_back else Cause.BURST_LOSS
    values: dict[str, Value | None] = {
        "outage_ns": found.longest_ns,
        "sum_ns": None if found.length_ns == found.longest_ns else found.length_ns,
        "outage_ratio": found.span_ratio,
        "from_ns": found.from_ns,
    }
    return Finding(
        cause,
        min(0.98, found.span_ratio),
        0.9 if facts.level == "segments" or facts.segments.acks_arrived_ratio is not None else 0.7,
        (
            figure("outage", WINDOWS, facts.sender, **values),
            state_evidence(facts.sender, "sender", S.RTO_WAIT, S.LOSS_RECOVERY, S.SLOW_START, *unseen(facts.sender)),
        ),
        gain.of_interruption(facts, min(0.98, found.span_ratio)),
        is_counted=True,
        variant="outage",
        values=values,
    )


MIN_STRENGTH_OF_OUTAGE = 0.1
"""Part of the measured phase."""


def _is_reverse_outage(facts: Facts) -> bool:
    """True if ACKs were lost, and not data: by the receiver's log, else by how many ACKs arrived, and by data that the
    receiver says to have had (DSACK, RFC 2883).
    """
    segments = facts.segments
    if segments.needless_timeouts is not None and segments.timeouts:
        return segments.needless_timeouts >= segments.timeouts / 2
    had = facts.sender.limits.counts.get("TcpExtTCPDSACKRecv", 0)
    return assumed(segments.acks_arrived_ratio, 1.0) < MAX_ACKS_OF_OUTAGE or had > 0


def possible_policer(facts: Facts) -> Finding | None:
    """Without a log: losses that a policer may be the reason of, as random loss may."""
    found, queue = facts.segments.policing, facts.segments.queue
    if has_both_logs(facts) or drops_when_full(facts) or (queue.losses_full_ratio or 0.0) > MAX_LOST_WHEN_FULL:
        return None
    # The rate of a policer that is not always there varies as much as that of random loss.
    if found.bps is not None and (is_in_queue(facts, found.delay_ns) or found.faster_times < MIN_FASTER_TIMES):
        return None
    return _counted_losses(facts, Cause.POLICER)


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
    if path_wait(facts) < 0.3 or is_on_cpu(facts) or _is_of_bottleneck(facts) or pacing_rate(facts) is not None:
        return None
    if (seen.application_limited_ratio or 0.0) >= APPLICATION_LIMITED_RATIO:
        return None
    if (seen.rtt_ns_min or 0) < NEIGHBOR_RTT_NS or lost_to_reductions(facts, lost_ratio) < MIN_LOST_TO_REDUCTIONS:
        return None
    if cause is not Cause.SMALL_QUEUE and drops_when_full(facts):
        return None
    counted: dict[str, Value | None] = {
        "lost_count": round(lost_ratio * (segments.data_segments or 0)),
        "sent_count": segments.data_segments or 0,
    }
    return Finding(
        cause,
        unused(facts),
        UNDECIDED,
        (
            figure("lost_count", WINDOWS, facts.sender, lost_segments_ratio=lost_ratio, **counted),
            state_evidence(facts.sender, "sender", *unseen(facts.sender)),
        ),
        variant=COUNTED,
        values=counted,
        open="queue" if drops_when_full(facts) else "counted_losses",
    )


COUNTED = "counted"
"""Variant of the text for losses that only the sender's kernel counted."""
OF_PATH_CERTAINTY = 0.85


MAX_LOST_WHEN_FULL = 0.5
"""Part of the losses that came while a queue was full, from which on they may be how a full path keeps the sender at
its rate."""


def of_any_kind(facts: Facts, kinds: Sequence[Finding]) -> Finding | None:
    """That the path loses segments, where the evidence does not separate the kinds of loss that it fits.

    None where most were lost while a queue was full, or where the samples are too few to show that.
    """
    first, queue = kinds[0], facts.segments.queue
    if queue.losses_full_ratio is None or queue.losses_full_ratio >= MAX_LOST_WHEN_FULL:
        return None
    if (queue.lossy_count or 0) < MIN_LOSSES:
        return None
    causes = [str(kind.cause) for kind in kinds]
    is_alone = facts.watched_sides == "sender"
    return Finding(
        Cause.PATH_LOSS,
        max(kind.lost for kind in kinds),
        OF_PATH_CERTAINTY,
        first.evidence,
        is_counted=True,
        variant="far" if is_alone else "",
        # What the receiving host drops looks the same from the sender.
        values={**first.values, "causes": [*causes, str(Cause.RECEIVER_LOSS)] if is_alone else causes},
    )


MIN_LOST_TO_REDUCTIONS = 0.1
"""Part of the time from which on reductions of the congestion window are what keeps the rate down."""


def _loss(facts: Facts, *, bursts: bool) -> Finding | None:
    if not has_both_logs(facts):
        return _counted_losses(facts, Cause.BURST_LOSS if bursts else Cause.RANDOM_LOSS)
    segments, wait = facts.segments, path_wait(facts)
    each, likelihood = segments.losses.segments_per_run, segments.losses.burst_likelihood_log10
    if not has_losses(facts) or wait < 0.1 or each is None or likelihood is None:
        return None
    if policer(facts) is not None or (shared_bottleneck(facts) is not None and drops_when_full(facts)):
        return None
    whose = _whose(facts)
    if (whose.queue and not whose.random) or (bursts and likelihood < -CLEAR_LIKELIHOOD_LOG10) or (
        not bursts and likelihood > CLEAR_LIKELIHOOD_LOG10
    ):  # fmt: skip
        return None
    even = abs(likelihood) <= CLEAR_LIKELIHOOD_LOG10
    lost = unused(facts) * (scattered(facts) if whose.queue else 1.0)
    certainty = 0.9 if (segments.losses.events or 0) >= MIN_LOSSES else 0.65
    why = "few_losses" if whose.is_open else "few_bursts" if even else ""
    # Of two that are as likely the likelier one stands first.
    less = 0.02 if even and bursts != (likelihood > 0) else 0.0
    return Finding(
        Cause.BURST_LOSS if bursts else Cause.RANDOM_LOSS,
        lost,
        UNDECIDED - less if why else certainty,
        loss_evidence(facts),
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
    segments, wait = facts.segments, path_wait(facts)
    late = segments.out_of_order_ratio or 0.0
    repaired = segments.losses.ratio or 0.0
    if late < 0.002 or late < 4 * repaired or wait < 0.1 or (late < 0.01 and not segments.retransmitted_ratio):
        return None
    # What had arrived and is asked for again nevertheless was lost behind the path.
    if facts.lost_in_receiver_ratio >= LOST_BEHIND_PATH:
        return None
    lost, certainty = unused(facts), 0.9
    if facts.level != "segments":
        if segments.reordering_events is not None and segments.reordering_events < MIN_REORDERINGS:
            return None
        # Nobody saw what the sender waited for: no more than what it sent again for nothing can have cost its window.
        needless = (segments.retransmitted_ratio or 0.0) * (
            1.0 if segments.spurious_ratio is None else segments.spurious_ratio
        )
        lost = min(lost, lost_to_reductions(facts, needless))
        certainty = UNDECIDED if segments.reordering_events is None or segments.spurious_ratio is None else certainty
    spurious = segments.spurious_ratio
    return Finding(
        Cause.REORDERING,
        lost,
        certainty,
        (figure("out_of_order", SEGMENTS, facts.receiver, late_ratio=late), *loss_evidence(facts)),
        gain.of_share(facts, lost, by_line=True),
        values={"late_ratio": late, "spurious_ratio": spurious},
    )


def most_by_reductions(facts: Facts, ratio: float) -> float:
    """The most that reductions of the congestion window can have cost, one for `ratio` of the segments each."""
    return SLOWLY_REGROWN_TIMES * lost_to_reductions(facts, ratio)


def lost_to_reductions(facts: Facts, ratio: float) -> float:
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
