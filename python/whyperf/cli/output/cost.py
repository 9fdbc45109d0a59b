"""Prints the cost budget of a result."""

import sys
from collections.abc import Iterator
from pathlib import Path, PurePath

from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.analyze.cost.classes import BPF, OWN_BPF, PROGRAM
from whyperf.analyze.cost.read import read_cost, read_folded
from whyperf.analyze.cost.result import Amount, CellCost, ClassCost, Cost, FunctionCost, SideCost
from whyperf.analyze.spread import interval_name
from whyperf.analyze.text import count, percent, setting
from whyperf.cli.exits import DONE, FAILED, UsageError, say
from whyperf.cli.streams import print_json
from whyperf.record import Experiment

#: Classes below this share are one line.
MIN_SHARE = 0.01
#: Width where standard output is no terminal.
PLAIN_WIDTH = 100
#: Cells that a message names.
MAX_NAMED = 8
#: What is counted, as a column says it.
EVENTS = {"calls": "call", "data_packets_out": "packet", "data_packets_in": "packet", "acks": "ACK"}


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
    return _without_samples(experiment)


def write_folded(experiment: Experiment, cell: str | None, path: Path) -> int:
    """Writes the stacks of one cell or of all as folded lines; 1 where nothing was sampled.

    Raises:
        UsageError: there is no such cell, or the file cannot be written.
        RecordError: the record cannot be read.
    """
    _check(experiment, cell)
    lines = list(read_folded(experiment, cell))
    if not lines:
        return _without_samples(experiment)
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--folded {path}: {error.strerror}; name a file in a folder that you can write to") from None
    say(f"Wrote {count(len(lines), 'stack')} to {path}")
    return DONE


def _check(experiment: Experiment, cell: str | None) -> None:
    names = [planned.id for planned in experiment.plan.cells]
    if cell is not None and cell not in names:
        known = ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")
        raise UsageError(f"{experiment.name} has no cell {cell}; it has {known}")


def _without_samples(experiment: Experiment) -> int:
    say(f"whyperf: {experiment.name} has no stack samples; measure with --evidence profile")
    return FAILED


def _print(found: Cost, experiment: Experiment, functions: int) -> None:
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
    varied = experiment.plan.varied
    for cell in found.cells:
        for side in cell.sides:
            console.print(_heading(cell, side, varied, is_one=len(found.cells) == 1))
            console.print(_table(side, functions))
            for line in _explained(side):
                console.print(line)
            console.print()
    if any(entry.sides for entry in found.cells):
        for note in found.notes:
            console.print(f"Note: {note}")


def _heading(cell: CellCost, side: SideCost, varied: tuple[str, ...], *, is_one: bool) -> str:
    levels = setting(cell.factors, list(varied))
    of = "" if is_one else f"{cell.id}{f' ({levels})' if levels else ''}, "
    return f"[bold]{of}{side.role}: {side.total.mean:,.0f} cycles per KByte[/bold]{_interval(side.total)} ({side.unit})"


def _interval(amount: Amount) -> str:
    return "" if amount.low is None or amount.high is None else f", {_ends(amount)}"


def _ends(amount: Amount) -> str:
    return "" if amount.low is None or amount.high is None else f"{_cycles(amount.low)} to {_cycles(amount.high)}"


def _cycles(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(side: SideCost, functions: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("Class, function", overflow="ellipsis", no_wrap=True, ratio=None, max_width=40)
    table.add_column("Cycles/KB", justify="right")
    table.add_column("Share", justify="right")
    has_intervals = any(entry.exclusive.low is not None for entry in side.classes)
    if has_intervals:
        table.add_column(interval_name([len(side.trials)]), justify="right")
    table.add_column("With callees", justify="right")
    table.add_column("Each", justify="right")
    for row in _rows(side, functions):
        table.add_row(*(text for place, text in enumerate(row) if has_intervals or place != 3))
    return table


def _rows(side: SideCost, functions: int) -> Iterator[tuple[str, ...]]:
    total = side.total.mean or 1.0
    small = [entry for entry in side.classes if entry.share < MIN_SHARE]
    for entry in side.classes:
        if entry in small:
            continue
        yield _class_row(entry)
        for function in [known for known in entry.functions if known.name is not None][:functions]:
            yield _function_row(function, total)
    if small:
        cost = sum(entry.exclusive.mean for entry in small)
        yield (
            f"{count(len(small), 'class', 'classes')} below {percent(MIN_SHARE)}",
            _cycles(cost),
            percent(cost / total),
            "",
            "",
            "",
        )
    yield ("[bold]Total[/bold]", f"[bold]{_cycles(side.total.mean)}[/bold]", "", _ends(side.total), "", "")


def _class_row(entry: ClassCost) -> tuple[str, ...]:
    each = ""
    if entry.per in EVENTS and entry.cycles_each is not None:
        each = f"{_cycles(entry.cycles_each)} per {EVENTS[entry.per]}"
    mean = f"[bold]{_cycles(entry.exclusive.mean)}[/bold]"
    return (f"[bold]{entry.title}[/bold]", mean, percent(entry.share), _ends(entry.exclusive), "", each)


def _function_row(function: FunctionCost, total: float) -> tuple[str, ...]:
    inclusive = "" if function.inclusive is None else _cycles(function.inclusive)
    exclusive = function.exclusive
    return (
        f"  {_shown(function)}",
        _cycles(exclusive.mean),
        percent(exclusive.mean / total),
        _ends(exclusive),
        inclusive,
        "",
    )


def _shown(function: FunctionCost) -> str:
    """The name as it is read: of a BPF program without its tag, of another program's function with the program."""
    name = function.name or ""
    if function.kind in {BPF, OWN_BPF}:
        return f"{name.removeprefix('bpf_prog_').partition('_')[2] or name} (BPF)"
    return f"{name} ({PurePath(function.object).name})" if function.kind == PROGRAM and function.object else name


def _explained(side: SideCost) -> Iterator[str]:
    if side.in_threads is not None and side.in_softirqs:
        yield (
            f"{_cycles(side.in_threads)} in the load's threads, {_cycles(side.in_softirqs)} in soft interrupts "
            "on top of anything else."
        )
    if side.cycles_per_transaction is not None:
        yield f"{side.cycles_per_transaction:,.0f} cycles a transaction."
    yield f"{count(side.samples, 'sample')} in {count(len(side.trials), 'trial')}."
