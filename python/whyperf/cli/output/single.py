"""The result of a single cell in a few lines, as `whyperf run HOST` prints at its end."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from whyperf.analyze.spread import Spread, interval_name
from whyperf.analyze.summary import (
    CellResult,
    Cut,
    Datagrams,
    EndCpu,
    Latency,
    Provisional,
    Rtt,
    RttProbe,
    Setup,
    Transactions,
    WatchedConnection,
)
from whyperf.analyze.text import ENDS, bit_rate, count, level_with_unit, percent, seconds, si, significant
from whyperf.analyze.transports.result import Duration, Transports
from whyperf.profile.path_factors import MAKERS
from whyperf.report.charts.metric import per_second
from whyperf.report.needed_window import needed_window_lines
from whyperf.report.properties import cpus_in_use

WIDTH = 16
#: Prints a number with its unit.
ToText = Callable[[float], str]
#: From this part of the asked rate on it counts as reached: the first and the last datagram lie anywhere in their
#: intervals.
SENT_AS_ASKED = 0.95
#: From this many connections on, their set-up is printed.
MANY_CONNECTIONS = 100
#: As in `analyze.measures.costs`, which loads polars.
TSC_UNIT = "TSC reference cycles"
#: Below this a percentage would read 0.0.
SMALLEST_RATIO = 0.0005


def single_lines(cell: CellResult, rate: ToText = bit_rate, window_for_bps: float | None = None) -> list[str]:
    """Figures reached, and their cost to both hosts; `rate` prints a rate in bit/s, and `window_for_bps` is the rate
    for which the window is asked.
    """
    return [f"{name:<{WIDTH}}{text}" for name, text in _facts(cell, rate, window_for_bps)]


def _facts(cell: CellResult, rate: ToText, window_for_bps: float | None) -> Iterator[tuple[str, str]]:
    if cell.watched is not None:
        yield from _watched(cell, cell.watched, rate)
    elif cell.metric == "transactions" and cell.transactions is not None:
        yield from _transactions(cell, cell.transactions, rate)
    else:
        yield from _moved(cell, rate)
    if path := list(_path(cell.factors)):
        yield "Path", f"{', '.join(path)} (emulated)"
    if cell.rtt_probe is not None:
        yield from _rtt_probe(cell.rtt_probe)
    yield from _processors(cell)
    cycles = cell.cycles_per_kbyte
    if (cycles.sender is not None or cycles.receiver is not None) and cell.metric != "transactions":
        parts = [f"{end} {value:,.0f}" for end in ENDS if (value := getattr(cycles, end)) is not None]
        # A PMU counts whole CPUs. `--view cost` has soft interrupts and steal, too, and says so at the same place.
        whose = f" of {threads_of(cell)}" if cycles.unit == TSC_UNIT else ""
        yield "Cycles/KB", f"{', '.join(parts)} ({cycles.unit}{whose})"
    yield from _windows(cell, rate, window_for_bps)
    again = cell.retransmitted_segments
    if again.median is not None and cell.datagrams is None:
        part = again.ratio or 0.0
        ratio = f" ({percent(part)} of the data {again.unit})" if part >= SMALLEST_RATIO else ""
        yield "Retransmitted", f"{count(round(again.median), again.unit[:-1])} in the measurement{ratio}"
    if cell.rtt is not None and cell.rtt_probe is None and cell.metric != "transactions":
        yield "RTT", _rtt(cell.rtt)
    shares = cell.connections
    if shares is not None and cell.metric != "transactions":
        fairness = "" if shares.fairness is None else f", fairness {significant(shares.fairness, 2)}"
        yield "Connections", f"{rate(shares.min_bps)} to {rate(shares.max_bps)} each{fairness}"
    start = cell.start
    # A fleet has its common window instead, with the bound of the clocks.
    if start is not None and start.agents > 1 and cell.fleet is None:
        within = seconds(max(start.skew_s, start.uncertainty_s) * 1e9)
        yield "Start", f"{start.agents} agents began within {within} of each other"
    if cell.setup is not None and cell.setup.connections >= MANY_CONNECTIONS:
        yield "Set-up", _setup(cell.setup)


def _path(factors: Mapping[str, object]) -> Iterator[str]:
    """The settings that make an emulated path; none where there is no path."""
    rtt, bps, loss = (factors.get(name) for name in MAKERS)
    if isinstance(rtt, int | float):
        yield f"{rtt:g} ms RTT"
    if isinstance(bps, int):
        number, _, unit = si(bps, "bit/s", digits=6).partition(" ")
        yield f"{float(number):g} {unit}"
    if isinstance(loss, int | float):
        yield f"{100 * loss:g} % loss"
    elif isinstance(loss, str) and loss != "none":
        yield f"loss {loss}"


def _rtt(rtt: Rtt) -> str:
    """As the senders' kernels or libraries saw it under load."""
    lowest = "" if rtt.rtt_ns_min is None else f", lowest {seconds(rtt.rtt_ns_min)}"
    return f"median {seconds(rtt.rtt_ns)}{lowest}"


