"""Reads a workload: structure, then every value. Everything wrong is named at once, each by its key."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from whyperf import wire
from whyperf.foreign import parse_toml, read_text
from whyperf.profile.errors import ProfileError, gathered, joined, repeated, suggestion
from whyperf.profile.factor import Level
from whyperf.profile.factors import BY_NAME, factor_named
from whyperf.profile.levels import one_level
from whyperf.profile.options import carrying
from whyperf.profile.workload.resolved import STREAM, STREAM_RECEIVE, Workload
from whyperf.profile.workload.steps import MOVING, OPENING, follow_connections, step_value
from whyperf.profile.workload.tables import (
    DatagramsTable,
    GroupTable,
    StepTable,
    TransactionTable,
    WorkloadTable,
)
from whyperf.profile.workload.values import (
    LONGEST_NS,
    Value,
    constant,
    count_of,
    lines_of,
    rate_bps,
    rate_per_s,
    size_bytes,
    switch,
    time_ns,
    word_of,
)

#: Factors that a workload must not set: they choose it, or belong to the design.
NOT_DEFAULTS = {"workload"}
KILO = 1000
TABLES: Mapping[str, type[BaseModel]] = {
    "group": GroupTable,
    "transaction": TransactionTable,
    "steps": StepTable,
    "datagrams": DatagramsTable,
}


def load_workload(path: Path) -> Workload:
    """The workload in a file; its name is the file's without `.toml`.

    Raises:
        ProfileError: when it cannot be read or used.
    """
    try:
        written = parse_toml(read_text(path, is_users=True))
    except UnicodeDecodeError:
        raise ProfileError(str(path), "", "this is not a text file; a workload is TOML in UTF-8") from None
    except OSError as error:
        raise ProfileError(str(path), "", f"cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(str(path), "", f"this is not valid TOML: {error}") from None
    try:
        return replace(read_workload({"name": path.stem} | written, folder=path.parent), where=str(path))
    except ProfileError as error:
        raise error.at(str(path)) from None


def looks_like_workload(path: Path) -> bool:
    """True where a TOML file has the tables of a workload and none of a profile's."""
    try:
        keys = set(parse_toml(read_text(path, is_users=True)))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    return bool(keys & {"group", "datagrams"}) and not keys & {"sweep", "fixed", "design", "workload"}


def read_workload(written: Mapping[str, Any], *, folder: Path | None = None, name: str = "own") -> Workload:
    """The workload in a table; `name` is its name if it has none.

    `folder` is where files of values stand, None if it may name none.

    Raises:
        ProfileError: naming the key and the remedy.
    """
    try:
        table = WorkloadTable.model_validate(dict(written))
    except ValidationError as error:
        raise joined([_problem(written, finding) for finding in error.errors()]) from None
    if (table.datagrams is None) == (not table.group):
        raise ProfileError("", "group", "a workload has groups, or a datagrams table instead; write one of the two")
    # What is wrong with the defaults is named together with what is wrong in the groups.
    groups_read = (partial(_group, f"group.{group.name}", group, folder) for group in table.group)
    parts: list[Callable[[], Any]] = [partial(_defaults, table.defaults), *groups_read]
    defaults, *values = gathered(parts)
    uses: frozenset[str] = frozenset()
    groups = datagrams = None
    if table.datagrams is not None:
        if not set(table.transports) <= set(carrying("datagrams")):
            raise ProfileError("", "transports", 'datagrams need UDP or QUIC; write transports = ["udp", "quic"]')
        stream = _datagrams(table.datagrams)
        datagrams, uses = stream.of, stream.uses
    else:
        transports = carrying("operations")
        if (table.name or name) not in {STREAM, STREAM_RECEIVE} and not set(table.transports) <= set(transports):
            problem = f"groups of operations run over {', '.join(transports)} only; leave the others out"
            raise ProfileError("", "transports", problem)
        _refuse_twice("group", (group.name for group in table.group))
        uses = frozenset().union(*(value.uses for value in values))
        groups = partial(_of_cell, values)
    referred = {level.removeprefix("=") for level in defaults.values() if isinstance(level, str) and level[:1] == "="}
    return Workload(
        name=table.name or name,
        about=" ".join(table.about.split()),
        metric=table.metric,
        transports=tuple(table.transports),
        defaults=defaults,
        uses=uses | referred,
        _groups=groups,
        _datagrams=datagrams,
        ends_itself=bool(table.group)
        and not any(_runs_through(each) for group in table.group for each in group.transaction),
    )


def _runs_through(transaction: TransactionTable) -> bool:
    """True where it is repeated through the phases of the trial."""
    return transaction.iterations is None and transaction.duration is None


