"""It costs little, and sampling does not change what is found: goodput in pairs, and one of 64 against all."""

from statistics import median

from bench.cost.experiment import Setting
from bench.ratio import ratio_of_pairs, text_of
from bench.row import Row
from bench.stages.trials import Staged, opened
from whyperf.plan import PlannedStages

PROFILE = """
[fixed]
# Shorter trials have no windows.
duration_s = 2
warmup_s = 0.3
cooldown_s = 0.05
congestion_control = "reno"
"""

SEED = 1
MAX_LOSS = 0.02
MAX_BIAS = 0.03
#: Stages that a stream always has.
SENDER, RECEIVER = ("tcp_out", "driver_out"), ("ip_in", "tcp_in", "copy_out")


def run(setting: Setting) -> list[Row]:
    """Trials without and with stage times, at the default sampling, in turn; then one of 64 blocks against all."""
    with opened(PROFILE, setting.folder / "overhead") as (plan, measure, _):
        cell = plan.cells[0].id
        with_bps, without_bps = [], []
        for pair in range(setting.of(30, 3)):
            order = (None, PlannedStages()) if pair % 2 else (PlannedStages(), None)
            found = {stages is not None: measure(cell, stages).goodput_bps() for stages in order}
            with_bps.append(found[True])
            without_bps.append(found[False])
        ratio = ratio_of_pairs(with_bps, without_bps, SEED)
        rows = [
            Row(
                "overhead",
                f"goodput at the default sampling, {ratio.pairs} pairs",
                f"≥ -{MAX_LOSS:.0%} (median)",
                text_of(ratio),
                ratio.median >= 1 - MAX_LOSS,
                values={"with_bps": with_bps, "without_bps": without_bps},
            )
        ]
        few, every = [], []
        for _ in range(setting.of(10, 1)):
            few.append(_stages(measure(cell, PlannedStages(one_in=64))))
            every.append(_stages(measure(cell, PlannedStages(one_in=1))))
    for stage in (*SENDER, *RECEIVER):
        bias = median(trial[stage] for trial in few) / median(trial[stage] for trial in every) - 1
        is_ok = abs(bias) <= MAX_BIAS
        rows.append(Row("overhead", f"bias of 1 in 64, {stage}", f"≤ {MAX_BIAS:.0%}", f"{bias:+.1%}", is_ok))
    return rows


def _stages(trial: Staged) -> dict[str, float]:
    found = {stage: trial.per_segment_ns("near", stage) for stage in SENDER}
    return found | {stage: trial.per_segment_ns("far", stage) for stage in RECEIVER}
