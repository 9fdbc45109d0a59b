"""What is in a results folder, byte for byte."""

import hashlib
import json
from pathlib import Path


def finished_trials(results: Path) -> dict[str, str]:
    """A checksum of every file of every finished trial, by its path; a trial that comes and goes is none.

    Nor is one that is void, because the host did not carry its path well: it is made again.
    """
    found = {}
    for trial in sorted((results / "trials").glob("[0-9]*")):
        if is_void(trial):
            continue
        for file in sorted(trial.iterdir()):
            found[f"{trial.name}/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def is_void(trial: Path) -> bool:
    """Whether a trial's manifest says so."""
    manifest = trial / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_text())["status"] == "void"


def partial_trials(results: Path) -> list[str]:
    """Folders of trials that are not whole."""
    return [path.name for path in (results / "trials").glob(".*")]
