"""`whyperf compare --run`: two conditions measured in turn, and what it costs them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.whyperf_command import Done, whyperf
from whyperf.record import Experiment

pytestmark = pytest.mark.root

SMALL = ("--run", "quick", "--set", "write_size_bytes=128K", "--against", "write_size_bytes=256", "-t", "0.3")


@pytest.fixture
def folder(ours: Ours, tmp_path: Path) -> Path:
    """A folder in which nothing of ours is left on the host afterwards."""
    assert ours
    return tmp_path


def document(done: Done) -> dict[str, Any]:
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_small_writes_cost_system_calls(folder: Path) -> None:
    arguments = ("compare", *SMALL, "--trials", "2", "--both", "warmup_s=0.1", "--out", "pair")
    found = document(whyperf(*arguments, "--json", folder=folder))
    assert [result["condition"] for result in found["results"]] == ["before", "after"]
    (pair,) = found["pairs"]
    assert pair["differ"] == {"write_size_bytes": [131072, 256]}
    rows = {row["name"]: row for row in pair["quantities"]}
    assert all(row["test"]["is_paired"] for row in rows.values())
    assert rows["calls_sender"]["ratio"] == pytest.approx(512, rel=0.01)
    sender = {side["role"]: side for side in pair["sides"]}["sender"]
    classes = {entry["name"]: entry for entry in sender["classes"]}
    assert classes["system_calls"]["b"] > 5 * classes["system_calls"]["a"]
    # 512 times as many calls, and none of them is so much cheaper.
    # Without a sample in A, half of the difference is due to either.
    assert classes["system_calls"]["by_count"] > classes["system_calls"]["test"]["difference"] * 0.45
    assert sum(entry["test"]["difference"] for entry in classes.values()) == pytest.approx(sender["b"] - sender["a"])
    # Both conditions are in each block.
    plan = Experiment.open(folder / "pair").plan
    assert [len(block) for block in plan.blocks] == [2, 2]
    again = whyperf(*arguments, folder=folder)
    assert again.status == 0
    assert "nothing is missing" in again.err
    assert "write size 131,072 bytes in A, 256 bytes in B" in again.out
    assert "with write size 131,072 bytes." in whyperf("show", "pair", folder=folder).out
