"""Prints the cost budget of a result."""

from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from whyperf.analyze.cost.classes import INTERRUPTS_ON, NOT_ATTRIBUTED
from whyperf.analyze.cost.events import COPIED_KBYTES
from whyperf.analyze.cost.folded import folded_lines
from whyperf.analyze.cost.pprof import pprof_profile
from whyperf.analyze.cost.result import Amount, CellCost, Cost, FunctionCost, SideCost
from whyperf.analyze.cost.stored_budget import read_cost, read_stacks
from whyperf.analyze.cost.text import EVENTS, PER_KBYTE, Basis, basis_of, cycles, function_text
from whyperf.analyze.measures.costs import TSC_UNIT
from whyperf.analyze.spread import interval_name
from whyperf.analyze.text import count, percent, setting
from whyperf.cli.exits import DONE, FAILED, UsageError, say
from whyperf.cli.output.console import Console, plain_width
from whyperf.cli.streams import print_json
from whyperf.explain.wording.catalog import uncapitalized
from whyperf.record import Experiment

#: Classes below this share are one line.
MIN_SHARE = 0.01
#: Cells that a message names.
MAX_NAMED = 8
#: Samples of a timer come late where interrupts were off: what ran meanwhile is not known, and is a row of its own.
APART = "Apart from samples where interrupts were enabled, "


def print_cost(experiment: Experiment, cell: str | None, functions: int, *, as_json: bool) -> int:
    """Prints it, of one cell or of all; 1 where nothing was sampled.

    Raises:
        UsageError: there is no such cell.
        RecordError: the record cannot be read.
    """
    _check(experiment, cell)
    found = read_cost(experiment)
    if cell is not None:
        found = found.model_copy(update={"cells": tuple(entry for entry in found.cells if entry.id == cell)})
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print(found, experiment, functions)
    if any(entry.sides for entry in found.cells):
        return DONE
    for note in found.notes:
        say(note)
    is_sampled = read_stacks(experiment, None if cell is None else {cell}) is not None
    return _without_cycles(experiment) if is_sampled else _without_samples(experiment)


def write_folded(experiment: Experiment, cell: str | None, path: Path) -> int:
    """Writes the stacks of one cell or of all as folded lines; 1 where nothing was sampled.

    Raises:
        UsageError: there is no such cell, or the file cannot be written.
        RecordError: the record cannot be read.
    """
    _check(experiment, cell)
    found = read_stacks(experiment, None if cell is None else {cell})
    lines = [] if found is None else list(folded_lines(found[0]))
    if not lines:
        return _without_samples(experiment)
    return _written("--folded", path, "".join(f"{line}\n" for line in lines).encode(), count(len(lines), "stack"))


def write_pprof(experiment: Experiment, cell: str | None, path: Path) -> int:
    """Writes the stacks of one cell or of all as a profile of pprof; 1 where nothing was sampled.

    Raises:
        UsageError: there is no such cell, or the file cannot be written.
        RecordError: the record cannot be read.
    """
    _check(experiment, cell)
    found = read_stacks(experiment, None if cell is None else {cell})
    if found is None:
        return _without_samples(experiment)
    profile = pprof_profile(found[0], cell)
    if profile is None:
        return _without_cycles(experiment)
    return _written("--pprof", path, profile, "the stacks")


def _written(option: str, path: Path, content: bytes, what: str) -> int:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; name a file in a folder that you can write to") from None
    say(f"Wrote {what} to {path}")
    return DONE


def _check(experiment: Experiment, cell: str | None) -> None:
    names = [planned.id for planned in experiment.plan.cells]
    if cell is not None and cell not in names:
        known = ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")
        raise UsageError(f"{experiment.name} has no cell {cell}; it has {known}")


def _without_cycles(experiment: Experiment) -> int:
    say(f"whyperf: {experiment.name} has stack samples, and no cycles that they could split")
    return FAILED


def _without_samples(experiment: Experiment) -> int:
    verb = "measure" if experiment.plan.watched is None else "watch"
    say(f"whyperf: {experiment.name} has no stack samples; {verb} with --evidence profile")
    return FAILED


def _print(found: Cost, experiment: Experiment, functions: int) -> None:
    console = Console(width=plain_width(), highlight=False)
    varied = experiment.plan.differing
    for line in summary_lines(found):
        console.print(line)
    for cell in found.cells:
        for side in cell.sides:
            basis = basis_of(cell, side)
            console.print(_heading(cell, side, basis, varied, is_one=len(found.cells) == 1))
            console.print(_table(side, basis, functions))
            for line in _explained(side, basis, is_own=experiment.plan.watched is None):
                console.print(line)
            console.print()
    if any(entry.sides for entry in found.cells):
        for note in found.notes:
            console.print(f"Note: {note}")


