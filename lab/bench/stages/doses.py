"""Planted delays of known size are in the right stage: twelve doses of four kinds, each with a slope of 1.

- *IP*: rules of a firewall at the receiver, against the CPU time that the kernel counts.
- *queue*: a token bucket at the sender lets one of two packets through; the other waits until it has tokens again.
- *wake-up*: a program of a higher class has the reader's CPU half of the time, and records from when to when.
- *application*: the reader computes for a set time between a request and its answer.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import mean, median

from lab.bench.cost.experiment import Setting, cells_by, levels_text
from lab.bench.cost.planted import BURST, BURST_WORKLOAD, FIXED, RULES, RULES_SWEEP, SPIN_SWEEP, SPIN_US, SPINNERS
from lab.bench.row import Row
from lab.bench.stages.trials import Staged, opened, slope
from whyperf.plan import PlannedStages
from whyperf.run import Session

MAX_ERROR = 0.1
EVERY = PlannedStages(one_in=1)
READER = next(spinner for spinner in SPINNERS if spinner.role == "receiver")

#: Of one message at a time, so that none waits behind another.
MESSAGES = """
[fixed]
duration_s = 2
warmup_s = 0.2
cooldown_s = 0.1
write_size_bytes = 512
write_rate_bps = 400000
no_delay = true
"""
PAIRS = """
[fixed]
duration_s = 2
warmup_s = 0.2
cooldown_s = 0.1
# Two segments with time stamps at MTU 1500, every 10 ms.
write_size_bytes = 2896
write_rate_bps = 2316800
no_delay = true
gso = false
tso = false
"""
PACKET_BYTES, BUCKET_BYTES = 1514, 1600
QUEUE_US = (500, 1000, 2000)
BUSY_US = (1000, 2000, 4000)
BUSY = """
import os, sys, time
seconds, out = float(sys.argv[1]), open(sys.argv[2], "w", buffering=1)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while True:
    start = time.monotonic_ns()
    while time.monotonic_ns() < start + seconds * 1e9:
        pass
    print(start, time.monotonic_ns(), file=out)
    time.sleep(seconds)
"""


def run(setting: Setting) -> list[Row]:
    """Measures all doses, kind by kind."""
    return [*_rules(setting), *_queue(setting), *_wakeup(setting), *_application(setting)]


def _rules(setting: Setting) -> list[Row]:
    """More of the CPU time that the kernel counts for a packet is as much more in `ip_in`."""
    text = FIXED + RULES_SWEEP.format(burst=BURST, levels=levels_text(RULES)) + BURST_WORKLOAD
    stage_ns: dict[int, list[float]] = {dose: [] for dose in RULES}
    counted_ns: dict[int, list[float]] = {dose: [] for dose in RULES}
    with opened(text, setting.folder / "rules") as (plan, measure, _):
        cells = cells_by(plan, "firewall_rules")
        for _ in range(setting.of(6, 1)):
            for dose in RULES:
                found = measure(cells[dose], EVERY)
                stage_ns[dose].append(found.per_segment_ns("far", "ip_in"))
                packets = found.rows("far").filter(direction="in", stage="ip_in")["sequence"].len()
                counted_ns[dose].append(sum(found.counted_ns(host) for host in ("near", "far")) / packets)
    planted = [median(counted_ns[dose]) for dose in RULES]
    return _judged("IP", "rules", RULES, planted, [median(stage_ns[dose]) for dose in RULES])


def _queue(setting: Setting) -> list[Row]:
    """The second of two packets waits for what the bucket lacks; the first does not."""
    found_ns = []
    with opened(PAIRS, setting.folder / "queue") as (plan, measure, session):
        for dose in QUEUE_US:
            trials = []
            for _ in range(setting.of(3, 1)):
                with _bucket(session, dose):
                    trials.append(measure(plan.cells[0].id, EVERY).per_segment_ns("near", "qdisc_wait", "wall_ns"))
            found_ns.append(median(trials))
    return _judged("queue", "µs in a token bucket", QUEUE_US, [dose * 1e3 for dose in QUEUE_US], found_ns)


@contextmanager
def _bucket(session: Session, wait_us: int) -> Iterator[None]:
    """Before the sender's device, so filled that a second packet waits for so long."""
    assert session.testbed is not None
    near = session.testbed["near"]
    tc = ["nsenter", f"--net={near['netns']}", "tc", "qdisc"]
    rate_bps = 8 * (2 * PACKET_BYTES - BUCKET_BYTES) / (wait_us / 1e6)
    shaper = ["root", "tbf", "rate", f"{rate_bps:.0f}bit", "burst", str(BUCKET_BYTES), "limit", "100kb"]
    subprocess.run([*tc, "add", "dev", near["device"], *shaper], check=True)
    try:
        yield
    finally:
        subprocess.run([*tc, "del", "dev", near["device"], "root"], check=True)


