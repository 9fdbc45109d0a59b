"""Proves an explanation: makes a verdict's change in a plan, and judges what it brought.

`question` plans, `looks` says when to judge, `judgement` judges, `kept` finds what was verified before. Measuring is
the business of `whyperf.run`, which the command line calls in between.
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
from whyperf.explain.verify.obstacles import (
    Obstacle,
    refuse_other_host,
    refuse_other_path,
    refuse_untriable,
    refuse_unwritable,
)
from whyperf.explain.verify.question import plan_of, question_of

__all__ = [
    "MAX_CHANGE",
    "MAX_WITH_LOOKS",
    "Attempt",
    "Judged",
    "Looks",
    "Obstacle",
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
    "plan_of",
    "question_of",
    "refuse_other_host",
    "refuse_other_path",
    "refuse_untriable",
    "refuse_unwritable",
    "summary_of",
    "uncounted",
    "verification_of",
    "with_verifications",
    "worth_gain",
]
