"""What is in a results folder, byte for byte."""

import hashlib
from pathlib import Path


def finished_trials(results: Path) -> dict[str, str]:
    """A checksum of every file of every finished trial, by its path; a trial that comes and goes is none."""
    found = {}
    for trial in sorted((results / "trials").glob("[0-9]*")):
        for file in sorted(trial.iterdir()):
            found[f"{trial.name}/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def partial_trials(results: Path) -> list[str]:
    """Folders of trials that are not whole."""
    return [path.name for path in (results / "trials").glob(".*")]
