"""Compares super-segments, and who hands them to the device, with the study of large-send offload in Solaris (2008).

Also the same quantities against settings of Linux that stand for the data per copy step of the Gigabit Ethernet study.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from whyperf.analyze.flow import contexts, open_trial, scan_log
from whyperf.analyze.flow.log import CONTEXTS
from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import bit_rate, level_with_unit, octets, percent, sweep_title
from whyperf.record import Experiment, Trials, read_table
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.studies.published import HERE, STUDY, Row, read
from whyperf.report.table import Column, Entry, Table

SUPER_SEGMENTS, COPY_STEPS = "super-segments", "copy-steps-live"
CALLER, WORKER, ACKS = "process", "worker", "net_rx"
"""Contexts of the record that stand for the study's: thread in write(), deferred worker, ACK-driven receive context."""
OTHERS = tuple(name for name in CONTEXTS if name not in {CALLER, WORKER, ACKS})

CELLS: Mapping[tuple[str, str, str], tuple[Mapping[str, object], str]] = {
    ("throughput", "1", "65536"): ({"write_size_bytes": 65_160, "reply_size_bytes": 0, "connections": 15}, "15"),
    ("write 64 KB then wait for 64-byte reply", "1", "65536"): ({"reply_size_bytes": 64, "connections": 15}, "15"),
    ("write 64 KB then wait for 64-byte reply (one client)", "1", "65536"): (
        {"reply_size_bytes": 64, "connections": 1},
        "1",
    ),
    ("throughput", "1", "1024"): ({"write_size_bytes": 1024, "connections": 15}, "15"),
    ("throughput", "2000", "65536"): (
        {"write_size_bytes": 65_160, "reply_size_bytes": 0, "connections": 1000},
        "1000",
    ),
}
"""The cell that stands for a row of the study: its levels, and its connections as text. Rows are known by workload,
connections for each of 15 clients, and write size."""

LSO_NOTE = (
    "Averages of the study are of three samples of 5 s. Here one host stands for the 15 clients, and the most "
    "connections are 1,000 in place of 30,000. The caller is the thread in its write call, ACKs are receive "
    "processing that an ACK starts, and the worker is deferred work. A super-segment of Linux holds up to 65,160 "
    "bytes at MTU 1500."
)
STEPS_NOTE = (
    "Who handed data to the device: the caller in its write call, receive processing that an ACK starts, or "
    "deferred work and timers. Cycles per KByte are of the sender."
)
EFFECT_NOTE = (
    "The Gigabit Ethernet study (Huang, 2003) set how many segments Solaris copies in a step. With one connection "
    "the rate grew by 25 % from 8 segments upwards, with 10 it did not. Here the write size stands for the step: "
    "1,448 bytes are one segment."
)
#: Write sizes of one segment and of 8, in bytes.
ONE_STEP, EIGHT_STEPS = 1448, 11_584
#: The study's finding, by connections: how much the rate grew from one segment to 8.
STUDY_GAIN: Mapping[int, str] = {1: "+25 %", 10: "none"}
VARIED: Mapping[str, str] = {
    "write-size": "write_size_bytes",
    "output-limit": "tcp_limit_output_bytes",
    "send-buffer": "send_buffer_bytes",
    "autocorking": "tcp_autocorking",
    "deferral": "tcp_tso_win_divisor",
}
"""The factor of each sweep of `copy-steps-live`."""


@dataclass(frozen=True)
class Sending:
    """The packets that the sender of a cell handed to its device in the measured phases of all trials.

    `packet_bytes` is the average packet with payload, `ratios` the share of packets by context. `bytes_by_context` is
    the average packet of a context, from the segment log; empty without one.
    """

    packet_bytes: float
    ratios: Mapping[str, float]
    bytes_by_context: Mapping[str, float] = field(default_factory=dict)

    def ratio(self, *names: str) -> float:
        """The share of packets that left in these contexts."""
        return sum(self.ratios.get(name, 0.0) for name in names)


