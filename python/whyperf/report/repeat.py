"""How to repeat an experiment."""

import shlex

from whyperf.plan import Plan


def command(plan: Plan) -> str:
    """The command that makes the same plan again; with `--out` it does not resume the old folder."""
    words = ["whyperf", "run", plan.profile, "--seed", str(plan.seed)]
    if plan.target == "loopback":
        words += ["--testbed", "loopback"]
    elif plan.target != "testbed":
        words += ["--host", plan.target]
    if plan.stop.trials is not None and not plan.stop.sweep_trials:
        words += ["--trials", str(plan.stop.trials)]
    for part in plan.only:
        words += ["--only", part]
    for factor, level in plan.overrides.items():
        words += ["--set", f"{factor}={str(level).lower() if isinstance(level, bool) else level}"]
    return shlex.join([*words, "--out", f"results/{plan.experiment}-again"])
