"""From the elements of a uperf profile to a workload (crates/schema/src/workload.rs).

Which connection a flowop means.

uperf keeps a virtual user's connections in a stack and takes the newest with the identifier that `conn=`
names, or the newest without any. A workload names every connection by a number instead, so the
stack is played through once and each flowop gets its number.
"""

from collections import Counter
from dataclasses import dataclass, field

from whyperf import wire
from whyperf.profile.errors import ProfileError
from whyperf.profile.factors import Level
from whyperf.profile.uperf.elements import Flowop, Group, Transaction, Tree
from whyperf.profile.uperf.flowops import OPENING, moving_step, opening_step, think_step
from whyperf.profile.uperf.ignored import ignored
from whyperf.profile.uperf.opened import hosts_of, opened
from whyperf.profile.uperf.tokens import in_one_line
from whyperf.profile.workload import least_seconds

#: The identifier of connections without `conn=`.
ANONYMOUS = 0


@dataclass
class Connections:
    """The connections that a virtual user has open, by identifier, the newest last."""

    _open: dict[int, list[int]] = field(default_factory=dict)

    def open(self, identifier: int) -> int:
        """A new connection; its number is the lowest that is free."""
        used = {number for stack in self._open.values() for number in stack}
        number = next(candidate for candidate in range(len(used) + 1) if candidate not in used)
        self._open.setdefault(identifier, []).append(number)
        return number

    def newest(self, identifier: int) -> int | None:
        """The number of the connection meant; None when there is none."""
        stack = self._open.get(identifier)
        return stack[-1] if stack else None

    def close(self, identifier: int) -> int | None:
        """Closes the connection meant and returns its number; None when there is none."""
        stack = self._open.get(identifier)
        return stack.pop() if stack else None

    def snapshot(self) -> dict[int, tuple[int, ...]]:
        """The open connections, to compare."""
        return {identifier: tuple(stack) for identifier, stack in self._open.items() if stack}


#: Connections of a virtual user at most (crates/workload/src/script.rs).
MAX_CONNECTIONS = 1024
#: Steps that a transaction may be written out to.
MAX_STEPS = 20_000
#: Time that iterations without a known length may take, in s, before the load is cut.
UNKNOWN_S = 3600.0
MARGIN_S = 60.0


@dataclass(frozen=True)
class Translation:
    """A profile as whyperf runs it."""

    workload: wire.Workload
    #: Levels of factors, the transport among them.
    factors: dict[str, Level]
    hosts: tuple[str, ...]
    #: Names of the groups of each of these hosts; empty where a group connects to several of them, or there is one.
    parts: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def translate(tree: Tree, name: str, where: str) -> Translation:
    """The workload of a profile.

    Raises:
        ProfileError: what cannot run, naming `where` and the line.
    """
    work = _Translator(where)
    try:
        asked = opened(tree)
        work.protocol = asked.protocol
        there = [group for group in tree.groups if work.is_there(group)]
        groups = [work.group(group) for group in there]
    except ValueError as error:
        raise ProfileError(where, "", in_one_line(str(error))) from None
    if not groups:
        raise ProfileError(
            where, "", "no group has virtual users and transactions; give one nthreads=… and a transaction"
        )
    workload: wire.Workload = {"name": name, "seed": 0, "groups": _named_apart(groups)}
    parts = work.parts(there, [group["name"] for group in groups], asked.hosts)
    factors = asked.factors | {"deadline_s": _deadline_s(workload)}
    return Translation(workload, factors, asked.hosts, parts, (*tree.notes, *work.sentences()))


