"""Proves an explanation: makes a verdict's change in a plan, and judges what it brought.

`question` plans, `judgement` judges, `kept` finds what was verified before. Measuring is the business of `whyperf.run`,
which the command line calls between the two.
"""

from whyperf.explain.verify.judgement import gain_text, judge, thresholds
from whyperf.explain.verify.kept import Verified, folder_of, keep, verification_of, with_verifications
from whyperf.explain.verify.obstacles import refuse_other_host, refuse_untriable
from whyperf.explain.verify.pairs import pairs_of
from whyperf.explain.verify.question import plan_of, question_of
from whyperf.explain.verify.words import Obstacle, change_words

__all__ = [
    "Obstacle",
    "Verified",
    "change_words",
    "folder_of",
    "gain_text",
    "judge",
    "keep",
    "pairs_of",
    "plan_of",
    "question_of",
    "refuse_other_host",
    "refuse_untriable",
    "thresholds",
    "verification_of",
    "with_verifications",
]
