"""`whyperf run --save-profile FILE`: the experiment of a command line as a profile."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.analyze.text import count
from whyperf.cli.exits import DONE, UsageError, say
from whyperf.cli.inputs.evidence import AskedEvidence
from whyperf.plan import LOCAL, Plan, build
from whyperf.profile import Factors, Profile, ProfileError, Sweep, parse
from whyperf.profile.factor import Level as FactorLevel
from whyperf.profile.write import as_toml
from whyperf.record.durable import write_file
from whyperf.run import Target

OPTION = "--save-profile"


@dataclass(frozen=True)
class ProfileRequest:
    """The request of the command line in addition to the profile and its levels."""

    only: Sequence[str]
    seed: int | None
    trials: int | None
    evidence: AskedEvidence
    #: `auto`, or where to measure: loopback lacks settings that the profile may have.
    testbed: str


def save_profile(path: Path, profile: Profile, asked: ProfileRequest, target: Target) -> int:
    """Writes the profile, in which the levels of the command line are already; returns the exit code.

    Raises:
        UsageError: the file is there, has no name of a profile, or could not say the same.
        ProfileError: the experiment cannot be planned.
    """
    if path.suffix != ".toml":
        raise UsageError(f"{OPTION} {path}: a profile's name ends in .toml")
    if path.exists():
        raise UsageError(f"{OPTION} {path}: there is such a file; give another name")
    if not path.parent.is_dir():
        raise UsageError(f"{OPTION} {path}: there is no folder {path.parent}; make it first")
    wanted = _plan(profile, target, asked)
    text = as_toml(_with_options(profile, asked, wanted))
    try:
        written = parse(text, name=path.stem, where=str(path), folder=path.parent)
        again = _plan(written, target, replace(asked, only=(), seed=None, trials=None))
    except ProfileError:
        again = None
    if again is None or not _is_same(wanted, again, whole=not asked.only):
        raise UsageError(f"{OPTION}: a profile cannot say the same as these options; leave out --only")
    write_file(path, text.encode())
    size = f"{count(len(again.cells), 'cell')}, {count(again.trials_count, 'trial')}"
    say(f"Wrote {path}: {size}; run it with `{_command(path, asked, target)}`")
    return DONE


def _plan(profile: Profile, target: Target, asked: ProfileRequest) -> Plan:
    return build(
        profile,
        only=tuple(asked.only),
        seed=asked.seed,
        trials=asked.trials,
        evidence=asked.evidence.level,
        profile_hz=asked.evidence.profile_hz,
        stages=asked.evidence.stages,
        target=target.name,
        near=target.near,
    )


def _is_same(wanted: Plan, again: Plan, *, whole: bool) -> bool:
    """True where both measure the same; the cells of a part have other names, so that its order differs."""
    if whole:
        return wanted.id == again.id
    cells = [[(cell.sweep, cell.factors) for cell in plan.cells] for plan in (wanted, again)]
    return cells[0] == cells[1] and wanted.stop == again.stop


def _with_options(profile: Profile, asked: ProfileRequest, wanted: Plan) -> Profile:
    design, sweeps = profile.design, list(profile.sweeps)
    if asked.trials is not None:
        design = replace(design, trials=asked.trials)
        sweeps = [replace(sweep, trials=None) for sweep in sweeps]
    if asked.evidence.profile_hz is not None:
        design = replace(design, profile_hz=asked.evidence.profile_hz)
    if asked.evidence.stages is not None:
        if asked.evidence.stages.one_in is not None:
            raise UsageError(f"{OPTION}: a profile cannot say how much is sampled; leave out --stages-one-in")
        design = replace(design, stage_trials=max(1, design.stage_trials))
        sweeps = [replace(sweep, stage_trials=sweep.stage_trials and max(1, sweep.stage_trials)) for sweep in sweeps]
    elif asked.evidence.level is not None:
        design = replace(design, stage_trials=0)
        sweeps = [replace(sweep, stage_trials=None) for sweep in sweeps]
    if asked.evidence.level == "segments":
        design = replace(design, log_trials=max(1, design.log_trials))
        sweeps = [replace(sweep, log_trials=sweep.log_trials and max(1, sweep.log_trials)) for sweep in sweeps]
    elif asked.evidence.level is not None:
        design = replace(design, log_trials=0)
        sweeps = [replace(sweep, log_trials=None) for sweep in sweeps]
    if asked.only:
        present = {cell.sweep for cell in wanted.cells}
        sweeps = [_kept(sweep, wanted) for sweep in sweeps if sweep.name in present]
    return replace(profile, seed=wanted.seed, design=design, sweeps=tuple(sweeps))


def _kept(sweep: Sweep, wanted: Plan) -> Sweep:
    """The sweep with the levels that a cell still has; references stay."""
    cells = [cell.factors for cell in wanted.cells if cell.sweep == sweep.name]
    levels = {
        name: tuple(level for level in given if _is_used(name, level, cells)) for name, given in sweep.levels.items()
    }
    exclude = [entry for entry in sweep.exclude if all(_meet(levels.get(name), entry[name]) for name in entry)]
    return replace(sweep, levels=levels, exclude=tuple(exclude))


def _meet(levels: Sequence[FactorLevel] | None, excluded: Sequence[FactorLevel]) -> bool:
    return levels is None or bool(set(levels) & set(excluded))


def _is_used(name: str, level: FactorLevel, cells: Sequence[Factors]) -> bool:
    is_reference = isinstance(level, str) and level.startswith("=")
    return is_reference or any(factors.get(name) == level for factors in cells)


def _command(path: Path, asked: ProfileRequest, target: Target) -> str:
    """The command that runs the profile; what it cannot hold are options again."""
    named = str(path) if path.parent != Path() else f"./{path}"
    command = ["whyperf", "run", named]
    if target.fleet is not None:
        near, far = (",".join(dict.fromkeys(names)) for names in (target.near, target.fleet.far))
        command += ["--from", near, "--to", far, "--pattern", target.fleet.pattern]
        command += ["--via", target.fleet.via] if target.fleet.via != "ssh" else []
    elif target.host is not None:
        command += ["--host", target.host]
    if target.fleet is None and target.near != (LOCAL,):
        command += ["--from", ",".join(target.near)]
    if asked.testbed != "auto":
        command += ["--testbed", asked.testbed]
    if asked.evidence.level == "user":
        command += ["--evidence", "user"]
    return shlex.join(command)
