"""`python -m lab.planted [NAME...]`: plants the mistakes one by one in a copy of the tree and runs the tests.

Each patch was written before any test was changed, by somebody who had not read the tests. Its first lines say what a
user would notice. A mistake of the Python part is found by the unit tests of its package or, failing that, by all quick
tests; one of a crate by the crate's tests or, failing that, by those of all crates. `--base COMMIT` plants them in that
commit instead; `--tests` names other tests for all of them.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("tests/unit", "tests/lab/unit", "tests/whole", "tests/simulation")
ROOT = Path(__file__).resolve().parents[2]
PATCHES = Path(__file__).parent
TREE = ROOT / "target" / "planted-tree"
CHANGED = re.compile(r"^\+\+\+ b/(.+)$", re.MULTILINE)
#: The way that both runners name a test that failed.
FAILED = re.compile(
    r"^(?:FAILED|ERROR) (\S+)|^test (\S+) (?:- should panic )?\.\.\. FAILED|^error(\[E\d+\]: .*)", re.MULTILINE
)


def main() -> int:
    """Plants the mistakes and prints which test found each."""
    parser = argparse.ArgumentParser(prog="python -m lab.planted")
    parser.add_argument("names", nargs="*", help="patches whose name starts so (default: all)")
    parser.add_argument("--base", default="HEAD", help="the commit in which they are planted")
    parser.add_argument("--tests", nargs="*", default=[], help="pytest files or folders instead of the usual ones")
    asked = parser.parse_args()
    patches = [path for path in sorted(PATCHES.glob("*.patch")) if path.stem.startswith(tuple(asked.names or ("",)))]
    _git(ROOT, "worktree", "add", "--force", "--detach", str(TREE), asked.base)
    found = 0
    try:
        for patch in patches:
            by = found_by(patch, asked.tests)
            found += by is not None
            print(f"{patch.stem}: {'not found' if by is None else f'found by {by}'}", flush=True)
    finally:
        _git(ROOT, "worktree", "remove", "--force", str(TREE))
    print(f"{found} of {len(patches)} planted mistakes found")
    return 0 if found == len(patches) else 1


def found_by(patch: Path, tests: list[str]) -> str | None:
    """The first test that fails because of a mistake; None if none does."""
    text = patch.read_text()
    _git(TREE, "apply", str(patch))
    try:
        for argv in attempts(CHANGED.findall(text), tests):
            done = subprocess.run(argv, cwd=TREE, env=_environment(), capture_output=True, text=True, check=False)
            if done.returncode == 0:
                continue
            if failed := FAILED.search(done.stdout + done.stderr):
                return next(name for name in failed.groups() if name)
            raise SystemExit(
                f"{patch.stem}: {' '.join(argv)} failed without a failed test:\n{done.stdout}{done.stderr}"
            )
    finally:
        _git(TREE, "apply", "--reverse", str(patch))
    return None


def attempts(changed: list[str], tests: list[str]) -> Iterator[list[str]]:
    """The commands to try, the nearest tests first."""
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2"]
    if tests:
        yield [*pytest, *tests]
        return
    crates = {parts[1] for name in changed if (parts := name.split("/"))[0] == "crates"}
    if crates:
        yield ["cargo", "test", "--locked", *(f"-pwhyperf-{crate}" for crate in sorted(crates))]
        yield ["cargo", "test", "--locked", "--workspace"]
        return
    packages = {name.split("/")[2] for name in changed}
    yield [*pytest, *(f"tests/unit/{package}" for package in sorted(packages))]
    yield [
        *pytest,
        "-m",
        "not slow and not paced and not alone and not root",
        # An older commit has no folder for whole results.
        *(folder for folder in FOLDERS if (TREE / folder).exists()),
    ]


def _environment() -> dict[str, str]:
    paths = os.pathsep.join([str(TREE / "python"), str(TREE)])
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return {**os.environ, "PYTHONPATH": paths, "CARGO_TARGET_DIR": target, "PYTHONDONTWRITEBYTECODE": "1"}


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
