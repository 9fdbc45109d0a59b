"""The process that makes the disturbances of a truth experiment, and undoes them.

It is the keeper of the product with more actions, and with times: they count from the line `start` on its standard
input, which it gets when the load runs.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from select import select

from lab.disturb.host import Burning, Pausing, cpu_quota, memory_limit
from lab.disturb.network import Discipline, OtherTraffic, PacketPrograms, RouteOptions, Settings
from whyperf.disturb.action import Action, Item, Places
from whyperf.disturb.keeper import keep
from whyperf.disturb.keeper import main as keeper_main
from whyperf.disturb.network import FirewallRules

ACTIONS: dict[str, Callable[[Item, Places], Action]] = {
    "burn": Burning,
    "cpu_quota": cpu_quota,
    "memory_limit": memory_limit,
    "pause": Pausing,
    "firewall": FirewallRules,
    "queue": Discipline,
    "route": RouteOptions,
    "classifiers": PacketPrograms,
    "sysctl": Settings,
    "traffic": OtherTraffic,
}
START = "start"


@dataclass
class Schedule:
    """The things that are due, each at its time, on the monotonic clock."""

    due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    numbers: "count[int]" = field(default_factory=count)

    def add(self, time_s: float, what: Callable[[], None]) -> None:
        """Have something done at a time."""
        heappush(self.due, (time_s, next(self.numbers), what))

    def wait_s(self, now_s: float) -> float | None:
        """The time for which nothing is due; None: nothing will be."""
        return max(0.0, self.due[0][0] - now_s) if self.due else None

    def do_due(self, now_s: float) -> None:
        """Do what is due, in order."""
        while self.due and self.due[0][0] <= now_s:
            heappop(self.due)[2]()

    def add_action(self, action: Action, item: Item, from_s: float) -> None:
        """Have an action started and stopped at its times, counted from `from_s`."""
        stopping_s = None if item["for_s"] is None else from_s + item["for_s"]

        def start() -> None:
            action.start()
            if stopping_s is not None:
                self.add(stopping_s, action.stop)
            if item["every_s"] is not None:
                self.add_action(action, item, from_s + item["every_s"])

        self.add(from_s, start)


def is_timed(item: Item) -> bool:
    """True where it waits for the load."""
    return bool(item["after_s"]) or item["for_s"] is not None


def keep_timed(items: list[Item], places: Places) -> None:
    """Start what is to be there first, then follow the schedule until standard input ends."""
    actions = [(ACTIONS[item["kind"]](item, places), item) for item in items]
    first = [action for action, item in actions if not is_timed(item)]
    timed = [pair for pair in actions if is_timed(pair[1])]
    keep(first, [action for action, _ in actions], lambda: _follow(Schedule(), timed))


def _follow(schedule: Schedule, timed: list[tuple[Action, Item]]) -> None:
    buffered = b""
    while True:
        readable, _, _ = select([sys.stdin.fileno()], [], [], schedule.wait_s(time.monotonic()))
        if readable:
            read = os.read(sys.stdin.fileno(), 4096)
            if not read:
                return
            buffered += read
            if START.encode() in buffered.split(b"\n"):
                buffered = b""
                for action, item in timed:
                    schedule.add_action(action, item, time.monotonic() + item["after_s"])
        schedule.do_due(time.monotonic())


def main() -> int:
    """Keep what the first line orders."""
    return keeper_main(keep_timed)
