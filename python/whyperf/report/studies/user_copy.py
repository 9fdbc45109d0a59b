"""Compares user time and the copy from user to kernel with those of the Gigabit Ethernet study, by message size.

Both are known in two ways: by stage times of sampled segments, and by stack samples as classes of cost.
"""

from collections.abc import Mapping, Sequence

from whyperf.analyze.cost.classes import APPLICATION
from whyperf.analyze.cost.result import CellCost, ClassCost, SideCost
from whyperf.analyze.cost.stored_budget import has_samples, read_cost
from whyperf.analyze.stages import Amount, TrialStages
from whyperf.analyze.stages.experiment import CellStages
from whyperf.analyze.stages.shares import CpuShares, cpu_shares
from whyperf.analyze.text import percent
from whyperf.plan import Plan
from whyperf.record import Experiment, Trials
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.studies.published import HERE, STUDY, Row, read
from whyperf.report.table import Column, Entry, Table

PROFILE = "user-copy-share"
SIZE = "write_size_bytes"
COPY = "copy"
MIN_SHARE = 0.01
"""Classes of cost below this part in all cells are one column."""
NOTE = (
    "Shares of the sender's CPU time. User is the program between its calls, copy the payload from user to kernel, "
    "system the rest of the calls. The study has user and copy, of a sender of small packets. Stages: by stage times "
    "of sampled segments. Samples: by stack samples, the classes Application and Copying payload of all that the "
    "sender's threads and soft interrupts cost."
)
CLASSES_NOTE = (
    "By stack samples: the classes of whyperf show --view cost, as shares of all that the sender's threads and its "
    "soft interrupts "
    "cost. On the testbed both hosts share a machine, so the receiver's processing of packets can be in them."
)


def user_copy_section(experiment: Experiment, cells: Sequence[CellStages], trials: Trials) -> Section | None:
    """The section; None for another profile, or without stage times and stack samples of a sender.

    Raises:
        RecordError: the record cannot be read.
    """
    if experiment.plan.profile != PROFILE:
        return None
    return section_of(experiment.plan, cells, read_cost(experiment).cells if has_samples(trials) else ())


def section_of(plan: Plan, cells: Sequence[CellStages], costs: Sequence[CellCost]) -> Section | None:
    """The section of these stage times and costs; None where no sender has any."""
    found = {_size(plan, cell.cell): shares for cell in cells if (shares := _sender(cell.found))}
    sampled = {
        _size(plan, cell.id): side for cell in costs for side in cell.sides if side.role == "sender" and side.classes
    }
    if not found and not sampled:
        return None
    source, published = read("gbe_cpu_share")
    by_size = {int(row["payload_bytes"]): row for row in published}
    sizes = sorted({*by_size, *(size for size in {*found, *sampled} if isinstance(size, int))})
    columns = (
        Column("Message (bytes)"),
        Column(f"User, {STUDY}"),
        Column(f"User, {HERE}, stages"),
        Column(f"User, {HERE}, samples"),
        Column(f"Copy, {STUDY}"),
        Column(f"Copy, {HERE}, stages"),
        Column(f"Copy, {HERE}, samples"),
        Column("System without the copy, stages"),
        Column("Soft interrupts, stages"),
    )
    rows = tuple(_row(size, by_size.get(size), found.get(size), sampled.get(size)) for size in sizes)
    section = Section("study", "Comparison with the study")
    section.tables.append(StudyTable("Where the sender's CPU time goes", f"{NOTE} {source}", Table(columns, rows)))
    if sampled:
        table = _classes_table({size: side for size in sizes if (side := sampled.get(size)) is not None})
        section.tables.append(StudyTable("The sender's cost by class and message size", CLASSES_NOTE, table))
    return section


def _size(plan: Plan, cell: str) -> object:
    return plan.cell(cell).factors.get(SIZE)


def _sender(found: TrialStages | None) -> CpuShares | None:
    senders = [host for host in found.hosts if host.role == "sender"] if found is not None else []
    return cpu_shares(senders[0]) if senders else None


def _row(size: int, study: Row | None, here: CpuShares | None, sampled: SideCost | None) -> tuple[Entry, ...]:
    known: Mapping[str, Amount] = {} if here is None else vars(here)
    classes = {entry.name: entry for entry in sampled.classes} if sampled is not None else {}
    return (
        Entry(f"{size:,}", str(size)),
        _published(study, "user_percent"),
        _share(known.get("user")),
        _class_share(classes.get(APPLICATION), sampled),
        _published(study, "user_to_kernel_copy_percent"),
        _share(known.get("copy")),
        _class_share(classes.get(COPY), sampled),
        _share(known.get("system")),
        _share(known.get("softirq")),
    )


def _classes_table(sides: Mapping[int, SideCost]) -> Table:
    """A row for each size: cycles per KByte, and the share of each class that is not small in all of them."""
    shares = {size: {entry.name: entry.share for entry in side.classes} for size, side in sides.items()}
    titles = {entry.name: entry.title for side in sides.values() for entry in side.classes}
    most = {name: max(own.get(name, 0.0) for own in shares.values()) for name in titles}
    shown = sorted((name for name in titles if most[name] >= MIN_SHARE), key=lambda name: -most[name])
    columns = (
        Column("Message (bytes)"),
        Column("Cycles/KB"),
        *(Column(titles[name]) for name in shown),
        Column("Other classes"),
    )
    rows = tuple(
        (
            Entry(f"{size:,}", str(size)),
            Entry(f"{sides[size].total.mean:,.0f}", f"{sides[size].total.mean:.6g}"),
            *(_ratio(own.get(name, 0.0)) for name in shown),
            _ratio(sum(share for name, share in own.items() if name not in shown)),
        )
        for size, own in shares.items()
    )
    return Table(columns, rows)


def _published(row: Row | None, name: str) -> Entry:
    return Entry("") if row is None else Entry(f"{row[name]} %", str(float(row[name]) / 100))


def _class_share(entry: ClassCost | None, side: SideCost | None) -> Entry:
    """A class that a sampled side lacks has no samples."""
    if side is None:
        return Entry("")
    return _ratio(0.0 if entry is None else entry.share)


def _ratio(ratio: float) -> Entry:
    return Entry(percent(ratio), f"{ratio:.6g}")


def _share(amount: Amount | None) -> Entry:
    if amount is None:
        return Entry("")
    ends = "" if amount.low is None or amount.high is None else f"{percent(amount.low)} to {percent(amount.high)}"
    return Entry(percent(amount.value), f"{amount.value:.6g}", ends)
