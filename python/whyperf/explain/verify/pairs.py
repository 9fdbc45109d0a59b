"""The rates of a verification's trials, in pairs of one block."""

import polars as pl

from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.trials import measure_trials
from whyperf.explain.verify.judgement import Pair
from whyperf.plan import Plan

ORIGINAL, CHANGED = "original", "changed"


def pairs_of(inputs: Inputs, plan: Plan) -> list[Pair]:
    """Rates of the original and of the changed cell of each block that has both, block after block.

    The rate is what the workload is measured in: transactions per second, or goodput in bit/s.
    """
    cells = {cell.sweep: cell.id for cell in plan.cells}
    measured = measure_trials(inputs)
    workloads = [plan.workload(cell.id) for cell in plan.cells]
    if all(workload is not None and workload.metric == "transactions" for workload in workloads):
        done = measured.transactions.select("trial", pl.col("transactions_per_s").alias("rate"))
        rates = measured.trials.select("trial", "cell", "block").join(done, on="trial")
    else:
        rates = measured.trials.select("trial", "cell", "block", pl.col("goodput_bps").alias("rate"))
    rates = rates.filter(pl.col("rate") > 0)
    original, changed = (rates.filter(pl.col("cell") == cells[sweep]) for sweep in (ORIGINAL, CHANGED))
    both = original.join(changed, on="block", suffix="_changed").sort("block")
    return [Pair(*row) for row in both.select("block", "rate", "rate_changed").iter_rows()]
