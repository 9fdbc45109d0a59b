"""The process that makes the disturbances of one trial, and undoes them.

Its standard input begins with the orders in one line. When it ends, the trial is over or the controller is gone:
everything is undone. It answers `ready`, or `error` and why.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from whyperf.disturb.action import Action, DisturbError, Item, Places
from whyperf.disturb.namespace import OwnNamespace
from whyperf.disturb.network import FirewallRules

READY = "ready"
ACTIONS: dict[str, Callable[[Item, Places], Action]] = {"firewall": FirewallRules, "namespace": OwnNamespace}


def keep(first: Sequence[Action], every: Sequence[Action], follow: Callable[[], object]) -> None:
    """Start the first ones, follow what is ordered until standard input ends, then undo every one.

    Raises:
        DisturbError: one cannot be started, or undone.
    """
    try:
        for action in first:
            action.start()
        _answer(READY)
        follow()
    finally:
        left: list[str] = []
        for action in reversed(every):
            # What one leaves must not keep the others from being undone.
            try:
                action.stop()
            except (OSError, DisturbError) as error:
                left.append(str(error))
        if left:
            raise DisturbError(left[0])


def keep_rules(items: list[Item], places: Places) -> None:
    """Have all of them until standard input ends."""
    actions = [ACTIONS[item["kind"]](item, places) for item in items]
    keep(actions, actions, sys.stdin.buffer.read)


def _answer(text: str) -> None:
    # A controller that was killed hears none; the end of standard input ends the keeper then.
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{text}\n".encode())


def main(keep_items: Callable[[list[Item], Places], None] = keep_rules) -> int:
    """Keep what the first line orders."""
    # Only the end of standard input ends it: a signal to the terminal's group must not leave anything behind.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # Read byte by byte: what follows is waited for otherwise.
    line = b""
    while not line.endswith(b"\n"):
        read = os.read(sys.stdin.fileno(), 1)
        if not read:
            return 0
        line += read
    orders = json.loads(line)
    try:
        keep_items(orders["disturbances"], orders["places"])
    except (DisturbError, OSError) as error:
        _answer(f"error {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
