"""What goes into the wheel next to the modules: profiles and workloads, each linked by name, and the launcher."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "python/whyperf.data"


@pytest.mark.parametrize("folder", ["profiles", "workloads"])
def test_every_shipped_file_is_in_the_wheel(folder: str) -> None:
    linked = {path.name: path.read_bytes() for path in (DATA / "data/share/whyperf" / folder).iterdir()}
    assert linked == {path.name: path.read_bytes() for path in (ROOT / folder).glob("*.toml")}


def test_the_laboratory_is_not_in_the_wheel() -> None:
    # The wheel has what is in this folder, and nothing else of the tree.
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["python-source"]
    assert {path.name for path in (ROOT / python).iterdir()} - {"__pycache__"} == {"whyperf", "whyperf.data"}
    assert [path.name for path in (DATA / "scripts").iterdir()] == ["whyperf"]
    # These were packages of the product.
    # A folder that is left of one has no source.
    packages = {path.name for path in (ROOT / python / "whyperf").iterdir() if any(path.glob("**/*.py"))}
    assert {"tools", "truth"} & packages == set()


def test_the_launcher_takes_the_environments_python() -> None:
    # The installer replaces exactly this line (PEP 427).
    assert (DATA / "scripts/whyperf").read_text().splitlines()[0] == "#!python"
