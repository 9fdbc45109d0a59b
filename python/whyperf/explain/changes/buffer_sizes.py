"""Size that a socket buffer could have instead: the factor that sets it, and the host's bounds of it."""

from typing import Literal

from whyperf.explain.changes.commands import largest, raise_sysctls
from whyperf.explain.explanation import Level
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.setup import Setup

DEFAULT = "default"
UNSCALED_WINDOW = 65_535
"""The largest window without scaling (RFC 9293, section 3.1), which systems before RFC 1323 do not have."""


def setter_of_buffer(name: str, setup: Setup) -> str | None:
    """The factor that sets this buffer in the cell; None where the kernel sizes it."""
    return next((factor for factor in (name, "window_bytes") if setup.level(factor) != DEFAULT), None)


def size_of_buffer(name: str, wanted: int, letter: Literal["r", "w"], end: HostFacts, setup: Setup) -> dict[str, Level]:
    """The factor that made the buffer what it is, back to the kernel's choice; where it was that already, a size.

    Nothing where the host's limits keep the buffer from growing: what setsockopt asks for is cut, and doubled
    (sk_setsockopt, net/core/sock.c).
    """
    host, now = setup.hosts.get(end.host, {}), end.sockets.buffer_bytes or 0
    if (factor := setter_of_buffer(name, setup)) and not setup.has_linux_only:
        # Buffers of other systems do not grow: their default can be smaller than what is set.
        return {factor: UNSCALED_WINDOW} if now < UNSCALED_WINDOW else {}
    if factor:
        chosen = largest(host, f"net.ipv4.tcp_{letter}mem")
        return {factor: DEFAULT} if chosen is None or chosen > now else {}
    asked = largest(host, f"net.core.{letter}mem_max")
    size = wanted if asked is None else min(wanted, asked)
    return {name: size} if 2 * size > now else {}


def bounds_of_buffer(name: str, wanted: int, letter: Literal["r", "w"], end: HostFacts, setup: Setup) -> str:
    """The host's bounds of buffers, as high as the wanted one needs: half of a buffer is for bookkeeping.

    What setsockopt may ask for matters only where a program asks.
    """
    least: dict[str, tuple[int, ...]] = {f"net.ipv4.tcp_{letter}mem": (0, 0, 2 * wanted)}
    if setter_of_buffer(name, setup):
        least[f"net.core.{letter}mem_max"] = (wanted,)
    return raise_sysctls(setup.hosts.get(end.host, {}), least)
