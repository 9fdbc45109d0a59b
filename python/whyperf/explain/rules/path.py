"""What the path does: its rate, its queue, losses, order, acknowledgments on their way back."""

from dataclasses import dataclass

from whyperf.analyze.text import bit_rate, count, percent, seconds, significant
from whyperf.explain.causes import Cause
from whyperf.explain.model import Evidence
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
LEAST_OVERRUN_USE = 0.7
"""A line used so far is full where its queue runs over: a larger queue brings no more than the rest, a faster line
any rate."""
LEAST_LOSSES = 3
SURELY = 0.2
"""A cause has some of the losses for sure where the whole interval of its part of them lies above."""
CLEAR_ODDS_LOG10 = 1.0
"""From ten to one on evidence is strong (Jeffreys, Theory of Probability, appendix B)."""
WHAT_WOULD_TELL = "a longer trial, in which more is lost, would tell"


def _path_wait(facts: Facts) -> float:
    """How long the path held the sender; all the time that nobody knows below the log."""
    return facts.sender.ratio(*WAITS) + (facts.sender.ratio(S.UNKNOWN) if facts.level != "segments" else 0.0)


def _losses(facts: Facts) -> tuple[Evidence, ...]:
    told = facts.segments
    evidence = [state_evidence(facts.sender, "sender", S.LOSS_RECOVERY, S.RTO_WAIT, S.CONGESTION_WINDOW)]
    if told.retransmitted_ratio is not None:
        words = f"{percent(told.retransmitted_ratio)} of the segments were sent again."
        evidence.append(figure(words, WINDOWS, facts.sender, told.retransmitted_ratio, "ratio"))
    if told.losses.runs:
        words = (
            f"{count(told.losses.runs, 'loss', 'losses')} of {significant(told.losses.segments_per_run or 1)} segments"
        )
        evidence.append(figure(f"{words} each.", "segments", facts.receiver, told.losses.runs, "count"))
    if told.losses.backlog_rank is not None:
        rank = percent(told.losses.backlog_rank)
        words = f"Before the line waited more than at {rank} of the other segments when one was lost."
        evidence.append(figure(words, "segments", facts.sender, told.losses.backlog_rank, "ratio"))
    return (*evidence, *(_lost_run(facts, run) for run in told.losses.examples))


def _lost_run(facts: Facts, run: LostRun) -> Evidence:
    """A single loss, with its place in the log."""
    many = count(run.segments, "segment")
    met = "" if run.rank is None else f", with more before the line than at {percent(run.rank)} of the others"
    return Evidence(
        words=f"{many} sent at {seconds(run.begin_ns)} {'was' if run.segments == 1 else 'were all'} lost{met}.",
        table="segments",
        host=facts.sender.host,
        connection=run.connection,
        from_ns=run.begin_ns,
        to_ns=max(run.end_ns, run.begin_ns + 1),
        value=float(run.segments),
        unit="segments",
    )


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
    """Whether chance, and whether a queue, has some of the losses for sure."""

    chance: bool
    queue: bool

    @property
    def is_open(self) -> bool:
        """Whether all of them may be either's."""
        return not self.chance and not self.queue


def _whose(facts: Facts) -> _Whose:
    told = facts.segments
    if told.losses.random_low is None or told.losses.random_high is None:
        return _Whose(chance=True, queue=False)
    return _Whose(chance=told.losses.random_low >= SURELY, queue=told.losses.random_high <= 1 - SURELY)


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
    told, wait = facts.segments, _path_wait(facts)
    growth = facts.windows.rtt_growth
    if pacing_rate(facts) is not None:
        # A sender that is paced has a line's regularity.
        return None
    use = _use(facts)
    if told.bottleneck.bps is None or use is None:
        return None
    if facts.level == "segments":
        overruns = _overruns(facts)
        queued = (growth is not None and growth >= 1.15) or overruns
    else:
        # Without a log the line is known only from the time in which a queue stood. What fills a CPU looks alike.
        queued = overruns = not is_on_cpu(facts)
    if use < (LEAST_OVERRUN_USE if overruns else FULL_LINE_USE) or wait < 0.3 or not queued:
        return None
    trip = facts.windows
    grown = "" if growth is None or trip.rtt_ns_median is None or trip.rtt_ns_min is None else (
        f"; the median RTT is {seconds(trip.rtt_ns_median)}, the minimum {seconds(trip.rtt_ns_min)}"
    )  # fmt: skip
    evidence = [state_evidence(facts.sender, "sender", *WAITS), _line(facts)]
    if growth is not None:
        words = f"Median RTT is {significant(growth)} × the minimum RTT."
        evidence.append(figure(words, WINDOWS, facts.sender, growth, "ratio"))
    return Finding(
        Cause.BOTTLENECK,
        f"The path's bottleneck of {bit_rate(told.bottleneck.bps)} is full: {percent(use)} of it is used{grown}.",
        wait,
        # Counters show the constant rate of a queue as well as a log does.
        0.95,
        tuple(evidence),
        "A second connection adds to the rate, or the queue before the line is empty.",
        None,
        {"line_bps": told.bottleneck.bps},
        is_counted=True,
    )


