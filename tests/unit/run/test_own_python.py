"""Whoever can put files into the current folder has no code run by processes that whyperf starts."""

import re
from pathlib import Path

import pytest

from tests.hostile_folder import HostileFolder
from whyperf import __version__
from whyperf.cli.workflows.studies import _call
from whyperf.disturb.orders import Orders
from whyperf.run.keeping import Keeper

PRODUCT = Path(__file__).parents[3] / "python" / "whyperf"
#: Files that name this Python otherwise than by `own_python`.
OTHERS = {
    "own_python.py": "is it",
    "run/agents/pipes/binary.py": "looks for the agent next to it",
    "cli/workflows/studies.py": "looks for the laboratory next to it",
}


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostileFolder:
    found = HostileFolder(tmp_path)
    monkeypatch.chdir(found.path)
    return found


def test_the_keeper_imports_nothing_from_it(hostile: HostileFolder) -> None:
    with Keeper(Orders(disturbances=(), places={}), "no keeper"):
        pass
    assert hostile.imported == ""


def test_the_commands_of_studies_import_nothing_from_it(hostile: HostileFolder, tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    printed = tmp_path / "version"
    assert _call(["--version"], printed, tmp_path, "name") == (0, "")
    assert __version__ in printed.read_text()
    assert hostile.imported == ""


def test_every_own_python_is_started_without_it() -> None:
    """One that is started otherwise has the current folder first in its path."""
    naming = re.compile(r"sys\.executable")
    found = {str(path.relative_to(PRODUCT)) for path in PRODUCT.rglob("*.py") if naming.search(path.read_text())}
    assert found == OTHERS.keys()