def _processors(cell: CellResult) -> Iterator[tuple[str, str]]:
    """The CPU time of both sides."""
    for end in ENDS:
        cpu: EndCpu | None = getattr(cell.cpu, end)
        if cpu is not None:
            yield f"CPU {end}", _cpu(cpu, threads_of(cell))
    if (used := cpus_in_use(cell)) is not None:
        yield "CPUs in use", used


def _windows(cell: CellResult, rate: ToText, window_for_bps: float | None) -> Iterator[tuple[str, str]]:
    """The window that the sockets have, and the one that the latency needs."""
    # Without a result nothing is known of the sockets, not even that a window was left to the kernel.
    if cell.window.announced_bytes is not None or (cell.metric == "goodput" and cell.goodput_bps.median is not None):
        yield "Window", _window(cell)
    if cell.needed_window is not None:
        yield from needed_window_lines(cell.needed_window, rate, window_for_bps)


def threads_of(cell: CellResult) -> str:
    """Whose CPU time is known apart from the host's."""
    return "whyperf's own threads" if cell.watched is None else "the program's threads"


def _watched(cell: CellResult, found: WatchedConnection, rate: ToText) -> Iterator[tuple[str, str]]:
    process = "" if found.process is None else f" (process {found.process})"
    yield "Program", f"{found.program}{process}" if found.program else "not known"
    yield "Connection", f"{found.local} {'→' if found.direction == 'send' else '←'} {found.remote}"
    yield "Goodput", _goodput(cell, rate) if cell.goodput_bps.median is not None else "none: it was seen once only"
    other = found.received_bps if found.direction == "send" else found.sent_bps
    if found.moves_both_ways and other is not None:
        yield "Other direction", rate(other)
    parts = [] if found.watched_s is None else [seconds(found.watched_s * 1e9)]
    parts += {None: [], True: ["from its first segment on"], False: ["open before"]}[found.is_whole]
    parts += ["closed meanwhile"] if found.is_closed else []
    parts += ["both sides"] if len(found.hosts) > 1 else [f"{found.hosts[0]} side only"]
    yield "Watched", ", ".join(parts)


def _moved(cell: CellResult, rate: ToText) -> Iterator[tuple[str, str]]:
    was_stopped = cell.provisional is not None and cell.provisional.status == "interrupted"
    yield "Goodput", _goodput(cell, rate) if not was_stopped else "no result: the trial was stopped"
    if cell.cut is not None:
        yield "Cut", _cut(cell.cut, cell.goodput_bps.median, cell.trials, rate)
        whole = rate(cell.cut.whole_window_bps)
        if cell.goodput_bps.median is not None and whole != rate(cell.goodput_bps.median):
            yield "Whole window", f"{whole}, with the part that is cut"
    if cell.provisional is not None:
        yield "Provisional", _provisional(cell.provisional, cell.metric, rate)
    yield from _asked(cell, rate)
    yield from _datagrams(cell.datagrams) if cell.datagrams is not None else _executions(cell)
    yield from scheduled_lines(cell.transports) if cell.transports is not None else ()


