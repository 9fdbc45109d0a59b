"""The stage times of an experiment: all trials of a cell together, and each stage against size over all cells.

All that the stage times of a trial show.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from whyperf.analyze.flow.trial import FlowTrial, open_trial
from whyperf.analyze.stages.copies import COPY, CopyCost, copy_cost, with_copies_apart
from whyperf.analyze.stages.fits import Fit, fit_of
from whyperf.analyze.stages.intervals import Amount, batches_of, ratios, sums_by_batch
from whyperf.analyze.stages.kinds import BY_DIRECTION
from whyperf.analyze.stages.messages import Messages, lives_of, messages
from whyperf.analyze.stages.of_host import HostStages, read_stages
from whyperf.analyze.stages.probe_cost import costs_by_host
from whyperf.analyze.stages.sizes import SizePoint, by_size
from whyperf.analyze.stages.totals import DirectionTotals, totals
from whyperf.analyze.stages.waterfall import Waterfall, waterfalls
from whyperf.record import LOST, Experiment, Manifest, Trials


@dataclass(frozen=True)
class TrialStages:
    """The stage times of a trial: `hosts` that have some, the sender first; `totals` and `sizes` of each direction at
    each host; `messages` that one host wrote and the other read, with the `waterfalls` of single ones.
    `uncertainty_ns` is how far the clocks of both hosts may differ; 0 where they are one clock.
    """

    trial: str
    cell: str
    hosts: Sequence[HostStages]
    totals: Sequence[DirectionTotals]
    sizes: Sequence[SizePoint]
    messages: Sequence[Messages]
    waterfalls: Sequence[Sequence[Waterfall]]
    uncertainty_ns: float = 0.0

    def host(self, name: str) -> HostStages:
        """The host of that side."""
        return next(host for host in self.hosts if host.host == name)


def hosts_of(trial: FlowTrial, usual_probe_ns: Mapping[str, int]) -> list[HostStages]:
    """The hosts of a trial that have stage times, the sender first, with copies where the kernel makes them.

    `usual_probe_ns` is the cost of a probe at each host in all trials of the result.

    Raises:
        RecordError: a table cannot be read.
    """
    ends = [end for role in ("sender", "receiver") if (end := trial.end(role)) is not None]
    return [host for end in ends if (host := read_stages(trial, end.host, usual_probe_ns.get(end.host))) is not None]


def trial_stages(
    trial: FlowTrial, connection: int | None = None, usual_probe_ns: Mapping[str, int] | None = None
) -> TrialStages | None:
    """Analyzes the stage times of a trial, or of one of its connections; None where no host has any.

    `usual_probe_ns` is the cost of a probe at each host in all trials of the result (`probe_cost.costs_by_host`).

    Raises:
        RecordError: a table cannot be read.
    """
    hosts = [with_copies_apart(host) for host in hosts_of(trial, usual_probe_ns or {})]
    if not hosts:
        return None
    own = hosts if connection is None else [host.of(connection) for host in hosts]
    return analyzed(trial.trial, trial.cell, own, sum(end.uncertainty_ns for end in trial.ends.values()))


def analyzed(trial: str, cell: str, hosts: Sequence[HostStages], uncertainty_ns: float) -> TrialStages:
    """Analyzes the stage times of these hosts, whose clocks may be off by `uncertainty_ns`."""
    pairs = [(writer, reader) for writer in hosts for reader in hosts if writer is not reader]
    lives = [
        (writer, reader, found)
        for writer, reader in pairs
        if (found := lives_of(writer, reader, uncertainty_ns)) is not None
    ]
    return TrialStages(
        trial=trial,
        cell=cell,
        hosts=hosts,
        totals=[total for host in hosts for total in totals(host)],
        sizes=[point for host in hosts for point in by_size(host)],
        messages=[messages(found) for _, _, found in lives],
        waterfalls=[waterfalls(*found) for found in lives],
        uncertainty_ns=uncertainty_ns,
    )


#: Connections of the second trial of a cell are numbered from here on, and so on.
CONNECTIONS_OF_A_TRIAL = 1_000_000
#: The columns that a packet is known by.
KEY = ["connection", "direction", "order", "sequence"]
#: Numbers of packets that a trial, and all trials of a cell, have for themselves.
ORDERS_OF_A_TRIAL, ORDERS_OF_A_CELL = 1 << 32, 1 << 44


@dataclass(frozen=True)
class CellStages:
    """The stage times of a cell's trials together: `trials` names them, `reasons` why a host had none."""

    cell: str
    trials: Sequence[str]
    found: TrialStages | None
    reasons: Sequence[str] = ()