@dataclass
class _Translator:
    """Goes through the groups, and keeps what should be known."""

    where: str
    protocol: str = "tcp"
    notes: list[str] = field(default_factory=list)
    #: Lines of options without a part in the run, by name and reason.
    ignored: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def sentences(self) -> list[str]:
        """All notes as sentences."""
        for (name, reason), lines in self.ignored.items():
            self.notes.append(f"{self.where}: option {name} has no part ({_lines(lines)}): {reason}.")
        return self.notes

    def note(self, line: int, text: str) -> None:
        """Keeps a sentence."""
        self.notes.append(f"{self.where}: line {line}: {in_one_line(text)}.")

    def is_there(self, group: Group) -> bool:
        """True where a group does anything; says so when it does not."""
        if group.strands == 0:
            self.note(group.line, "the group has no nthreads= or nprocs=, so it does nothing, as in uperf")
        elif not group.transactions:
            self.note(group.line, "the group has no transactions, so it does nothing")
        return group.strands > 0 and bool(group.transactions)

    def parts(self, groups: list[Group], names: list[str], hosts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """The names of the groups of each far host; none where that cannot be said, with the reason as a note."""
        of_host: dict[str, list[str]] = {host: [] for host in hosts}
        for group, name in zip(groups, names, strict=True):
            named = list(dict.fromkeys(hosts_of(group)))
            if len(named) > 1:
                listed = ", ".join(named)
                problem = (
                    f"the virtual users of the group connect to several far hosts ({listed}), and here each has one"
                )
                self.note(group.line, f"{problem}; give each far host a group of its own to use several")
                return ()
            of_host[named[0] if named else hosts[0]].append(name)
        parts = tuple(tuple(part) for part in of_host.values())
        return parts if len(parts) > 1 and all(parts) else ()

    def group(self, group: Group) -> wire.Group:
        """A group of the workload."""
        if group.are_processes:
            self.note(group.line, "nprocs= are virtual users like those of nthreads= here; no process is made for each")
        connections = Connections()
        transactions = [
            self.transaction(number, transaction, group.strands, connections)
            for number, transaction in enumerate(group.transactions, start=1)
        ]
        is_connected = self._only_connects(group.transactions[0])
        if is_connected:
            # Open before the start: setting up connections is no part of the measurement.
            transactions[0]["steps"], transactions[0]["repeat"] = _nothing()
        return {
            "name": group.name,
            "strands_count": group.strands,
            "is_connected": is_connected,
            "transactions": transactions,
        }

    def _only_connects(self, transaction: Transaction) -> bool:
        """True where a transaction connects once and does nothing else."""
        if transaction.duration_ns is not None or transaction.iterations != 1 or len(transaction.flowops) != 1:
            return False
        (flowop,) = transaction.flowops
        return flowop.type == "connect" and flowop.options.number("count", 1) == 1

    def transaction(self, number: int, asked: Transaction, strands: int, connections: Connections) -> wire.Transaction:
        """A transaction; its name is what uperf prints, by its place in the group."""
        for flowop in asked.flowops:
            self._check(flowop)
        steps, repeat = self._repeated(asked, connections)
        if not steps:
            steps, repeat = _only_waiting(repeat["duration_ns"]) if repeat["by"] == "duration" else _nothing()
        arrivals: wire.Arrivals = {"by": "closed"}
        if asked.rate and repeat["by"] == "duration":
            arrivals = {"by": "constant", "per_kilosecond": 1000 * asked.rate * strands}
        elif asked.rate:
            self.note(asked.line, "rate= counts only with duration=, as in uperf")
        return {
            "name": f"Txn{number}",
            "repeat": repeat,
            "arrivals": arrivals,
            "outstanding_count": 1,
            "steps": steps,
        }

    def _check(self, flowop: Flowop) -> None:
        if not flowop.type:
            raise ValueError(f'line {flowop.line}: the flowop has no type; add type="write", for example')
        if flowop.type == "sendfilev":
            problem = "sendfilev exists on Solaris only, and uperf moves nothing with it on Linux; take sendfile"
            raise ValueError(f"line {flowop.line}: {problem}")
        options = flowop.options
        for name, least in (("count", 0), ("repeat", 1), ("conn", 1)):
            if options.number(name, least) < least:
                raise ValueError(f"line {flowop.line}: {name}={options.number(name)} is below {least}; give more")
        if options.number("count", 1) == 0:
            self.note(flowop.line, f"count=0: the {flowop.type} is never executed, as in uperf")
        for entry in ignored(flowop, self.protocol):
            self.ignored.setdefault(entry, []).append(flowop.line)

    def _repeated(self, asked: Transaction, connections: Connections) -> tuple[list[wire.Step], wire.Repeat]:
        """The steps of a transaction, and how often."""
        if asked.duration_ns is not None and not asked.flowops:
            self.note(asked.line, "there are no flowops, so the virtual users wait for the duration")
            return _only_waiting(asked.duration_ns)
        if asked.duration_ns is None and asked.iterations == 0:
            return _nothing()
        before = connections.snapshot()
        steps, is_over = self._once(asked, connections)
        self._note_early_end(asked, is_over)
        if is_over or (asked.duration_ns is None and asked.iterations == 1):
            return steps, _iterations(1)
        if connections.snapshot() == before:
            if asked.duration_ns is None:
                return steps, _iterations(asked.iterations)
            return steps, {"by": "duration", "duration_ns": asked.duration_ns}
        return self._written_out(asked, steps, connections), _iterations(1)

    def _written_out(self, asked: Transaction, steps: list[wire.Step], connections: Connections) -> list[wire.Step]:
        """All executions of a transaction that does not leave the connections as it finds them."""
        times, is_over = 1, False
        while not is_over and (asked.duration_ns is not None or times < asked.iterations):
            more, is_over = self._once(asked, connections)
            steps.extend(more)
            times += 1
            if len(steps) > MAX_STEPS:
                problem = "each of the many executions opens or closes connections and leaves others open"
                raise ValueError(f"line {asked.line}: {problem}; close what each opens, or take fewer iterations")
        self.note(asked.line, f"its {times} executions are one here, because they leave other connections open")
        self._note_early_end(asked, is_over)
        return steps

    def _note_early_end(self, asked: Transaction, is_over: bool) -> None:
        if is_over and asked.duration_ns is not None:
            duration = f"{asked.duration_ns / 1e9:g} s"
            self.note(
                asked.line, f"its duration of {duration} does not apply, because a disconnect ends it, as in uperf"
            )

    def _once(self, asked: Transaction, connections: Connections) -> tuple[list[wire.Step], bool]:
        """The steps of an execution, and whether the transaction ends in it: there was nothing to close."""
        steps: list[wire.Step] = []
        for flowop in asked.flowops:
            try:
                if flowop.type == "disconnect" or flowop.type in OPENING:
                    is_over = self._open_or_close(flowop, connections, steps)
                    if is_over:
                        return steps, True
                else:
                    steps.extend(self._other(flowop, connections))
            except ValueError as error:
                raise ValueError(f"line {flowop.line}: {error}") from None
        return steps, False

    def _open_or_close(self, flowop: Flowop, connections: Connections, steps: list[wire.Step]) -> bool:
        identifier = flowop.options.number("conn", ANONYMOUS)
        for _ in range(flowop.options.number("count", 1)):
            if flowop.type != "disconnect":
                connection = connections.open(identifier)
                if connection >= MAX_CONNECTIONS:
                    problem = f"a virtual user would open over {MAX_CONNECTIONS} connections; use more virtual users"
                    raise ValueError(problem)
            else:
                closed = connections.close(identifier)
                if closed is None:
                    which = f"connection {identifier}" if identifier else "a connection without conn="
                    problem = f"the disconnect needs {which}, and none is open here"
                    self.note(flowop.line, f"{problem}; this ends the transaction, as in uperf")
                    return True
                connection = closed
            steps.append(opening_step(flowop, connection))
        return False

    def _other(self, flowop: Flowop, connections: Connections) -> list[wire.Step]:
        """A pause, or payload on an open connection."""
        count = flowop.options.number("count", 1)
        if count == 0:
            return []
        if flowop.type == "nop":
            return [think_step(0, is_busy=False, count=count)]
        if flowop.type == "think":
            duration_ns = flowop.options.number("duration")
            if not duration_ns:
                self.note(flowop.line, "think without duration= does nothing, as in uperf")
            return [think_step(duration_ns, is_busy=flowop.options.has("busy"), count=count)]
        connection = connections.newest(flowop.options.number("conn", ANONYMOUS))
        if connection is not None:
            return [moving_step(flowop, connection, self.protocol)]
        if flowop.options.has("canfail"):
            self.note(flowop.line, f"{flowop.type} has no connection and may fail, so it does nothing")
            return []
        number = flowop.options.number("conn", ANONYMOUS)
        which = f"connection {number}" if number else "a connection without conn="
        raise ValueError(f"{flowop.type} needs {which}, and none is open here; connect first")


def _iterations(count: int) -> wire.RepeatIterations:
    return {"by": "iterations", "count": count}


def _only_waiting(duration_ns: int) -> tuple[list[wire.Step], wire.Repeat]:
    """Steps and repetition of a transaction that lets time pass."""
    return [think_step(duration_ns, is_busy=False)], _iterations(1)


def _nothing() -> tuple[list[wire.Step], wire.Repeat]:
    """Steps and repetition of a transaction that is not executed; its place in the order of transactions stays."""
    return [think_step(0, is_busy=False)], _iterations(0)


def _named_apart(groups: list[wire.Group]) -> list[wire.Group]:
    """The groups, of those with the same name all but the first with their number behind it."""
    taken = Counter(group["name"] for group in groups)
    seen: set[str] = set()
    for number, group in enumerate(groups, start=1):
        name = group["name"]
        if name in seen or not name:
            name = next(
                candidate for extra in range(number, 2 * len(groups) + number + 1)
                if (candidate := f"{name}-{extra}") not in taken and candidate not in seen
            )  # fmt: skip
        seen.add(name)
        group["name"] = name
    return groups


def _deadline_s(workload: wire.Workload) -> float:
    """When the load is cut: its own times, and much room for iterations whose length nobody knows."""
    repeats = (each["repeat"] for group in workload["groups"] for each in group["transactions"])
    is_unknown = any(repeat["by"] == "iterations" and repeat["count"] > 1 for repeat in repeats)
    return min(least_seconds(workload) + MARGIN_S + (UNKNOWN_S if is_unknown else 0.0), 1_000_000.0)


def _lines(lines: list[int]) -> str:
    unique = sorted(set(lines))
    shown = ", ".join(map(str, unique[:5]))
    return f"line{'s' if len(unique) > 1 else ''} {shown}{' and others' if len(unique) > 5 else ''}"
