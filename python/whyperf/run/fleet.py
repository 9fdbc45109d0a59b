"""Many pairs of hosts: started and compared at once, and what becomes of the others where a pair is lost."""

import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from whyperf.run.errors import RunError

Key = TypeVar("Key")
Value = TypeVar("Value")

STARTS_AT_ONCE = 24
"""Agents that are started at a time."""
PAIRS_AT_ONCE = 16
"""Pairs that open their connections at a time."""
CLOCKS_AT_ONCE = 4
"""Agents whose clocks are compared at a time: each waits for answers, and more would wait for each other."""


def at_once(
    call: Callable[[Key], Value], keys: Sequence[Key], most: int
) -> tuple[dict[Key, Value], dict[Key, RunError]]:
    """Call for all keys, at most so many at a time.

    Returns the values and the failures, in the order of the keys. What is no RunError is raised, when all are done.
    """
    values: dict[Key, Value] = {}
    failures: dict[Key, RunError] = {}
    if not keys:
        return values, failures
    with ThreadPoolExecutor(min(len(keys), most)) as pool:
        futures = [(key, pool.submit(call, key)) for key in keys]
        for key, future in futures:
            try:
                values[key] = future.result()
            except RunError as error:
                failures[key] = error
    return values, failures


def own_address(there: str) -> str:
    """This host's address as another host sees it: what the other can connect to. Nothing is sent.

    Raises:
        RunError: there is no way to it.
    """
    family = socket.AF_INET6 if ":" in there else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        try:
            way.connect((there, 9))
        except OSError as error:
            raise RunError(f"this host has no way to {there}: {error.strerror}") from error
        return str(way.getsockname()[0])


class LostPairs:
    """The pairs of a fleet that are out, and why. The first reason of a pair stays.

    Agents are lost in threads of their own, so several may be noted at once.
    """

    def __init__(self, count: int) -> None:
        """Of so many pairs, all are there."""
        self._count = count
        self._reasons: dict[int, RunError] = {}
        self._lock = Lock()

    def lose(self, pair: int, reason: RunError) -> bool:
        """Note that a pair is out. Whether it was still there."""
        with self._lock:
            is_new = pair not in self._reasons
            self._reasons.setdefault(pair, reason)
            return is_new

    def find(self, pair: int) -> None:
        """Note that a pair is there again."""
        with self._lock:
            self._reasons.pop(pair, None)

    @property
    def reasons(self) -> Mapping[int, RunError]:
        """Why each pair that is out is so, in the order in which they were lost."""
        with self._lock:
            return dict(self._reasons)

    @property
    def are_all(self) -> bool:
        """True where no pair is left."""
        with self._lock:
            return len(self._reasons) == self._count
