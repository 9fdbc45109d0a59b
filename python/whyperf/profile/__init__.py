"""The question: profiles, and the factors they set and vary."""

from whyperf.profile.combination import resolve
from whyperf.profile.errors import ProfileError
from whyperf.profile.factors import BY_NAME, FACTORS, Factor, Level, factor_named
from whyperf.profile.find import find, looks_like_path, shipped_folder, shipped_names
from whyperf.profile.load import load, parse
from whyperf.profile.model import Design, Factors, Profile, Sweep

__all__ = [
    "BY_NAME",
    "FACTORS",
    "Design",
    "Factor",
    "Factors",
    "Level",
    "Profile",
    "ProfileError",
    "Sweep",
    "factor_named",
    "find",
    "load",
    "looks_like_path",
    "parse",
    "resolve",
    "shipped_folder",
    "shipped_names",
]
