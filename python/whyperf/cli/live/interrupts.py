"""Ctrl-C: the first stops cleanly, the second at once. A polite kill, or a closed terminal, counts as the first.

The signal of a closed terminal comes twice, from the kernel and from the shell, and that of timeout(1) to the process
and to its group: the second is no wish to stop at once.
"""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from whyperf.cli.exits import INTERRUPTED, say

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOW_CURSOR = b"\x1b[?25h"
#: The wait after which what must not be interrupted, such as `__del__` of an object, has ended.
AGAIN_S = 0.01
#: The same signal so soon after the first is the same wish. Nobody who reads "again to stop at once" is as quick.
REPEAT_S = 0.5


class Stops:
    """The effect of a signal now."""

    def __init__(self, *, is_held: bool = False) -> None:
        """It interrupts; where it is held, from `release` on."""
        self._is_keeping = False
        self._is_held = is_held
        self._has_come = False

    def hold_back(self) -> bool:
        """True where the first signal waits for `release`."""
        self._has_come = self._is_held
        return self._is_held

    def release(self) -> None:
        """Signals interrupt from here on.

        Raises:
            KeyboardInterrupt: one has come while they were held.
        """
        self._is_held = False
        if self._has_come:
            raise KeyboardInterrupt

    @property
    def is_keeping(self) -> bool:
        """True where something is written that one signal must not lose."""
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
def handled(
    earlier_s: Mapping[int, float] | None = None, now_s: Callable[[], float] = time.monotonic, *, held: bool = False
) -> Iterator[Stops]:
    """Within, the first of the signals raises KeyboardInterrupt and the second ends the process.

    A signal that comes again within `REPEAT_S` does nothing; `earlier_s` has times, by `now_s`, of those that came
    before. Where it begins `held`, the first waits for `Stops.release`. SIGHUP stays ignored where it is, as under
    nohup(1). Ending at once leaves nothing behind: agents stop and put everything back when their pipe closes. Where
    Python drops the exception, as in `__del__`, it is raised again.
    """
    stopping, is_dropped, stops = False, False, Stops(is_held=held)
    first_s = dict(earlier_s or {})
    hook_before = sys.unraisablehook

    def on_unraisable(dropped: "sys.UnraisableHookArgs") -> None:
        nonlocal is_dropped
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            hook_before(dropped)
            return
        is_dropped = True
        threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.SIGINT)).start()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal stopping, is_dropped
        if is_dropped:
            is_dropped = False
            raise KeyboardInterrupt
        at_s = now_s()
        if at_s - first_s.get(number, -math.inf) < REPEAT_S or (stopping and number == signal.SIGHUP):
            return
        first_s[number] = at_s
        if stopping:
            if sys.stderr.isatty():
                os.write(sys.stderr.fileno(), SHOW_CURSOR)
            os._exit(INTERRUPTED)
        stopping = True
        if stops.is_keeping:
            say("\nwhyperf: writing the result (again to stop at once)")
            return
        say("\nwhyperf: stopping (again to stop at once)")
        if stops.hold_back():
            return
        raise KeyboardInterrupt

    ours = [number for number in SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in ours}
    sys.unraisablehook = on_unraisable
    try:
        yield stops
    finally:
        sys.unraisablehook = hook_before
        for number, handler in before.items():
            signal.signal(number, handler)
