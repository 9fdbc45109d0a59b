"""Who processes arriving packets without steering, with it, and with threaded NAPI, by the logs of receivers."""

from collections.abc import Mapping, Sequence

import polars as pl

from whyperf.analyze.flow import arrivals, open_trial, scan_log
from whyperf.analyze.summary import CellResult, EndCpu, Summary
from whyperf.analyze.text import bit_rate, percent, significant
from whyperf.record import Experiment, Trials
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.table import Column, Entry, Table

PROFILE = "packet-steering"
CONTEXTS: Mapping[str, str] = {"net_rx": "Soft interrupt", "worker": "Kernel thread", "process": "Process"}
"""Titles of contexts in which data packets arrive."""

NOTE = (
    "Where the receiver's data packets were processed, by its segment log: in receive soft interrupts, in a "
    "kernel thread (threaded NAPI), or on top of a process; and on whose CPUs. CPU time is of each side's own "
    "CPUs: a soft interrupt on a CPU of the sender counts as the sender's. A kernel thread counts as system time. "
    "The study (Huang, 2003) compared a task queue of Solaris, which has a thread process what arrives, with "
    "interrupts."
)


def packet_steering_section(experiment: Experiment, summary: Summary, trials: Trials) -> Section | None:
    """The section; None for another profile, or without a cell.

    Raises:
        RecordError: a log cannot be read.
    """
    if experiment.plan.profile != PROFILE or not summary.cells:
        return None
    section = Section("study", "Who processes arriving packets")
    table = steering_table(summary.cells, read_arrivals(experiment, trials))
    section.tables.append(StudyTable("Contexts and CPUs", NOTE, table))
    return section


def read_arrivals(experiment: Experiment, trials: Trials) -> dict[str, pl.DataFrame]:
    """Where arriving data was processed (`arrivals`), by cell, of its first log trial.

    Raises:
        RecordError: a log cannot be read.
    """
    found: dict[str, pl.DataFrame] = {}
    for name, manifest in trials.logs.items():
        trial = open_trial(experiment.folder / "trials" / name)
        receiver = trial.end("receiver")
        if receiver is None or manifest.cell in found:
            continue
        if (log := scan_log(trial, receiver.host)) is not None:
            found[manifest.cell] = arrivals(log)
    return found


def steering_title(factors: Mapping[str, object]) -> str:
    """The steering of a cell, in words."""
    if factors.get("threaded_napi"):
        return "Threaded NAPI"
    level = factors.get("rps_cpus")
    return "Off" if level == "off" else "RPS" if level == "auto" else f"RPS to CPUs {level}"


def steering_table(cells: Sequence[CellResult], found: Mapping[str, pl.DataFrame]) -> Table:
    """A row for each cell: rate, where packets were processed, and the CPU time of both sides."""
    columns = (
        Column("Steering", number=False),
        Column("Connections"),
        Column("Rate"),
        *(Column(title) for title in CONTEXTS.values()),
        Column("On CPUs of the receiver"),
        Column("Sender, system"),
        Column("Sender, soft interrupts"),
        Column("Receiver, system"),
        Column("Receiver, soft interrupts"),
        Column("Cycles/KB, both sides"),
        Column("Sent again", "Retransmitted segments as a share of all."),
    )
    return Table(columns, tuple(_row(cell, found.get(cell.id)) for cell in cells))


def _row(cell: CellResult, arrived: pl.DataFrame | None) -> tuple[Entry, ...]:
    title = steering_title(cell.factors)
    connections = str(cell.factors.get("connections", 1))
    cycles = (cell.cycles_per_kbyte.sender, cell.cycles_per_kbyte.receiver)
    receiver = cell.cpu.receiver
    return (
        Entry(title, title),
        Entry(connections, connections),
        Entry.of_number(cell.goodput_bps.median, bit_rate),
        *(Entry.of_number(_share(arrived, pl.col("context") == context), percent) for context in CONTEXTS),
        Entry.of_number(None if receiver is None else _share(arrived, pl.col("cpu").is_in(receiver.cpus)), percent),
        *(_of_end(end, kind) for end in (cell.cpu.sender, receiver) for kind in ("system_ratio", "softirq_ratio")),
        Entry.of_number(None if None in cycles else sum(value or 0.0 for value in cycles), significant),
        Entry.of_number(cell.retransmitted_segments.ratio, percent),
    )


def _share(arrived: pl.DataFrame | None, of: pl.Expr) -> float | None:
    """The part of the packets for which this is true."""
    whole = 0 if arrived is None else int(arrived["packets"].sum())
    return None if arrived is None or not whole else int(arrived.filter(of)["packets"].sum()) / whole


def _of_end(end: EndCpu | None, kind: str) -> Entry:
    return Entry.of_number(None if end is None else getattr(end, kind), percent)
