"""Use of an end's CPUs over the load; and the costs and stage times of its cell, as facts.

Thread times are exact (CLOCK_THREAD_CPUTIME_ID, schedstat), those of the CPUs are ticks, those of softirqs tracepoints:
where they differ, what is exact is believed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from whyperf.analyze.cost.classes import IDLE, OTHER_PROGRAMS, UNKNOWN
from whyperf.analyze.cost.result import CellCost, ClassCost, SideCost
from whyperf.analyze.cost.stored_budget import has_samples, read_cost
from whyperf.analyze.cost.text import PER_KBYTE, basis_of, function_text
from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.stages import DirectionTotals, Messages, StageTotal, TrialStages
from whyperf.analyze.stages.experiment import read_cells
from whyperf.analyze.stages.kinds import APPLICATION
from whyperf.explain.gather.read import read_columns
from whyperf.explain.host_facts import ClassFacts, CostFacts, Processors, StageFacts, StageTime
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import render
from whyperf.record import Experiment, RecordError, Trials

_BUSY = ("user_ns", "system_ns", "irq_ns", "softirq_ns")
_WALL = (pl.col("end_mono_ns").cast(pl.Int64) - pl.col("start_mono_ns").cast(pl.Int64)).alias("wall_ns")
_SPAN = ("phase", "start_mono_ns", "end_mono_ns")

MIN_TICKED_NS = 100_000_000
"""Ten ticks of the kernel's accounting: shorter times of CPUs say nothing."""


def processors(trial: FlowTrial, end: FlowEnd, *, one_machine: bool = False) -> Processors:
    """Use of the end's CPUs while its load was measured. The load of other sides is no other program: with
    `one_machine` its threads run on the same CPUs.
    """
    threads = _threads(trial, end)
    softirqs = _softirqs(trial, end)
    used = frozenset() if threads is None else frozenset(threads["cpu"].to_list())
    others = [other for other in trial.ends.values() if one_machine and other.host != end.host]
    peers = _by_cpu([found for other in others if (found := _threads(trial, other)) is not None])
    taken = _cpus(trial, end, threads, softirqs, peers)
    return Processors(
        thread_ratio=_highest(threads, "ratio"),
        run_queue_ratio=_highest(threads, "waited"),
        busy_ratio=taken.busy_ratio,
        softirq_ratio=_highest(softirqs, "ratio"),
        own_softirq_ratio=None if softirqs is None else _highest(softirqs.filter(pl.col("cpu").is_in(used)), "ratio"),
        router_ratio=max((trial.router_ratios.get(cpu, 0.0) for cpu in used), default=0.0),
        peer_ratio=max((peers.get(cpu, 0.0) for cpu in used), default=0.0),
        other_ratio=taken.other_ratio,
        steal_ratio=taken.steal_ratio,
        withheld_ratio=_withheld(threads, taken.own),
        own_user_ratio=taken.user_ratio,
        cpus=used,
    )


def _measured(frame: pl.DataFrame | None) -> pl.DataFrame | None:
    """Rows of the measured phase with their length; None without any."""
    if frame is None:
        return None
    rows = frame.filter(pl.col("phase") == "measure").with_columns(_WALL).filter(pl.col("wall_ns") > 0)
    return None if rows.is_empty() else rows


def _threads(trial: FlowTrial, end: FlowEnd) -> pl.DataFrame | None:
    """A row a thread: the CPU it was on last, `cpu_ns`, and its `ratio` running and `waited`."""
    rows = _measured(read_columns(trial, "threads", end.host, (*_SPAN, "thread", "cpu", "cpu_ns", "run_queue_ns")))
    if rows is None:
        return None
    sums = pl.col("cpu_ns", "run_queue_ns", "wall_ns").cast(pl.Int64).sum()
    return (
        rows.group_by("thread")
        .agg(pl.col("cpu").mode().min(), sums)
        .with_columns(
            (pl.col("cpu_ns") / pl.col("wall_ns")).alias("ratio"),
            (pl.col("run_queue_ns") / pl.col("wall_ns")).alias("waited"),
        )
    )