def _of_cell(values: list[Value], factors: Mapping[str, Level]) -> list[wire.Group]:
    """The groups that have a virtual user in the cell."""
    groups = [value.of(factors) for value in values]
    kept = [group for group in groups if group["strands_count"]]
    if not any(group["transactions"] for group in kept):
        raise ProfileError("", "strands", "nothing is done in this cell: no group has a virtual user and a transaction")
    return kept


def _defaults(written: Mapping[str, Any]) -> dict[str, Level]:
    return dict(gathered(partial(_default, name, level) for name, level in written.items()))


def _default(name: str, level: object) -> tuple[str, Level]:
    try:
        if name in NOT_DEFAULTS:
            raise ProfileError("", name, "a workload cannot choose itself; remove the key")
        return name, one_level(factor_named(name), level)
    except ProfileError as error:
        raise error.at("", "defaults") from None


def _datagrams(table: DatagramsTable) -> Value:
    size = size_bytes("datagrams.size", table.size, largest=65_507)
    batch = count_of("datagrams.batch", table.batch, high=128)
    rate = rate_bps("datagrams.rate_bps", table.rate_bps)
    merge = switch("datagrams.merge", table.merge)

    def of(factors: Mapping[str, Any]) -> wire.DatagramStream:
        return {
            "datagram_bytes": size.of(factors),
            "batch_count": batch.of(factors),
            "rate_bps": rate.of(factors),
            "is_merged": merge.of(factors),
        }

    return Value(of, size.uses | batch.uses | rate.uses | merge.uses | {"connections"})


def _group(key: str, group: GroupTable, folder: Path | None) -> Value:
    strands = count_of(f"{key}.strands", group.strands, low=0, high=200_000)
    _refuse_twice(f"{key}.transaction", (transaction.name for transaction in group.transaction))
    if not group.transaction and not group.connected:
        raise ProfileError("", key, "the group does nothing; give it a transaction or connected = true")
    opened = {0} if group.connected else set()
    for transaction in group.transaction:
        at = f"{key}.{transaction.name}"
        # Twice, because what the first execution leaves open or closed is what the second finds.
        follow_connections(at, transaction.steps, opened)
        if transaction.iterations != 1:
            follow_connections(at, transaction.steps, opened)
    transactions = gathered(partial(_transaction, f"{key}.{each.name}", each, folder) for each in group.transaction)
    uses = strands.uses.union(*(value.uses for value in transactions))

    def of(factors: Mapping[str, Any]) -> wire.Group:
        return {
            "name": group.name,
            "strands_count": strands.of(factors),
            "is_connected": group.connected,
            "transactions": [value.of(factors) for value in transactions],
        }

    return Value(of, uses)


def _transaction(key: str, transaction: TransactionTable, folder: Path | None) -> Value:
    repeat = _repeat(key, transaction)
    arrivals = _arrivals(key, transaction, folder)
    outstanding = count_of(f"{key}.outstanding", transaction.outstanding, high=65_536)
    steps = gathered(
        partial(step_value, f"{key}.steps.{number}", step, folder)
        for number, step in enumerate(transaction.steps, start=1)
    )
    is_plain = all(step.op in MOVING for step in transaction.steps)
    uses = (repeat.uses | arrivals.uses | outstanding.uses).union(*(step.uses for step in steps))

    def of(factors: Mapping[str, Any]) -> wire.Transaction:
        executed = [document for step in steps if (document := step.of(factors)) is not None]
        if not executed:
            raise ProfileError("", f"{key}.steps", "nothing is done in this cell: a think of no length is no step")
        ahead = outstanding.of(factors)
        if ahead > 1 and not is_plain:
            # A pause or a new connection in one transaction would hold up the others on its connection.
            raise ProfileError("", f"{key}.outstanding", "only transactions of reads and writes can be pipelined")
        return {
            "name": transaction.name,
            "repeat": repeat.of(factors),
            "arrivals": arrivals.of(factors),
            "outstanding_count": ahead,
            "steps": executed,
        }

    return Value(of, uses)


def _repeat(key: str, transaction: TransactionTable) -> Value:
    if transaction.iterations is not None and transaction.duration is not None:
        raise ProfileError("", f"{key}.duration", "iterations are given too; keep one of the two")
    if transaction.iterations is not None:
        count = count_of(f"{key}.iterations", transaction.iterations, low=0, high=2**63 - 1)
        return Value(lambda factors: {"by": "iterations", "count": count.of(factors)}, count.uses)
    if transaction.duration is not None:
        time = time_ns(f"{key}.duration", transaction.duration, low=1)
        return Value(lambda factors: {"by": "duration", "duration_ns": time.of(factors)}, time.uses)
    _refuse_nothing(key, transaction.steps)
    return constant({"by": "trial"})


