"""From a flowop to a step of a workload (`Step` in crates/schema/src/workload.rs)."""

import os
from pathlib import Path
from typing import cast

from whyperf.profile.uperf.elements import Flowop
from whyperf.profile.uperf.options import RandomSize
from whyperf.wire import FileToSend, Operation, OperationThink, Size, Step

OPENING = ("connect", "accept")
#: Those that move payload, by what the near side does.
WRITING = {"write", "send"}
#: Bytes that an IPv4 packet leaves for a datagram's payload (RFC 768, RFC 791).
LARGEST_DATAGRAM_BYTES = 65_507
#: Flowops that a protocol does not have.
NOT_OVER = {"udp": ("send", "recv", "sendfile"), "tls": ("send", "recv"), "sctp": ("send", "recv", "sendfile")}
#: More files than this is taken for a mistake in `dir=`.
MAX_FILES = 10_000


def opening_step(flowop: Flowop, connection: int) -> Step:
    """A connect, an accept or a disconnect of one connection."""
    return _step(cast("Operation", {"operation": flowop.type, "connection": connection}), 1, flowop)


def think_step(duration_ns: int, *, is_busy: bool, count: int = 1) -> Step:
    """Both sides pause, as in uperf."""
    think: OperationThink = {
        "operation": "think",
        "duration_ns": duration_ns,
        "is_busy": is_busy,
        "is_mirrored": duration_ns > 0,
    }
    return {"operation": think, "count": count, "can_fail": False}


def moving_step(flowop: Flowop, connection: int, protocol: str) -> Step:
    """A read, write, send, recv or sendfile.

    Raises:
        ValueError: it cannot run; the sentence without file and line.
    """
    kind, options = flowop.type, flowop.options
    if kind in NOT_OVER.get(protocol, ()):
        name = {"tls": "ssl"}.get(protocol, protocol)
        raise ValueError(f"flowop {kind} does not run over {name}, in uperf neither; take read or write")
    count = options.number("count", 1)
    if kind == "sendfile":
        files = _files(options.text("dir"))
        chunk = options.size
        if isinstance(chunk, RandomSize):
            raise ValueError("sendfile takes no random size; give one size, or none for whole files")
        operation: Operation = {"operation": "send_file", "connection": connection, "files": files, "call_bytes": chunk}
        return _step(operation, count, flowop)
    size = _size(flowop, protocol)
    if kind in WRITING:
        operation = {"operation": "write", "connection": connection, "size": size, "call_bytes": None}
    else:
        timeout_ns = options.number("timeout") or None
        operation = {
            "operation": "read",
            "connection": connection,
            "size": size,
            "call_bytes": None,
            "timeout_ns": timeout_ns,
        }
    if protocol in {"udp", "sctp"}:
        count *= max(1, options.number("repeat", 1))
    return _step(operation, count, flowop)


def _step(operation: Operation, count: int, flowop: Flowop) -> Step:
    if count > 2**32 - 1:
        raise ValueError(f"{flowop.type} is to be repeated {count} times; take fewer, and more iterations")
    return {"operation": operation, "count": count, "can_fail": flowop.options.has("canfail")}


def _size(flowop: Flowop, protocol: str) -> Size:
    size = flowop.options.size
    if size is None:
        raise ValueError(f"flowop {flowop.type} has no size; add size=… to its options")
    largest = size.high_bytes if isinstance(size, RandomSize) else size
    if protocol == "udp" and largest > LARGEST_DATAGRAM_BYTES:
        raise ValueError(f"{largest} bytes are no datagram; {LARGEST_DATAGRAM_BYTES} is the most that UDP carries")
    if isinstance(size, RandomSize):
        return {"by": "uniform", "low_bytes": size.low_bytes, "high_bytes": size.high_bytes}
    return {"by": "fixed", "bytes": size}


def _files(folder: str) -> list[FileToSend]:
    """The files under a folder that have content, as ftw(3) finds them, in the order of names."""
    if not folder:
        raise ValueError("sendfile has no folder; add dir=… to its options")
    found: list[FileToSend] = []
    try:
        if not Path(folder).is_dir():
            hint = "uperf makes a name lower-case, unless a variable holds it: dir=$dir"
            raise ValueError(f"dir={folder} is not a folder here; {hint}")
        for parent, folders, names in os.walk(folder):
            folders.sort()
            for path in (Path(parent, name) for name in sorted(names)):
                length = path.stat().st_size if path.is_file() and os.access(path, os.R_OK) else 0
                if length:
                    found.append({"path": str(path.resolve()), "length_bytes": length})
            if len(found) > MAX_FILES:
                raise ValueError(f"dir={folder} holds over {MAX_FILES} files; name a smaller folder")
    except OSError as error:
        raise ValueError(f"dir={folder} cannot be read: {error.strerror}; name another folder") from None
    if not found:
        raise ValueError(f"dir={folder} holds no file with content that can be read; name another folder")
    return found
