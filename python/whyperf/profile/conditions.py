"""The experiment of `whyperf compare --run`: each cell of a profile under two conditions, in the same blocks."""

from dataclasses import replace

from whyperf.profile.errors import ProfileError
from whyperf.profile.factors import BY_NAME
from whyperf.profile.load import parse
from whyperf.profile.profile_document import Factors, Overrides, Profile, Sweep
from whyperf.profile.write import as_toml, folder_of

BEFORE, AFTER = "-before", "-after"
"""Ends of the names of sweeps that are measured with the settings of `--set`, and with those of `--against`."""

MAX_NAME = 40 - len(BEFORE)
"""Names of sweeps have at most 40 characters."""

NAME = "compare"

_STATED = "interval_ms"
"""A factor that every cell has: a sweep states something, also where only the other condition sets a factor."""

MIN_TRIALS = 6
"""Trials of each condition, unless a profile has more: from here on an interval can cover 95 %."""


def in_two_conditions(profile: Profile, before: Overrides, after: Overrides) -> Profile:
    """A profile with each sweep twice: with the factors `before`, and with those `after`.

    Raises:
        ProfileError: the conditions do not differ, or the profile cannot take them.
    """
    if dict(before) == dict(after):
        problem = "both conditions are the same; give --set FACTOR=LEVEL and --against FACTOR=LEVEL with another level"
        raise ProfileError("--against", "", problem)
    for option, levels in (("--set", before), ("--against", after)):
        several = next((name for name, level in levels.items() if isinstance(level, tuple)), None)
        if several is not None:
            problem = "a condition has one level of each factor; vary a factor in both conditions with --both"
            raise ProfileError(option, several, problem)
    first, second = profile.with_overrides(before), profile.with_overrides(after)
    common = {name: level for name, level in first.fixed.items() if second.fixed.get(name) == level}
    stated = {_STATED: common.pop(_STATED, BY_NAME[_STATED].default)}
    sweeps = [
        _sweep(sweep, place, stated | {name: level for name, level in of.fixed.items() if name not in common}, end)
        for of, end in ((first, BEFORE), (second, AFTER))
        for place, sweep in enumerate(of.sweeps)
    ]
    # In the order of the questions, so that a cell is next to its partner.
    half = len(sweeps) // 2
    ordered = tuple(sweep for pair in zip(sweeps[:half], sweeps[half:], strict=True) for sweep in pair)
    design = profile.design
    if design.trials is not None:
        design = replace(design, trials=max(design.trials, MIN_TRIALS))
    both = replace(profile, name=NAME, fixed=common, sweeps=ordered, design=design, overrides={})
    written = parse(as_toml(both), name=NAME, where=NAME, folder=folder_of(both))
    return replace(written, workloads=dict(profile.workloads), schedules=dict(profile.schedules), kind=profile.kind)


def _sweep(sweep: Sweep, place: int, own: Factors, end: str) -> Sweep:
    # A name that is cut may be that of another sweep.
    name = sweep.name if len(sweep.name) <= MAX_NAME else f"{sweep.name[: MAX_NAME - 4].rstrip('-')}-{place}"
    trials = None if sweep.trials is None else max(sweep.trials, MIN_TRIALS)
    return replace(sweep, name=f"{name}{end}", fixed=own | sweep.fixed, trials=trials)