def _refuse_nothing(key: str, steps: list[StepTable]) -> None:
    """A transaction that runs through the trial must take time, or it would turn without end."""
    if not any(step.op in MOVING | OPENING or step.op == "think" for step in steps):
        raise ProfileError("", f"{key}.steps", "nothing here takes time; add a read, write, connect or think")


def _arrivals(key: str, transaction: TransactionTable, folder: Path | None) -> Value:
    """Closed, or open at a rate or by a trace. A rate alone is a Poisson process."""
    written = transaction.arrivals
    if isinstance(written, Mapping):
        if transaction.rate_per_s is not None:
            raise ProfileError("", f"{key}.rate_per_s", "a trace has its instants; remove the rate")
        return constant(_trace(f"{key}.arrivals", written, folder))
    choices = ("closed", "constant", "poisson")
    kind = constant("auto") if written is None else word_of(f"{key}.arrivals", written, choices)
    rate = constant(None) if transaction.rate_per_s is None else rate_per_s(f"{key}.rate_per_s", transaction.rate_per_s)
    rate_name = str(transaction.rate_per_s or "rate_per_s").removeprefix("=")

    def of(factors: Mapping[str, Any]) -> wire.Arrivals:
        by, per_s = kind.of(factors), rate.of(factors)
        if by in {"closed", "auto"} and per_s is None:
            return {"by": "closed"}
        if by == "closed":
            raise ProfileError("", rate_name, "a closed loop has no rate; leave it out, or choose poisson or constant")
        if per_s is None:
            raise ProfileError("", rate_name, f"{by} arrivals need a rate; set it, or choose closed")
        if by == "constant":
            return {"by": "constant", "per_kilosecond": round(per_s * KILO)}
        return {"by": "poisson", "per_kilosecond": round(per_s * KILO)}

    return Value(of, kind.uses | rate.uses)


def _trace(key: str, written: Mapping[str, Any], folder: Path | None) -> wire.ArrivalsTrace:
    """Instants in seconds since the transaction began, one a line, ascending."""
    if set(written) != {"file"} or not isinstance(written["file"], str):
        raise ProfileError("", key, 'a trace is { file = "NAME" }, with an instant in seconds a line')
    instants: list[int] = []
    for row in lines_of(key, written["file"], folder):
        try:
            instant = round(float(row[0]) * 10**9)
        except (ValueError, OverflowError):
            instant = -1
        if not 0 <= instant <= LONGEST_NS or (instants and instant < instants[-1]):
            raise ProfileError("", key, f"{row[0]} is not an instant in seconds after the one before it; sort the file")
        instants.append(instant)
    return {"by": "trace", "intended_ns": instants}


def _refuse_twice(key: str, names: Iterable[str]) -> None:
    if name := repeated(names):
        raise ProfileError("", f"{key}.{name}", "two have this name; rename one")


def _problem(written: Mapping[str, Any], finding: ErrorDetails) -> ProfileError:
    """One of pydantic's findings in the words of this program."""
    path = _key(written, finding["loc"])
    match finding["type"]:
        case "extra_forbidden":
            problem = f"there is no such key{suggestion(str(finding['loc'][-1]), _known(finding['loc']))}"
        case "missing":
            problem = "this key is missing; add it"
        case "too_short":
            name = str(finding["loc"][-1])
            problem = f"the list is empty; write at least one {name.removesuffix('s')}"
        case "string_pattern_mismatch":
            problem = 'a name has letters, digits, "-" and, but for the workload\'s, "_" inside only'
        case _:
            message = finding["msg"]
            problem = f"{finding['input']!r} does not fit: {message[:1].lower()}{message[1:]}"
    return ProfileError("", path, problem)


def _key(written: Mapping[str, Any], location: tuple[int | str, ...]) -> str:
    """`group.clients.rr.steps.1.size` instead of `group.0.transaction.0.steps.0.size`."""
    parts: list[str] = []
    here: Any = written
    for place in location:
        here = _part(here, place)
        if not isinstance(place, int):
            parts.append(place)
            continue
        name = here.get("name") if isinstance(here, dict) else None
        if isinstance(name, str):
            # The group's name stands for its place, the transaction's for the word too.
            parts = [*(parts[:-1] if parts[-1] == "transaction" else parts), name]
        else:
            parts.append(str(place + 1))
    return ".".join(parts)


def _part(here: Any, place: int | str) -> Any:
    """The part that stands there; None where nothing does."""
    if isinstance(here, list) and isinstance(place, int):
        return here[place] if place < len(here) else None
    return here.get(place) if isinstance(here, dict) else None


def _known(location: tuple[int | str, ...]) -> set[str]:
    names = [place for place in location[:-1] if isinstance(place, str)]
    if not names:
        return set(WorkloadTable.model_fields)
    table = TABLES.get(names[-1])
    return set(table.model_fields) if table is not None else set(BY_NAME)
