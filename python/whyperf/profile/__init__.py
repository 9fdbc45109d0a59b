"""The question: profiles, and the factors they set and vary."""

from whyperf.profile.combination import is_plain, resolve, schedule_of, workload_of
from whyperf.profile.errors import ProfileError, near_names, suggestion
from whyperf.profile.factors import BY_NAME, FACTORS, Factor, Level, factor_named
from whyperf.profile.find import find, looks_like_path, shipped_folder, shipped_names
from whyperf.profile.levels import as_set, levels_of_text
from whyperf.profile.load import load, parse
from whyperf.profile.profile_document import Design, Factors, Overrides, Profile, Sweep
from whyperf.profile.schedule import Schedule, checked_flows
from whyperf.profile.workload import (
    Workload,
    load_workload,
    looks_like_workload,
    ready,
    shipped_workload,
    shipped_workload_names,
)

__all__ = [
    "BY_NAME",
    "FACTORS",
    "Design",
    "Factor",
    "Factors",
    "Level",
    "Overrides",
    "Profile",
    "ProfileError",
    "Schedule",
    "Sweep",
    "Workload",
    "as_set",
    "checked_flows",
    "factor_named",
    "find",
    "is_plain",
    "levels_of_text",
    "load",
    "load_workload",
    "looks_like_path",
    "looks_like_workload",
    "near_names",
    "parse",
    "ready",
    "resolve",
    "schedule_of",
    "shipped_folder",
    "shipped_names",
    "shipped_workload",
    "shipped_workload_names",
    "suggestion",
    "workload_of",
]
