"""Loads what judges and prints a result while the only trial of a run needs the controller for nothing else.

Loading takes a second, which a short run would take longer otherwise. It is done while agents start, and again from the
end of the measurement on. In between, both sides may need every CPU, so nothing is loaded.
"""

import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module
from threading import Event, Thread

#: Those come first that load fast, because pausing waits for the one that is being loaded.
_MODULES = (
    "numpy",
    "polars",
    "whyperf.analyze.summary",
    "whyperf.analyze.measures.goodput",
    "whyperf.analyze.read.record",
    "whyperf.analyze.cell_results",
    "whyperf.cli.output.result",
    "whyperf.cli.output.explanation",
    "whyperf.explain.experiment",
)
_OF_REPORT = ("jinja2", "whyperf.report.experiment")
#: So long a thread that reads from an agent waits for the one that loads; Python's 5 ms add up over all tables.
_SWITCH_S = 0.0005


class Preload:
    """Loads in a thread; whoever imports one of the modules meanwhile waits for it."""

    def __init__(self, *, report: bool) -> None:
        """`report` says that a page of the result is made."""
        modules = (*_MODULES, *_OF_REPORT) if report else _MODULES
        self._left: deque[Callable[[], object]] = deque(partial(import_module, name) for name in modules)
        if report:
            self._left.append(_prepare_page)
        self._paused = Event()
        self._thread: Thread | None = None

    def resume(self) -> None:
        """Loads what is left."""
        self.pause()
        self._paused.clear()
        self._thread = Thread(target=self._load, name="preload", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Returns when what is being loaded is loaded; nothing more is."""
        self._paused.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _load(self) -> None:
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_S)
        try:
            while self._left and not self._paused.is_set():
                self._left.popleft()()
        finally:
            sys.setswitchinterval(before)


def _prepare_page() -> None:
    from whyperf.report.page import prepare  # noqa: PLC0415 - it is what is loaded

    prepare()
