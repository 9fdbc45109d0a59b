"""The rules: each looks at the facts of a trial and says whether one cause speaks from them.

A rule has a truth experiment that injects its cause (docs/laboratory/accuracy.md), and says what would refute it.
`judge` asks them all; `judged` adds what removing several causes together brings.
"""

from whyperf.explain.rules.finding import Finding, Rule
from whyperf.explain.rules.judge import RULES, judge, judged

__all__ = ["RULES", "Finding", "Rule", "judge", "judged"]