def sending_section(experiment: Experiment, summary: Summary, trials: Trials) -> Section | None:
    """The section; None for another profile, or without counters of a sender.

    Raises:
        RecordError: the record cannot be read.
    """
    profile = experiment.plan.profile
    if profile not in {SUPER_SEGMENTS, COPY_STEPS}:
        return None
    found = read_sending(experiment, trials)
    if not found:
        return None
    section = Section("study", "Comparison with the study")
    if profile == SUPER_SEGMENTS:
        source, rows = read("lso_segments")
        table = lso_table(rows, summary.cells, found)
        section.tables.append(StudyTable("Average super-segment, and who sent it", f"{LSO_NOTE} {source}", table))
    else:
        effect = effect_table(summary.cells)
        section.tables.append(StudyTable("Effect of the data per copy step", EFFECT_NOTE, effect))
        steps = steps_table(summary.cells, found)
        section.tables.append(StudyTable("Settings that stand for it in Linux", STEPS_NOTE, steps))
    return section


def read_sending(experiment: Experiment, trials: Trials) -> dict[str, Sending]:
    """Reads what the sender of each cell handed down; without cells whose counters are missing.

    Raises:
        RecordError: the record cannot be read.
    """
    names = [f"{context}_out_packets" for context in CONTEXTS]
    columns = ["role", "phase", "data_out_packets", "data_out_bytes", *names]
    rows = read_table(experiment, "counters", columns=columns, trials=list(trials.measured)).frame
    if "role" not in rows.columns:
        return {}
    measured = rows.filter((pl.col("role") == "sender") & (pl.col("phase") == "measure"))
    sums = measured.group_by("cell").agg(pl.col("data_out_packets", "data_out_bytes", *names).sum())
    by_context = _sizes_of_logs(experiment, trials)
    return {
        row["cell"]: Sending(
            row["data_out_bytes"] / row["data_out_packets"],
            {context: row[f"{context}_out_packets"] / row["data_out_packets"] for context in CONTEXTS},
            by_context.get(row["cell"], {}),
        )
        for row in sums.to_dicts()
        if row["data_out_packets"]
    }


def _sizes_of_logs(experiment: Experiment, trials: Trials) -> dict[str, dict[str, float]]:
    """The average packet by context, of the first log trial of each cell."""
    found: dict[str, dict[str, float]] = {}
    for name, manifest in trials.logs.items():
        trial = open_trial(experiment.folder / "trials" / name)
        sender = trial.end("sender")
        log = scan_log(trial, sender.host) if sender is not None and manifest.cell not in found else None
        if log is None:
            continue
        sums = contexts(log).filter(pl.col("packets") > 0)
        found[manifest.cell] = {row["context"]: row["bytes"] / row["packets"] for row in sums.iter_rows(named=True)}
    return found


def lso_table(rows: Sequence[Row], cells: Sequence[CellResult], found: Mapping[str, Sending]) -> Table:
    """The study's rows with the cells that stand for them."""
    columns = (
        Column("Workload", number=False),
        Column(f"Connections, {STUDY}"),
        Column(f"Connections, {HERE}"),
        Column("Write (bytes)"),
        Column(f"Super-segment, {STUDY}"),
        Column(f"Super-segment, {HERE}"),
        Column(f"Caller, {STUDY}"),
        Column(f"Caller, {HERE}"),
        Column(f"ACKs, {STUDY}"),
        Column(f"ACKs, {HERE}"),
        Column(f"Worker, {STUDY}"),
        Column(f"Worker, {HERE}"),
        Column(f"Others, {HERE}", "Timers, pacing and the rest."),
        Column(f"Caller's super-segment, {HERE}", "Average, from the segment log."),
        Column(f"ACKs' super-segment, {HERE}", "Average, from the segment log."),
    )
    return Table(columns, tuple(_lso_row(row, cells, found) for row in rows))