def _line(facts: Facts) -> Evidence:
    """What shows the line's rate."""
    told, steady = facts.segments, percent(facts.segments.bottleneck.steadiness or 0)
    if facts.level == "segments":
        words = f"Segments arrive at {bit_rate(told.bottleneck.bps or 0)}, {steady} of them at just this rate."
        return figure(words, SEGMENTS, facts.receiver, told.bottleneck.bps, "bit/s")
    words = (
        f"The path delivered {bit_rate(told.bottleneck.bps or 0)} in {steady} of the time, rarely more, with a queue."
    )
    return figure(words, WINDOWS, facts.sender, told.bottleneck.bps, "bit/s")


def small_queue(facts: Facts) -> Finding | None:
    """A queue runs over long before its line is busy (Appenzeller, Keslassy, McKeown, SIGCOMM 2004)."""
    told, wait = facts.segments, _path_wait(facts)
    if facts.level != "segments":
        return _counted_losses(facts, Cause.SMALL_QUEUE, "when a queue on the path overflows")
    if not _has_losses(facts) or wait < 0.1 or bottleneck(facts) is not None:
        return None
    whose = _whose(facts)
    if whose.chance and not whose.queue:
        return None
    line = "the line" if told.bottleneck.bps is None else f"a line of {bit_rate(told.bottleneck.bps)}"
    lost = _unused(facts) * (1 - _scattered(facts) if whose.chance else 1.0)
    certainty = 0.9 if (told.losses.events or 0) >= LEAST_LOSSES else 0.65
    return Finding(
        Cause.SMALL_QUEUE,
        f"A queue on the path is too small: it runs over when a burst comes, while {line} is used at "
        f"{percent(told.bottleneck.use_ratio or 0)} only.",
        lost,
        UNDECIDED if whose.is_open else certainty,
        _losses(facts),
        "Losses come as often where the sender's segments are far apart.",
        gain.of_share(facts, lost, by_line=True),
        open_because=_few_losses(facts) if whose.is_open else "",
    )


def _few_losses(facts: Facts) -> str:
    """Why it is not known whose the losses are."""
    told = count(facts.segments.losses.events or 0, "loss", "losses")
    return f"{told} may be a queue's that runs over as well as chance's; {WHAT_WOULD_TELL}"


def random_loss(facts: Facts) -> Finding | None:
    """Losses that have nothing to do with a queue, one at a time."""
    return _loss(facts, bursts=False)


def burst_loss(facts: Facts) -> Finding | None:
    """Losses that have nothing to do with a queue, many in a row."""
    return _loss(facts, bursts=True)


