"""How to repeat an experiment."""

import shlex
from pathlib import Path

from whyperf.foreign import read_text
from whyperf.plan import LOCAL, MODEL, Plan
from whyperf.profile import as_set, find, shipped_names
from whyperf.record import kept_profile


def command(plan: Plan, folder: str) -> str:
    """The command that makes the same plan again; with `--out` it does not resume the old folder.

    `folder` is the experiment's; it keeps the profile it was made of.
    """
    verb = "simulate" if plan.target == MODEL else "run"
    words = ["whyperf", verb, _profile(plan, folder), "--seed", str(plan.seed)]
    if plan.target == "loopback":
        words += ["--testbed", "loopback"]
    elif plan.target not in {"testbed", MODEL}:
        words += ["--host", plan.target]
    if plan.near != (LOCAL,):
        words += ["--from", ",".join(plan.near)]
    if plan.asked_trials is not None:
        words += ["--trials", str(plan.asked_trials)]
    words += _evidence(plan) if plan.target != MODEL else _log(plan)
    for part in plan.only:
        words += ["--only", part]
    for level in as_set(plan.overrides):
        words += ["--set", level]
    variables = [f"{name}={shlex.quote(value)}" for name, value in plan.variables.items()]
    return " ".join([*variables, shlex.join([*words, "--out", f"{folder.rstrip('/')}-again"])])


def _profile(plan: Plan, folder: str) -> str:
    """The name of a shipped profile, or the path of the kept one where it is another text."""
    kept = kept_profile(Path(folder))
    shipped = plan.profile in shipped_names()
    try:
        text = read_text(kept)
    except (OSError, UnicodeDecodeError):
        return plan.profile
    return plan.profile if shipped and find(plan.profile).text == text else str(kept)


def _log(plan: Plan) -> list[str]:
    """The option of a simulation that logs every cell; none where the profile says which."""
    logged = {cell for block in plan.log_blocks for cell in block}
    return ["--log"] if len(logged) == len(plan.cells) else []


def _evidence(plan: Plan) -> list[str]:
    """The option that asks for the plan's evidence; none where the profile says it."""
    if plan.evidence == "user":
        return ["--evidence", "user"]
    logged = {cell for block in plan.log_blocks for cell in block}
    if plan.evidence is None or 0 < len(logged) < len(plan.cells):
        return []
    return ["--evidence", "segments" if logged else "counters"]