def _lso_row(row: Row, cells: Sequence[CellResult], found: Mapping[str, Sending]) -> tuple[Entry, ...]:
    levels, connections = CELLS[row["workload"], row["connections_per_client"], row["write_bytes"]]
    cell = cell_with(cells, levels)
    here = found.get(cell.id) if cell is not None else None
    samples = [float(row[f"sample{number}"]) for number in (1, 2, 3)]
    of_study = 1 if "one client" in row["workload"] else 15 * int(row["connections_per_client"])

    def share(*names: str) -> Entry:
        return _ratio(None if here is None else here.ratio(*names))

    def published(name: str) -> Entry:
        return Entry(f"{row[name]} %", str(float(row[name]) / 100))

    def size(name: str) -> Entry:
        return _octets(None if here is None else here.bytes_by_context.get(name))

    return (
        Entry(row["workload"], row["workload"]),
        Entry(f"{of_study:,}", str(of_study)),
        Entry(f"{int(connections):,}", connections),
        Entry(f"{int(row['write_bytes']):,}", row["write_bytes"]),
        _octets(sum(samples) / len(samples)),
        _octets(None if here is None else here.packet_bytes),
        published("app_percent"),
        share(CALLER),
        published("interrupt_percent"),
        share(ACKS),
        published("worker_percent"),
        share(WORKER),
        share(*OTHERS),
        size(CALLER),
        size(ACKS),
    )


def effect_table(cells: Sequence[CellResult]) -> Table:
    """The growth of the rate from writes of one segment to writes of 8."""
    columns = (
        Column("Connections"),
        Column(f"1 → 8 segments, {STUDY}"),
        Column(f"1 → 8 segments, {HERE}"),
        Column(f"Rate, 1 segment, {HERE}"),
        Column(f"Rate, 8 segments, {HERE}"),
    )
    rows = []
    for connections, published in STUDY_GAIN.items():
        rates = [
            cell.goodput_bps.median
            if (cell := cell_with(cells, {"write_size_bytes": size, "connections": connections}, "write-size"))
            else None
            for size in (ONE_STEP, EIGHT_STEPS)
        ]
        first, last = rates
        gain = last / first - 1 if first and last else None
        rows.append(
            (
                Entry(str(connections), str(connections)),
                Entry(published, published),
                Entry("") if gain is None else Entry(f"{100 * gain:+.0f} %", f"{gain:.6g}"),
                *(Entry.of_number(rate, bit_rate) for rate in rates),
            )
        )
    return Table(columns, tuple(rows))


def steps_table(cells: Sequence[CellResult], found: Mapping[str, Sending]) -> Table:
    """Each cell's super-segments, who sent them, and what it cost."""
    columns = (
        Column("Sweep", number=False),
        Column("Setting", number=False),
        Column("Connections"),
        Column("Super-segment"),
        Column("Caller"),
        Column("ACKs"),
        Column("Others"),
        Column("Rate"),
        Column("Cycles/KB"),
    )
    rows = []
    for cell in cells:
        here, factor = found.get(cell.id), VARIED.get(cell.sweep, "write_size_bytes")
        text = level_with_unit(factor, cell.factors.get(factor))
        connections = str(cell.factors.get("connections", 1))
        rows.append(
            (
                Entry(title := sweep_title(cell.sweep), title),
                Entry(text, str(cell.factors.get(factor))),
                Entry(connections, connections),
                _octets(None if here is None else here.packet_bytes),
                *(_ratio(None if here is None else here.ratio(*of)) for of in ((CALLER,), (ACKS,), (WORKER, *OTHERS))),
                Entry.of_number(cell.goodput_bps.median, bit_rate),
                Entry.of_number(cell.cycles_per_kbyte.sender, lambda value: f"{value:,.0f}"),
            )
        )
    return Table(columns, tuple(rows))


def cell_with(cells: Sequence[CellResult], levels: Mapping[str, object], sweep: str | None = None) -> CellResult | None:
    """The first cell with all of these levels, of a sweep where one is named."""
    fitting = (cell for cell in cells if all(cell.factors.get(name) == level for name, level in levels.items()))
    return next((cell for cell in fitting if sweep in {None, cell.sweep}), None)


def _octets(value: float | None) -> Entry:
    return Entry.of_number(value, octets)


def _ratio(value: float | None) -> Entry:
    return Entry.of_number(value, percent)
