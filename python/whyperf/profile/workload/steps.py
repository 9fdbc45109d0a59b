"""The operations of a transaction: which keys each has, and what it becomes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.workload.sizes import size_value
from whyperf.profile.workload.tables import StepTable
from whyperf.profile.workload.values import Value, constant, count_of, size_bytes, time_ns
from whyperf.wire import FileToSend, OperationRead, OperationSendFile, OperationThink, OperationWrite, Step

#: Keys of each operation in addition to `op`, `count` and `can_fail`; those that must be there.
OPERATIONS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "connect": (frozenset({"connection"}), frozenset()),
    "accept": (frozenset({"connection"}), frozenset()),
    "write": (frozenset({"connection", "size", "call"}), frozenset({"size"})),
    "send": (frozenset({"connection", "size", "call"}), frozenset({"size"})),
    "read": (frozenset({"connection", "size", "call", "timeout"}), frozenset({"size"})),
    "recv": (frozenset({"connection", "size", "call", "timeout"}), frozenset({"size"})),
    "sendfile": (frozenset({"connection", "files", "call"}), frozenset({"files"})),
    "think": (frozenset({"time", "busy", "mirrored"}), frozenset({"time"})),
    "disconnect": (frozenset({"connection"}), frozenset()),
}
COMMON = frozenset({"op", "count", "can_fail"})
MOVING = frozenset({"write", "send", "read", "recv", "sendfile"})
OPENING = frozenset({"connect", "accept"})


def step_value(key: str, step: StepTable, folder: Path | None) -> Value:
    """A step as JSON (`Step` in crates/schema/src/workload.rs); None where it does nothing in a cell.

    Raises:
        ProfileError: an unknown operation, a key that does not belong to it, a value that cannot be.
    """
    if step.op not in OPERATIONS:
        raise ProfileError("", f"{key}.op", f'there is no operation "{step.op}"{suggestion(step.op, OPERATIONS)}')
    keys, needed = OPERATIONS[step.op]
    for given in sorted(step.model_fields_set - COMMON - keys):
        of = ", ".join(sorted(keys))
        raise ProfileError("", f"{key}.{given}", f"{step.op} has no such key; it takes {of}")
    for missing in sorted(needed - step.model_fields_set):
        raise ProfileError("", f"{key}.{missing}", f"{step.op} needs it; add it")
    operation = _operation(key, step, folder)
    count = count_of(f"{key}.count", step.count)

    def of_cell(factors: Mapping[str, Any]) -> Step | None:
        document = operation.of(factors)
        if document is None:
            return None
        return {"operation": document, "count": count.of(factors), "can_fail": step.can_fail}

    return Value(of_cell, operation.uses | count.uses)


def _operation(key: str, step: StepTable, folder: Path | None) -> Value:
    match step.op:
        case "write" | "send":
            return _moving("write", key, step, folder)
        case "read" | "recv":
            return _moving("read", key, step, folder)
        case "sendfile":
            return _send_file(key, step, folder)
        case "think":
            return _think(key, step)
    return constant({"operation": step.op, "connection": step.connection})


def _moving(operation: Literal["read", "write"], key: str, step: StepTable, folder: Path | None) -> Value:
    size = size_value(f"{key}.size", step.size, folder)
    call = _call(key, step)
    timeout = None if step.timeout is None else time_ns(f"{key}.timeout", step.timeout, low=1)

    def of(factors: Mapping[str, Any]) -> OperationRead | OperationWrite:
        moved, call_bytes = size.of(factors), call.of(factors)
        if operation == "write":
            return {"operation": operation, "connection": step.connection, "size": moved, "call_bytes": call_bytes}
        return {
            "operation": operation,
            "connection": step.connection,
            "size": moved,
            "call_bytes": call_bytes,
            "timeout_ns": None if timeout is None else timeout.of(factors),
        }

    return Value(of, size.uses | call.uses | (frozenset() if timeout is None else timeout.uses))


def _call(key: str, step: StepTable) -> Value:
    return constant(None) if step.call is None else size_bytes(f"{key}.call", step.call)


def _send_file(key: str, step: StepTable, folder: Path | None) -> Value:
    """Files must be there when the profile is read; the sending host must have the same ones.

    Whether they may be sent is decided where it is known what the user allows (`whyperf.plan.sent_files`).
    """
    files: list[FileToSend] = []
    for name in step.files or ():
        path = (Path(name) if folder is None else folder / name).resolve()
        if not path.is_file() or path.stat().st_size == 0:
            raise ProfileError("", f"{key}.files", f"{path} is not a file with content; name one that is")
        files.append({"path": str(path), "length_bytes": path.stat().st_size})
    if not files:
        raise ProfileError("", f"{key}.files", "the list is empty; name at least one file")
    call = _call(key, step)

    def of(factors: Mapping[str, Any]) -> OperationSendFile:
        return {
            "operation": "send_file",
            "connection": step.connection,
            "files": files,
            "call_bytes": call.of(factors),
        }

    return Value(of, call.uses)


def _think(key: str, step: StepTable) -> Value:
    time = time_ns(f"{key}.time", step.time)
    is_busy, is_mirrored = bool(step.busy), bool(step.mirrored)

    def of(factors: Mapping[str, Any]) -> OperationThink | None:
        duration_ns = time.of(factors)
        if duration_ns == 0:
            return None
        return {"operation": "think", "duration_ns": duration_ns, "is_busy": is_busy, "is_mirrored": is_mirrored}

    return Value(of, time.uses)


def follow_connections(key: str, steps: list[StepTable], opened: set[int]) -> None:
    """Walks the steps with the numbers of the connections that are open, which it changes.

    Raises:
        ProfileError: a step uses a connection that nothing opened, or opens one that is open.
    """
    for number, step in enumerate(steps, start=1):
        at = f"{key}.steps.{number}"
        if step.op in OPENING:
            if step.connection in opened:
                problem = f"connection {step.connection} is open already; disconnect it first, or set connected = false"
                raise ProfileError("", at, problem)
            opened.add(step.connection)
        elif step.op in MOVING or step.op == "disconnect":
            if step.connection not in opened:
                problem = f"connection {step.connection} is not open here; connect it first"
                raise ProfileError("", at, problem)
            if step.op == "disconnect":
                opened.remove(step.connection)
