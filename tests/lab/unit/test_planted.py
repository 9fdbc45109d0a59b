"""The planted mistakes: each patch fits the code as it is."""

import subprocess

import pytest

from lab.planted.__main__ import PATCHES, ROOT


@pytest.mark.parametrize("name", sorted(path.stem for path in PATCHES.glob("*.patch")))
def test_a_mistake_can_be_planted(name: str) -> None:
    checked = subprocess.run(
        ["git", "apply", "--check", str(PATCHES / f"{name}.patch")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
