"""The record's report.json: what the report draws from segment logs, kept so that a log is read once.

Like the report it can be made again at any time. It counts as long as it is of the record as it is, and of this whyperf
(`whyperf.record.kept`).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from whyperf.record.kept import read_kept, write_kept
from whyperf.report.explanation.over_time import TimeChart
from whyperf.report.flow.trial_rows import TrialRow

NAME = "report.json"


@dataclass(frozen=True)
class _Parts:
    """Time charts and rows, by trial."""

    charts: dict[str, tuple[TimeChart, ...]]
    rows: dict[str, TrialRow]


class KeptParts:
    """Time charts of budgets and rows of log trials: those of the last report, and those that this one adds."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Reads what the last report of the record with this `fingerprint` kept."""
        self.fingerprint = fingerprint
        self._path = folder / NAME
        self._is_new = False
        self._parts = _Parts({}, {})
        if (content := read_kept(self._path, fingerprint)) is not None:
            with suppress(ValidationError):
                self._parts = TypeAdapter(_Parts).validate_json(json.dumps(content))

    @property
    def charts(self) -> Mapping[str, Sequence[TimeChart]]:
        """The time charts of each trial."""
        return self._parts.charts

    @property
    def rows(self) -> Mapping[str, TrialRow]:
        """The row of each log trial."""
        return self._parts.rows

    def add_charts(self, trial: str, charts: Iterable[TimeChart]) -> None:
        """Adds the time charts of a trial."""
        self._parts.charts[trial] = tuple(charts)
        self._is_new = True

    def add_rows(self, rows: Iterable[TrialRow]) -> None:
        """Adds rows of log trials."""
        for row in rows:
            self._parts.rows[row.trial] = row
            self._is_new = True

    def write(self) -> None:
        """Keeps everything, if anything was added; a folder that may only be read goes without."""
        adapter = TypeAdapter(_Parts)
        # What does not come back as it was is not kept.
        if self._is_new and adapter.validate_json(content := adapter.dump_json(self._parts)) == self._parts:
            with suppress(OSError):
                write_kept(self._path, self.fingerprint, json.loads(content))
