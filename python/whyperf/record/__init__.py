"""The record: append-only, atomic, resumable.

Its modules are imported when a name of theirs is used first: a stored result needs neither plans nor tables.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyperf.record.costs import keep_cost, known_cost
    from whyperf.record.errors import RecordError, WrongFolderError
    from whyperf.record.experiment import Experiment, Trials, kept_profile
    from whyperf.record.kinds import code_words, is_table, wrong_in_table
    from whyperf.record.manifest import (
        INTERRUPTED,
        LOST,
        RECORD_VERSION,
        Damaged,
        Manifest,
        busiest_process,
        router_ratios,
    )
    from whyperf.record.naming import planned_folder, quick_folder, watch_folder
    from whyperf.record.tables import TableRead, read_table, sum_by_host
    from whyperf.record.writer import TableFile, TrialWriter

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
    "WrongFolderError",
    "busiest_process",
    "code_words",
    "is_table",
    "keep_cost",
    "kept_profile",
    "known_cost",
    "planned_folder",
    "quick_folder",
    "read_table",
    "router_ratios",
    "sum_by_host",
    "watch_folder",
    "wrong_in_table",
]

_MODULES = {
    **dict.fromkeys(
        (
            "keep_cost",
            "known_cost",
        ),
        "costs",
    ),
    **dict.fromkeys(("RecordError", "WrongFolderError"), "errors"),
    **dict.fromkeys(
        (
            "Experiment",
            "Trials",
            "kept_profile",
        ),
        "experiment",
    ),
    **dict.fromkeys(
        (
            "code_words",
            "is_table",
            "wrong_in_table",
        ),
        "kinds",
    ),
    **dict.fromkeys(
        (
            "INTERRUPTED",
            "LOST",
            "RECORD_VERSION",
            "Damaged",
            "Manifest",
            "busiest_process",
            "router_ratios",
        ),
        "manifest",
    ),
    **dict.fromkeys(
        (
            "planned_folder",
            "quick_folder",
            "watch_folder",
        ),
        "naming",
    ),
    **dict.fromkeys(
        (
            "TableRead",
            "read_table",
            "sum_by_host",
        ),
        "tables",
    ),
    **dict.fromkeys(
        (
            "TableFile",
            "TrialWriter",
        ),
        "writer",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
