"""Proves an explanation: makes a verdict's change in a plan, and judges what it brought.

`looks` says when to judge, `judgement` judges, `kept` finds what was verified before.
"""

from whyperf.explain.verify.candidates import Attempt, attempts_of, has_factors, summary_of
from whyperf.explain.verify.judgement import MAX_CHANGE, Judged, Pair, PredictedGain, judge, worth_gain
from whyperf.explain.verify.kept import (
    Verified,
    folder_of,
    judged,
    keep,
    looks_of,
    uncounted,
    verification_of,
    with_verifications,
)
from whyperf.explain.verify.looks import MAX_WITH_LOOKS, Looks

__all__ = [
    "MAX_CHANGE",
    "MAX_WITH_LOOKS",
    "Attempt",
    "Judged",
    "Looks",
    "Pair",
    "PredictedGain",
    "Verified",
    "attempts_of",
    "folder_of",
    "has_factors",
    "judge",
    "judged",
    "keep",
    "looks_of",
    "summary_of",
    "uncounted",
    "verification_of",
    "with_verifications",
    "worth_gain",
]
