"""Commands for real hosts, made from what the record says of the host: none lowers or repeats what is set there.

Where the record lacks the present value, the command only reads it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

HostFacts = Mapping[str, Any]

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


def raise_sysctls(host: HostFacts, least: Mapping[str, Sequence[int]]) -> str:
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


def largest(host: HostFacts, name: str) -> int | None:
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
