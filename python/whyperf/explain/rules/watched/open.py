"""Causes that the evidence of one side leaves open: a finding that names the candidates, and what would decide between
them."""

from collections.abc import Sequence

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.rules.finding import UNDECIDED, Finding
from whyperf.explain.trial_facts import Facts

WITHOUT_CPU = (Cause.OTHER_LOAD, Cause.CPU_QUOTA, Cause.PAUSE)
"""Why a program does not run though it could."""
AT_READER = (Cause.SLOW_READER, Cause.RECEIVER_CPU, *WITHOUT_CPU)
"""Why a receiving program does not keep up, as far as the other side can see: it pauses, computes, or does not run."""
AT_WRITER = (Cause.SLOW_WRITER, Cause.SENDER_CPU, *WITHOUT_CPU)
"""Why a sending program does not write faster, as far as the other side can see."""
LATE = (
    *(Cause.RANDOM_LOSS, Cause.SMALL_QUEUE, Cause.BURST_LOSS, Cause.POLICER, Cause.RECEIVER_LOSS, Cause.BOTTLENECK),
    *(Cause.SHARED_BOTTLENECK, Cause.REORDERING),
)
"""Why segments come behind a gap, as far as the receiver can see."""


def left_open(
    variant: str,
    lost: float,
    causes: Sequence[Cause],
    evidence: Sequence[Evidence],
    facts: Facts,
    **values: Value | None,
) -> Finding:
    """A finding of all the causes that fit alike; `variant` names the sentence that says why they do."""
    named: dict[str, Value | None] = {
        **values,
        "causes": [str(cause) for cause in causes],
        "watched_role": "" if facts.watched_sides == "both" else facts.watched_sides,
    }
    return Finding(
        Cause.NOT_KNOWN,
        lost,
        UNDECIDED,
        tuple(evidence),
        variant=f"watched.{variant}",
        values=named,
    )
