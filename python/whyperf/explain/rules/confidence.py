"""What the confidence of a verdict is worth: how often verdicts of the same rule and evidence level were right.

The counts are from truth experiments (`lab/truth/calibration`). A rule with few of them is drawn towards the
share of its whole level, and a variant towards that of its cause: with a Beta prior of that mean and a weight of
`PRIOR` cases the posterior mean is (right + PRIOR * mean) / (all + PRIOR). A rule that no experiment has is worth what
its level is.

The rule's own certainty can lower the share, never raise it: a finding that fits another cause alike stays open.
"""

from typing import Literal, NamedTuple

from whyperf.explain.calibration.tables import RuleRecord, rule_records
from whyperf.explain.causes import Cause
from whyperf.explain.rules.finding import MIN_CERTAINTY, Finding

HIGH, MEDIUM = 0.95, 0.80
"""Shares of right verdicts from which on confidence is high, or medium; below, the limit is not known."""
PRIOR = 4.0
"""Weight of the share of the level, or of the cause, in verdicts."""
UNCOUNTED = 0.8
"""The share where no table says anything."""
WEAK = 0.6
"""A rule this uncertain of a finding has only medium confidence, whatever its share."""

Word = Literal["high", "medium", "low"]


class Confidence(NamedTuple):
    """The word that is printed, and the share of right verdicts that it stands for."""

    word: Word
    right_ratio: float


def confidence_in(finding: Finding, level: str, watched_sides: str = "") -> Confidence:
    """What a finding at an evidence level is worth.

    The experiments that are counted have both sides. A verdict from one side of another program's connection
    (`watched_sides`) is never of high confidence, and its own certainty bounds its share.
    """
    found = _of_both(finding, level)
    if watched_sides not in {"sender", "receiver"} or found.word == "low":
        return found
    return Confidence("medium", min(found.right_ratio, finding.certainty))


def _of_both(finding: Finding, level: str) -> Confidence:
    if finding.cause is Cause.NOT_KNOWN:
        return Confidence("low", 0.0)
    share = right_ratio(finding.code, level, finding.certainty if finding.is_counted else None)
    if finding.certainty < MIN_CERTAINTY:
        return Confidence("low", min(share, finding.certainty))
    word: Word = "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"
    if word == "high" and finding.certainty < WEAK:
        word = "medium"
    return Confidence(word, share)


def right_ratio(code: str, level: str, counted: float | None = None) -> float:
    """The posterior mean of the share of right verdicts with this code; a variant without counts takes its cause's.

    `counted` is the certainty of what the kernel counts where it happens, which stands where no experiment has it.
    """
    records = rule_records()
    whole = records.get((level, ""))
    mean = counted or (UNCOUNTED if whole is None else _mean(whole, UNCOUNTED))
    share, parts = mean, code.split(".") if code else []
    for number in range(1, len(parts) + 1):
        if (record := records.get((level, ".".join(parts[:number])))) is not None:
            share = _mean(record, share)
    return share


def _mean(record: RuleRecord, prior: float) -> float:
    return (record.right + PRIOR * prior) / (record.verdicts + PRIOR)
