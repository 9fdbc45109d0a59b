"""Planted delays are in the right stage: rules of a firewall at the receiver are in `ip_in`, and in no other."""

from statistics import median

from bench.cost.experiment import Setting, cells_by
from bench.cost.row import Row
from bench.stages.trials import WAITS, Staged, opened, slope
from whyperf.plan import PlannedStages

#: Rules that each packet passes at the receiver.
RULES = (0, 100, 200, 400, 800)
PROFILE = f"""
[fixed]
duration_s = 0.8
warmup_s = 0.2
cooldown_s = 0.1
write_rate_bps = 400000000
[[sweep]]
name = "rules"
[sweep.factors]
firewall_rules = {list(RULES)}
"""

MAX_ELSEWHERE = 0.1
"""Of what a dose adds to all stages of the receiver, the part that is not in the IP stage."""


def run(setting: Setting) -> list[Row]:
    """Measures all doses in turn, and looks where their time went."""
    stage_ns: dict[int, list[float]] = {dose: [] for dose in RULES}
    total_ns: dict[int, list[float]] = {dose: [] for dose in RULES}
    with opened(PROFILE, setting.folder / "doses") as (plan, measure):
        cells = cells_by(plan, "firewall_rules")
        for _ in range(setting.of(4, 1)):
            for dose in RULES:
                trial = measure(cells[dose], PlannedStages(one_in=1))
                stage_ns[dose].append(trial.per_segment_ns("far", "ip_in"))
                total_ns[dose].append(_all_stages_ns(trial))
    ip = [median(stage_ns[dose]) for dose in RULES]
    total = [median(total_ns[dose]) for dose in RULES]
    share = slope(list(map(float, RULES)), ip) / slope(list(map(float, RULES)), total)
    is_ok = abs(share - 1) <= MAX_ELSEWHERE
    values = {"rules": RULES, "ip_in_ns": ip, "all_stages_ns": total}
    return [
        Row("doses", "slope of ip_in over that of all stages", "1 ± 0.1", f"{share:.3f}", is_ok, values=values),
        Row("doses", "a rule", "–", f"{slope(list(map(float, RULES)), ip):.1f} ns", is_ok=True, is_bar=False),
    ]


def _all_stages_ns(trial: Staged) -> float:
    """Processing of a segment that arrives, from the interrupt to the reader."""
    rows = trial.rows("far").filter(direction="in")
    segments = rows.filter(stage="ip_in")
    processing = rows.filter(~rows["stage"].is_in(WAITS))
    return float(processing["own_ns"].sum()) / max(segments["sequence"].n_unique(), 1)
