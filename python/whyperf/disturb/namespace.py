"""The changes of a keeper to the network namespace that it is in itself, which so is there until all is put back."""

import fcntl
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from whyperf.disturb.action import DisturbError, Item, Places, run

OF_HOST = Path("/proc/sys/net/core/netdev_budget")
"""A setting that the kernel shows in the first network namespace only (net_core_table, net/core/sysctl_net_core.c)."""


def entering(namespace: str | None) -> list[str]:
    """The words before a command that has it run in the network namespace of this path."""
    return [] if namespace is None else ["nsenter", f"--net={namespace}", "--"]


class OwnNamespace:
    """Settings of the namespace, and routes to single addresses with a congestion control of their own.

    One keeper at a time changes a namespace: two would put back what the other had set.
    """

    def __init__(self, item: Item, _places: Places) -> None:
        """Of a `Namespace`."""
        self._item = item
        self._undo: list[Callable[[], object]] = []

    def start(self) -> None:
        """Change it."""
        if OF_HOST.exists():
            raise DisturbError("the host's own network namespace is never changed")
        # Open, and so locked, until this process ends.
        lock = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DisturbError("another whyperf changes this network namespace now") from None
        for name, value in self._item["settings"].items():
            self._undo.append(partial(_set, name, _present(name)))
            _set(name, value)
        for address in self._item["peers"]:
            self._add_route(address)

    def stop(self) -> None:
        """Put everything back, whatever one of them says."""
        left: list[str] = []
        while self._undo:
            try:
                self._undo.pop()()
            except DisturbError as error:
                left.append(str(error))
        if left:
            raise DisturbError("; ".join(left))

    def _add_route(self, address: str) -> None:
        """A route to the address alone, the way that its packets go already."""
        (found,) = json.loads(run(("ip", "-j", "route", "get", address)))
        if found.get("type", "unicast") != "unicast" or "via" in found or any(found.get("metrics", ())):
            raise DisturbError(f"the route to {address} is one of the kernel's own, or has options already")
        way = [word for key, name in _WAY.items() if key in found for word in (name, found[key])]
        route = (address, *way, "congctl", self._item["control"])
        run(("ip", "route", "add", *route))
        self._undo.append(partial(run, ("ip", "route", "del", *route)))
        if f"congctl {self._item['control']}" not in run(("ip", "route", "get", address)):
            raise DisturbError(f"the packets to {address} do not take a route that is added")


_WAY = {"gateway": "via", "dev": "dev", "prefsrc": "src"}
"""The names in `ip -j route get` of the words of `ip route add`."""


def _present(name: str) -> str:
    return " ".join(run(("sysctl", "-n", name)).split())


def _set(name: str, value: str) -> None:
    run(("sysctl", "-q", "-w", f"{name}={value}"))
    if (found := _present(name)) != value:
        raise DisturbError(f"{name} is {found} where {value} was set")
