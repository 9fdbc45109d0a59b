"""The cost budget of cells as facts."""

from collections.abc import Collection
from dataclasses import replace

from whyperf.analyze.cost.classes import IDLE, OTHER_PROGRAMS, UNKNOWN
from whyperf.analyze.cost.result import CellCost, ClassCost, SideCost
from whyperf.analyze.cost.stored_budget import has_samples, read_cost
from whyperf.analyze.cost.text import PER_KBYTE, basis_of, function_text
from whyperf.explain.cost_facts import ClassFacts, CostFacts
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import render
from whyperf.record import Experiment, RecordError, Trials

MAX_FUNCTIONS = 3
"""Functions of a class that a sentence names."""
MIN_FUNCTION_RATIO = 0.1
"""Part of its class from which on a function is named."""
PACKETS = {"sender": "data_packets_out", "receiver": "data_packets_in"}
"""The events that are packets of the payload's direction, by role."""


def costs_of(
    experiment: Experiment, trials: Trials, cells: Collection[str] | None = None
) -> tuple[dict[str, CellCost], list[str]]:
    """The cost of the cells that have stack samples, and what is missing, in sentences.

    The tables of samples are read once for all cells, and not at all if no trial of these cells has any.
    """
    wanted = {name: found for name, found in trials.measured.items() if cells is None or found.cell in cells}
    if not has_samples(Trials(wanted, [])):
        return {}, []
    try:
        cost = read_cost(experiment)
    except RecordError as error:
        return {}, [render("missing", "cost", {"reason": str(error)})]
    return {cell.id: cell for cell in cost.cells if cell.sides}, []


def with_costs(facts: Facts, cell: CellCost | None) -> Facts:
    """The facts with what the sides of the cell cost, where its trials have samples."""
    if cell is None:
        return facts
    found = {side.role: _side(cell, side) for side in cell.sides}
    # Roles of a cost are those of the trial.
    roles = ("receiver", "sender") if facts.is_turned else ("sender", "receiver")
    sender, receiver = (found.get(role) for role in roles)
    return replace(facts, sender=replace(facts.sender, cost=sender), receiver=replace(facts.receiver, cost=receiver))


def _side(cell: CellCost, side: SideCost) -> CostFacts:
    per_kbyte = basis_of(cell, side) is PER_KBYTE
    found = [_class(entry, per_kbyte=per_kbyte) for entry in side.classes if entry.name not in {IDLE, OTHER_PROGRAMS}]
    packets = [entry.per_kbyte for entry in side.classes if entry.per == PACKETS.get(side.role) and entry.per_kbyte]
    return CostFacts(
        per="kbyte" if per_kbyte else "transaction",
        classes=tuple(sorted(found, key=lambda entry: -entry.cycles)),
        samples=side.samples,
        packets_per_kbyte=packets[0] if packets else None,
    )


def _class(entry: ClassCost, *, per_kbyte: bool) -> ClassFacts:
    amount = entry.exclusive if per_kbyte or entry.per_transaction is None else entry.per_transaction
    in_threads = entry.in_threads
    if in_threads is not None and amount is not entry.exclusive and entry.exclusive.mean > 0:
        in_threads *= amount.mean / entry.exclusive.mean
    named = [
        function
        for function in entry.functions
        if function.name not in {None, UNKNOWN} and function.exclusive.mean >= MIN_FUNCTION_RATIO * entry.exclusive.mean
    ]
    return ClassFacts(
        name=entry.name,
        cycles=amount.mean,
        low=amount.low,
        high=amount.high,
        in_threads=in_threads,
        functions=tuple(function_text(function) for function in named[:MAX_FUNCTIONS]),
        event=entry.per or "",
        each_cycles=entry.cycles_each,
        per_kbyte=entry.per_kbyte,
    )
