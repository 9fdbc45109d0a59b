"""Which factors the model of two hosts accepts: any level, one level that changes nothing, or none."""

from collections.abc import Iterator
from dataclasses import replace

from whyperf.profile import BY_NAME, Level, Profile, ProfileError
from whyperf.profile.options import OPTIONS
from whyperf.profile.path_factors import PATH_FACTORS

#: Any level is understood; what a host has no rule for is refused by the model itself, before the run.
KNOWN = frozenset({
    "hosts",
    "link",
    "adapters",
    "bus_bytes_per_s",
    "duplex",
    "maxpsz_multiplier",
    "copy_limit_bytes",
    "workload",
    "write_size_bytes",
    "read_size_bytes",
    "request_size_bytes",
    "response_size_bytes",
    "outstanding",
    "burst_count",
    "think_us",
    "offered_rate_per_s",
    "arrivals",
    "connections",
    "direction",
    "mtu_bytes",
    "tso",
    "gso",
    "gro",
    "tcp_autocorking",
    "transfer_bytes",
    "duration_s",
    "warmup_s",
    "cooldown_s",
    "interval_ms",
    "deadline_s",
    *(rule.factor for rule in OPTIONS.values() if "model" in rule.targets),
    *(factor.name for factor in PATH_FACTORS if factor.name != "path_implementation"),
})  # fmt: skip
#: Levels other than the default that are as the model is: its processes block in their calls, its path is the router's.
NEUTRAL: dict[str, tuple[Level, ...]] = {
    "read_wait": ("block",),
    "io_model": ("blocking",),
    "path_implementation": ("router",),
}


def for_model(profile: Profile) -> tuple[Profile, tuple[str, ...]]:
    """The profile as the model can be asked it, and a sentence for each factor left out.

    Raises:
        ProfileError: naming the factor, when it would change what is asked and the model has no such thing.
    """
    dropped: set[str] = set()
    for place, name, level in _given(profile):
        if name in KNOWN or name not in BY_NAME:
            continue
        factor = BY_NAME[name]
        if level != factor.default and level not in NEUTRAL.get(name, ()):
            shown = str(level).lower() if isinstance(level, bool) else str(level)
            fitting = str(next(iter(NEUTRAL.get(name, ())), factor.default)).lower()
            problem = f"the model has no {name} = {shown}; leave it out or set {name}={fitting}"
            raise ProfileError(place, name, problem)
        if factor.testbed:
            dropped.add(name)
    sweeps = tuple(
        replace(
            sweep,
            fixed={name: level for name, level in sweep.fixed.items() if name not in dropped},
            levels={name: levels for name, levels in sweep.levels.items() if name not in dropped},
        )
        for sweep in profile.sweeps
    )
    kept = {name: level for name, level in profile.fixed.items() if name not in dropped}
    return replace(profile, fixed=kept, sweeps=sweeps), ()


def _given(profile: Profile) -> Iterator[tuple[str, str, Level]]:
    """Every level that somebody stated: where, of which factor."""
    for name, level in profile.overrides.items():
        # Several levels are those of the sweeps.
        if name in profile.fixed:
            yield "", name, level
    for name, level in profile.fixed.items():
        yield profile.where, name, level
    for sweep in profile.sweeps:
        for name, level in sweep.fixed.items():
            yield profile.where, name, level
        for name, levels in sweep.levels.items():
            for level in levels:
                yield profile.where, name, level
