"""Ctrl-C: the first stops cleanly, the second at once. A polite kill counts as the first."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from whyperf.cli.exits import INTERRUPTED, say

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def handled() -> Iterator[None]:
    """Within, the first of the signals raises KeyboardInterrupt and the second ends the process.

    Ending at once leaves nothing behind: agents stop and put everything back when their pipe closes.
    """
    stopping = False

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            if sys.stderr.isatty():
                sys.stderr.write(SHOW_CURSOR)
            os._exit(INTERRUPTED)
        stopping = True
        say("\nwhyperf: stopping (again to stop at once)")
        raise KeyboardInterrupt

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
