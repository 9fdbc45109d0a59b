"""What the evidence of a run costs: goodput with counters, and with the log and its calls, against level user."""

from itertools import permutations

from bench.cost.experiment import Setting
from bench.ratio import ratio_of_pairs, text_of
from bench.row import Row
from bench.stages.trials import opened
from whyperf.plan import Level

FULL = """
[fixed]
duration_s = 1
warmup_s = 0.3
cooldown_s = 0.05
congestion_control = "reno"
"""
LIMITED = FULL + "write_rate_bps = 1000000000\n"
SEED = 1
LEVELS: tuple[Level, ...] = ("user", "counters", "segments")
MAX_LOSS: dict[Level, float] = {"counters": 0.02, "segments": 0.06}
#: At a rate that both CPUs have time left for.
MAX_LOSS_LIMITED = 0.001


def run(setting: Setting) -> list[Row]:
    """Trials of the three levels in turn, in all orders, at full speed and at 1 Gbit/s."""
    full = _rows(setting, "full speed", FULL, setting.of(42, 3), MAX_LOSS)
    return full + _rows(setting, "1 Gbit/s", LIMITED, setting.of(12, 3), dict.fromkeys(MAX_LOSS, MAX_LOSS_LIMITED))


def _rows(setting: Setting, name: str, text: str, rounds: int, most: dict[Level, float]) -> list[Row]:
    orders = list(permutations(LEVELS))
    found: dict[Level, list[float]] = {level: [] for level in LEVELS}
    with opened(text, setting.folder / name.replace(" ", "-").replace("/", "")) as (plan, measure, _):
        for at in range(rounds):
            for level in orders[at % len(orders)]:
                found[level].append(measure(plan.cells[0].id, None, level).goodput_bps())
    rows = []
    for level, loss in most.items():
        ratio = ratio_of_pairs(found[level], found["user"], SEED)
        title = f"goodput at {name}, {level}, {ratio.pairs} pairs"
        asked = f"≥ -{loss:.1%} (median)"
        rows.append(
            Row(
                "evidence",
                title,
                asked,
                text_of(ratio),
                ratio.median >= 1 - loss,
                values={level: list(bps) for level, bps in found.items()},
            )
        )
    return rows