def _by_cpu(threads: Sequence[pl.DataFrame]) -> dict[int, float]:
    """Sums what the threads of several ends had of each CPU."""
    if not threads:
        return {}
    return dict(pl.concat(threads).group_by("cpu").agg(pl.col("ratio").sum()).iter_rows())


def _softirqs(trial: FlowTrial, end: FlowEnd) -> pl.DataFrame | None:
    """A row a CPU: the `ratio` of the time that softirqs had."""
    rows = read_columns(trial, "softirqs", end.host, (*_SPAN, "cpu", "interval", "softirq_ns"))
    rows = _measured(rows)
    if rows is None:
        return None
    # A vector has a row of its own in an interval, of the interval's length.
    by_interval = rows.group_by("cpu", "interval").agg(pl.col("softirq_ns").cast(pl.Int64).sum())
    bounds = rows.select(pl.col("end_mono_ns").max().cast(pl.Int64) - pl.col("start_mono_ns").min().cast(pl.Int64))
    span = max(1, int(bounds.item()))
    return by_interval.group_by("cpu").agg(
        (pl.col("softirq_ns").sum() / span).alias("ratio"), pl.col("softirq_ns").sum()
    )


@dataclass(frozen=True)
class _Cpus:
    """The busiest CPU of the end alone; of the CPUs that the load ran on, what others and the hypervisor took, most;
    `user_ratio` is what the load's threads had of one of them outside the kernel, most; `own` is a row for each of
    these: `cpu`, and the `known_ratio` that threads and softirqs of the load and the path's router had."""

    busy_ratio: float | None = None
    other_ratio: float | None = None
    steal_ratio: float | None = None
    own: pl.DataFrame | None = None
    user_ratio: float | None = None


def _cpus(
    trial: FlowTrial,
    end: FlowEnd,
    threads: pl.DataFrame | None,
    softirqs: pl.DataFrame | None,
    peers: Mapping[int, float],
) -> _Cpus:
    rows = _measured(read_columns(trial, "cpu", end.host, (*_SPAN, "cpu", "own", "steal_ns", *_BUSY)))
    if rows is None:
        return _Cpus()
    busy = pl.sum_horizontal([pl.col(name).cast(pl.Int64) for name in _BUSY])
    cpus = (
        rows.with_columns(busy.alias("busy_ns"), pl.col("steal_ns").cast(pl.Int64).fill_null(0))
        .group_by("cpu")
        .agg(
            pl.col("own").any(),
            pl.col("busy_ns", "steal_ns", "wall_ns").sum(),
            pl.col("user_ns", "system_ns").cast(pl.Int64).sum(),
        )
        .filter(pl.col("wall_ns") >= MIN_TICKED_NS)
        .with_columns((pl.col("busy_ns") / pl.col("wall_ns")).clip(0, 1).alias("ratio"))
    )
    if cpus.is_empty():
        return _Cpus()
    own = _highest(cpus.filter("own"), "ratio")
    if threads is None:
        return _Cpus(own)
    load = threads.group_by("cpu").agg(pl.col("cpu_ns").sum())
    taken = cpus.join(load, on="cpu", how="inner")
    if softirqs is not None:
        taken = taken.join(softirqs.select("cpu", "softirq_ns"), on="cpu", how="left")
    else:
        taken = taken.with_columns(pl.lit(0).alias("softirq_ns"))
    taken = taken.with_columns(
        (
            pl.col("cpu").replace_strict(trial.router_ratios, default=0.0, return_dtype=pl.Float64)
            + pl.col("cpu").replace_strict(peers, default=0.0, return_dtype=pl.Float64)
        ).alias("router")
    )
    used = pl.col("cpu_ns") + pl.col("softirq_ns").fill_null(0)
    # A thread's own clock may count the interrupts in it.
    others = pl.col("busy_ns") - pl.col("cpu_ns")
    taken = taken.with_columns(
        ((pl.col("busy_ns") - used) / pl.col("wall_ns") - pl.col("router")).clip(0, 1).alias("rest"),
        (pl.col("steal_ns") / pl.col("wall_ns")).clip(0, 1).alias("stolen"),
        (used / pl.col("wall_ns") + pl.col("router")).clip(0, 1).alias("known_ratio"),
        # What the load's threads cannot have had was another program's; all of that may be time outside the kernel.
        ((pl.col("user_ns") - others.clip(0)) / pl.col("wall_ns")).clip(0, 1).alias("own_user"),
    )
    return _Cpus(
        own,
        _highest(taken, "rest"),
        _highest(taken, "stolen"),
        taken.select("cpu", "known_ratio"),
        _highest(taken, "own_user"),
    )


