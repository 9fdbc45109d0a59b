"""It costs little: goodput with and without stage times, in pairs."""

from lab.bench.cost.experiment import Setting
from lab.bench.ratio import ratio_of_pairs, text_of
from lab.bench.row import Row
from lab.bench.stages.trials import opened
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


def run(setting: Setting) -> list[Row]:
    """Trials without and with stage times, at the default sampling, in turn."""
    with opened(PROFILE, setting.folder / "overhead") as (plan, measure, _):
        cell = plan.cells[0].id
        with_bps, without_bps = [], []
        for pair in range(setting.of(30, 3)):
            order = (None, PlannedStages()) if pair % 2 else (PlannedStages(), None)
            found = {stages is not None: measure(cell, stages).goodput_bps() for stages in order}
            with_bps.append(found[True])
            without_bps.append(found[False])
        ratio = ratio_of_pairs(with_bps, without_bps, SEED)
        return [
            Row(
                "overhead",
                f"goodput at the default sampling, {ratio.pairs} pairs",
                f"≥ -{MAX_LOSS:.0%} (median)",
                text_of(ratio),
                ratio.median >= 1 - MAX_LOSS,
                values={"with_bps": with_bps, "without_bps": without_bps},
            )
        ]
