"""The record's explain.json: what was explained last, by `whyperf explain` or for a report.

Like the report it can be made again at any time.

It counts as long as it is of the record as it is, and of this whyperf (`whyperf.record.kept`).
"""

import json
from pathlib import Path

from pydantic import ValidationError

from whyperf.explain.explanation import FORMAT, Explanation
from whyperf.record import Experiment
from whyperf.record.errors import failure
from whyperf.record.kept import fingerprint_of, read_kept, write_kept

NAME = "explain.json"


def write_explanation(experiment: Experiment, explanation: Explanation, fingerprint: str | None = None) -> Path:
    """Writes it into the experiment's folder, whole or not at all; returns its path.

    `fingerprint` is of the record before it was explained: a trial may have been stored since.

    Raises:
        RecordError: the disk refuses.
    """
    path = experiment.folder / NAME
    try:
        write_kept(path, fingerprint or fingerprint_of(experiment.folder), explanation.model_dump(mode="json"))
    except OSError as error:
        raise failure("write", path, error, has_out=False) from None
    return path


def read_explanation(experiment: Experiment, fingerprint: str | None = None) -> Explanation | None:
    """Last explanation; None if there was none, or not by this whyperf of the record as it is (`fingerprint`)."""
    content = read_kept(experiment.folder / NAME, fingerprint or fingerprint_of(experiment.folder))
    if content is None:
        return None
    try:
        found = Explanation.model_validate_json(json.dumps(content))
    except ValidationError:
        return None
    return found if found.format == FORMAT else None