def _withheld(threads: pl.DataFrame | None, own: pl.DataFrame | None) -> float | None:
    """Time that a thread waited for a CPU, at most as long as load and router left that CPU to others or idle."""
    if threads is None or own is None:
        return None
    rows = threads.join(own, on="cpu", how="inner")
    return _highest(rows.select(pl.min_horizontal("waited", 1 - pl.col("known_ratio")).alias("withheld")), "withheld")


def _highest(frame: pl.DataFrame | None, column: str) -> float | None:
    if frame is None or frame.is_empty():
        return None
    value = frame[column].max()
    return None if value is None else min(1.0, float(value))  # type: ignore[arg-type]


MAX_FUNCTIONS = 3
"""Functions of a class that a sentence names."""
MIN_FUNCTION_RATIO = 0.1
"""Part of its class from which on a function is named."""
PACKETS = {"sender": "data_packets_out", "receiver": "data_packets_in"}
"""The events that are packets of the payload's direction, by role."""


def costs_of(
    experiment: Experiment, trials: Trials, cells: Collection[str] | None = None
) -> tuple[dict[str, CellCost], list[str]]:
    """The cost of the cells that have stack samples, and what is missing, in sentences.

    The tables of samples are read once for all cells, and not at all if no trial of these cells has any.
    """
    wanted = {name: found for name, found in trials.measured.items() if cells is None or found.cell in cells}
    if not has_samples(Trials(wanted, [])):
        return {}, []
    try:
        cost = read_cost(experiment)
    except RecordError as error:
        return {}, [render("missing", "cost", {"reason": str(error)})]
    return {cell.id: cell for cell in cost.cells if cell.sides}, []


def with_costs(facts: Facts, cell: CellCost | None) -> Facts:
    """The facts with what the sides of the cell cost, where its trials have samples."""
    if cell is None:
        return facts
    found = {side.role: _costs_of(cell, side) for side in cell.sides}
    # Roles of a cost are those of the trial.
    roles = ("receiver", "sender") if facts.is_turned else ("sender", "receiver")
    sender, receiver = (found.get(role) for role in roles)
    return replace(facts, sender=replace(facts.sender, cost=sender), receiver=replace(facts.receiver, cost=receiver))


def _costs_of(cell: CellCost, side: SideCost) -> CostFacts:
    per_kbyte = basis_of(cell, side) is PER_KBYTE
    found = [_class(entry, per_kbyte=per_kbyte) for entry in side.classes if entry.name not in {IDLE, OTHER_PROGRAMS}]
    packets = [entry.per_kbyte for entry in side.classes if entry.per == PACKETS.get(side.role) and entry.per_kbyte]
    return CostFacts(
        per="kbyte" if per_kbyte else "transaction",
        classes=tuple(sorted(found, key=lambda entry: -entry.cycles)),
        samples=side.samples,
        packets_per_kbyte=packets[0] if packets else None,
    )


