"""The sender's driver by two instruments: its stage, and stack samples below the driver's entry."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median

from lab.bench.cost.experiment import Setting, measured, planned, profile_of
from lab.bench.row import Row
from lab.bench.stages.trials import WAITS, Staged, opened
from whyperf.analyze.cost.classes import OWN_TRACING
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
#: Frames of programs in the kernel: trials with stage times have others.
OF_PROGRAMS = ("bpf_trace_run", "bpf_prog_")
CLASS = "devices"
MAX_POINTS = 0.03


def run(setting: Setting) -> list[Row]:
    """Trials with samples, and trials with stage times, of the same cells."""
    profile = profile_of(PROFILE, "driver")
    sampled = setting.folder / "driver-samples"
    measured(planned(profile, setting.of(6, 1)), profile, sampled)
    below, own = _below_entry(sampled), _of_class(sampled)
    rows = []
    with opened(PROFILE, setting.folder / "driver-stages") as (plan, measure, _):
        for cell in plan.cells:
            trials = [measure(cell.id, PlannedStages(one_in=1), "user") for _ in range(setting.of(4, 1))]
            staged = median(_driver_ratio(trial) for trial in trials)
            name = f"driver's share, writes of {cell.factors['write_size_bytes']} bytes, {cell.sweep}"
            asked = f"within {MAX_POINTS:.0%} of CPU time"
            found = f"stages {staged:.1%}, samples below {ENTRY} {below[cell.id]:.1%}, class {own[cell.id]:.1%}"
            rows.append(Row("driver", name, asked, found, abs(staged - below[cell.id]) <= MAX_POINTS))
    return rows


def _below_entry(folder: Path) -> dict[str, float]:
    """Of the sender's samples in each cell, those below the driver's entry; without programs in the kernel."""
    lines = folder / "stacks.folded"
    _cost(folder, "--folded", str(lines))
    below: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for line in lines.read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        cell, role, *frames = stack.split(";")
        if role != "sender" or any(frame.startswith(OF_PROGRAMS) for frame in frames):
            continue
        total[cell] += int(samples)
        below[cell] += int(samples) * (ENTRY in frames)
    return {cell: below[cell] / count for cell, count in total.items()}


def _of_class(folder: Path) -> dict[str, float]:
    """Of the sender's cycles in each cell, those of the functions of queueing discipline and driver themselves."""
    found = {}
    for cell in json.loads(_cost(folder, "--json"))["cells"]:
        side = next(side for side in cell["sides"] if side["role"] == "sender")
        means = {entry["name"]: entry["exclusive"]["mean"] for entry in side["classes"]}
        found[cell["id"]] = means[CLASS] / (side["total"]["mean"] - means.get(OWN_TRACING, 0.0))
    return found


def _cost(folder: Path, *options: str) -> str:
    command = Path(sys.executable).with_name("whyperf")
    return subprocess.run([command, "cost", folder, *options], check=True, capture_output=True, text=True).stdout


def _driver_ratio(trial: Staged) -> float:
    """Of the processing of the sender, the driver's."""
    rows = trial.rows("near")
    rows = rows.filter(~rows["stage"].is_in(WAITS))
    return float(rows.filter(rows["stage"] == "driver_out")["own_ns"].sum()) / float(rows["own_ns"].sum())
