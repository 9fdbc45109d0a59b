"""Rules of nftables in a side's network namespace, which is that of its agent's process."""

import os
from contextlib import suppress
from itertools import count

from whyperf.disturb.action import DisturbError, Item, Places, inside, run

_NUMBERS = count(1)


class FirewallRules:
    """A table of nftables."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of a `Firewall`."""
        self._process = int(places[item["host"]]["process"])
        self._item = item
        self._table = f"whyperf_disturb_{os.getpid()}_{next(_NUMBERS)}"
        self._is_there = False

    def start(self) -> None:
        """Make it, and count its rules."""
        run(inside(self._process, "nft", "-f", "-"), self._text())
        self._is_there = True
        asked, found = len(self._item["rules"]) * int(self._item["repeat"]), self._count()
        if found != asked:
            raise DisturbError(f"nft -f set {asked:,} rules, and the kernel has {found:,}")

    def try_out(self) -> None:
        """Have the kernel check it without making it."""
        run(inside(self._process, "nft", "--check", "-f", "-"), self._text())

    def stop(self) -> None:
        """Remove it; a namespace that is gone has none."""
        if self._is_there:
            with suppress(DisturbError):
                run(inside(self._process, "nft", "delete", "table", "inet", self._table))
        self._is_there = False

    def _text(self) -> str:
        rules = "\n".join(self._item["rules"])
        chain = f"type filter hook {self._item['hook']} priority 0;\n" + f"{rules}\n" * int(self._item["repeat"])
        return f"table inet {self._table} {{\nchain c {{\n{chain}}}\n}}\n"

    def _count(self) -> int:
        """The rules that the kernel has; each has a handle, as have table and chain, which open a block."""
        listed = run(inside(self._process, "nft", "-a", "list", "table", "inet", self._table)).splitlines()
        return sum(" # handle " in line and "{ # handle " not in line for line in listed)
