"""The profile that docs/how-to/uperf.md shows is one."""

import re
from pathlib import Path

from tests.unit.profile.uperf.uperf_profiles import VARIABLES, translated

TEXT = (Path(__file__).parents[4] / "docs/how-to/uperf.md").read_text(encoding="utf-8")


def test_the_documents_profile_is_translated() -> None:
    profiles = re.findall(r"^```xml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert profiles
    for profile in profiles:
        assert translated(profile, VARIABLES).notes == ()