def read_cells(experiment: Experiment, found: Trials, cells: Collection[str] | None = None) -> list[CellStages]:
    """The stage times of each cell with a trial for them, or of `cells`, in the order of the plan.

    Raises:
        RecordError: a table cannot be read.
    """
    by_cell: dict[str, list[str]] = {}
    for name, manifest in found.staged.items():
        if manifest.status not in LOST and (cells is None or manifest.cell in cells):
            by_cell.setdefault(manifest.cell, []).append(name)
    order = [cell.id for cell in experiment.plan.cells if cell.id in by_cell]
    trials = {name: open_trial(experiment.folder / "trials" / name) for cell in order for name in by_cell[cell]}
    # Of all cells, also where only some are wanted.
    usual = costs_by_host(found.staged.values())
    hosts = {cell: pooled([hosts_of(trials[name], usual) for name in by_cell[cell]]) for cell in order}
    copies = _copy_costs([host for own in hosts.values() for host in own])
    return [
        _cell(
            cell,
            [trials[name] for name in by_cell[cell]],
            [found.staged[name] for name in by_cell[cell]],
            [with_copies_apart(host, copies[host.host]) for host in hosts[cell]],
        )
        for cell in order
    ]


def _copy_costs(hosts: Sequence[HostStages]) -> dict[str, CopyCost | None]:
    """The time of a copied byte at each host, over all cells: with messages of one size, no cell alone shows it."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for at, host in enumerate(hosts):
        frames.setdefault(host.host, []).append(host.frame.with_columns(pl.col("order") + at * ORDERS_OF_A_CELL))
    return {host: copy_cost(pl.concat(own)) for host, own in frames.items()}


def _cell(
    cell: str, trials: Sequence[FlowTrial], manifests: Sequence[Manifest], hosts: Sequence[HostStages]
) -> CellStages:
    uncertainty = max(sum(end.uncertainty_ns for end in trial.ends.values()) for trial in trials)
    reasons = dict.fromkeys(
        f"{host} side: {reason}"
        for manifest in manifests
        for host, end in manifest.hosts.items()
        if (reason := (end.evidence.get("stages") or {}).get("reason")) is not None
    )
    names = [trial.trial for trial in trials]
    together = analyzed(names[0], cell, hosts, uncertainty) if hosts else None
    return CellStages(cell, names, together, tuple(reasons))


def pooled(trials: Sequence[Sequence[HostStages]]) -> list[HostStages]:
    """The hosts of several trials of a cell as if all had been one: connections and packets are numbered on."""
    by_host: dict[str, list[HostStages]] = {}
    for number, hosts in enumerate(trials):
        for host in hosts:
            moved = host.frame.with_columns(
                pl.col("connection") + number * CONNECTIONS_OF_A_TRIAL,
                # Trials follow each other, however long each took.
                pl.col("order") + number * ORDERS_OF_A_TRIAL,
            )
            by_host.setdefault(host.host, []).append(replace(host, frame=moved))
    return [_together(hosts) for hosts in by_host.values()]


def _together(hosts: Sequence[HostStages]) -> HostStages:
    first = hosts[0]
    frame = pl.concat([host.frame for host in hosts]).drop("row").with_row_index("row")
    gaps: dict[str, int] = {}
    for host in hosts:
        for reason, count in host.gaps.items():
            gaps[reason] = gaps.get(reason, 0) + count
    reports = [host.report for host in hosts]
    # Where one trial's cost of a probe was out of line, that is what is said.
    said = max(reports, key=lambda report: (report.probe is not None and report.probe.by != "", -report.empty_pair_ns))
    report = replace(
        first.report,
        empty_pair_ns=said.empty_pair_ns,
        probe=said.probe,
        rows=sum(report.rows for report in reports),
        lost=sum(report.lost for report in reports),
        own_ns=sum(report.own_ns for report in reports),
    )
    return replace(first, frame=frame, gaps=gaps, report=report)


@dataclass(frozen=True)
class StageLine:
    """A stage's time against size, of all cells together."""

    direction: str
    stage: str
    fit: Fit


