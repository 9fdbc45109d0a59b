"""The pacing rate that a socket is limited to."""

from whyperf.explain.causes import Cause
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import WINDOWS, Finding, figure, state_evidence
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

MIN_SAMPLES_PACED = 0.45
"""Part of the samples with the same pacing rate, the highest of all: a congestion control changes it from one to the
next, and a limit cuts it to just this value (tuning set: up to 0.36 without a limit)."""


def pacing_rate(facts: Facts) -> Finding | None:
    """The socket's greatest pacing rate binds (SO_MAX_PACING_RATE)."""
    segments = facts.segments
    if facts.asked.paces_itself or (facts.sender.watched or WatchedSockets()).congestion_control.startswith("bbr"):
        # Its own rate may stand still as well.
        return None
    constant = segments.pacing.constant_ratio or 0.0
    if segments.pacing.bps is None or constant < (0.5 if facts.level == "segments" else MIN_SAMPLES_PACED):
        return None
    lost = facts.sender.ratio(S.PACING, S.DEVICE, S.SEND_BUFFER, S.CONGESTION_WINDOW, S.UNKNOWN, S.IN_FLIGHT)
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
        # Who asked for a rate has a reason that no figure here shows, such as a queue: without it, one rate was halved.
        None if facts.asked.pacing_bps else gain.of_ends_in_large_packets(facts, saved="sender"),
        variant="asked" if facts.asked.pacing_bps else "",
        values={"pacing_bps": segments.pacing.bps},
    )
