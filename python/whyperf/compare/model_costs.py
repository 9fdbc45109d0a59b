"""The cost of a KByte to hosts of the model, by class, from the stage times of their segments.

The classes are those of stack samples (`analyze/cost/classes.toml`), and the stages take the place of functions. The
processor of a model is busy with nothing but the load. So what it did and no stage has is shown too, as not attributed:
timers, waking a writer, and the interrupt by which an adapter reports what has left. Costs are times in ns: a
model has no clock rate.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from whyperf.analyze.cost.classes import KERNEL
from whyperf.analyze.flow.trial import FlowTrial, open_trial, reported_unreadable
from whyperf.analyze.stages.kinds import stage_of
from whyperf.analyze.stages.of_host import HostStages, read_stages
from whyperf.compare.comparison import NS
from whyperf.compare.costs import CostTable, Floats, Key, Row
from whyperf.plan import MODEL
from whyperf.record import LOST, Experiment, Trials

OCTETS_PER_KBYTE: Final = 1024
CLASS_OF: Final[Mapping[str, str]] = {
    "call_entry": "system_calls",
    "copy_in": "copy",
    "copy_out": "copy",
    "tcp_out": "transmit",
    "tcp_in": "receive",
    "driver_out": "devices",
    "driver_in": "devices",
    "wakeup": "scheduling",
    "ack_out": "acks",
    "ack_in": "acks",
}
"""The class of cost of each stage that the model has."""
REST: Final[Row] = ("not_attributed", None)
VERBS: Final[Mapping[str, str]] = {"out": "sending", "in": "receiving"}


def model_costs(experiment: Experiment, found: Trials) -> dict[tuple[str, str], CostTable] | None:
    """The cost of each side of each cell with stage times, by cell and role; None where there are none.

    Raises:
        RecordError: a table cannot be read.
    """
    if experiment.plan.target != MODEL:
        return None
    sides: dict[tuple[str, str], dict[str, dict[Row, tuple[float, int]]]] = {}
    events: dict[tuple[str, str], list[Mapping[str, float]]] = {}
    for name, manifest in found.staged.items():
        if manifest.status in LOST:
            continue
        trial = open_trial(experiment.folder / "trials" / name)
        hosts = [host for label in trial.ends if (host := read_stages(trial, label)) is not None]
        kbytes = sum(float(_rows(host, "copy_out")["copied_bytes"].sum()) for host in hosts) / OCTETS_PER_KBYTE
        if not kbytes:
            continue
        for host in hosts:
            side = (manifest.cell, host.role)
            sides.setdefault(side, {})[name] = _costs(trial, host, kbytes)
            events.setdefault(side, []).append(_events(host, kbytes))
    return {side: _table(trials, events[side]) for side, trials in sides.items()} or None


def _rows(host: HostStages, *stages: str) -> pl.DataFrame:
    return host.frame.filter(pl.col("stage").is_in(stages))


def _costs(trial: FlowTrial, host: HostStages, kbytes: float) -> dict[Row, tuple[float, int]]:
    """Time for a KByte, and how many rows it is from."""
    sums = host.frame.group_by("direction", "stage").agg(pl.col("cpu_ns").sum(), pl.len().alias("rows"))
    found: dict[Row, tuple[float, int]] = {}
    for direction, name, cpu_ns, rows in sums.sort("direction", "stage").iter_rows():
        stage = stage_of(str(direction), str(name))
        title = f"{name if stage is None else stage.title}, {VERBS[str(direction)]}"
        found[CLASS_OF[str(name)], (title, KERNEL, "")] = (float(cpu_ns) / kbytes, int(rows))
    rest = _busy_ns(trial, host.host) - float(host.frame["cpu_ns"].sum())
    # Work across the ends of the window is in it as a whole or not at all.
    return found | {REST: (max(0.0, rest) / kbytes, 1)}


def _busy_ns(trial: FlowTrial, host: str) -> float:
    """Time of the processors in the measured window; of a transfer in all of it."""
    source = trial.table("cpu", host)
    if source is None:
        return 0.0
    with reported_unreadable(source.path):
        rows = source.rows.select("phase", "system_ns", "softirq_ns", "irq_ns").collect()
    measured = rows.filter(pl.col("phase") == "measure")
    own = rows if measured.is_empty() else measured
    return float(own.select(pl.sum_horizontal("system_ns", "softirq_ns", "irq_ns").sum()).item() or 0)


def _events(host: HostStages, kbytes: float) -> Mapping[str, float]:
    """Number of times that what classes do was done for a KByte, by the names of `analyze/cost/events.py`."""
    counts = {
        "calls": _rows(host, "call_entry").height,
        "copied_kbytes": float(_rows(host, "copy_in", "copy_out")["copied_bytes"].sum()) / OCTETS_PER_KBYTE,
        "data_packets_out": _rows(host, "tcp_out").height,
        "data_packets_in": _rows(host, "tcp_in").height,
        "acks": _rows(host, "ack_in", "ack_out").filter(pl.col("cpu_ns") > 0).height,
        "context_switches": _rows(host, "wakeup").height,
    }
    return {name: number / kbytes for name, number in counts.items() if number}


def _table(trials: Mapping[str, Mapping[Row, tuple[float, int]]], events: list[Mapping[str, float]]) -> CostTable:
    names = tuple(sorted(trials))
    rows = {row: place for place, row in enumerate(dict.fromkeys(row for name in names for row in trials[name]))}
    costs, counts = np.zeros((len(rows), len(names))), np.zeros((len(rows), len(names)))
    for column, name in enumerate(names):
        for row, (cost, number) in trials[name].items():
            costs[rows[row], column], counts[rows[row], column] = cost, number
    inclusive: dict[Key, Floats] = {row[1]: costs[place] for row, place in rows.items() if row[1] is not None}
    mean = {
        event: float(np.mean([of.get(event, 0.0) for of in events]))
        for event in {event for of in events for event in of}
    }
    return CostTable(NS, names, rows, costs, counts, inclusive, dict(sorted(mean.items())), None)
