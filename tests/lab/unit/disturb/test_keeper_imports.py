"""Whoever can put files into the current folder has no code run by the keeper of the laboratory and its programs."""

import os
from pathlib import Path

import pytest

from lab.disturb.disturbances import Burn, Orders
from lab.disturb.keeping import TimedKeeper
from tests.hostile_folder import HostileFolder
from whyperf.disturb.orders import Place


def test_the_keeper_and_its_programs_import_nothing_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = HostileFolder(tmp_path)
    monkeypatch.chdir(hostile.path)
    place = Place(process=os.getpid(), cpus=(min(os.sched_getaffinity(0)),))
    with TimedKeeper(Orders(disturbances=(Burn(host="near", programs=1),), places={"near": place}), "no keeper"):
        pass
    assert hostile.imported == ""
