"""Makes the files of a release, as `make dist` does."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_AGENT_BYTES = 15_000_000


def dist(folder: Path, *parts: str, architectures: str = "x86_64", tree: Path = ROOT, **environment: str) -> None:
    """Runs scripts/dist for the parts."""
    # The build reads the tools of the tree; a copy of it has none.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    asked = {"DIST_FOLDER": str(folder), "ARCHITECTURES": architectures, "PATH": path, **environment}
    command = [str(tree / "scripts/dist"), *parts]
    done = subprocess.run(command, cwd=tree, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def version() -> str:
    """That of the files."""
    line = next(line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("version"))
    return line.split('"')[1]


def wheel_name(architecture: str) -> str:
    """The wheel of an architecture."""
    return f"whyperf-{version()}-py3-none-manylinux2014_{architecture}.manylinux_2_17_{architecture}.whl"