def _wakeup(setting: Setting) -> list[Row]:
    """A reader that is woken while the other program computes waits until that ends."""
    planted_ns, found_ns = [], []
    with opened(MESSAGES, setting.folder / "wake-up") as (plan, measure, _):
        cpus = measure(plan.cells[0].id, EVERY).manifest.hosts["far"].spec["pin_cpus"] or [0]
        for dose in BUSY_US:
            log = setting.folder / f"busy-{dose}"
            waits: list[tuple[float, float]] = []
            for _ in range(setting.of(3, 1)):
                with _busy(cpus[0], dose, log):
                    found = measure(plan.cells[0].id, EVERY)
                waits += _waits(found, log)
            planted_ns.append(mean(planted for planted, _ in waits))
            found_ns.append(mean(found for _, found in waits))
    return _judged("wake-up", "µs of a busy CPU", BUSY_US, planted_ns, found_ns)


def _waits(found: Staged, log: Path) -> list[tuple[float, float]]:
    """Of each arrival: how long the other program still computed, and how long the reader waited, in ns."""
    spans = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    rows = found.rows("far").filter(stage="wakeup_wait")
    waits = []
    for start_ns, wall_ns in rows.select("start_mono_ns", "wall_ns").iter_rows():
        left = next((end - start_ns for start, end in spans if start <= start_ns < end), 0)
        waits.append((float(left), float(wall_ns)))
    return waits


@contextmanager
def _busy(cpu: int, dose_us: int, log: Path) -> Iterator[None]:
    argv = ["taskset", "-c", str(cpu), sys.executable, "-c", BUSY, str(dose_us / 1e6), str(log)]
    child = subprocess.Popen(argv)
    try:
        yield
    finally:
        child.kill()
        child.wait()


def _application(setting: Setting) -> list[Row]:
    """Time of computing between a request and its answer."""
    text = FIXED + SPIN_SWEEP.format(levels=levels_text(SPIN_US), steps=", ".join(READER.steps))
    found_ns: dict[int, list[float]] = {dose: [] for dose in SPIN_US}
    with opened(text, setting.folder / "application") as (plan, measure, _):
        cells = cells_by(plan, "think_us")
        for _ in range(setting.of(4, 1)):
            for dose in SPIN_US:
                found = measure(cells[dose], EVERY)
                rows = found.rows("far").filter(stage="application")
                found_ns[dose].append(float(rows["own_ns"].sum()) / found.transactions())
    medians = [median(found_ns[dose]) for dose in SPIN_US]
    return _judged("application", "µs of computing", SPIN_US, [dose * 1e3 for dose in SPIN_US], medians)


def _judged(kind: str, unit: str, doses: Sequence[int], planted: Sequence[float], found: Sequence[float]) -> list[Row]:
    """A row for the slope, and one for the step from each dose to the next."""
    values = {"doses": doses, "planted_ns": planted, "found_ns": found}
    all_of = slope(planted, found)
    asked = f"1 ± {MAX_ERROR}"
    rows = [Row("doses", f"{kind}: slope", asked, f"{all_of:.3f}", abs(all_of - 1) <= MAX_ERROR, values=values)]
    for (low, low_ns, low_found), (high, high_ns, high_found) in pairwise(zip(doses, planted, found, strict=True)):
        step = (high_found - low_found) / (high_ns - low_ns)
        is_ok = abs(step - 1) <= MAX_ERROR
        rows.append(Row("doses", f"{kind}: from {low} to {high} {unit}", asked, f"{step:.3f}", is_ok))
    return rows
