"""The result of a single cell in a few lines, as `whyperf run HOST` ends with."""

from collections.abc import Iterator

from whyperf.analyze.quantity import bit_rate, count, percent, significant
from whyperf.analyze.summary import CellResult, EndCpu
from whyperf.report.words import ENDS, level_with_unit

WIDTH = 16
#: Below this a percentage would read 0.0.
SMALLEST_RATIO = 0.0005


def single_lines(cell: CellResult) -> list[str]:
    """What was reached, and what it cost both ends."""
    return [f"{name:<{WIDTH}}{text}" for name, text in _facts(cell)]


def _facts(cell: CellResult) -> Iterator[tuple[str, str]]:
    goodput = cell.goodput_bps
    if goodput.median is None:
        yield "Goodput", "none: no trial has a result"
    else:
        interval = ""
        if goodput.low is not None and goodput.high is not None:
            interval = f" ({bit_rate(goodput.low)} to {bit_rate(goodput.high)}, {count(cell.trials, 'trial')})"
        yield "Goodput", bit_rate(goodput.median) + interval
    for end in ENDS:
        cpu: EndCpu | None = getattr(cell.cpu, end)
        if cpu is not None:
            yield f"CPU {end}", _cpu(cpu)
    cycles = cell.cycles_per_kbyte
    if cycles.sender is not None or cycles.receiver is not None:
        parts = [f"{end} {value:,.0f}" for end in ENDS if (value := getattr(cycles, end)) is not None]
        yield "Cycles/KB", f"{', '.join(parts)} ({cycles.unit})"
    yield "Window", _window(cell)
    again = cell.retransmitted_segments
    if again.median is not None:
        ratio = (
            f" ({percent(again.ratio)} of the data segments)" if again.ratio and again.ratio >= SMALLEST_RATIO else ""
        )
        yield "Retransmitted", f"{count(round(again.median), 'segment')}{ratio}"
    shares = cell.connections
    if shares is not None:
        fairness = "" if shares.fairness is None else f", fairness {significant(shares.fairness, 2)}"
        yield "Connections", f"{bit_rate(shares.min_bps)} to {bit_rate(shares.max_bps)} each{fairness}"


def _cpu(cpu: EndCpu) -> str:
    threads = "" if cpu.load_threads_ratio is None else f"load's threads {percent(cpu.load_threads_ratio)}"
    if cpu.busy_ratio is None:
        why = "too short for the kernel's ticks" if cpu.exclusive else "both ends share their CPUs"
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
    return f"{percent(cpu.busy_ratio)} of {where} ({split}); {threads}"


def _window(cell: CellResult) -> str:
    window = cell.window
    asked = (
        "the kernel's choice"
        if window.requested_bytes is None
        else level_with_unit("window_bytes", window.requested_bytes)
    )
    if window.announced_bytes is None:
        return f"requested {asked}"
    announced = window.announced_bytes
    return (
        f"requested {asked}, announced {level_with_unit('window_bytes', announced.max)} at most "
        f"(median {announced.median:,}, least {announced.min:,})"
    )
