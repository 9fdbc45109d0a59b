"""Datagrams handed to the kernel many at once, and the kernels on which an emulated path cannot carry them."""

import re
from collections.abc import Iterable, Mapping

from whyperf.plan.plan_document import Cell
from whyperf.profile.path import has_path
from whyperf.run.errors import Fault, RunError
from whyperf.wire import HostFacts

#: The first kernel that gives a packet socket UDP's super-segments (VIRTIO_NET_HDR_GSO_UDP_L4, 6.2); an older one fails
#: to describe them, and the router never sees what was sent.
FIRST_KERNEL = (6, 2)


def refuse_super_datagrams(cells: Iterable[Cell], facts: Mapping[str, HostFacts]) -> None:
    """Refuses UDP's segmentation offload over the router where its kernel cannot give it such packets.

    `facts` are those of each host by its label. With neither tso nor gso the kernel cuts before the device.

    Raises:
        RunError: a cell asks for it, with what to choose instead.
    """
    old = next((host["kernel"] for host in facts.values() if _version(host["kernel"]) < FIRST_KERNEL), None)
    if old is None:
        return
    for cell in cells:
        asked = _asked(cell)
        if asked is not None:
            raise RunError(
                f"{asked} over an emulated path needs Linux 6.2 or newer, and this is {old}: an older one cannot "
                "give the router datagrams that were handed over many at once; choose tso = false and gso = false"
                f"{'' if 'quic' in asked else ', or datagram_batch = 1'}",
                Fault.USAGE,
            )


def _asked(cell: Cell) -> str | None:
    """The setting of the cell that makes super-segments of datagrams that the router would have to carry."""
    factors = cell.factors
    is_routed = has_path(factors) and factors["path_implementation"] != "netem"
    if not is_routed or not (factors["tso"] or factors["gso"]):
        return None
    if "quic" in {factors["transport"], *(flow.transport for flow in cell.schedule or ())}:
        return "transport quic"
    batch = factors.get("datagram_batch", 1)
    return f"datagram_batch {batch}" if factors["transport"] == "udp" and batch != 1 else None


def _version(release: str) -> tuple[int, int]:
    """The first two numbers of `uname -r`."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found is not None else FIRST_KERNEL
