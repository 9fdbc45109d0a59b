"""It sums: the CPU time of all stages of a segment is what schedstat and softirqs count for one."""

from statistics import median

from lab.bench.cost.experiment import Setting
from lab.bench.row import Row
from lab.bench.stages.trials import HOSTS, opened
from whyperf.plan import PlannedStages

PROFILE = """
[fixed]
duration_s = 1
warmup_s = 0.3
cooldown_s = 0.1
no_delay = true
read_size_bytes = 65536
[[sweep]]
name = "gso"
[sweep.factors]
write_size_bytes = [64, 1024, 8192, 65536]
[[sweep]]
name = "no-gso"
[sweep.fixed]
gso = false
tso = false
gro = false
[sweep.factors]
write_size_bytes = [64, 1024, 8192, 65536]
"""

MAX_ERROR = 0.05
EVERY = PlannedStages(one_in=1)


def run(setting: Setting) -> list[Row]:
    """Every segment is followed, so that the programs' own time is known, which the kernel counts, too."""
    rows = []
    with opened(PROFILE, setting.folder / "sums") as (plan, measure, _):
        for cell in plan.cells:
            trials = [measure(cell.id, EVERY) for _ in range(setting.of(5, 1))]
            name = f"writes of {cell.factors['write_size_bytes']} bytes, {cell.sweep}"
            for host in HOSTS:
                ratios = [trial.stage_ns(host) / trial.counted_ns(host) for trial in trials]
                ratio = median(ratios)
                asked = f"within ± {MAX_ERROR:.0%}"
                is_ok = abs(ratio - 1) <= MAX_ERROR
                rows.append(
                    Row("sums", f"{name}, {host}", asked, f"{ratio - 1:+.1%}", is_ok, values={"ratios": ratios})
                )
    return rows
