"""`--time` and `--scale` of an experiment whose schedule decides when the load ends."""

from dataclasses import replace

from whyperf.cli.exits import UsageError, say
from whyperf.profile import BY_NAME, Factors, Level, Overrides, Profile, ProfileError, levels_of_text
from whyperf.profile.combination import schedule_of
from whyperf.profile.profile_document import Sweep

SCALE = "schedule_scale"
OPTION = "--scale"
LOSES = (
    "slow start, recovery and convergence take as long as before, so they fill more of each region, and what takes "
    "longer than a region is cut"
)
"""The cost of a scale below 1."""


def with_scale(profile: Profile, given: Overrides) -> Overrides:
    """The overrides `given`, with a scale of the schedule in place of `duration_s`: its load then takes that time.

    Experiments without one schedule that can be scaled are left as they are, and so is one with a scale.
    """
    factors = {**profile.fixed, **{name: level for name, level in given.items() if not isinstance(level, tuple)}}
    seconds = given.get("duration_s")
    schedule = schedule_of(factors, profile.schedules)
    if schedule is None or not isinstance(seconds, float) or SCALE in given or SCALE not in schedule.uses:
        return given
    flows = schedule.make({name: factor.default for name, factor in BY_NAME.items()} | factors)
    unscaled = max(flow.stop_s for flow in flows) - min(flow.start_s for flow in flows)
    scale = seconds / unscaled
    say(f"the load of the schedule {schedule.name} takes {seconds:g} s instead of {unscaled:g} s: {SCALE}={scale:.4g}")
    return {SCALE: scale} | {name: level for name, level in given.items() if name != "duration_s"}


def scaled(profile: Profile, text: str | None, given: Overrides) -> Profile:
    """The profile with all times of its schedule multiplied by `--scale`, in addition to a scale of its own.

    Raises:
        UsageError: nothing has a schedule that can be scaled, or the command line sets its length in another way.
        ProfileError: this is no scale.
    """
    if text is None:
        return profile
    for name, option in ((SCALE, f"--set {SCALE}"), ("duration_s", "--time")):
        if name in given:
            raise UsageError(f"{OPTION} and {option} both set the length of the schedule; keep one")
    scale = _scale(text)
    found = 0

    def times(factors: Factors, around: Factors) -> Factors:
        nonlocal found
        seen = {**around, **factors, **{name: level for name, level in given.items() if not isinstance(level, tuple)}}
        schedule = schedule_of(seen, profile.schedules)
        if schedule is None or SCALE not in schedule.uses:
            return factors
        found += 1
        return {**factors, SCALE: float(seen.get(SCALE, 1.0)) * scale}

    def scaled(sweep: Sweep) -> Sweep:
        nonlocal found
        if SCALE not in sweep.levels:
            return replace(sweep, fixed=times(sweep.fixed, profile.fixed))
        found += 1
        levels = tuple(_product(level, scale) for level in sweep.levels[SCALE])
        return replace(sweep, levels={**sweep.levels, SCALE: levels})

    sweeps = tuple(scaled(sweep) for sweep in profile.sweeps)
    if not found:
        raise UsageError(
            f"{OPTION} changes the times of a schedule, and {profile.name} has none; use --time, or a profile with one "
            "such as wan-transports"
        )
    if scale < 1:
        say(f"{OPTION} {scale:g}: {LOSES}")
    return replace(profile, sweeps=sweeps)


def _scale(text: str) -> float:
    try:
        scale = levels_of_text(BY_NAME[SCALE], text)
    except ProfileError as error:
        raise error.at(OPTION) from None
    if not isinstance(scale, float):
        raise UsageError(f"{OPTION} {text}: give one number; several scales are --set {SCALE}={text}")
    return scale


def _product(level: Level, scale: float) -> Level:
    return float(level) * scale if isinstance(level, int | float) else level