def lines_over(cells: Sequence[CellStages]) -> list[StageLine]:
    """The lines of the stages over the sizes of all these cells, which should differ in sizes alone.

    Of payload that leaves and that arrives, of both hosts together: a host does both alike, and in an exchange it does
    both. Copies that were taken out of other stages have no line: they were made from one.
    """
    frames = [host.frame for cell in cells if cell.found is not None for host in cell.found.hosts]
    if not frames:
        return []
    numbered = [frame.with_columns(pl.col("order") + at * ORDERS_OF_A_CELL) for at, frame in enumerate(frames)]
    rows = pl.concat(numbered).filter(~pl.col("is_again"))
    found: Mapping[tuple[str, str], Fit | None] = {
        (direction, stage.name): fit_of(
            rows.filter((pl.col("direction") == direction) & (pl.col("stage") == stage.name))
        )
        for direction, stages in BY_DIRECTION.items()
        for stage in stages
        if not stage.is_wait and not (stage.name == COPY and copies_of(cells))
    }
    return [StageLine(direction, name, fit) for (direction, name), fit in found.items() if fit is not None]


def copies_of(cells: Sequence[CellStages]) -> list[CopyCost]:
    """The time that a copied byte takes at the hosts where only TCP's own time shows it."""
    hosts = [host for cell in cells if cell.found is not None for host in cell.found.hosts]
    return [host.copies for host in hosts if host.copies is not None and host.copies.shown_by != COPY]


MAX_AWAKE_NS = 2_000
"""A row that waited for longer slept, or was kept from its CPU."""


def each_of(
    cells: Sequence[CellStages], direction: str, stage: str, *, awake_only: bool = False, behind: str = ""
) -> Amount | None:
    """CPU time of a stage each time that it ran, such as for each call or ACK, over all cells; None without rows.

    `awake_only` leaves out those that slept. `behind` takes only those of payload that has a row of that stage, too.
    """
    frames = [host.frame for cell in cells if cell.found is not None for host in cell.found.hosts]
    numbered = [frame.with_columns(pl.col("order") + at * ORDERS_OF_A_CELL) for at, frame in enumerate(frames)]
    if not numbered:
        return None
    rows = pl.concat(numbered).filter((pl.col("direction") == direction) & (pl.col("stage") == stage))
    if behind:
        others = pl.concat(numbered).filter((pl.col("direction") == direction) & (pl.col("stage") == behind))
        rows = rows.join(others.select(KEY).unique(), on=KEY, how="semi", maintain_order="left")
    if awake_only:
        rows = rows.filter(pl.col("wall_ns") - pl.col("cpu_ns") <= MAX_AWAKE_NS)
    if rows.is_empty():
        return None
    batch = batches_of(rows["order"].to_numpy())
    batches = int(batch.max()) + 1
    cpu = sums_by_batch(rows["cpu_ns"].to_numpy(), batch, batches)
    # A stage may have several rows of one segment or call.
    first = rows.with_columns(pl.Series("batch", batch)).unique(["connection", "order", "sequence"], keep="first")
    times = sums_by_batch(np.ones(first.height), first["batch"].to_numpy(), batches)
    return ratios(cpu.reshape(1, -1), times.reshape(1, -1))[0]
