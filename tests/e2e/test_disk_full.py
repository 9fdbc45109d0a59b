"""A full disk: a sentence, no half trial, and a run that goes on once there is space."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.contents import finished_trials, partial_trials
from tests.e2e.experiments import profile_text
from tests.e2e.whyperf_command import Done, whyperf
from whyperf.record import Experiment

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

DISK = "24m"
#: Enough for the plan and some trials, not for all.
SPACE_BYTES = 600_000
TRIALS = 24


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk, unmounted whatever happens."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(disk: Path, leaving_bytes: int) -> Path:
    """Takes all other space with one file."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        free = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - leaving_bytes)
    return ballast


def run(disk: Path, profile: Path) -> Done:
    """`whyperf run` with results on the disk, and all else next to it."""
    return whyperf("run", profile, "--out", disk / "results", folder=profile.parent)


def test_a_run_goes_on_when_there_is_space(disk: Path, tmp_path: Path) -> None:
    profile = tmp_path / "many.toml"
    profile.write_text(profile_text(TRIALS, transfer_bytes=100_000))
    ballast = fill(disk, leaving_bytes=SPACE_BYTES)

    full = run(disk, profile)
    assert full.status == 1
    error = full.err.splitlines()[-1]
    assert "no space left on device; free some space and run the same command again: it resumes" in error
    results = disk / "results"
    assert partial_trials(results) == []
    before = finished_trials(results)
    trials = Experiment.open(results).trials()
    assert trials.damaged == []
    assert 0 < len(trials.manifests) < TRIALS

    ballast.unlink()
    freed = run(disk, profile)
    assert freed.status == 0, freed.err
    assert finished_trials(results).items() >= before.items()
    assert partial_trials(results) == []
    trials = Experiment.open(results).trials()
    assert (len(trials.manifests), trials.damaged) == (TRIALS, [])


def test_nothing_is_measured_where_no_trial_has_room(disk: Path, tmp_path: Path) -> None:
    profile = tmp_path / "one.toml"
    profile.write_text(profile_text(1, transfer_bytes=100_000))
    fill(disk, leaving_bytes=100_000)
    full = run(disk, profile)
    assert full.status == 1
    assert "KB left, and a trial of a few seconds takes 256 KB; free some space, or choose another" in full.err
    assert not (disk / "results").exists()
