"""The main result in sentences, and the key numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.analyze.spread import interval_name
from whyperf.analyze.summary import CellResult, EndCpu, Summary, WatchedConnection
from whyperf.analyze.text import ENDS, bit_rate, octets, percent, seconds, setting, significant
from whyperf.analyze.warnings.cell_rules import CPU_POOL_SHORT_S
from whyperf.analyze.warnings.workload_rules import RATE_MISSED_RATIO
from whyperf.profile.workload import near_receives
from whyperf.report.charts.layout import varied_axes
from whyperf.report.charts.metric import GOODPUT, Metric, metric_of
from whyperf.report.needed_window import SOURCES, known_window
from whyperf.report.table import rtts_over_path

WHERE = {
    "veth": "on the embedded testbed",
    "model": "on the model",
    "loopback": "over loopback",
    "network": "over the network",
    "watched": "",
}


@dataclass(frozen=True)
class Figure:
    """A key number: its value, unit, name, and a remark."""

    value: str
    unit: str
    name: str
    remark: str = ""


def headline(summary: Summary, claim: str = "") -> str:
    """One or two sentences: the best result and its setting, and the slowest setting of a sweep.

    `claim` is why the only cell is not faster.
    """
    metric = metric_of(summary.cells)
    measured = [cell for cell in summary.cells if metric.median(cell) is not None]
    if not measured:
        return "No trial has a result yet."
    where = WHERE.get(summary.testbed, "")
    best = max(measured, key=lambda cell: _median(cell, metric))
    if best.watched is not None:
        return _watched(summary, best, claim)
    if len(summary.cells) == 1:
        tail = claim or _latency_sentence(best) or _probe_sentence(best) or _loss_sentence(best) or _cpu_sentence(best)
        return f"{metric.text(_median(best, metric))} {_direction(best)} {where}. {tail}".strip()
    sweep = [cell for cell in summary.cells if cell.sweep == best.sweep]
    worst = min(measured, key=lambda cell: _median(cell, metric))
    # Each of two conditions is a sweep of its own, which varies nothing.
    names = [axis.factor for axis in varied_axes(sweep)]
    if not names or worst.sweep != best.sweep:
        names = list(summary.varied)
    levels = setting(best.factors, names)
    what = GOODPUT.title if metric is GOODPUT else "The rate"
    lead = f"{what} reached {metric.text(_median(best, metric))} {where}{f', with {levels}' if levels else ''}."
    if _is_open_loop(sweep):
        return f"{_kept_up_sentence(sweep, names)} {lead}"
    if _median(worst, metric) <= 0 or best is worst:
        return lead
    factor = _median(best, metric) / _median(worst, metric)
    part = percent(1 - 1 / factor)
    less = f"{significant(factor, 2)} times less" if factor >= 1.15 else f"{part} less"
    if part == percent(0.0):
        less = "no difference"
    reached = metric.text(_median(worst, metric))
    moved = "moved" if metric is GOODPUT else "reached"
    slowest = f"The slowest setting, {setting(worst.factors, names)}, {moved} {reached}: {less}."
    return f"{lead} {slowest}{_rtts(summary, best, worst, names)}"


def _rtts(summary: Summary, best: CellResult, worst: CellResult, names: list[str]) -> str:
    """The round-trip times under load of the fastest and the slowest setting of streams over a path."""
    if best.rtt is None or worst.rtt is None or not rtts_over_path(summary, (best, worst)):
        return ""
    each = (f"{seconds(cell.rtt.rtt_ns)} with {setting(cell.factors, names)}" for cell in (best, worst) if cell.rtt)
    return f" RTT under load: {', '.join(each)}."


def _watched(summary: Summary, best: CellResult, claim: str) -> str:
    """The busiest connection, and how many there are."""
    assert best.watched is not None
    rate = GOODPUT.text(_median(best, GOODPUT))
    if len(summary.cells) == 1:
        return f"{rate}: {connection_text(best.watched)}. {claim}".strip()
    return f"Of {len(summary.cells):,} connections the fastest moved {rate}: {connection_text(best.watched)}."


def connection_text(found: WatchedConnection) -> str:
    """`iperf3 sends from 10.0.0.1:40000 to 10.0.0.2:5201`."""
    does, from_to = ("sends", "from {0} to {1}") if found.direction == "send" else ("receives", "from {1} at {0}")
    return f"{found.program or 'a program'} {does} {from_to.format(found.local, found.remote)}"


def key_figures(summary: Summary) -> list[Figure]:
    """The most important numbers; of a sweep those of its fastest cell."""
    metric = metric_of(summary.cells)
    measured = [cell for cell in summary.cells if metric.median(cell) is not None]
    if not measured:
        return []
    best = max(measured, key=lambda cell: _median(cell, metric))
    of_best = "" if len(summary.cells) == 1 else "fastest cell" if best.watched is None else "fastest connection"
    if len(summary.cells) > 1 and (kept := _kept_up(summary.cells)) is not None:
        best, of_best = kept, "highest sustained load"
    unit = metric.unit_for(_median(best, metric))
    value = significant(_median(best, metric) / unit.scale, 3 if metric is GOODPUT else 4)
    remark = ", ".join(filter(None, (_interval(best, metric) or of_best, _whole_window(best, metric))))
    figures = [
        Figure(value, unit.name, metric.title, remark),
        *_latency_figures(best, of_best),
        *_probe_figures(best, of_best),
        *_datagram_figures(best, of_best),
    ]
    for end in ENDS:
        if (cpu := getattr(best.cpu, end)) is not None:
            whose = "whyperf's own threads" if best.watched is None else "the program's threads"
            figures += _cpu_figure(cpu, end, of_best, whose, counts_ticks=summary.origin != "sim")
    cycles = best.cycles_per_kbyte
    if cycles.sender is not None and cycles.receiver is not None and metric is GOODPUT:
        both = f"{cycles.sender:,.0f} + {cycles.receiver:,.0f}"
        figures.append(Figure(both, "", "Cycles per KByte", f"sender + receiver, {cycles.unit}"))
    if best.window.announced_bytes is not None and len(summary.cells) == 1:
        figures.append(Figure(*_window(best)))
    if len(summary.cells) == 1 and (at := known_window(best.needed_window)) is not None:
        remark = f"at {bit_rate(at.rate_bps)}, {SOURCES[at.source]}"
        figures.append(Figure(f"{at.round_trip_bytes:,}", "bytes", "Window for a round trip", remark))
    if len(summary.cells) == 1:
        again = best.retransmitted_segments
        if again.median is not None and best.datagrams is None:
            of_several = "median of the trials" if best.trials > 1 else ""
            figures.append(Figure(f"{again.median:,.0f}", "", f"Retransmitted {again.unit}", of_several))
    figures.append(_trials(summary) if best.watched is None else _connections(summary, best.watched))
    return figures


def _cpu_figure(cpu: EndCpu, end: str, of_best: str, whose: str, *, counts_ticks: bool) -> list[Figure]:
    """The figure that the table and the charts have: the host's CPUs, or the threads' where both hosts share them."""
    # Ticks of 10 ms are too coarse for a short transfer. The model does not count in ticks.
    rough = "~" if counts_ticks and cpu.pooled_s < CPU_POOL_SHORT_S else ""
    threads = None if cpu.load_threads_ratio is None else percent(cpu.load_threads_ratio)
    if cpu.busy_ratio is not None:
        value = rough + percent(cpu.busy_ratio)
        remarks = [of_best, "busy" if threads is None else f"busy; {whose} {threads}"]
    elif threads is not None:
        value, remarks = threads, [of_best, f"{whose} only"]
    else:
        return []
    return [Figure(value.removesuffix(" %"), "%", f"CPU {end}", ", ".join(filter(None, remarks)))]


def _trials(summary: Summary) -> Figure:
    trials = sum(cell.trials for cell in summary.cells)
    failed = sum(cell.failed_trials + cell.unusable_trials for cell in summary.cells)
    parts = [f"in {len(summary.cells):,} cells"] if len(summary.cells) > 1 else []
    parts += [f"{failed:,} more failed"] if failed else []
    remark = ", ".join(parts)
    return Figure(f"{trials:,}", "", "Trial" if trials == 1 else "Trials", remark)


def _connections(summary: Summary, best: WatchedConnection) -> Figure:
    """The number of watched connections, or the time that the only one was watched."""
    if len(summary.cells) > 1 or best.watched_s is None:
        return Figure(f"{len(summary.cells):,}", "", "Connection" if len(summary.cells) == 1 else "Connections")
    number, unit = seconds(best.watched_s * 1e9).rsplit(" ", 1)
    return Figure(number, unit, "Watched", "open before" if best.is_whole is False else "")


def _window(cell: CellResult) -> tuple[str, str, str, str]:
    advertised = cell.window.announced_bytes
    assert advertised is not None
    requested = cell.window.requested_bytes
    automatic = "automatic, " if cell.watched is None else ""
    remark = f"requested {octets(requested)}" if requested else f"{automatic}smallest {advertised.min:,}"
    return f"{advertised.max:,}", "bytes", "Largest advertised window", remark


def _latency_figures(cell: CellResult, of_best: str) -> list[Figure]:
    """Median and tail latency."""
    latency = cell.transactions.latency if cell.transactions is not None else None
    if latency is None or cell.metric != "transactions":
        return []
    remark = of_best or ("from the intended start" if latency.kind == "intended" else "closed loop")
    figures = []
    for name, value in (("Median latency", latency.p50_ns), ("99 % latency", latency.p99_ns)):
        if value is not None:
            number, unit = seconds(value).rsplit(" ", 1)
            figures.append(Figure(number, unit, name, remark))
    return figures


def _probe_figures(cell: CellResult, of_best: str) -> list[Figure]:
    """Median round-trip time of the RTT probe, idle and under load; the tail is the remark."""
    if cell.rtt_probe is None:
        return []
    figures = []
    for name, found in (("RTT under load", cell.rtt_probe.load), ("RTT idle", cell.rtt_probe.idle)):
        if found is not None and found.p50_ns is not None:
            number, unit = seconds(found.p50_ns).rsplit(" ", 1)
            tail = "largest " + seconds(found.max_ns) if found.p99_ns is None else "99 % " + seconds(found.p99_ns)
            figures.append(Figure(number, unit, name, ", ".join(filter(None, (of_best, f"median; {tail}")))))
    return figures


def _datagram_figures(cell: CellResult, of_best: str) -> list[Figure]:
    found = cell.datagrams
    if found is None or found.lost_ratio is None:
        return []
    lost = percent(found.lost_ratio).removesuffix(" %")
    return [Figure(lost, "%", "Datagrams lost", of_best or f"{found.lost_count:,} in all")]


def _is_open_loop(cells: Sequence[CellResult]) -> bool:
    return any(cell.transactions is not None and cell.transactions.is_open_loop for cell in cells)


def _kept_up(cells: Sequence[CellResult]) -> CellResult | None:
    """The cell of an open loop with the highest sustained load."""
    kept = [
        (found.intended_per_s, cell)
        for cell in cells
        if (found := cell.transactions) is not None
        and found.intended_per_s
        and (found.per_s.median or 0.0) >= (1 - RATE_MISSED_RATIO) * found.intended_per_s
    ]
    return max(kept, key=lambda entry: entry[0])[1] if kept else None


def _kept_up_sentence(cells: Sequence[CellResult], names: list[str]) -> str:
    cell = _kept_up(cells)
    if cell is None or cell.transactions is None:
        return "The hosts sustained none of the loads."
    latency = cell.transactions.latency
    tail = f"; 99 % took at most {seconds(latency.p99_ns)} there" if latency is not None and latency.p99_ns else ""
    return f"The hosts sustained loads up to {setting(cell.factors, names)}{tail}."


def _latency_sentence(cell: CellResult) -> str:
    latency = cell.transactions.latency if cell.transactions is not None else None
    if latency is None or latency.p50_ns is None or cell.metric != "transactions":
        return ""
    tail = f", 99 % took at most {seconds(latency.p99_ns)}" if latency.p99_ns is not None else ""
    return f"Half of them took at most {seconds(latency.p50_ns)}{tail}."


def _probe_sentence(cell: CellResult) -> str:
    probe = cell.rtt_probe
    if probe is None or probe.load is None or probe.load.p50_ns is None:
        return ""
    rose = f"The median round-trip time is {seconds(probe.load.p50_ns)} under load"
    idle = "" if probe.idle is None or probe.idle.p50_ns is None else f", {seconds(probe.idle.p50_ns)} without"
    tail = "" if probe.load.p99_ns is None else f"; 99 % are at most {seconds(probe.load.p99_ns)} under load"
    return f"{rose}{idle}{tail}."


def _loss_sentence(cell: CellResult) -> str:
    found = cell.datagrams
    if found is None or found.lost_ratio is None:
        return ""
    return f"{percent(found.lost_ratio)} of the datagrams were lost." if found.lost_count else "No datagram was lost."


def _interval(cell: CellResult, metric: Metric) -> str:
    spread = metric.spread(cell)
    if spread.low is None or spread.high is None:
        return ""
    scale = metric.unit_for(_median(cell, metric)).scale
    return f"{interval_name([cell.trials])} {significant(spread.low / scale)} to {significant(spread.high / scale)}"


def _whole_window(cell: CellResult, metric: Metric) -> str:
    """The rate including the part that was cut as warm-up; empty if nothing was cut."""
    if cell.cut is None or metric is not GOODPUT:
        return ""
    return f"{GOODPUT.text(cell.cut.whole_window_bps)} over the whole window"


def _direction(cell: CellResult) -> str:
    many = cell.factors.get("connections")
    over = f" over {many} connections" if isinstance(many, int) and many > 1 else ""
    if cell.transports is not None and len({flow.direction for flow in cell.transports.flows}) > 1:
        number = sum(flow.connections for flow in cell.transports.flows)
        return f"in both directions together, over {number} connections"
    if cell.metric == "transactions" or cell.workload == "bidirectional":
        return f"between near and far{over}"
    is_received = near_receives({**cell.factors, "workload": cell.workload})
    return f"{'from far to near' if is_received else 'from near to far'}{over}"


def _cpu_sentence(cell: CellResult) -> str:
    cpus = [cpu for end in ENDS if (cpu := getattr(cell.cpu, end)) is not None]
    threads = [cpu.load_threads_ratio for cpu in cpus if cpu.load_threads_ratio is not None]
    busy = [cpu.busy_ratio for cpu in cpus if cpu.busy_ratio is not None]
    if len(threads) == len(ENDS):
        sender, receiver = map(percent, threads)
        return f"whyperf's own threads took {sender} of the sender's CPU and {receiver} of the receiver's."
    if len(busy) == len(ENDS):
        return f"The sender's CPU was {percent(busy[0])} busy, the receiver's {percent(busy[1])}."
    return ""


def _median(cell: CellResult, metric: Metric) -> float:
    return metric.median(cell) or 0.0
