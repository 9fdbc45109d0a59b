"""The sortable table of all cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from whyperf.analyze.spread import Spread, interval_name
from whyperf.analyze.summary import CellResult, EndCpu, Latency, Summary
from whyperf.analyze.text import (
    ENDS,
    bit_rate,
    count,
    level_text,
    octets,
    percent,
    seconds,
    significant,
)
from whyperf.analyze.transports.result import Transports
from whyperf.analyze.warnings.cell_rules import CPU_POOL_SHORT_S
from whyperf.profile.path import has_path
from whyperf.report.charts.layout import distinguishing_axes, sweeps_of
from whyperf.report.charts.metric import GOODPUT, TRANSACTIONS, Metric, RateUnit
from whyperf.report.needed_window import SOURCES, known_window
from whyperf.report.properties import cpus_text


@dataclass(frozen=True)
class Entry:
    """A table cell: its text, its sort key (empty: last), its tooltip, and a linked page."""

    text: str
    sort: str = ""
    title: str = ""
    link: str = ""

    @classmethod
    def of_number(cls, value: float | None, text: Callable[[float], str]) -> Self:
        """A number as `text` writes it, sorted by its value; empty where there is none."""
        return cls("") if value is None else cls(text(value), f"{value:.6g}")


@dataclass(frozen=True)
class Column:
    """A column: its heading, an explanation, and whether it has numbers."""

    heading: str
    explanation: str = ""
    number: bool = True


@dataclass(frozen=True)
class Table:
    """Columns, and rows of the same length."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]


def cells_table(summary: Summary) -> Table:
    """The table of all cells. Columns that are empty in all cells are left out."""
    columns: list[tuple[Column, Callable[[CellResult], Entry]]] = []
    if len(sweeps_of(summary.cells)) > 1:
        columns.append((Column("Sweep", number=False), lambda cell: Entry(cell.sweep, cell.sweep)))
    columns += [
        (Column(axis.title, number=axis.numeric), _factor(axis.factor)) for axis in distinguishing_axes(summary.cells)
    ]
    columns += _measured(
        summary.cells, counts_ticks=summary.origin != "sim", has_rtt=rtts_over_path(summary, summary.cells)
    )
    rows = [[make(cell) for _, make in columns] for cell in summary.cells]
    kept = [
        index for index, (column, _) in enumerate(columns) if not column.number or any(row[index].sort for row in rows)
    ]
    return Table(
        tuple(columns[index][0] for index in kept),
        tuple(tuple(row[index] for index in kept) for row in rows),
    )


def _measured(
    cells: Sequence[CellResult], *, counts_ticks: bool, has_rtt: bool
) -> list[tuple[Column, Callable[[CellResult], Entry]]]:
    unit = GOODPUT.unit(cells)
    exchange = all(cell.metric == "transactions" for cell in cells)
    goodput = [
        (Column(f"Goodput ({unit.name})", "Median of the trials"), _median(GOODPUT, unit)),
        (interval_column(cells), _interval(GOODPUT, unit)),
    ]
    if any(cell.watched is not None for cell in cells):
        goodput = [
            # One may move a million times as much as another, so each has its own unit.
            (Column("Goodput", "In the direction of most payload"), _own_unit),
            (Column("Other direction", "Payload the other way"), _other_direction),
            (Column("Watched", "Time from the first to the last sample"), _watched),
            (Column("Sides", "Sides of the connection that were watched", number=False), _sides),
        ]
    # The goodput of an exchange is only its sizes times its rate.
    return [
        *([] if exchange else goodput),
        *(
            [
                (Column("Loaded RTT", "Median of what the sender's kernel smoothed"), _rtt("rtt_ns")),
                (Column("Lowest RTT", "The lowest that the sender's kernel saw"), _rtt("rtt_ns_min")),
            ]
            if has_rtt
            else []
        ),
        *_workload_columns(cells, with_interval=exchange),
        (Column("Trials", "Trials with a goodput"), _trials),
        *(
            (Column(f"CPU {end}", "Busy share of the host's own CPUs"), _cpu(end, counts_ticks=counts_ticks))
            for end in ENDS
        ),
        *_cpu_count_columns(cells),
        *(
            [(Column(f"µs of CPU {end}", "CPU time per transaction"), _transaction_cpu(end)) for end in ENDS]
            if exchange
            else [(Column(f"Cycles/KB {end}", "Cycles per 1,024 bytes of payload"), _cycles(end)) for end in ENDS]
        ),
        *(
            [(Column(f"GHz per Gbit/s {end}", "Cycles per bit of payload"), _ghz(end)) for end in ENDS]
            if _compares_offloads(cells)
            else []
        ),
        *(
            []
            if exchange
            else [(Column("Advertised window (bytes)", "Largest advertised receive window"), _advertised)]
        ),
        (Column("Needed window", "Rate × round trip of a request and its response"), _needed_window),
        (
            Column("Retransmitted", "Retransmitted segments, or packets of a library; median of the trials"),
            _retransmitted,
        ),
        (Column("Unsteady", "Trials without steady state"), lambda cell: _count(cell.unsteady_trials)),
        (Column("Failed", "Failed, cut and unusable trials"), _lost),
    ]


