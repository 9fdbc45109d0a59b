"""`python -m tests.simulation.planted`: plants the bugs of `bugs/` one by one and counts those found."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

from tests.simulation.agent_library import LIBRARY, ROOT, build, target_folder

BUGS = Path(__file__).parent / "bugs"
MAX_SEEDS = 1_000
MIN_FOUND = 19


class Bug(NamedTuple):
    """A planted bug."""

    name: str
    mistake: str

    @property
    def patch(self) -> Path:
        return BUGS / f"{self.name}.patch"

    @property
    def is_rust(self) -> bool:
        return "crates/" in self.patch.read_text()


def bugs() -> list[Bug]:
    """All of them, in the order of the catalog."""
    catalog = tomllib.loads((BUGS / "catalog.toml").read_text())
    return [Bug(**bug) for bug in catalog["bug"]]


def applies(bug: Bug) -> bool:
    """Whether its patch still fits the source."""
    argv = ["git", "apply", "--check", str(bug.patch)]
    return subprocess.run(argv, cwd=ROOT, check=False, capture_output=True).returncode == 0


def _copy(tree: Path) -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in names.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            # With the time of now: cargo takes what is older than its last build for unchanged.
            shutil.copy(ROOT / name, tree / name)


def _apply(bug: Bug, tree: Path, *options: str) -> None:
    # The copy is no repository of its own.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    subprocess.run(["git", "apply", *options, str(bug.patch)], cwd=tree, check=True, env=environment)


def _simulate(tree: Path, library: Path, seeds: int) -> str | None:
    """The first violation that the simulation of a tree finds."""
    argv = [sys.executable, "-m", "tests.simulation", "--seeds", str(seeds), "--stop"]
    paths = os.pathsep.join([str(tree / "python"), str(tree)])
    environment = {**os.environ, "PYTHONPATH": paths, LIBRARY: str(library), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, cwd=tree, check=False, capture_output=True, text=True, env=environment)
    if done.returncode == 0:
        return None
    found = [line for line in done.stdout.splitlines() if line.startswith("seed ")]
    # A simulation that breaks has found nothing.
    return found[0] if found else None


def find(seeds: int = MAX_SEEDS, only: str = "") -> dict[str, str | None]:
    """What the simulation finds of each bug: a line with the seed and the violation."""
    found: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory(prefix="whyperf-planted-") as folder:
        tree = Path(folder) / "tree"
        _copy(tree)
        # Apart from this tree's own, whose library nobody may take for a planted one's.
        os.environ["CARGO_TARGET_DIR"] = str(target_folder(ROOT) / "planted")
        library = build(tree)
        kept = Path(folder) / "libsimulated.so"
        shutil.copy2(library, kept)
        for bug in (bug for bug in bugs() if only in bug.name):
            _apply(bug, tree)
            if bug.is_rust:
                library = build(tree)
            found[bug.name] = _simulate(tree, library if bug.is_rust else kept, seeds)
            print(f"{bug.name}: {found[bug.name] or 'not found'}", flush=True)
            _apply(bug, tree, "--reverse")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.planted")
    parser.add_argument("--seeds", type=int, default=MAX_SEEDS, help="how many seeds are tried for each bug")
    parser.add_argument("--only", default="", help="bugs with this in their name")
    asked = parser.parse_args()
    found = find(asked.seeds, asked.only)
    count = sum(violation is not None for violation in found.values())
    print(f"{count} of {len(found)} planted bugs found, each in at most {asked.seeds:,} seeds")
    return 0 if count >= min(MIN_FOUND, len(found)) else 1


if __name__ == "__main__":
    sys.exit(main())
