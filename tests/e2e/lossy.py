"""Loss on the testbed's link where there is no netem: an XDP program drops large frames at random as they arrive.

What is dropped there was sent, by the log and the counts of the sending end, and never arrived at the other.
"""

import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.bpf_objects import bpf

#: include/uapi/linux/bpf.h, include/uapi/linux/if_link.h, include/uapi/linux/sched.h.
BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28
BPF_PROG_TYPE_XDP, BPF_XDP, XDP_FLAGS_DRV_MODE = 6, 37, 4
CLONE_NEWNET = 0x40000000
#: One frame in as many, of those with a segment's payload.
ONE_IN, LARGE_BYTES = 64, 1000

_libc = ctypes.CDLL(None, use_errno=True)


def _instruction(code: int, target: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", code, source << 4 | target, offset, value)


#: include/uapi/linux/bpf_common.h has the codes: 0x61 loads, 0xBF and 0xB7 move, 0x1F and 0x57 calculate, 0xA5 jumps if
#: less, 0x15 if equal, 0x85 calls (7 is bpf_get_prandom_u32), 0x95 ends. Result 1 drops, 2 passes.
PROGRAM = b"".join(
    (
        _instruction(0x61, target=2, source=1, offset=0),
        _instruction(0x61, target=3, source=1, offset=4),
        _instruction(0x1F, target=3, source=2),
        _instruction(0xA5, target=3, offset=3, value=LARGE_BYTES),
        _instruction(0x85, value=7),
        _instruction(0x57, target=0, value=ONE_IN - 1),
        _instruction(0x15, target=0, offset=2, value=0),
        _instruction(0xB7, target=0, value=2),
        _instruction(0x95),
        _instruction(0xB7, target=0, value=1),
        _instruction(0x95),
    )
)


@contextmanager
def dropping(netns: str, device: str) -> Iterator[None]:
    """Drops frames that arrive at a device in a network namespace, until the end of the block."""
    with ThreadPoolExecutor(1) as entered:
        link = entered.submit(_attach, netns, device).result()
        try:
            yield
        finally:
            os.close(link)


def _attach(netns: str, device: str) -> int:
    """Enters the namespace with this thread and attaches the program; the link lives as long as its descriptor."""
    with Path(netns).open("rb") as namespace:
        if _libc.setns(namespace.fileno(), CLONE_NEWNET) == -1:
            raise OSError(ctypes.get_errno(), f"entering {netns}")
    instructions, license_name = ctypes.create_string_buffer(PROGRAM), ctypes.create_string_buffer(b"GPL")
    # union bpf_attr: type, instructions, license, and 44 bytes on what the program is to be attached to.
    load = struct.pack(
        "=IIQQ44xI",
        BPF_PROG_TYPE_XDP,
        len(PROGRAM) // 8,
        ctypes.addressof(instructions),
        ctypes.addressof(license_name),
        BPF_XDP,
    )
    program = bpf(BPF_PROG_LOAD, load)
    try:
        index = socket.if_nametoindex(device)
        return bpf(BPF_LINK_CREATE, struct.pack("=IIII", program, index, BPF_XDP, XDP_FLAGS_DRV_MODE))
    finally:
        os.close(program)
