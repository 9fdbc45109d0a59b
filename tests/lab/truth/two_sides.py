"""Two network namespaces with a link between them, as the two sides of a testbed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whyperf.disturb.orders import Place

ADDRESSES = {"near": "192.0.2.1", "far": "192.0.2.2"}

# A side's agent stands for its namespace; this one computes on command, so that its CPU can be limited.
_AGENT = """
import sys
for line in sys.stdin:
    if line.strip() == "compute":
        while True:
            pass
"""


@contextmanager
def two_sides() -> Iterator[dict[str, "subprocess.Popen[bytes]"]]:
    """A process in the namespace of each side; the namespaces end with them."""
    sides = {}
    try:
        for side in ADDRESSES:
            argv = ["unshare", "-n", sys.executable, "-S", "-c", _AGENT]
            sides[side] = subprocess.Popen(argv, stdin=subprocess.PIPE)
            _wait_for_namespace(sides[side].pid)
        near, far = (str(sides[side].pid) for side in ADDRESSES)
        _run("ip", "link", "add", "wp-near", "netns", near, "type", "veth", "peer", "name", "wp-far", "netns", far)
        for side, address in ADDRESSES.items():
            _run(*inside(sides[side].pid, "ip", "addr", "add", f"{address}/24", "dev", f"wp-{side}"))
            _run(*inside(sides[side].pid, "ip", "link", "set", f"wp-{side}", "up"))
        yield sides
    finally:
        for process in sides.values():
            process.kill()
            process.wait()
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()


def places_of(sides: dict[str, "subprocess.Popen[bytes]"]) -> dict[str, Place]:
    """Where the sides are."""
    cpu = min(os.sched_getaffinity(0))
    return {side: Place(process=process.pid, cpus=(cpu,), address=ADDRESSES[side]) for side, process in sides.items()}


def inside(process: int, *argv: str) -> list[str]:
    """A command in the namespace of a process."""
    return ["nsenter", "-t", str(process), "-n", "--", *argv]


def printed(*argv: str) -> str:
    """What a command prints."""
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def _wait_for_namespace(process: int) -> None:
    own = Path("/proc/self/ns/net").readlink()
    while Path(f"/proc/{process}/ns/net").readlink() == own:
        os.sched_yield()
