"""The evidence that a command line asks for."""

from typing import NamedTuple, get_args

from whyperf.cli.exits import UsageError
from whyperf.plan import Level
from whyperf.profile.model import MAX_PROFILE_HZ, PROFILE_HZ

PROFILE = "profile"
LEVELS = get_args(Level)


class AskedEvidence(NamedTuple):
    """`level` is None, and so is `profile_hz`, where the profile decides; `profile_hz` is 0 for no stack samples."""

    level: Level | None = None
    profile_hz: int | None = None


def asked_evidence(text: str | None, profile_hz: int | None) -> AskedEvidence:
    """The evidence of `--evidence TEXT --profile-hz N`.

    Raises:
        UsageError: a word is no level, or two levels exclude each other.
    """
    if profile_hz is not None and not 1 <= profile_hz <= MAX_PROFILE_HZ:
        raise UsageError(f"--profile-hz {profile_hz} is not from 1 to {MAX_PROFILE_HZ}; {PROFILE_HZ} is usual")
    if text is None:
        return AskedEvidence(None, profile_hz)
    asked = [word.strip() for word in text.split(",")]
    for word in asked:
        if word not in {*LEVELS, PROFILE}:
            known = ", ".join(LEVELS)
            raise UsageError(f'--evidence: "{word}" is no level; give one of {known}, and {PROFILE} with it or alone')
    levels = list(dict.fromkeys(word for word in asked if word != PROFILE))
    if len(levels) > 1:
        raise UsageError(f"--evidence: {levels[0]} and {levels[1]} exclude each other; give the one that includes more")
    if PROFILE not in asked and profile_hz is not None:
        raise UsageError(f"--profile-hz {profile_hz} is for --evidence {PROFILE}, which is not asked for; add it")
    level: Level | None = levels[0] if levels else None  # type: ignore[assignment]
    return AskedEvidence(level, (profile_hz or PROFILE_HZ) if PROFILE in asked else 0)
