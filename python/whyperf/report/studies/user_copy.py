"""Compares user time and the copy from user to kernel with those of the Gigabit Ethernet study, by message size."""

from collections.abc import Mapping, Sequence

from whyperf.analyze.stages import Amount, TrialStages
from whyperf.analyze.stages.experiment import CellStages
from whyperf.analyze.stages.shares import CpuShares, cpu_shares
from whyperf.analyze.text import percent
from whyperf.plan import Plan
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.studies.published import HERE, STUDY, Row, read
from whyperf.report.table import Column, Entry, Table

PROFILE = "user-copy-share"
SIZE = "write_size_bytes"
NOTE = (
    "Shares of the sender's CPU time, by stage times of sampled segments. User is the program between its calls, copy "
    "the payload from user to kernel, system the rest of the calls. The study has user and copy, of a sender of small "
    "packets."
)


def user_copy_section(plan: Plan, cells: Sequence[CellStages]) -> Section | None:
    """The section; None for another profile, or without stage times of a sender."""
    if plan.profile != PROFILE:
        return None
    found = {plan.cell(cell.cell).factors.get(SIZE): shares for cell in cells if (shares := _sender(cell.found))}
    if not found:
        return None
    source, published = read("gbe_cpu_share")
    by_size = {int(row["payload_bytes"]): row for row in published}
    sizes = sorted({*by_size, *(size for size in found if isinstance(size, int))})
    columns = (
        Column("Message (bytes)"),
        Column(f"User, {STUDY}"),
        Column(f"User, {HERE}"),
        Column(f"Copy, {STUDY}"),
        Column(f"Copy, {HERE}"),
        Column("System without the copy"),
        Column("Soft interrupts"),
    )
    rows = tuple(_row(size, by_size.get(size), found.get(size)) for size in sizes)
    section = Section("study", "Comparison with the study")
    section.tables.append(StudyTable("Where the sender's CPU time goes", f"{NOTE} {source}", Table(columns, rows)))
    return section


def _sender(found: TrialStages | None) -> CpuShares | None:
    senders = [host for host in found.hosts if host.role == "sender"] if found is not None else []
    return cpu_shares(senders[0]) if senders else None


def _row(size: int, study: Row | None, here: CpuShares | None) -> tuple[Entry, ...]:
    known: Mapping[str, Amount] = {} if here is None else vars(here)
    return (
        Entry(f"{size:,}", str(size)),
        _published(study, "user_percent"),
        _share(known.get("user")),
        _published(study, "user_to_kernel_copy_percent"),
        _share(known.get("copy")),
        _share(known.get("system")),
        _share(known.get("softirq")),
    )


def _published(row: Row | None, name: str) -> Entry:
    return Entry("") if row is None else Entry(f"{row[name]} %", str(float(row[name]) / 100))


def _share(amount: Amount | None) -> Entry:
    if amount is None:
        return Entry("")
    ends = "" if amount.low is None or amount.high is None else f"{percent(amount.low)} to {percent(amount.high)}"
    return Entry(percent(amount.value), f"{amount.value:.6g}", ends)
