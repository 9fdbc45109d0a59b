"""Which host of a fleet limits it, and why: verdicts on single pairs, put next to what differs between hosts."""

from whyperf.explain.fleet.judge import explain_fleet

__all__ = ["explain_fleet"]
