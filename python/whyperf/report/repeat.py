"""Commands that repeat an experiment, or one setting of it with a change."""

import shlex
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import get_args

from whyperf.foreign import shell_line
from whyperf.plan import LOCAL, MODEL, STAGED_TRANSPORTS, Plan, build
from whyperf.profile import Level, Profile, ProfileError, as_set, find, parse, shipped_names
from whyperf.profile.profile_document import PROFILE_HZ, Pipe
from whyperf.record import Experiment, RecordError, kept_profile

_WATCH = ["whyperf", "watch"]


def command(experiment: Experiment, plan: Plan | None = None) -> str:
    """The command that makes the same plan again, or another one; `--out` prevents that it resumes the old folder.

    Of a watched result it is the command that was given: what the program does next is another matter. Whoever made the
    plan, a shell runs this command alone. That of a result made elsewhere starts no other program either: it has no
    variables and nothing behind `--`, and is "" where a command leads to the hosts.
    """
    plan = plan or experiment.plan
    if plan.watched is not None:
        return _watched_again(plan.watched.command, with_program=experiment.is_made_here)
    if _has_own_pipe(experiment):
        return ""
    verb = "simulate" if plan.target == MODEL else "run"
    arguments = ["whyperf", verb, _profile(experiment), "--seed", str(plan.seed), *_where(plan)]
    if plan.asked_trials is not None:
        arguments += ["--trials", str(plan.asked_trials)]
    arguments += _evidence(plan) if plan.target != MODEL else _log(plan)
    for part in plan.only:
        arguments += ["--only", part]
    for level in as_set(plan.overrides):
        arguments += ["--set", level]
    variables = [
        f"{name}={shell_line([value])}" if name.isidentifier() else shell_line([f"{name}={value}"])
        for name, value in plan.variables.items()
        if experiment.is_made_here
    ]
    return " ".join([*variables, shell_line([*arguments, "--out", f"{experiment.folder}-again"])])


def _watched_again(written: str, *, with_program: bool) -> str:
    """The command of a watch; of a plan that has no such command, the command without its arguments."""
    try:
        given = shlex.split(written)
    except ValueError:
        given = []
    if "--" in given and not with_program:
        given = given[: given.index("--")]
    return shell_line(given if given[:2] == _WATCH else _WATCH)


def _has_own_pipe(experiment: Experiment) -> bool:
    """True where somebody else's command leads to the hosts: `--via` of a plan may be any."""
    fleet = experiment.plan.fleet
    return fleet is not None and fleet.via not in get_args(Pipe) and not experiment.is_made_here


def changes(plan: Plan) -> list[str]:
    """Changes of the profile by the command line, as its options set them."""
    trials = [] if plan.asked_trials is None else [f"trials={plan.asked_trials}"]
    return [*as_set(plan.overrides), *(f"only {part}" for part in plan.only), *trials]


def log_command(experiment: Experiment, cell_id: str) -> str:
    """The command that measures one cell again, with a segment log; "" where no options of `whyperf run` make it."""
    return _cell_command(experiment, cell_id, {}, ["--evidence", "segments"])


def change_command(experiment: Experiment, cell_id: str, change: Mapping[str, Level]) -> str:
    """The command that measures one cell with a change; "" where no options of `whyperf run` make this plan."""
    return _cell_command(experiment, cell_id, change, _evidence(experiment.plan)) if change else ""


