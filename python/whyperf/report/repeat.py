"""How to repeat an experiment."""

import shlex

from whyperf.plan import Plan
from whyperf.report.words import level_text


def command(plan: Plan) -> str:
    """The command that makes the same plan again, under a folder of its own."""
    words = ["whyperf", "run", plan.profile, "--seed", str(plan.seed)]
    if plan.target not in {"testbed", "loopback"}:
        words += ["--host", plan.target]
    for part in plan.only:
        words += ["--only", part]
    for factor, level in plan.overrides.items():
        words += ["--set", f"{factor}={level_text(level).replace(',', '')}"]
    return shlex.join(words)
