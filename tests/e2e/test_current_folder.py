"""Whoever can put files into the current folder has no code run by the commands that start more of Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.disturb.launching import LaunchedSide
from tests.e2e.whyperf_command import argv
from tests.hostile_folder import HostileFolder


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    return HostileFolder(tmp_path)


def test_workers_of_dask_import_nothing_from_it(hostile: HostileFolder) -> None:
    asked = ("simulate", "stream", "--hosts", "linux-6.18+veth", "--trials", "1", "--cluster", "local:1", "--out", "r")
    done = subprocess.run(argv(*asked), cwd=hostile.path, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode in {0, 3}, done.stderr
    assert hostile.imported == ""


@pytest.mark.root
@pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft (package nftables)")
@pytest.mark.usefixtures("ours")
def test_a_run_as_root_imports_nothing_from_it(hostile: HostileFolder) -> None:
    asked = ("run", "-t", "0.3", "--trials", "1", "--set", "firewall_rules=5", "--no-report", "--out", "r")
    done = subprocess.run(argv(*asked), cwd=hostile.path, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode in {0, 3}, done.stderr
    assert hostile.imported == ""


@pytest.mark.root
def test_the_launcher_of_tools_imports_nothing_from_it(
    hostile: HostileFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.path)
    programs = tmp_path / "programs"
    programs.mkdir()
    with LaunchedSide("near", os.getpid(), programs, sorted(os.sched_getaffinity(0))) as side:
        side.run(["true"])
    assert hostile.imported == ""
