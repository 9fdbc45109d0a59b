"""It costs little: goodput with stack samples against goodput without, in interleaved pairs at full speed."""

from lab.bench.cost.experiment import Setting, Watcher
from lab.bench.row import Row
from whyperf.analyze import read_inputs
from whyperf.analyze.tracing_overhead import BASELINE, PROFILE, change_text, level_costs
from whyperf.cli.workflows import tracing_overhead
from whyperf.plan import build
from whyperf.profile import parse
from whyperf.record import Experiment
from whyperf.run import Kind, Session, Target, interleaved, run_levels

MAX_LOSS = 0.01
#: At 1 Gbit/s the CPUs are idle, and no goodput is lost.
SWEEPS = ("saturated", "steady")


def run(setting: Setting) -> list[Row]:
    """Measures as `whyperf doctor --probe-cost` does, without the other levels."""
    profile = parse(tracing_overhead.PROFILE, name="overhead", where="overhead")
    overrides = {"congestion_control": "reno"}
    plan = build(profile, only=[f"sweep={','.join(SWEEPS)}"], overrides=overrides)
    trials = interleaved(plan, setting.of(40, 2), (BASELINE, PROFILE))
    with (
        Experiment.create(setting.folder / "overhead", plan, profile.text) as experiment,
        Session(plan, Target(Kind.VETH)) as session,
    ):
        run_levels(session, experiment, trials, Watcher())
    found = level_costs(read_inputs(experiment), {cell.id: cell.sweep for cell in plan.cells}, plan.seed)
    if len(found) != len(SWEEPS):
        raise LookupError(f"{len(found)} of {len(SWEEPS)} conditions have pairs with and without samples")
    return [
        Row(
            "overhead",
            f"goodput, {cost.condition}, {cost.pairs} pairs",
            f"≥ -{MAX_LOSS:.0%} (median)",
            change_text(cost.goodput_ratio),
            cost.goodput_ratio.median is not None and cost.goodput_ratio.median >= 1 - MAX_LOSS,
            values=cost.model_dump(mode="json"),
        )
        for cost in found
    ]
