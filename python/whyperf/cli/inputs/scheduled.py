"""`--time` of an experiment whose schedule decides when the load ends."""

from whyperf.cli.exits import say
from whyperf.profile import BY_NAME, Overrides, Profile
from whyperf.profile.combination import schedule_of

SCALE = "schedule_scale"


def with_scale(profile: Profile, given: Overrides) -> Overrides:
    """What was `given`, with a scale of the schedule in place of `duration_s`: its load then takes that time.

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