def _asked(cell: CellResult, rate: ToText) -> Iterator[tuple[str, str]]:
    """The rate of datagrams that was asked for, where the sender stayed below it."""
    asked, size = (cell.factors.get(name) for name in ("write_rate_bps", "datagram_size_bytes"))
    sent = None if cell.datagrams is None else cell.datagrams.sent_per_s
    if not isinstance(asked, int) or not isinstance(size, int) or sent is None:
        return
    connections = cell.factors.get("connections", 1)
    whole_bps, sent_bps = asked * (connections if isinstance(connections, int) else 1), sent * size * 8
    if sent_bps < SENT_AS_ASKED * whole_bps:
        yield "Asked", f"{rate(whole_bps)}; the sender handed {rate(sent_bps)} of it to its kernel"


def _setup(setup: Setup) -> str:
    """The number of connections and the time for them."""
    return f"{setup.connections:,} connections in {seconds(setup.seconds * 1e9)} ({setup.per_s:,.0f}/s)"


def _goodput(cell: CellResult, rate: ToText) -> str:
    if cell.goodput_bps.median is None:
        return "none: no trial has a result"
    return _spread(cell.goodput_bps, rate, cell.trials)


def _cut(cut: Cut, median_bps: float | None, trials: int, rate: ToText) -> str:
    """Which part of the window does not count, and its rate."""
    which = "" if trials == 1 else f"in {cut.trials} of {count(trials, 'trial')}, at most "
    why = "before it slowed down" if median_bps is not None and cut.whole_window_bps > median_bps else "as warm-up"
    return f"{which}{cut.from_s:.2f}-{cut.to_s:.2f} s {why} ({rate(cut.goodput_bps)})"


def _provisional(observed: Provisional, metric: str, to_text: ToText) -> str:
    """The rate until a trial without a result ended."""
    is_counted = metric == "transactions" and observed.transactions_per_s is not None
    rate = per_second(observed.transactions_per_s or 0.0) if is_counted else to_text(observed.goodput_bps)
    over, phase = f"{rate} over {seconds(observed.seconds * 1e9)}", "warm-up" if observed.in_warmup else "measurement"
    if observed.status == "interrupted":
        return f"{over}{' of the warm-up' if observed.in_warmup else ''}, until it was stopped"
    how = {"failed": "failed", "void": "is void"}[observed.status]
    return f"{over} of the {phase}; not a result: the trial {how}"


def _spread(spread: Spread, to_text: ToText, trials: int) -> str:
    """A median, with its interval or range where there is one."""
    if spread.median is None:
        return "none: no trial has a result"
    interval = ""
    if spread.low is not None and spread.high is not None:
        interval = f" ({to_text(spread.low)} to {to_text(spread.high)}, {interval_name([trials])} of {trials} trials)"
    return to_text(spread.median) + interval


def _transactions(cell: CellResult, found: Transactions, rate: ToText) -> Iterator[tuple[str, str]]:
    failed = f", {found.failed_count:,} failed" if found.failed_count else ""
    yield "Transactions", _spread(found.per_s, per_second, cell.trials) + failed
    if found.intended_per_s is not None and found.begun_per_s is not None:
        yield "Offered", f"{per_second(found.intended_per_s)}, {per_second(found.begun_per_s)} begun"
    if found.latency is None and found.per_s.median is not None:
        yield "Latency", "not known: no transaction ended within the measured time"
    for name, latency in (("Latency", found.latency), ("Connecting", found.connect)):
        if latency is not None:
            yield name, _latency(latency)
    for name, latency in (("Beyond the host", found.wire), ("In the host", found.host)):
        if latency is not None:
            yield name, f"{_latency(latency)}{_share(latency, found.wire, found.host)}"
    if found.connects_per_s is not None:
        yield "Connects", f"{significant(found.connects_per_s, 4)} connections/s"
    for end in ENDS:
        cost = getattr(found.cost, end)
        if cost is not None and cost.load_threads_ns is not None:
            busy = f"; host {seconds(cost.busy_ns)} of CPU" if cost.busy_ns is not None else ""
            calls = f", {significant(cost.calls)} system calls" if cost.calls is not None else ""
            yield f"Each, {end}", f"whyperf's own threads {seconds(cost.load_threads_ns)}{calls}{busy}"
    if cell.goodput_bps.median is not None:
        yield "Goodput", rate(cell.goodput_bps.median)


