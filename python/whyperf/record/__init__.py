"""The record: append-only, atomic, resumable.

What reads tables is imported when it is used first: polars takes 0.2 s to load, and a stored result needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whyperf.record.costs import keep_cost, known_cost
from whyperf.record.errors import RecordError
from whyperf.record.experiment import Experiment, Trials, kept_profile
from whyperf.record.manifest import INTERRUPTED, LOST, RECORD_VERSION, Damaged, Manifest, busiest_process
from whyperf.record.naming import planned_folder, quick_folder
from whyperf.record.writer import TableFile, TrialWriter

if TYPE_CHECKING:
    from whyperf.record.kinds import code_words, is_table, wrong_in_table
    from whyperf.record.tables import TableRead, read_table

__all__ = [
    "INTERRUPTED",
    "LOST",
    "RECORD_VERSION",
    "Damaged",
    "Experiment",
    "Manifest",
    "RecordError",
    "TableFile",
    "TableRead",
    "TrialWriter",
    "Trials",
    "busiest_process",
    "code_words",
    "is_table",
    "keep_cost",
    "kept_profile",
    "known_cost",
    "planned_folder",
    "quick_folder",
    "read_table",
    "wrong_in_table",
]

_MODULES = {
    **dict.fromkeys(("code_words", "is_table", "wrong_in_table"), "whyperf.record.kinds"),
    **dict.fromkeys(("TableRead", "read_table"), "whyperf.record.tables"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
