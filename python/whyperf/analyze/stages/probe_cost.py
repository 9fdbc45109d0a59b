"""The cost of a probe: the time that is taken off each row for each of its probes.

An agent measures it once, when it loads the programs, as the median of many empty pairs of probes. Other work on the
CPU at that moment makes it too large, and then too much is taken off all rows. Two things show that:

- another trial of the result with programs of their own measured less;
- rows took less time as a whole than their probes alone are said to take.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median_low
from typing import Final, Literal

import polars as pl

from whyperf.analyze.stages.kinds import APPLICATION
from whyperf.record import Manifest

MIN_ROWS: Final = 200
"""A stage with fewer rows bounds nothing."""
BOUND_QUANTILE: Final = 0.05
"""So many of a stage's rows may be shorter than their probes, whose cost differs from row to row."""
ODD_RATIO: Final = 1.25
"""From this ratio to the usual cost on, a trial's own is out of line."""


@dataclass(frozen=True)
class ProbeCost:
    """`used_ns` is taken off for a probe; `measured_ns` is what the agent had measured.

    `by` says why they differ: `trials`, where other trials of the result measured less, or `rows`, where rows took
    less.
    """

    measured_ns: int
    used_ns: int
    by: Literal["", "trials", "rows"] = ""


def usual_cost(measured_ns: Iterable[int]) -> int | None:
    """The lower median of what the trials of a result measured at one host; None without any."""
    known = [cost for cost in measured_ns if cost > 0]
    return median_low(known) if known else None


def probe_cost(measured_ns: int, usual_ns: int | None, rows: pl.DataFrame) -> ProbeCost:
    """The cost of a probe at a host in a trial.

    Args:
        measured_ns: by this trial.
        usual_ns: by all trials of the result at this host.
        rows: of the table `stages`, with the columns `stage`, `cpu_ns` and `probes_count`.
    """
    cost = cost_by_trials(measured_ns, usual_ns)
    most = _shortest_ns(rows)
    return cost if most is None or most >= cost.used_ns else ProbeCost(measured_ns, most, "rows")


def cost_by_trials(measured_ns: int, usual_ns: int | None) -> ProbeCost:
    """The usual cost, where a trial's own is out of line; otherwise its own."""
    is_odd = usual_ns is not None and measured_ns > ODD_RATIO * usual_ns
    return ProbeCost(measured_ns, usual_ns, "trials") if is_odd and usual_ns else ProbeCost(measured_ns, measured_ns)


def _shortest_ns(rows: pl.DataFrame) -> int | None:
    """The time for each probe that 95 % of the rows of every stage reach; None where no stage has enough rows."""
    times = rows.filter(
        (pl.col("probes_count") > 0) & (pl.col("cpu_ns") > 0) & (pl.col("stage") != APPLICATION)
    ).select("stage", (pl.col("cpu_ns") / pl.col("probes_count")).alias("ns"))
    by_stage = times.group_by("stage").agg(pl.len().alias("rows"), pl.col("ns").quantile(BOUND_QUANTILE).alias("low"))
    lowest = by_stage.filter(pl.col("rows") >= MIN_ROWS)["low"].min()
    return None if lowest is None else int(lowest)  # type: ignore[arg-type]


def costs_by_host(manifests: Iterable[Manifest]) -> dict[str, int]:
    """The usual cost at each host, from the manifests of a result's trials with stage times."""
    measured: dict[str, list[int]] = {}
    for manifest in manifests:
        for host, end in manifest.hosts.items():
            cost = int((end.evidence.get("stages") or {}).get("empty_pair_ns") or 0)
            measured.setdefault(host, []).append(cost)
    usual = {host: usual_cost(costs) for host, costs in measured.items()}
    return {host: cost for host, cost in usual.items() if cost is not None}
