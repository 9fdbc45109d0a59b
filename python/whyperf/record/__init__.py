"""The record: append-only, atomic, resumable."""

from whyperf.record.costs import keep_cost, known_cost
from whyperf.record.errors import RecordError
from whyperf.record.experiment import Experiment, Trials, kept_profile
from whyperf.record.manifest import LOST, RECORD_VERSION, Damaged, Manifest
from whyperf.record.naming import planned_folder, quick_folder
from whyperf.record.tables import TableRead, read_table
from whyperf.record.writer import TableFile, TrialWriter

__all__ = [
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
    "keep_cost",
    "kept_profile",
    "known_cost",
    "planned_folder",
    "quick_folder",
    "read_table",
]