def rtts_over_path(summary: Summary, cells: Sequence[CellResult]) -> bool:
    """True where the kernel's round-trip times of `cells` say something: they are streams over a network or an emulated
    path, and no RTT probe or schedule has its own.
    """
    return any(
        cell.rtt is not None
        and cell.metric == "goodput"
        and cell.rtt_probe is None
        and cell.transports is None
        and (summary.testbed == "network" or has_path({name: str(level) for name, level in cell.factors.items()}))
        for cell in cells
    )


def _rtt(name: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        return Entry.of_number(None if cell.rtt is None else getattr(cell.rtt, name), seconds)

    return make


def _cpu_count_columns(cells: Sequence[CellResult]) -> list[tuple[Column, Callable[[CellResult], Entry]]]:
    """CPUs in use, where a side has more than one or shares them, and CPUs per adapter, where a side has several or the
    CPUs are what varies."""
    sides = [cpu for cell in cells for end in ENDS if (cpu := getattr(cell.cpu, end)) is not None]
    if not any((cpu.cpus_count or 0) > 1 or not cpu.exclusive for cpu in sides):
        return []
    varies = any(len({cell.factors.get(name) for cell in cells}) > 1 for name in ("near_cpus", "far_cpus"))
    columns: list[tuple[Column, Callable[[CellResult], Entry]]] = [
        (
            Column(f"CPUs in use {end}", "CPUs × utilization; of shared CPUs the load's threads"),
            _cpus(end, "in_use_cpus"),
        )
        for end in ENDS
    ]
    columns.append(
        (Column("CPUs in use by neither", "Of CPUs that both sides share: what no thread of either used"), _neither)
    )
    if varies or any((cpu.adapters_count or 0) > 1 for cpu in sides):
        columns += [
            (Column(f"CPUs per adapter {end}", "CPUs in use for each adapter"), _cpus(end, "per_adapter_cpus"))
            for end in ENDS
        ]
    return columns


def _cpus(end: str, name: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        cpu: EndCpu | None = getattr(cell.cpu, end)
        number: float | None = None if cpu is None else getattr(cpu, name)
        if cpu is None or number is None:
            return Entry("")
        adapters = "" if cpu.adapters_count is None else f"; {count(cpu.adapters_count, 'adapter')}"
        on_top = cpu.softirq_on_threads_cpus
        soft = "" if cpu.exclusive or on_top is None else f", of that soft interrupts on top {significant(on_top)}"
        return Entry(cpus_text(number), f"{number:.5g}", f"of {cpu.cpus_count or 0:.3g} CPUs{soft}{adapters}")

    return make


def _neither(cell: CellResult) -> Entry:
    shared = cell.cpu.shared
    if shared is None or shared.not_attributed_cpus is None:
        return Entry("")
    soft = "" if shared.softirq_cpus is None else f"soft interrupts {significant(shared.softirq_cpus)} of that"
    return Entry(cpus_text(shared.not_attributed_cpus), f"{shared.not_attributed_cpus:.5g}", soft)


def _needed_window(cell: CellResult) -> Entry:
    at = known_window(cell.needed_window)
    if at is None:
        return Entry("")
    one_way = f"one way {octets(at.one_way_bytes)}; {SOURCES[at.source]}"
    return Entry(f"{octets(at.round_trip_bytes)} at {bit_rate(at.rate_bps)}", str(at.round_trip_bytes), one_way)


def _workload_columns(
    cells: Sequence[CellResult], *, with_interval: bool
) -> list[tuple[Column, Callable[[CellResult], Entry]]]:
    """The columns of transactions and datagrams; empty in cells without them."""
    unit = RateUnit(1.0, "")
    interval = [(interval_column(cells), _interval(TRANSACTIONS, unit))]
    return [
        *(
            (Column(f"{name.capitalize()}/s", "Median of the trials"), _counted(name, unit))
            for name in ("transactions", "messages")
        ),
        *(interval if with_interval else []),
        (Column("Packets/s", "Data segments that the sender sent per second"), _packets),
        (Column("Offered/s", "Intended transactions per second"), _offered),
        *(
            (Column(heading, f"Latency that {share} of all transactions did not exceed"), _latency(field))
            for heading, share, field in (
                ("p50", "50 %", "p50_ns"),
                ("p99", "99 %", "p99_ns"),
                ("p99.9", "99.9 %", "p99_9_ns"),
            )
        ),
        *(
            (
                Column(heading, f"Round-trip time of the RTT probe {when} that {share} did not exceed"),
                _probe(state, field),
            )
            for heading, when, share, state, field in (
                ("RTT p50", "under load", "50 %", "load", "p50_ns"),
                ("RTT p99", "under load", "99 %", "load", "p99_ns"),
                ("Idle RTT p50", "while no flow sends", "50 %", "idle", "p50_ns"),
                ("Idle RTT p99", "while no flow sends", "99 %", "idle", "p99_ns"),
            )
        ),
        (Column("Failed transactions"), _failed_transactions),
        (Column("Lost", "Datagrams that did not arrive"), _lost_datagrams),
        (
            Column("S", "Stability of scheduled flows: 0 is steady"),
            _of_flows(lambda result: result.stability, "{:.3f}".format),
        ),
        (
            Column("F", "Lowest fairness of a region: 1 is equal"),
            _of_flows(lambda result: result.fairness_min, "{:.3f}".format),
        ),
        (Column("RTT (ms)", "Mean round-trip time"), _of_flows(lambda result: result.rtt.mean_s, _milliseconds)),
        (Column("Jitter", "Median of the smoothed variation of the transit time"), _jitter),
    ]


def interval_column(cells: Sequence[CellResult]) -> Column:
    """The column of intervals, or of ranges where there are too few trials for an interval."""
    name = interval_name(cell.trials for cell in cells)
    what = "Smallest and largest trial" if name == "range" else "Bootstrap interval of the median"
    return Column(f"{name[:1].upper()}{name[1:]}", what)


def _counted(name: str, unit: RateUnit) -> Callable[[CellResult], Entry]:
    """The rate of executions with this name. The executions of a stream are its calls; they are left out."""
    make = _median(TRANSACTIONS, unit)

    def of_name(cell: CellResult) -> Entry:
        found = cell.transactions
        return make(cell) if found is not None and found.counted_as == name else Entry("")

    return of_name


def _milliseconds(value_s: float) -> str:
    return significant(value_s * 1e3)


def _of_flows(value: Callable[[Transports], Spread], text: Callable[[float], str]) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        median = value(cell.transports).median if cell.transports is not None else None
        return Entry("") if median is None else Entry(text(median), f"{median:.6g}")

    return make


def _packets(cell: CellResult) -> Entry:
    """The packet rate of messages, which may share a packet."""
    rate, found = cell.data_segments_per_s, cell.transactions
    if rate is None or found is None or found.counted_as != "messages":
        return Entry("")
    return Entry(significant(rate, 4), f"{rate:.6g}")


def _offered(cell: CellResult) -> Entry:
    offered = cell.transactions.intended_per_s if cell.transactions is not None else None
    return Entry("") if offered is None else Entry(significant(offered, 4), f"{offered:.6g}")


def _latency(name: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        latency = cell.transactions.latency if cell.transactions is not None else None
        if latency is None or cell.metric != "transactions":
            return Entry("")
        value: int | None = getattr(latency, name)
        kind = (
            "from the intended start"
            if latency.kind == "intended"
            else "closed loop: time before the start is not included"
        )
        return Entry("") if value is None else Entry(seconds(value), str(value), f"{latency.count:,} values, {kind}")

    return make


def _probe(state: str, name: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        latency: Latency | None = None if cell.rtt_probe is None else getattr(cell.rtt_probe, state)
        value: int | None = None if latency is None else getattr(latency, name)
        if latency is None or value is None:
            return Entry("")
        return Entry(seconds(value), str(value), f"{latency.count:,} answered requests")

    return make


def _transaction_cpu(end: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        cost = getattr(cell.transactions.cost, end) if cell.transactions is not None else None
        value = None if cost is None else cost.busy_ns if cost.busy_ns is not None else cost.load_threads_ns
        if cost is None or value is None:
            return Entry("")
        calls = f", {significant(cost.calls)} system calls" if cost.calls is not None else ""
        own = "" if cost.load_threads_ns is None else f"whyperf's own threads {seconds(cost.load_threads_ns)}{calls}"
        return Entry(significant(value / 1000), f"{value:.5g}", own)

    return make


def _failed_transactions(cell: CellResult) -> Entry:
    return _count(cell.transactions.failed_count) if cell.transactions is not None else Entry("")


def _lost_datagrams(cell: CellResult) -> Entry:
    found = cell.datagrams
    if found is None or found.lost_ratio is None:
        return Entry("")
    counts = f"{found.lost_count:,} lost, {found.late_count:,} late, {found.duplicate_count:,} duplicate"
    return Entry(percent(found.lost_ratio), f"{found.lost_ratio:.5g}", counts)


def _jitter(cell: CellResult) -> Entry:
    jitter = cell.datagrams.jitter_ns if cell.datagrams is not None else None
    return Entry("") if jitter is None else Entry(seconds(jitter), f"{jitter:.5g}")


def _factor(name: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        level = cell.factors.get(name)
        number = isinstance(level, int | float) and not isinstance(level, bool)
        return Entry("" if level is None else level_text(level), str(level) if number else level_text(level))

    return make


def _median(metric: Metric, unit: RateUnit) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        median = metric.median(cell)
        if median is None:
            return Entry("none" if metric is GOODPUT else "")
        return Entry(significant(median / unit.scale, 3 if metric is GOODPUT else 4), f"{median:.6g}")

    return make


def _interval(metric: Metric, unit: RateUnit) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        low, high = metric.spread(cell).low, metric.spread(cell).high
        if low is None or high is None:
            return Entry("")
        return Entry(f"{significant(low / unit.scale)}–{significant(high / unit.scale)}", f"{high - low:.6g}")

    return make


def _cpu(end: str, *, counts_ticks: bool) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        cpu: EndCpu | None = getattr(cell.cpu, end)
        if cpu is None:
            return Entry("")
        if cpu.busy_ratio is not None:
            # The model counts every nanosecond.
            rough = counts_ticks and cpu.pooled_s < CPU_POOL_SHORT_S
            title = (
                f"Rough: from {seconds(cpu.pooled_s * 1e9)} of wall time, counted in ticks of 10 ms" if rough else ""
            )
            return Entry(("~" if rough else "") + percent(cpu.busy_ratio), f"{cpu.busy_ratio:.4g}", title)
        ratio = cpu.load_threads_ratio
        if ratio is None:
            return Entry("")
        whose = "whyperf's own" if cell.watched is None else "the program's"
        return Entry(f"{percent(ratio)}*", f"{ratio:.4g}", f"{whose} threads only; both hosts share their CPUs")

    return make


def _own_unit(cell: CellResult) -> Entry:
    median = GOODPUT.median(cell)
    return Entry("none") if median is None else Entry(GOODPUT.text(median), f"{median:.6g}")


def _other_direction(cell: CellResult) -> Entry:
    found = cell.watched
    if found is None or not found.moves_both_ways:
        return Entry("")
    rate = found.received_bps if found.direction == "send" else found.sent_bps
    return Entry("") if rate is None else Entry(GOODPUT.text(rate), f"{rate:.6g}")


def _watched(cell: CellResult) -> Entry:
    found = cell.watched
    if found is None or found.watched_s is None:
        return Entry("")
    title = "it was open before" if found.is_whole is False else ""
    return Entry(seconds(found.watched_s * 1e9), f"{found.watched_s:.6g}", title)


def _sides(cell: CellResult) -> Entry:
    return Entry("" if cell.watched is None else " + ".join(cell.watched.hosts))


def _cycles(end: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        value: float | None = getattr(cell.cycles_per_kbyte, end)
        return Entry("") if value is None else Entry(f"{value:,.0f}", f"{value:.5g}", cell.cycles_per_kbyte.unit or "")

    return make


OFFLOADS = ("tso", "gso", "gro")
BITS_PER_KBYTE = 8 * 1024


def _compares_offloads(cells: Sequence[CellResult]) -> bool:
    """True where cells differ in offloads, whose cost the studies give in GHz per Gbit/s (Cottrell et al. 2005)."""
    return len({tuple(cell.factors.get(name) for name in OFFLOADS) for cell in cells}) > 1


def _ghz(end: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        value: float | None = getattr(cell.cycles_per_kbyte, end)
        if value is None:
            return Entry("")
        return Entry(
            significant(value / BITS_PER_KBYTE), f"{value / BITS_PER_KBYTE:.5g}", cell.cycles_per_kbyte.unit or ""
        )

    return make


def _advertised(cell: CellResult) -> Entry:
    announced = cell.window.announced_bytes
    if announced is None:
        return Entry("")
    text = f"min {announced.min:,}, median {announced.median:,}, {announced.samples:,} samples"
    return Entry(f"{announced.max:,}", str(announced.max), text)


def _retransmitted(cell: CellResult) -> Entry:
    median = cell.retransmitted_segments.median
    return Entry("") if median is None else Entry(level_text(median), f"{median:g}")


def _lost(cell: CellResult) -> Entry:
    return _count(cell.failed_trials + cell.deadline_trials + cell.unusable_trials)


def _count(number: int) -> Entry:
    """A number of trials; zero is empty, so that a column of zeros is left out."""
    return Entry(str(number), str(number)) if number else Entry("", "")


def _trials(cell: CellResult) -> Entry:
    """Of a watched connection there is one, which says nothing."""
    return _number(cell.trials) if cell.watched is None else Entry("")


def _number(number: int) -> Entry:
    return Entry(str(number), str(number))