def _rtt_probe(probe: RttProbe) -> Iterator[tuple[str, str]]:
    for name, found in (("RTT under load", probe.load), ("RTT idle", probe.idle)):
        if found is not None:
            yield name, _latency(found)
    if probe.lost_count:
        yield "RTT probe", f"{probe.lost_count:,} of {count(probe.sent_count, 'request')} not answered"


def _executions(cell: CellResult) -> Iterator[tuple[str, str]]:
    """The rate next to a goodput, where executions are more to a reader than calls of a stream."""
    found = cell.transactions
    if found is not None and found.counted_as is not None and found.per_s.median is not None:
        to_text = partial(per_second, what=found.counted_as)
        yield found.counted_as.capitalize(), _spread(found.per_s, to_text, cell.trials)


def _share(latency: Latency, wire: Latency | None, host: Latency | None) -> str:
    """The part that it is of the time of the transactions that have the kernel's stamps."""
    if wire is None or host is None or wire.mean_ns + host.mean_ns == 0:
        return ""
    return f", {percent(latency.mean_ns / (wire.mean_ns + host.mean_ns))} of the time"


def _latency(latency: Latency) -> str:
    parts = {
        "50 %": latency.p50_ns,
        "90 %": latency.p90_ns,
        "99 %": latency.p99_ns,
        "99.9 %": latency.p99_9_ns,
        "99.99 %": latency.p99_99_ns,
        "99.999 %": latency.p99_999_ns,
        "largest": latency.max_ns,
    }
    text = ", ".join(f"{name} {seconds(value)}" for name, value in parts.items() if value is not None)
    kinds = {"service": " (closed loop)", "intended": " (from the intended start)"}
    return text + kinds.get(latency.kind, "")


def _datagrams(found: Datagrams) -> Iterator[tuple[str, str]]:
    if found.received_per_s.median is not None:
        sent = (
            "" if found.sent_per_s is None else f"; {significant(found.sent_per_s, 4)} /s handed to the sender's kernel"
        )
        yield "Datagrams", f"{significant(found.received_per_s.median, 4)} /s arrived{sent}"
    if found.lost_ratio is not None:
        dropped = (
            f", {found.kernel_drops_count:,} dropped by the receiving socket in all" if found.kernel_drops_count else ""
        )
        due = found.received_count + found.lost_count
        lost = f"{percent(found.lost_ratio)} ({found.lost_count:,} of {due:,}{dropped})"
        yield "Lost", f"{lost}; {found.late_count:,} late, {found.duplicate_count:,} twice"
    if found.jitter_ns is not None:
        yield "Jitter", f"median {seconds(found.jitter_ns)}, largest {seconds(found.jitter_ns_max or 0)}"


def _cpu(cpu: EndCpu, whose: str) -> str:
    """The load's own CPU time first: only its part of the host's is what this rate costs."""
    threads = "" if cpu.load_threads_ratio is None else f"{whose} {percent(cpu.load_threads_ratio)}"
    if cpu.busy_ratio is None:
        why = "too short for the kernel's ticks" if cpu.exclusive else "both hosts share their CPUs"
        return f"{threads}; {why}".removeprefix("; ")
    where = f"CPU {', '.join(map(str, cpu.cpus))}" if len(cpu.cpus) <= 4 else f"{len(cpu.cpus)} CPUs"
    parts = {
        "user": cpu.user_ratio,
        "system": cpu.system_ratio,
        "irq": cpu.irq_ratio,
        "softirq": cpu.softirq_ratio,
        "steal": cpu.steal_ratio,
    }
    split = ", ".join(
        f"{name} {percent(ratio)}" for name, ratio in parts.items() if ratio is not None and ratio >= SMALLEST_RATIO
    )
    host = f"host {percent(cpu.busy_ratio)} of {where}" + (f" ({split})" if split else "")
    return f"{threads}; {host}" if threads else host


