"""Parts of the CPU time of a host's own work: the program, copies, the rest of its system calls, and softirqs."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.stages.intervals import Amount, batches_of, ratios, sums_by_batch
from whyperf.analyze.stages.kinds import APPLICATION, BY_DIRECTION
from whyperf.analyze.stages.of_host import HostStages

PROCESS = "process"
USER, COPY, SYSTEM, SOFTIRQ = "user", "copy", "system", "softirq"
KINDS = (USER, SYSTEM, COPY, SOFTIRQ)


@dataclass(frozen=True)
class CpuShares:
    """Parts of the CPU time of what was followed, which add up to 1, with 95 % intervals.

    `user` is the program between its calls, `copy` the payload between it and the kernel, `system` the rest of its
    calls, `softirq` what soft interrupts, timers and workers do.
    """

    user: Amount
    system: Amount
    copy: Amount
    softirq: Amount


def cpu_shares(host: HostStages) -> CpuShares | None:
    """The shares at a host; None without rows of processing."""
    waits = [stage.name for stages in BY_DIRECTION.values() for stage in stages if stage.is_wait]
    rows = host.frame.filter(~pl.col("stage").is_in(waits))
    if rows.is_empty():
        return None
    kind = (
        pl.when(pl.col("stage") == APPLICATION)
        .then(pl.lit(USER))
        .when(pl.col("context") != PROCESS)
        .then(pl.lit(SOFTIRQ))
        .when(pl.col("stage").is_in(["copy_in", "copy_out"]))
        .then(pl.lit(COPY))
        .otherwise(pl.lit(SYSTEM))
    )
    rows = rows.with_columns(kind.alias("kind"))
    batch = batches_of(rows["order"].to_numpy())
    batches = int(batch.max()) + 1
    times = (rows["cpu_ns"] * rows["weight"]).to_numpy().astype(np.float64)
    kinds = rows["kind"].to_numpy()
    over = np.array([sums_by_batch(np.where(kinds == name, times, 0.0), batch, batches) for name in KINDS])
    total = over.sum(axis=0)
    found = ratios(over, np.array([total] * len(KINDS)))
    return CpuShares(**dict(zip(KINDS, found, strict=True)))
