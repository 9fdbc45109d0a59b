"""Commands that make a change on a host, and the sizes of buffers that they set."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from whyperf.explain.explanation import Level
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.setup import Setup

HostData = Mapping[str, Any]

DEVICE = "DEV"
HOST = "HOST"
"""The other host."""
OFFLOADS = ("tso", "gso", "gro")
HOST_WIDE = re.compile(r"sysctl -w|ethtool -[ACGKLNX]|ip link set|ip route change|tc qdisc (add|change|replace|del)")
"""Commands that change a setting of all programs of a host; the tools' other options, such as ethtool -S, only read."""
MAX_SYSCTL = 2**31 - 1
"""The kernel keeps these settings as int."""
MAX_DIGITS = 20
"""Of the largest number of 64 bits; int() refuses texts of more than 4,300."""


def raise_sysctls(host: HostData, least: Mapping[str, Sequence[int]]) -> str:
    """Raises each number of the settings to `least` where it is lower; "" where none is."""
    present = {name: _numbers(host.get("sysctls", {}).get(name)) for name in least}
    if any(len(present[name]) != len(numbers) for name, numbers in least.items()):
        return f"sysctl {' '.join(least)}"
    raised = {
        name: tuple(max(now, min(wanted, MAX_SYSCTL)) for now, wanted in zip(present[name], numbers, strict=True))
        for name, numbers in least.items()
    }
    written = [f"{name}={_quoted(numbers)}" for name, numbers in raised.items() if numbers != present[name]]
    return f"sysctl -w {' '.join(written)}" if written else ""


def raised_numbers(value: object, least: Sequence[int]) -> str:
    """The numbers of a setting, each at least so high; "" where they are, or are not known."""
    present = _numbers(value)
    raised = tuple(map(max, present, least)) if len(present) == len(least) else present
    return " ".join(map(str, raised)) if raised != present else ""


def largest(host: HostData, name: str) -> int | None:
    """The last number of a setting: an upper bound where it has several; None where it is not known."""
    numbers = _numbers(host.get("sysctls", {}).get(name))
    return numbers[-1] if numbers else None


def raise_mtu(mtu_bytes: int | None, wanted: int) -> str:
    """Raises the MTU of a device that has less."""
    if mtu_bytes is None:
        return f"ip link show dev {DEVICE}"
    return f"ip link set dev {DEVICE} mtu {wanted}" if mtu_bytes < wanted else ""


def switch_on_offloads(offloads: Mapping[str, bool] | None) -> str:
    """Switches on those of TSO, GSO and GRO that a device has off."""
    if offloads is None:
        return f"ethtool -k {DEVICE}"
    off = [name for name in OFFLOADS if not offloads.get(name, True)]
    return f"ethtool -K {DEVICE} {' '.join(f'{name} on' for name in off)}" if off else ""


def is_host_wide(command: str) -> bool:
    """True where it changes a setting that all programs of the host share."""
    return HOST_WIDE.search(command) is not None


def _numbers(value: object) -> tuple[int, ...]:
    numbers = str(value).split() if value is not None else []
    are_numbers = all(word.isdecimal() and len(word) <= MAX_DIGITS for word in numbers)
    return tuple(map(int, numbers)) if are_numbers else ()


def _quoted(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f'"{" ".join(map(str, numbers))}"'


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
