"""Which hosts are slower than the others, by the rates of their pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.fleet.outliers import MIN_COMPARED, Floats, Low, centered, lows, polished
from whyperf.analyze.fleet.result import Role


@dataclass(frozen=True)
class SlowUnit:
    """A host in a role, or a pair, that is slow. `names` are its hosts: one, or sender and receiver of a pair. `pairs`
    count from 0, the slowest first.
    """

    role: Role
    names: tuple[str, ...]
    pairs: tuple[int, ...]
    ratio: float
    p_value: float
    slower_trials: int


@dataclass(frozen=True)
class Compared:
    """The slow ones, the slowest first, and whether there were enough to compare."""

    slow: tuple[SlowUnit, ...]
    compared: bool


@dataclass(frozen=True)
class _Unit:
    """A host in a role, or a pair, with the pairs that show its rate."""

    role: Role
    names: tuple[str, ...]
    pairs: tuple[int, ...]


def slow_hosts(rates: pl.DataFrame, pattern: str, column: str) -> Compared:
    """The hosts of a cell that are slower than their peers.

    `rates` has a row a trial and pair (`measures.with_hosts`). A pair compares both its hosts, as far as each is in
    that pair alone. Where hosts are in several pairs with different peers, as in a mesh, senders and receivers are
    separated.
    """
    known = rates.drop_nulls([column, "sender", "receiver"])
    pairs = known.unique("pair").sort("pair").select("pair", "sender", "receiver").rows()
    if not pairs:
        return Compared((), compared=False)
    numbers = [pair for pair, _, _ in pairs]
    table = _table(known, numbers, column)
    effects = centered(table)
    senders, receivers = ([row[at] for row in pairs] for at in (1, 2))
    families = (
        _crossed(effects, numbers, senders, receivers)
        if _is_crossed(senders, receivers)
        else [_single(effects, pattern, numbers, senders, receivers)]
    )
    tested = lows([values for _, values in families])
    usual, columns = np.nanmedian(table, axis=1), {pair: at for at, pair in enumerate(numbers)}
    found = [
        _slow(unit, low, table, usual, columns)
        for (units, _), results in zip(families, tested, strict=True)
        for unit, low in zip(units, results, strict=True)
        if low.is_slow
    ]
    compared = any(len(units) >= MIN_COMPARED for units, _ in families)
    return Compared(tuple(sorted(found, key=lambda unit: unit.ratio)), compared)


def _table(known: pl.DataFrame, numbers: Sequence[int], column: str) -> Floats:
    """Rates with a row a trial and a column a pair; NaN where a pair has none."""
    trials = known["trial"].unique().sort().to_list()
    table = np.full((len(trials), len(numbers)), np.nan)
    rows, columns = ({name: at for at, name in enumerate(names)} for names in (trials, numbers))
    for trial, pair, rate in known.select("trial", "pair", column).iter_rows():
        table[rows[trial], columns[pair]] = rate
    return table


def _is_crossed(senders: Sequence[str], receivers: Sequence[str]) -> bool:
    """True if hosts on both sides have several peers, so that one's effect can be separated from the other's."""
    return (
        len(set(senders)) > 1 and len(set(receivers)) > 1 and len(senders) > max(len(set(senders)), len(set(receivers)))
    )


def _crossed(
    effects: Floats, numbers: Sequence[int], senders: Sequence[str], receivers: Sequence[str]
) -> list[tuple[list[_Unit], Floats]]:
    rows, columns = _places(senders), _places(receivers)
    row_of, column_of = ({name: at for at, name in enumerate(names)} for names in (rows, columns))
    table = np.full((len(rows), len(columns)), np.nan)
    for effect, sender, receiver in zip(effects, senders, receivers, strict=True):
        table[row_of[sender], column_of[receiver]] = effect
    of_rows, of_columns = polished(table)
    families = []
    for role, places, values in (("sender", rows, of_rows), ("receiver", columns, of_columns)):
        units = []
        for name, own in places.items():
            slowest = sorted(own, key=lambda at: float(effects[at]))
            units.append(
                _Unit("sender" if role == "sender" else "receiver", (name,), tuple(numbers[at] for at in slowest))
            )
        families.append((units, values))
    return families


def _places(names: Sequence[str]) -> dict[str, list[int]]:
    """Where each name is in a list of them, in the order of the first places."""
    places: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        places.setdefault(name, []).append(at)
    return places


def _single(
    effects: Floats, pattern: str, numbers: Sequence[int], senders: Sequence[str], receivers: Sequence[str]
) -> tuple[list[_Unit], Floats]:
    """Each pair by itself: with one receiver of all it shows its sender, and the other way round."""
    units = []
    has_one_receiver, has_one_sender = len(set(receivers)) == 1, len(set(senders)) == 1
    for number, sender, receiver in zip(numbers, senders, receivers, strict=True):
        if has_one_receiver and pattern != "pairs":
            units.append(_Unit("sender", (sender,), (number,)))
        elif has_one_sender and pattern != "pairs":
            units.append(_Unit("receiver", (receiver,), (number,)))
        else:
            units.append(_Unit("pair", (sender, receiver), (number,)))
    return units, effects


def _slow(unit: _Unit, low: Low, table: Floats, usual: Floats, columns: Mapping[int, int]) -> SlowUnit:
    own = [columns[pair] for pair in unit.pairs]
    with np.errstate(invalid="ignore"):
        below = np.nanmedian(table[:, own], axis=1) < usual
    return SlowUnit(unit.role, unit.names, unit.pairs, low.ratio, low.p_value, int(below.sum()))