def summary_lines(found: Cost) -> Iterator[str]:
    """Says what costs most on each side of the dearest cell, and what changed most from the cheapest cell to it."""
    for role in ("sender", "receiver"):
        sides = [(cell, side) for cell in found.cells for side in cell.sides if side.role == role]
        if not sides:
            continue
        ranked = sorted(sides, key=lambda each: basis_of(*each).total(each[1]).mean)
        (cheap_cell, cheap), (cell, side) = ranked[0], ranked[-1]
        basis = basis_of(cell, side)
        known = [entry for entry in side.classes if entry.name not in {NOT_ATTRIBUTED, INTERRUPTS_ON}]
        if not known:
            continue
        most = max(known, key=lambda entry: basis.exclusive(entry).mean)
        of = f" of {cell.id}" if len(found.cells) > 1 else ""
        cost = f"{cycles(basis.exclusive(most).mean)} of {cycles(basis.total(side).mean)} cycles per {basis.unit}"
        unseen = next((entry for entry in side.classes if entry.name == INTERRUPTS_ON), None)
        is_largest = unseen is None or basis.exclusive(unseen).mean < basis.exclusive(most).mean
        what = most.title if is_largest else f"{APART}{uncapitalized(most.title)}"
        yield f"{role.capitalize()}{of}: {what} costs most, {cost}."
        if cell.id != cheap_cell.id and basis is basis_of(cheap_cell, cheap):
            before = {entry.name: basis.exclusive(entry).mean for entry in cheap.classes}
            grown = max(side.classes, key=lambda entry: basis.exclusive(entry).mean - before.get(entry.name, 0.0))
            more = basis.exclusive(grown).mean - before.get(grown.name, 0.0)
            whole = basis.total(side).mean - basis.total(cheap).mean
            yield f"  {cycles(whole)} more than {cheap_cell.id}; {grown.title} {cycles(more)} more."
    if any(cell.sides for cell in found.cells):
        yield ""


def _heading(cell: CellCost, side: SideCost, basis: Basis, varied: tuple[str, ...], *, is_one: bool) -> str:
    levels = setting(cell.factors, list(varied))
    of = "" if is_one else f"{cell.id}{f' ({levels})' if levels else ''}, "
    total = basis.total(side)
    # The result's cycles are of the threads alone, as the scheduler counts them.
    whose = " of threads, soft interrupts and steal" if side.unit == TSC_UNIT else ""
    figure = f"[bold]{of}{side.role}: {total.mean:,.0f} cycles per {basis.unit}[/bold]{_interval(total)}"
    return f"{figure} ({side.unit}{whose})"


def _interval(amount: Amount) -> str:
    return f", {_ends(amount)}" if _ends(amount) else ""


def _ends(amount: Amount) -> str:
    return "" if amount.low is None or amount.high is None else f"{cycles(amount.low)} to {cycles(amount.high)}"


def _table(side: SideCost, basis: Basis, functions: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Class, function", overflow="ellipsis", no_wrap=True, max_width=40)
    table.add_column(f"Cycles/\n{basis.column}", justify="right", no_wrap=True)
    table.add_column("Share", justify="right", no_wrap=True)
    has_intervals = any(entry.exclusive.low is not None for entry in side.classes)
    if has_intervals:
        table.add_column(interval_name([len(side.trials)]), justify="right", no_wrap=True)
    table.add_column("With\ncallees", justify="right", no_wrap=True)
    for row in _rows(side, basis, functions):
        table.add_row(*(text for place, text in enumerate(row) if has_intervals or place != 3))
    return table


def _rows(side: SideCost, basis: Basis, functions: int) -> Iterator[tuple[str, ...]]:
    total = basis.total(side)
    small = [entry for entry in side.classes if entry.share < MIN_SHARE]
    for entry in side.classes:
        if entry in small:
            continue
        cost = basis.exclusive(entry)
        yield (
            f"[bold]{entry.title}[/bold]",
            f"[bold]{cycles(cost.mean)}[/bold]",
            percent(entry.share),
            _ends(cost),
            "",
        )
        for function in [known for known in entry.functions if known.name is not None][:functions]:
            yield _function_row(function, basis, total.mean or 1.0)
    if small:
        cost_of_small = sum(basis.exclusive(entry).mean for entry in small)
        title = f"{count(len(small), 'class', 'classes')} below {percent(MIN_SHARE)}"
        yield (title, cycles(cost_of_small), percent(cost_of_small / (total.mean or 1.0)), "", "")
    yield ("[bold]Total[/bold]", f"[bold]{cycles(total.mean)}[/bold]", "", _ends(total), "")


def _function_row(function: FunctionCost, basis: Basis, total: float) -> tuple[str, ...]:
    cost, inclusive = basis.exclusive(function), basis.inclusive(function)
    return (
        escape(f"  {function_text(function)}"),
        cycles(cost.mean),
        percent(cost.mean / total),
        _ends(cost),
        "" if inclusive is None else cycles(inclusive),
    )


def _explained(side: SideCost, basis: Basis, *, is_own: bool) -> Iterator[str]:
    # What is printed per transaction has no KBytes; what is printed per KByte needs no second figure of it.
    left_out = {"kbytes"} if basis is PER_KBYTE else {"kbytes", COPIED_KBYTES}
    for event in dict.fromkeys(single for per, (single, _) in EVENTS.items() if per not in left_out):
        costs = [
            f"{entry.title} {cycles(entry.cycles_each)}"
            for entry in side.classes
            if entry.per is not None
            and entry.per not in left_out
            and EVENTS[entry.per][0] == event
            and entry.cycles_each is not None
        ]
        if costs:
            yield f"Cycles per {event}: {', '.join(costs)}."
    is_spared = any(entry.per == COPIED_KBYTES and entry.per_kbyte == 0 for entry in side.classes)
    if is_spared and basis is PER_KBYTE:
        yield "0 KBytes copied per KByte: the setting spares it."
    if side.in_threads is not None and side.in_softirqs:
        ratio = side.in_threads / (side.total.mean or 1.0)
        whose = "load" if is_own else "program"
        rest = f"{percent(1 - ratio)} in soft interrupts while none of them ran"
        yield f"{percent(ratio)} in the {whose}'s threads, {rest}."
        yield "/proc/stat has more softirq time: also that on top of these threads, by ticks."
    if side.per_transaction is not None and basis is PER_KBYTE:
        yield f"{side.per_transaction.mean:,.0f} cycles per transaction."
    yield f"{count(side.samples, 'sample')} in {count(len(side.trials), 'trial')}."