def _cell_command(experiment: Experiment, cell_id: str, change: Mapping[str, Level], evidence: list[str]) -> str:
    plan = experiment.plan
    if plan.target == MODEL or plan.variables or plan.watched is not None or _has_own_pipe(experiment):
        return ""
    cell = plan.cell(cell_id)
    varied = {name: cell.factors[name] for name in plan.varied if name in cell.factors}
    levels = {**plan.overrides, **varied, **change}
    name = _profile(experiment)
    try:
        profile = _shipped(name) if name in shipped_names() else _parsed(experiment.profile_text)
        if profile is None:
            return ""
        only = (f"sweep={cell.sweep}",) if len(profile.sweeps) > 1 else ()
        made = build(profile, only=only, target=plan.target, near=plan.near, fleet=plan.fleet, overrides=levels).cells
    except (ProfileError, RecordError):
        return ""
    # Factors that a sweep derives from others need not follow the levels that are set.
    wanted = {**varied, **change}
    if len(made) != 1 or any(made[0].factors.get(factor) != level for factor, level in wanted.items()):
        return ""
    arguments = ["whyperf", "run", name, *_where(plan)]
    if plan.asked_trials is not None:
        arguments += ["--trials", str(plan.asked_trials)]
    arguments += evidence
    for part in only:
        arguments += ["--only", part]
    for level in as_set(levels):
        arguments += ["--set", level]
    return shell_line(arguments)


def _where(plan: Plan) -> list[str]:
    """The options of the two sides."""
    arguments = []
    if plan.fleet is not None:
        near, far = (",".join(dict.fromkeys(names)) for names in (plan.near, plan.fleet.far))
        arguments += ["--from", near, "--to", far, "--pattern", plan.fleet.pattern]
        # The addresses of several far hosts came from a file, which the plan does not name.
        address = plan.fleet.addresses.get(far)
        return [
            *arguments,
            *(["--via", plan.fleet.via] if plan.fleet.via != "ssh" else []),
            *(["--address", address] if address is not None else []),
        ]
    if plan.target == "loopback":
        arguments += ["--testbed", "loopback"]
    elif plan.target not in {"testbed", MODEL}:
        arguments += ["--host", plan.target]
    if plan.near != (LOCAL,) and not plan.far_parts:
        arguments += ["--from", ",".join(plan.near)]
    return arguments


def _profile(experiment: Experiment) -> str:
    """The name of a shipped profile, or the path of the saved profile if its text differs."""
    name, kept = experiment.plan.profile, str(kept_profile(experiment.folder))
    if name not in shipped_names():
        return kept
    try:
        return name if _shipped(name).text == experiment.profile_text else kept
    except RecordError:
        return name


@cache
def _shipped(name: str) -> Profile:
    """Parsed once: each verdict has a command."""
    return find(name)


@lru_cache(maxsize=8)
def _parsed(text: str) -> Profile | None:
    """The profile of a result, as above: it may take seconds. None where it cannot be used."""
    try:
        return parse(text, name="profile", where="profile")
    except ProfileError:
        return None


def _log(plan: Plan) -> list[str]:
    """The option of a simulation that logs every cell; none if the profile selects cells."""
    logged = {cell for block in plan.log_blocks for cell in block}
    return ["--log"] if len(logged) == len(plan.cells) else []


def _evidence(plan: Plan) -> list[str]:
    """The options of the evidence of the plan; none if the profile sets it."""
    asked, options = [level] if (level := _level(plan)) else [], []
    if plan.profile_hz:
        asked.append("profile")
        options += [] if plan.profile_hz == PROFILE_HZ else ["--profile-hz", str(plan.profile_hz)]
    staged = {cell for block in plan.stage_blocks for cell in block}
    can_be_staged = [cell for cell in plan.cells if cell.factors.get("transport", "tcp") in STAGED_TRANSPORTS]
    if 0 < len(staged) < len(can_be_staged):
        # Only the profile can say which cells these are.
        return []
    if plan.stages is not None:
        asked.append("stages")
        options += [] if plan.stages.one_in is None else ["--stages-one-in", str(plan.stages.one_in)]
    return ["--evidence", ",".join(asked), *options] if asked else []


def _level(plan: Plan) -> str | None:
    """The evidence level of the plan; None if the profile sets it."""
    if plan.evidence == "user":
        return "user"
    logged = {cell for block in plan.log_blocks for cell in block}
    if plan.evidence is None or 0 < len(logged) < len(plan.cells):
        return None
    return "segments" if logged else "counters"