def _counted_losses(facts: Facts, cause: Cause, when: str) -> Finding | None:
    """Without a log: that segments are lost and that it costs the rate, but not where and when."""
    told, seen = facts.segments, facts.windows
    lost_ratio = (told.retransmitted_ratio or 0.0) * (1 - (told.spurious_ratio or 0.0))
    if _path_wait(facts) < 0.3 or is_on_cpu(facts) or bottleneck(facts) is not None or pacing_rate(facts) is not None:
        return None
    if (seen.application_limited_ratio or 0.0) >= APPLICATION_LIMITED_RATIO:
        return None
    if (seen.rtt_ns_min or 0) < NEIGHBOR_RTT_NS or _lost_to_reductions(facts, lost_ratio) < LEAST_LOST_TO_REDUCTIONS:
        return None
    number = round(lost_ratio * (told.data_segments or 0))
    words = f"in the whole trial, {number:,} of {told.data_segments or 0:,} data segments were lost and retransmitted"
    return Finding(
        cause,
        f"The path loses {number:,} of {told.data_segments or 0:,} data segments, possibly {when}: each loss reduces "
        "the congestion window.",
        _unused(facts),
        UNDECIDED,
        (
            figure(f"{words[:1].upper()}{words[1:]}.", WINDOWS, facts.sender, lost_ratio, "ratio"),
            state_evidence(facts.sender, "sender", S.UNKNOWN),
        ),
        "The rate is the same when nothing is lost.",
        None,
        open_because=f"{words}, and counters do not show which segments; a segment log does (--evidence segments)",
    )


LEAST_LOST_TO_REDUCTIONS = 0.1
"""Part of the time from which on reductions of the congestion window are what keeps the rate down."""


def _loss(facts: Facts, *, bursts: bool) -> Finding | None:
    if facts.level != "segments":
        cause, when = (Cause.BURST_LOSS, "many in a row") if bursts else (Cause.RANDOM_LOSS, "at random")
        return _counted_losses(facts, cause, when)
    told, wait = facts.segments, _path_wait(facts)
    each, odds = told.losses.segments_per_run, told.losses.burst_likelihood_log10
    if not _has_losses(facts) or wait < 0.1 or each is None or odds is None:
        return None
    whose = _whose(facts)
    if (whose.queue and not whose.chance) or (bursts and odds < -CLEAR_ODDS_LOG10) or (
        not bursts and odds > CLEAR_ODDS_LOG10
    ):  # fmt: skip
        return None
    even = abs(odds) <= CLEAR_ODDS_LOG10
    lost = _unused(facts) * (_scattered(facts) if whose.queue else 1.0)
    certainty = 0.9 if (told.losses.events or 0) >= LEAST_LOSSES else 0.65
    how = f"in bursts of {significant(each, 2)} segments" if bursts else "one at a time"
    why = _few_losses(facts) if whose.is_open else _no_odds(facts) if even else ""
    # Of two that are as likely the likelier one stands first.
    less = 0.02 if even and bursts != (odds > 0) else 0.0
    return Finding(
        Cause.BURST_LOSS if bursts else Cause.RANDOM_LOSS,
        f"The path loses {percent(told.losses.ratio or 0)} of the data, {how}, whether or not a queue is there: the "
        "congestion window never grows to what the path holds.",
        lost,
        UNDECIDED - less if why else certainty,
        _losses(facts),
        "Losses come where the most is queued, or the line is full all the time.",
        gain.of_share(facts, lost, by_line=True),
        open_because=why,
    )


def _no_odds(facts: Facts) -> str:
    """Why it is not known whether losses come singly or in bursts."""
    told = count(facts.segments.losses.runs or 0, "loss", "losses")
    each = significant(facts.segments.losses.segments_per_run or 1)
    return f"{told} of {each} segments come about as often from bursts as from chance alone; {WHAT_WOULD_TELL}"


def reordering(facts: Facts) -> Finding | None:
    """Segments overtake one another, and the sender takes it for loss."""
    told, wait = facts.segments, _path_wait(facts)
    late = told.out_of_order_ratio or 0.0
    repaired = told.losses.ratio or 0.0
    if late < 0.002 or late < 4 * repaired or wait < 0.1 or (late < 0.01 and not told.retransmitted_ratio):
        return None
    # What had arrived and is asked for again nevertheless was lost behind the path.
    if facts.lost_in_receiver_ratio >= LOST_BEHIND_PATH:
        return None
    lost, certainty = _unused(facts), 0.9
    if facts.level != "segments":
        if told.reordering_events is not None and told.reordering_events < LEAST_REORDERINGS:
            return None
        # Nobody saw what the sender waited for: no more than what it sent again for nothing can have cost its window.
        needless = (told.retransmitted_ratio or 0.0) * (1.0 if told.spurious_ratio is None else told.spurious_ratio)
        lost = min(lost, _lost_to_reductions(facts, needless))
        certainty = UNDECIDED if told.reordering_events is None or told.spurious_ratio is None else certainty
    spurious = told.spurious_ratio
    again = "" if spurious is None else f", and {percent(spurious)} of what was sent again had not been lost"
    return Finding(
        Cause.REORDERING,
        f"The path reorders packets: {percent(late)} of them arrived out of order{again}.",
        lost,
        certainty,
        (
            figure(
                f"{percent(late)} of the data packets arrived out of order.", SEGMENTS, facts.receiver, late, "ratio"
            ),
            *_losses(facts),
        ),
        "Everything arrives in the order in which it was sent while the rate is as low.",
        gain.of_share(facts, lost, by_line=True),
    )


