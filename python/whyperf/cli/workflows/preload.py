"""Loads what judges and prints a result while the only trial of a run cools down, when nothing is measured any more.

Loading takes half a second, which a short run would take longer otherwise.
"""

from collections.abc import Sequence
from importlib import import_module
from threading import Thread

_MODULES = (
    "whyperf.analyze.cell_results",
    "whyperf.analyze.read.record",
    "whyperf.cli.output.result",
    "whyperf.cli.output.explanation",
    "whyperf.explain.experiment",
)
_REPORT = "whyperf.report.experiment"


def start(*, report: bool) -> None:
    """Starts loading in a thread; whoever imports one of the modules meanwhile waits for it."""
    modules = (*_MODULES, _REPORT) if report else _MODULES
    Thread(target=_load, args=(modules,), name="preload", daemon=True).start()


def _load(modules: Sequence[str]) -> None:
    for module in modules:
        import_module(module)
