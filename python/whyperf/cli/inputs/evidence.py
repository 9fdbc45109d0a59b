"""The evidence that a command line asks for."""

from typing import NamedTuple, get_args

from whyperf.cli.exits import SHOWN_CHARACTERS, UsageError
from whyperf.plan import Level, PlannedStages
from whyperf.profile.profile_document import MAX_PROFILE_HZ, PROFILE_HZ

PROFILE = "profile"
STAGES = "stages"
LEVELS = get_args(Level)
WORDS = (*LEVELS, PROFILE, STAGES)
#: Of more blocks than this one is never sampled.
MAX_ONE_IN = 65_536
MAX_DIGITS = 9


class AskedEvidence(NamedTuple):
    """`level` is None, and so is `profile_hz`, where the profile decides; `profile_hz` is 0 for no stack samples.

    `stages` says how segments are sampled for stage times; None for none.
    """

    level: Level | None = None
    profile_hz: int | None = None
    stages: PlannedStages | None = None


def asked_evidence(text: str | None, profile_hz: int | None, one_in_text: str | None = None) -> AskedEvidence:
    """The evidence of `--evidence TEXT --profile-hz N --stages-one-in N`.

    Raises:
        UsageError: a word or a number is not one of those allowed, or two levels exclude each other.
    """
    if profile_hz is not None and not 1 <= profile_hz <= MAX_PROFILE_HZ:
        raise UsageError(f"--profile-hz {profile_hz} is not from 1 to {MAX_PROFILE_HZ}; {PROFILE_HZ} is usual")
    one_in = None if one_in_text is None else _one_in(one_in_text)
    if one_in is not None and STAGES not in (text or "").replace(" ", "").split(","):
        raise UsageError(f"--stages-one-in {one_in} is for --evidence {STAGES}, which is not asked for; add it")
    if text is None:
        return AskedEvidence(None, profile_hz)
    asked = [word.strip() for word in text.split(",")]
    for word in asked:
        if word not in WORDS:
            known = f"{', '.join(WORDS[:-1])} or {WORDS[-1]}"
            raise UsageError(f'--evidence "{word}" is not known; give {known}, or several, such as counters,stages')
    levels = list(dict.fromkeys(word for word in asked if word not in {PROFILE, STAGES}))
    if len(levels) > 1:
        raise UsageError(f"--evidence: {levels[0]} and {levels[1]} exclude each other; give the one that includes more")
    if PROFILE not in asked and profile_hz is not None:
        raise UsageError(f"--profile-hz {profile_hz} is for --evidence {PROFILE}, which is not asked for; add it")
    level: Level | None = levels[0] if levels else None  # type: ignore[assignment]
    stages = PlannedStages(one_in=one_in) if STAGES in asked else None
    return AskedEvidence(level, (profile_hz or PROFILE_HZ) if PROFILE in asked else 0, stages)


def _one_in(text: str) -> int:
    """The number of `--stages-one-in`, a power of two."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else 0
    if number not in range(1, MAX_ONE_IN + 1) or number.bit_count() != 1:
        raise UsageError(
            f"--stages-one-in {text[:SHOWN_CHARACTERS]} is no power of two from 1 to {MAX_ONE_IN}; "
            "give one, such as 4, or leave the option out"
        )
    return number
