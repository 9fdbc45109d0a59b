"""The process that makes the disturbances of one trial, and undoes them.

Its standard input begins with the orders in one line, then has the line `start` when the load runs. When it ends,
the trial is over or the controller is gone: everything is undone. It answers `ready`, or `error` and why.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from select import select

from whyperf.disturb.action import Action, DisturbError, Item, Places
from whyperf.disturb.host import Burning, Pausing, cpu_quota, memory_limit
from whyperf.disturb.network import Discipline, FirewallRules, OtherTraffic, Settings

ACTIONS: dict[str, Callable[[Item, Places], Action]] = {
    "burn": Burning,
    "cpu_quota": cpu_quota,
    "memory_limit": memory_limit,
    "pause": Pausing,
    "firewall": FirewallRules,
    "queue": Discipline,
    "sysctl": Settings,
    "traffic": OtherTraffic,
}
READY = "ready"
START = "start"


@dataclass
class Schedule:
    """What is due when, on the monotonic clock."""

    due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    numbers: "count[int]" = field(default_factory=count)

    def add(self, time_s: float, what: Callable[[], None]) -> None:
        """Have something done at a time."""
        heappush(self.due, (time_s, next(self.numbers), what))

    def wait_s(self, now_s: float) -> float | None:
        """How long nothing is due; None: nothing will be."""
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
    """Whether it waits for the load."""
    return bool(item["after_s"]) or item["for_s"] is not None


def keep(items: list[Item], places: Places) -> None:
    """Start what is to be there first, then follow the schedule until standard input ends."""
    actions = [(ACTIONS[item["kind"]](item, places), item) for item in items]
    try:
        for action, item in actions:
            if not is_timed(item):
                action.start()
        _answer(READY)
        _follow(Schedule(), [pair for pair in actions if is_timed(pair[1])])
    finally:
        left: list[str] = []
        for action, _ in reversed(actions):
            # What one leaves must not keep the others from being undone.
            try:
                action.stop()
            except (OSError, DisturbError) as error:
                left.append(str(error))
        if left:
            raise DisturbError(left[0])


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


def _answer(text: str) -> None:
    # A controller that was killed hears none; the end of standard input ends the keeper then.
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{text}\n".encode())


def main() -> int:
    """Keep what the first line orders."""
    # Only the end of standard input ends it: a signal to the terminal's group must not leave anything behind.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # Read byte by byte: what follows is waited for with select.
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(sys.stdin.fileno(), 1)
        if not read:
            return 0
        line += read
    orders = json.loads(line)
    try:
        keep(orders["disturbances"], orders["places"])
    except (DisturbError, OSError) as error:
        _answer(f"error {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
