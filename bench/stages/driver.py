"""The sender's driver by two instruments: its stage, and stack samples below the driver's entry."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from bench.cost.experiment import Setting, measured, planned, profile_of
from bench.row import Row
from bench.stages.trials import WAITS, Staged, opened
from whyperf.plan import PlannedStages

PROFILE = """
[fixed]
duration_s = 1
warmup_s = 0.3
cooldown_s = 0.05
[[sweep]]
name = "gso"
[sweep.factors]
write_size_bytes = [8192, 65536]
[[sweep]]
name = "no-gso"
[sweep.fixed]
gso = false
tso = false
gro = false
[sweep.factors]
write_size_bytes = [8192, 65536]
"""
#: From here on a packet is the driver's; the stage begins in it.
ENTRY = "dev_hard_start_xmit"
CLASS = "devices"
DRIVER = ("driver_out", "handover")
MAX_POINTS = 0.03


def run(setting: Setting) -> list[Row]:
    """Trials with samples, and trials with stage times, of the same cells."""
    profile = profile_of(PROFILE, "driver")
    sampled = setting.folder / "driver-samples"
    measured(planned(profile, setting.of(6, 1)), profile, sampled)
    cost = _cost(sampled)
    rows = []
    with opened(PROFILE, setting.folder / "driver-stages") as (plan, measure, _):
        for at, cell in enumerate(plan.cells):
            trials = [measure(cell.id, PlannedStages(one_in=4), "user") for _ in range(setting.of(4, 1))]
            staged = median(_driver_ratio(trial) for trial in trials)
            below, own = _sampled_ratios(cost["cells"][at])
            name = f"driver's share, writes of {cell.factors['write_size_bytes']} bytes, {cell.sweep}"
            asked = f"within {MAX_POINTS:.0%} of CPU time"
            found = f"stages {staged:.1%}, samples below {ENTRY} {below:.1%}, class {own:.1%}"
            rows.append(Row("driver", name, asked, found, abs(staged - below) <= MAX_POINTS))
    return rows


def _cost(folder: Path) -> Any:
    """`whyperf cost --json` of a result."""
    command = Path(sys.executable).with_name("whyperf")
    done = subprocess.run([command, "cost", folder, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def _sampled_ratios(cell: Any) -> tuple[float, float]:
    """Of the sender's cycles, those below the driver's entry, and those of the class; without taking samples."""
    side = next(side for side in cell["sides"] if side["role"] == "sender")
    classes = {entry["name"]: entry for entry in side["classes"]}
    tracing = classes["own_tracing"]["exclusive"]["mean"] if "own_tracing" in classes else 0.0
    total = side["total"]["mean"] - tracing
    functions = [function for entry in side["classes"] for function in entry["functions"]]
    below = sum(function["inclusive"] for function in functions if function["name"] == ENTRY)
    return below / total, classes[CLASS]["exclusive"]["mean"] / total


def _driver_ratio(trial: Staged) -> float:
    """Of the processing of the sender, the driver's."""
    rows = trial.rows("near")
    rows = rows.filter(~rows["stage"].is_in(WAITS))
    return float(rows.filter(rows["stage"].is_in(DRIVER))["own_ns"].sum()) / float(rows["own_ns"].sum())
