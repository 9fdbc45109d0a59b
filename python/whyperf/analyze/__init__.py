"""Judges: from a record's counts, sums and time stamps to goodput, CPU, windows and warnings.

`summarize` is the way in. Everything below it is pure: polars frames and plain values in, the same
out; only `reading` knows the record. What computes is imported when it is used first: a stored result needs no polars.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyperf.analyze.cell_results import summarize_inputs
    from whyperf.analyze.read.record import read_inputs
    from whyperf.analyze.summary import Summary
    from whyperf.record import Experiment

__all__ = ["Summary", "read_inputs", "summarize", "summarize_inputs"]

_MODULES = {
    "Summary": "whyperf.analyze.summary",
    "read_inputs": "whyperf.analyze.read.record",
    "summarize_inputs": "whyperf.analyze.cell_results",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def summarize(experiment: "Experiment") -> "Summary":
    """The result of an experiment, finished or not; `.model_dump(mode="json")` is what is published."""
    # As above.
    from whyperf.analyze.cell_results import summarize_inputs  # noqa: PLC0415
    from whyperf.analyze.read.record import read_inputs  # noqa: PLC0415

    return summarize_inputs(read_inputs(experiment))
