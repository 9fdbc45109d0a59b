"""The record: append-only, atomic, resumable."""

from whyperf.record.costs import keep_cost, known_cost
from whyperf.record.errors import RecordError
from whyperf.record.experiment import Experiment, Trials, kept_profile
from whyperf.record.kinds import code_words, is_table, wrong_in_table
from whyperf.record.manifest import INTERRUPTED, LOST, RECORD_VERSION, Damaged, Manifest, busiest_process
from whyperf.record.naming import planned_folder, quick_folder
from whyperf.record.tables import TableRead, read_table
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
