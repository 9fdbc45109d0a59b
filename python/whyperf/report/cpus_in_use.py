"""The CPUs that each side keeps busy, in words: CPUs × utilization; of shared CPUs what its threads used."""

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import ENDS, count


def cpus_text(number: float) -> str:
    """The number of CPUs in use, in steps of 0.01 CPUs."""
    return f"{number:.2f}"


def cpus_in_use(cell: CellResult) -> str | None:
    """The CPUs in use of both sides; None where a percentage of one CPU each says the same."""
    sides = {end: cpu for end in ENDS if (cpu := getattr(cell.cpu, end)) is not None and cpu.in_use_cpus is not None}
    is_plain = all(
        cpu.exclusive and (cpu.cpus_count or 1) <= 1 and (cpu.adapters_count or 1) <= 1 for cpu in sides.values()
    )
    if not sides or is_plain:
        return None
    parts = [
        f"{end} {cpus_text(cpu.in_use_cpus)} of {cpu.cpus_count or 0:.3g}"
        if cpu.exclusive
        else f"threads of the {end} {cpus_text(cpu.in_use_cpus)}"
        for end, cpu in sides.items()
    ]
    adapters = [
        f"{end} {cpus_text(cpu.per_adapter_cpus)} for each of {count(cpu.adapters_count, 'adapter')}"
        for end, cpu in sides.items()
        if (cpu.adapters_count or 1) > 1 and cpu.per_adapter_cpus is not None
    ]
    shared = cell.cpu.shared
    if shared is not None and shared.not_attributed_cpus is not None:
        soft = "" if shared.softirq_cpus is None else f" (soft interrupts {cpus_text(shared.softirq_cpus)})"
        parts.append(f"neither {cpus_text(shared.not_attributed_cpus)}{soft}")
        return f"{', '.join([*parts, *adapters])} of {count(len(shared.cpus), 'CPU')} that both share"
    return ", ".join([*parts, *adapters])