def _window(cell: CellResult) -> str:
    window = cell.window
    requested = window.requested_bytes
    chosen = "automatic" if requested is None else f"requested {level_with_unit('window_bytes', requested)}"
    if cell.watched is not None:
        # What a program asked for is not in its socket.
        chosen = "" if window.announced_bytes is not None else "not known"
    advertised = window.announced_bytes
    if advertised is None:
        return chosen
    largest = level_with_unit("window_bytes", advertised.max)
    shown = f"largest advertised {largest} (median {advertised.median:,}, smallest {advertised.min:,})"
    return f"{chosen}; {shown}" if chosen else shown


def scheduled_lines(result: Transports) -> Iterator[tuple[str, str]]:
    """Name and text of each line; none of what no trial has."""
    protocols = " and ".join(dict.fromkeys(flow.protocol for flow in result.flows))
    flows, times = (
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in ((len(result.flows), "flow"), (len(result.regions), "region"))
    )
    yield "Schedule", f"{result.schedule}: {flows} of {protocols} in {times}"
    regions = [region for region in result.regions if region.flows and region.goodput_bps.median is not None]
    yield (
        "Regions",
        "; ".join(f"{len(region.flows)}: {si(region.goodput_bps.median or 0.0, 'bit/s')}" for region in regions),
    )
    yield from _flows(result)
    steady = [] if result.stability.median is None else [f"S {result.stability.median:.3f}"]
    if result.fairness_min.median is not None:
        steady.append(f"F {result.fairness_min.median:.3f} at least")
    if steady:
        yield "Steadiness", ", ".join(steady)
    if result.rtt.mean_s.median is not None:
        inflation = result.rtt.inflation_ratio.median
        times = "" if inflation is None else f", {significant(inflation)} times the smallest"
        how = "" if result.rtt_source == "probe" else " (smoothed by the senders)"
        yield "Round trips", f"{seconds(result.rtt.mean_s.median * 1e9)} on average{times}{how}"
    adapting = {"recovery": result.recovery, "convergence": result.convergence, "slack": result.slack}
    waits = [f"{name} {_duration(found)}" for name, found in adapting.items() if found.count]
    if waits:
        yield "Adapting", ", ".join(waits)
    for harm in result.harm:
        if harm.goodput_ratio.median is not None:
            name = result.flows[harm.flow].name
            yield (
                "Harm",
                f"{harm.by} took {percent(harm.goodput_ratio.median)} of the goodput of {name} ({harm.protocol})",
            )


def _flows(result: Transports) -> Iterator[tuple[str, str]]:
    """The goodput of each direction and of each marked flow, while it is at work."""
    rates = {flow.flow: flow.goodput_bps.median or 0.0 for flow in result.flows}
    for direction, name in (("send", "Near to far"), ("receive", "Far to near")):
        here = [flow for flow in result.flows if flow.direction == direction]
        marked = [f"{flow.name} {bit_rate(rates[flow.flow])}" for flow in here if flow.dscp is not None]
        if here and len(here) < len(result.flows) and len({(flow.start_s, flow.stop_s) for flow in here}) == 1:
            parts = f" ({', '.join(marked)})" if marked else ""
            yield name, f"{bit_rate(sum(rates[flow.flow] for flow in here))}{parts}"


def _duration(found: Duration) -> str:
    if found.median_s is None:
        return "longer than could be seen"
    return f"{significant(found.median_s)} s"
