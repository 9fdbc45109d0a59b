"""Ctrl-C: the first stops cleanly, the second at once. A polite kill, or a closed terminal, counts as the first.

The signal of a closed terminal comes twice, from the kernel and from the shell: the second is no wish to stop at once.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from whyperf.cli.exits import INTERRUPTED, say

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOW_CURSOR = "\x1b[?25h"


class Stops:
    """What a signal does now."""

    def __init__(self) -> None:
        """It interrupts."""
        self._is_keeping = False

    @property
    def is_keeping(self) -> bool:
        """Whether something is written that one signal must not lose."""
        return self._is_keeping

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Within, the first signal interrupts nothing."""
        self._is_keeping = True
        try:
            yield
        finally:
            self._is_keeping = False


@contextmanager
def handled() -> Iterator[Stops]:
    """Within, the first of the signals raises KeyboardInterrupt and the second ends the process.

    SIGHUP stays ignored where it is, as under nohup(1). Ending at once leaves nothing behind: agents stop and put
    everything back when their pipe closes.
    """
    stopping, stops = False, Stops()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping and number == signal.SIGHUP:
            return
        if stopping:
            if sys.stderr.isatty():
                sys.stderr.write(SHOW_CURSOR)
            os._exit(INTERRUPTED)
        stopping = True
        if stops.is_keeping:
            say("\nwhyperf: writing the result (again to stop at once)")
            return
        say("\nwhyperf: stopping (again to stop at once)")
        raise KeyboardInterrupt

    ours = [number for number in SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in ours}
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
