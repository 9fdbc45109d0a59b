"""The main result in plain words, and the key numbers beside it."""

from dataclasses import dataclass

from whyperf.analyze.doubts import CPU_POOL_SHORT_S
from whyperf.analyze.quantity import bit_rate, octets, percent, significant
from whyperf.analyze.summary import CellResult, Summary
from whyperf.report.columns import rate_unit_for
from whyperf.report.layout import varied_axes
from whyperf.report.words import ENDS, setting

WHERE = {
    "veth": "on the embedded testbed",
    "loopback": "over loopback",
    "network": "over the network",
}


@dataclass(frozen=True)
class Figure:
    """A key number: its value, unit, what it is, and a remark."""

    value: str
    unit: str
    name: str
    remark: str = ""


def headline(summary: Summary) -> str:
    """One or two sentences: what was reached, where; of a sweep also what its slowest setting moved."""
    measured = [cell for cell in summary.cells if cell.goodput_bps.median is not None]
    if not measured:
        return "No trial has a result yet."
    where = WHERE.get(summary.testbed, "")
    best = max(measured, key=_median)
    if len(summary.cells) == 1:
        return f"{bit_rate(_median(best))} {_way(best)} {where}. {_cpu_sentence(best)}".strip()
    sweep = [cell for cell in summary.cells if cell.sweep == best.sweep]
    worst = min((cell for cell in measured if cell.sweep == best.sweep), key=_median)
    names = [axis.factor for axis in varied_axes(sweep)]
    lead = f"Goodput reached {bit_rate(_median(best))} {where}, with {setting(best.factors, names)}."
    if _median(worst) <= 0 or best is worst:
        return lead
    factor = _median(best) / _median(worst)
    less = f"{significant(factor, 2)} times less" if factor >= 1.15 else f"{percent(1 - 1 / factor)} less"
    return f"{lead} The slowest setting, {setting(worst.factors, names)}, moved {bit_rate(_median(worst))}: {less}."


def key_figures(summary: Summary) -> list[Figure]:
    """The numbers a reader looks for first; of a sweep those of its fastest cell."""
    measured = [cell for cell in summary.cells if cell.goodput_bps.median is not None]
    if not measured:
        return []
    best = max(measured, key=_median)
    of_best = "" if len(summary.cells) == 1 else "fastest cell"
    unit = rate_unit_for(_median(best))
    figures = [
        Figure(significant(_median(best) / unit.bps), unit.name, "Goodput", _interval(best) or of_best),
    ]
    for end in ENDS:
        cpu = getattr(best.cpu, end)
        if cpu is not None and cpu.busy_ratio is not None:
            # Ticks are too coarse for a short transfer; the table's tooltip says so.
            rough = "~" if cpu.pooled_s < CPU_POOL_SHORT_S else ""
            value = rough + percent(cpu.busy_ratio).removesuffix(" %")
            threads = cpu.load_threads_ratio
            # Far below the CPU's own share, somebody else was on it.
            own = "" if threads is None else f"load's threads {percent(threads)}"
            figures.append(Figure(value, "%", f"CPU of the {end}", ", ".join(part for part in (of_best, own) if part)))
        elif cpu is not None and cpu.load_threads_ratio is not None:
            value = percent(cpu.load_threads_ratio).removesuffix(" %")
            figures.append(Figure(value, "%", f"CPU of the {end}", "load's threads only"))
    cycles = best.cycles_per_kbyte
    if cycles.sender is not None and cycles.receiver is not None:
        both = f"{cycles.sender:,.0f} + {cycles.receiver:,.0f}"
        figures.append(Figure(both, "", "Cycles per KByte", f"sender + receiver, {cycles.unit}"))
    if best.window.announced_bytes is not None and len(summary.cells) == 1:
        figures.append(Figure(*_window(best)))
    if len(summary.cells) == 1:
        again = best.retransmitted_segments
        if again.median is not None:
            figures.append(Figure(f"{again.median:,.0f}", "", "Retransmitted segments", "median of the trials"))
    figures.append(_trials(summary))
    return figures


def _trials(summary: Summary) -> Figure:
    trials = sum(cell.trials for cell in summary.cells)
    failed = sum(cell.failed_trials + cell.unusable_trials for cell in summary.cells)
    parts = [f"in {len(summary.cells):,} cells"] if len(summary.cells) > 1 else []
    parts += [f"{failed:,} more failed"] if failed else []
    remark = ", ".join(parts)
    return Figure(f"{trials:,}", "", "Trial" if trials == 1 else "Trials", remark)


def _window(cell: CellResult) -> tuple[str, str, str, str]:
    announced = cell.window.announced_bytes
    assert announced is not None
    asked = cell.window.requested_bytes
    remark = f"{octets(asked)} asked for" if asked else f"from {announced.min:,}, kernel's choice"
    return f"{announced.max:,}", "bytes", "Largest announced window", remark


def _interval(cell: CellResult) -> str:
    low, high = cell.goodput_bps.low, cell.goodput_bps.high
    if low is None or high is None or cell.trials < 3:
        return ""
    unit = rate_unit_for(_median(cell))
    return f"95 % interval {significant(low / unit.bps)} to {significant(high / unit.bps)}"


def _way(cell: CellResult) -> str:
    many = cell.factors.get("connections")
    over = f" over {many} connections" if isinstance(many, int) and many > 1 else ""
    way = "from far to near" if cell.factors.get("direction") == "receive" else "from near to far"
    return f"{way}{over}"


def _cpu_sentence(cell: CellResult) -> str:
    shares = {end: getattr(cell.cpu, end) for end in ENDS}
    known = {end: cpu.busy_ratio for end, cpu in shares.items() if cpu is not None and cpu.busy_ratio is not None}
    if len(known) < 2:
        return ""
    return f"The sender's CPU was {percent(known['sender'])} busy, the receiver's {percent(known['receiver'])}."


def _median(cell: CellResult) -> float:
    return cell.goodput_bps.median or 0.0
