"""`whyperf doctor --probe-cost`: what the evidence costs on this host, measured in interleaved pairs."""

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich import box
from rich.table import Table

from whyperf.analyze import read_inputs
from whyperf.analyze.text import bit_rate
from whyperf.analyze.tracing_overhead import LevelCost, ProbeCost, change_text, level_costs, replaces
from whyperf.cli.exits import DONE, FAILED, say
from whyperf.cli.live.display import watcher_for
from whyperf.cli.output.console import Console
from whyperf.cli.streams import print_json
from whyperf.plan import build
from whyperf.profile import parse
from whyperf.record import Experiment, keep_cost, known_cost
from whyperf.run import Session, Target, allowed_kind, interleaved, run_levels

PROFILE = """
about = "What tracing costs: at full speed with segmentation offload, and at 1 Gbit/s."

[fixed]
duration_s = 0.7
warmup_s = 0.3

[[sweep]]
name = "saturated"
[sweep.fixed]
write_size_bytes = 131072

# A window that the CPUs' caches hold gives one stable flow; the kernel's own has several, a third apart, and two trials
# of a pair need not be of the same.
[[sweep]]
name = "steady"
[sweep.fixed]
write_size_bytes = 131072
window_bytes = 524288

[[sweep]]
name = "paced"
[sweep.fixed]
write_size_bytes = 65536
write_rate_bps = 1_000_000_000
"""

CONDITIONS = {
    "saturated": "as fast as possible",
    "steady": "as fast as possible with a window of 512 KB",
    "paced": "at 1 Gbit/s",
}


def command(pairs: int, *, as_json: bool) -> int:
    """Measures, keeps and prints the cost."""
    kind, reason = allowed_kind(None)
    if reason is not None:
        say(f"Measuring over the loopback, because there is no veth testbed here: {reason}")
    target = Target(kind)
    profile = parse(PROFILE, name="probe-cost", where="probe-cost")
    # A congestion control that everybody may have: what watching costs does not depend on it.
    plan = build(profile, target=target.name, overrides={"congestion_control": "reno"})
    trials = interleaved(plan, pairs)
    with (
        tempfile.TemporaryDirectory(prefix="whyperf-probe-cost-") as folder,
        Experiment.create(Path(folder) / "probe-cost", plan, profile.text) as experiment,
    ):
        with Session(plan, target) as session, watcher_for(plan, trials, as_json=as_json) as watcher:
            facts = next(iter(session.facts.values()))
            run_levels(session, experiment, trials, watcher)
        inputs = read_inputs(experiment)
    conditions = {cell.id: CONDITIONS[cell.sweep] for cell in plan.cells}
    cost = ProbeCost(
        hostname=facts["hostname"],
        kernel=facts["kernel"],
        measured_realtime=datetime.now(UTC).isoformat(timespec="seconds"),
        levels=level_costs(inputs, conditions, plan.seed),
    )
    if not cost.levels:
        why = next(
            (row["why"] for row in inputs.evidence.iter_rows(named=True) if row["why"]), "no trial has a goodput"
        )
        say(f"whyperf: the cost of evidence cannot be measured here: {why}")
        return FAILED
    if replaces(cost, known_cost(cost.hostname, cost.kernel)):
        keep_cost(cost.hostname, cost.kernel, cost.model_dump(mode="json"))
    else:
        say("These pairs are too few for the notes of results, which go on with an earlier measurement of more.")
    if as_json:
        print_json(cost.model_dump(mode="json"))
    else:
        _print(cost.levels)
    return DONE


def _print(levels: Sequence[LevelCost]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Evidence", "Condition", "Without", "Goodput (95 %)", "Cycles/KB (95 %)", "Lost"):
        table.add_column(heading, justify="left" if heading in {"Evidence", "Condition"} else "right")
    for row in levels:
        table.add_row(
            row.level,
            row.condition,
            bit_rate(row.baseline_bps) if row.baseline_bps is not None else "",
            change_text(row.goodput_ratio),
            change_text(row.cycles_ratio),
            f"{row.lost_events:,} of {row.logged_events:,}" if row.level == "segments" else "",
        )
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print(f"{levels[0].pairs} pairs, each with and without evidence in one block, in random order.")
