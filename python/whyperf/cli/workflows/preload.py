"""Loads what judges and prints a result while the only trial of a run cools down, when nothing is measured any more.

Loading takes half a second, which a short run would take longer otherwise.
"""

from importlib import import_module
from threading import Thread

_MODULES = (
    "whyperf.analyze.cell_results",
    "whyperf.analyze.read.record",
    "whyperf.cli.output.result",
    "whyperf.cli.output.explanation",
    "whyperf.explain.experiment",
)


def start() -> None:
    """Starts loading in a thread; whoever imports one of the modules meanwhile waits for it."""
    Thread(target=_load, name="preload", daemon=True).start()


def _load() -> None:
    for module in _MODULES:
        import_module(module)