LEAST_REORDERINGS = 3
"""Fewer times that the sender's kernel saw reordering are a disturbance."""


def _lost_to_reductions(facts: Facts, ratio: float) -> float:
    """Part of the time that reductions of the congestion window can have cost, one for `ratio` of the segments each.

    A window W that was halved grows back in W / 2 round trips, over which a quarter of it is missing in the mean (RFC
    5681 section 3.1): W / 8 round trips' worth, and the one in which it was found.
    """
    told, seen = facts.segments, facts.windows
    if told.data_segments is None or seen.rtt_ns_median is None:
        return 1.0 if ratio else 0.0
    reductions = ratio * told.data_segments / max(1, facts.connections)
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
        f"Only {percent(arrived)} of the receiver's acknowledgments reach the sender: its windows open in leaps, and "
        f"it waits {percent(lost)} of the time.",
        lost,
        0.98,
        (
            figure(f"{percent(arrived)} of the pure ACKs sent arrived.", "segments", facts.sender, arrived, "ratio"),
            state_evidence(facts.sender, "sender", *WAITS, S.RECEIVE_WINDOW_BUFFER),
        ),
        "The sender gets as many ACKs as the receiver sends.",
        gain.of_share(facts, lost, by_line=True),
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
        f"The transfer is over before the congestion window has grown: {percent(lost)} of its {significant(trips, 2)} "
        "round trips were slow start.",
        lost,
        0.9,
        (
            state_evidence(facts.sender, "sender", S.SLOW_START),
            figure(
                f"It lasted {significant(trips, 2)} round trips of {seconds(trip)}.",
                WINDOWS,
                facts.sender,
                trips,
                "ratio",
            ),
        ),
        "A transfer ten times as long has the same rate.",
        gain.of_share(facts, lost, by_line=True),
    )


def pacing_rate(facts: Facts) -> Finding | None:
    """The socket's greatest pacing rate binds (SO_MAX_PACING_RATE)."""
    told = facts.segments
    constant = told.pacing.constant_ratio or 0.0
    if told.pacing.bps is None or constant < (0.5 if facts.level == "segments" else LEAST_SAMPLES_PACED):
        return None
    lost = facts.sender.ratio(S.PACING, S.DEVICE, S.SEND_BUFFER, S.CONGESTION_WINDOW, S.UNKNOWN)
    # No faster than that in all, and about as fast while there is anything to send.
    paced = told.pacing.bps * facts.connections
    sending = max(0.05, 1 - facts.sender.ratio(S.NOT_WRITING))
    if lost < 0.1 or facts.rate_bps is None or not 0.6 * sending <= facts.rate_bps / paced <= 1.3:
        return None
    return Finding(
        Cause.PACING_RATE,
        f"The sender is paced to {bit_rate(told.pacing.bps)}: the rate that was set for its socket, not one that its "
        "congestion control found.",
        lost,
        0.97,
        (
            figure(
                f"{percent(constant)} of the {_looked_at(facts)} have just this pacing rate.",
                WINDOWS, facts.sender, told.pacing.bps, "bit/s",
            ),
            state_evidence(facts.sender, "sender", S.PACING),
        ),
        "The pacing rate changes with the congestion window, or the rate stays as it is without one.",
        gain.of_ends_in_large_packets(facts, saved="sender"),
    )  # fmt: skip


LEAST_SAMPLES_PACED = 0.9
"""Part of the samples with the same pacing rate: a congestion control changes it from one to the next."""


def _looked_at(facts: Facts) -> str:
    return "segments" if facts.level == "segments" else "samples"
