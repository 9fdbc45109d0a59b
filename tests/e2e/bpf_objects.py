"""BPF objects of the kernel by their numbers, with bpf(2) itself: which a process holds, and which are still there."""

import ctypes
import errno
import os
import re
import struct
from contextlib import suppress
from pathlib import Path

SYSCALLS = {"x86_64": 321, "aarch64": 280}
#: include/uapi/linux/bpf.h: the commands that open an object by its number, and how fdinfo names that.
OPENERS = {"prog_id": 13, "map_id": 14, "link_id": 30}
#: The commands that go from one object's number to the next one's.
NEXT = {"prog_id": 11, "map_id": 12, "link_id": 31}

Objects = set[tuple[str, int]]

_libc = ctypes.CDLL(None, use_errno=True)


def bpf(command: int, attributes: bytes) -> int:
    """A bpf(2) call; its result, mostly a new file descriptor.

    Raises:
        OSError: the kernel refuses.
    """
    return _bpf(command, ctypes.create_string_buffer(attributes, 128), len(attributes))


def held_by(pid: int) -> Objects:
    """Programs, maps and links that a process holds open (proc_pid_fdinfo(5)); none when it is gone."""
    found: Objects = set()
    try:
        for path in Path(f"/proc/{pid}/fdinfo").iterdir():
            kinds = "|".join(OPENERS)
            found |= {
                (kind, int(number)) for kind, number in re.findall(rf"^({kinds}):\s*(\d+)$", path.read_text(), re.M)
            }
    except OSError:
        return set()
    return found


def still_there(objects: Objects) -> Objects:
    """Those that the kernel still has."""
    return {(kind, number) for kind, number in objects if _is_there(kind, number)}


def on_this_host() -> Objects:
    """All programs, maps and links of the host."""
    found: Objects = set()
    for kind, command in NEXT.items():
        # union bpf_attr: the number to start after, then the number found.
        attributes = ctypes.create_string_buffer(128)
        with suppress(FileNotFoundError):
            while True:
                _bpf(command, attributes, 8)
                (number,) = struct.unpack_from("=I", attributes, 4)
                found.add((kind, number))
                struct.pack_into("=I", attributes, 0, number)
    return found


def _bpf(command: int, attributes: "ctypes.Array[ctypes.c_char]", size: int) -> int:
    result: int = _libc.syscall(SYSCALLS[os.uname().machine], command, ctypes.byref(attributes), size)
    if result == -1:
        raise OSError(ctypes.get_errno(), f"bpf command {command}: {os.strerror(ctypes.get_errno())}")
    return result


def _is_there(kind: str, number: int) -> bool:
    try:
        os.close(bpf(OPENERS[kind], struct.pack("=I12x", number)))
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return False
    return True