def _class(entry: ClassCost, *, per_kbyte: bool) -> ClassFacts:
    amount = entry.exclusive if per_kbyte or entry.per_transaction is None else entry.per_transaction
    in_threads = entry.in_threads
    if in_threads is not None and amount is not entry.exclusive and entry.exclusive.mean > 0:
        in_threads *= amount.mean / entry.exclusive.mean
    named = [
        function
        for function in entry.functions
        if function.name not in {None, UNKNOWN} and function.exclusive.mean >= MIN_FUNCTION_RATIO * entry.exclusive.mean
    ]
    return ClassFacts(
        name=entry.name,
        cycles=amount.mean,
        low=amount.low,
        high=amount.high,
        in_threads=in_threads,
        functions=tuple(function_text(function) for function in named[:MAX_FUNCTIONS]),
        event=entry.per or "",
        each_cycles=entry.cycles_each,
        per_kbyte=entry.per_kbyte,
    )


DIRECTIONS = {"sender": "out", "receiver": "in"}
"""The direction of the payload at each role."""
KBYTE = 1024


def stages_of(
    experiment: Experiment, trials: Trials, cells: Collection[str] | None = None
) -> tuple[dict[str, TrialStages], list[str]]:
    """The stage times of the cells that have trials for them, and what is missing, in sentences."""
    if not any(cells is None or found.cell in cells for found in trials.staged.values()):
        return {}, []
    try:
        read = read_cells(experiment, trials, cells)
    except RecordError as error:
        return {}, [render("missing", "stages", {"reason": str(error)})]
    return {cell.cell: cell.found for cell in read if cell.found is not None}, []


def with_stages(facts: Facts, found: TrialStages | None) -> Facts:
    """The facts with what the stages take at both sides, where the cell has a trial with stage times."""
    if found is None:
        return facts
    # Roles of a trial with stage times are those that it gave its ends.
    roles = ("receiver", "sender") if facts.is_turned else ("sender", "receiver")
    of_role = {host.role: host.host for host in found.hosts}
    sides = [
        _stages_of(found, of_role.get(role), DIRECTIONS[side]) for role, side in zip(roles, DIRECTIONS, strict=True)
    ]
    sender, receiver = sides
    return replace(
        facts, sender=replace(facts.sender, stages=sender), receiver=replace(facts.receiver, stages=receiver)
    )


def _stages_of(found: TrialStages, host: str | None, direction: str) -> StageFacts | None:
    total = next((total for total in found.totals if (total.host, total.direction) == (host, direction)), None)
    if total is None:
        return None
    facts = StageFacts(
        stages=tuple(_stage(stage) for stage in total.stages),
        cpu_ns=total.cpu_ns.value,
        packet_bytes=total.packet_bytes,
        packets_per_interrupt=_per_interrupt(total),
        application_ns=_application_ns(found, total),
    )
    writes = direction == "out"
    own = [entry for entry in found.messages if (entry.lives.writer if writes else entry.lives.reader) == host]
    return _with_slow(facts, own[0]) if own else facts


def _stage(total: StageTotal) -> StageTime:
    line = total.fit
    return StageTime(
        name=total.stage.name,
        title=total.stage.title,
        about=total.stage.about,
        cpu_ns=total.cpu_ns.value,
        waiting_ns=total.waiting_ns.value,
        ns_per_kbyte=None if line is None else line.ns_per_byte.value * KBYTE,
        is_wait=total.stage.is_wait,
    )


def _application_ns(found: TrialStages, total: DirectionTotals) -> float:
    """Time that the program itself takes between the calls that move this payload, for a packet."""
    rows = found.host(total.host).frame.filter(stage=APPLICATION, direction=total.direction)
    return float((rows["cpu_ns"] * rows["weight"]).sum()) / total.weight if total.weight else 0.0


def _per_interrupt(total: DirectionTotals) -> float | None:
    interrupt = total.stage("interrupt")
    return None if interrupt is None or interrupt.rows == 0 else total.packets / interrupt.rows


def _with_slow(facts: StageFacts, messages: Messages) -> StageFacts:
    slowest = messages.makes_slow
    if slowest is None or slowest.excess_ratio is None:
        return facts
    stage = StageTime(slowest.stage.name, slowest.stage.title, slowest.stage.about, 0.0, slowest.mean_ns)
    return replace(facts, slow_stage=stage, slow_ratio=slowest.excess_ratio.value, slow_ns=slowest.excess_ns)
