"""Last results next to a record: explain.json, what was explained, and result.json, what was printed."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from whyperf.analyze.summary import Summary
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


RESULT = "result.json"


@dataclass(frozen=True)
class StoredResult:
    """A result, and why it is so in one sentence; None where that was not asked for. `is_made_here` is that of the
    experiment."""

    summary: Summary
    why: str | None
    is_made_here: bool


def write_result(folder: Path, result: StoredResult, fingerprint: str) -> None:
    """Keeps a result of the record that had this `fingerprint`; a folder that may only be read goes without."""
    document = {
        # A sentence may name the folder as it was given.
        "folder": str(folder),
        "why": result.why,
        "made_here": result.is_made_here,
        "summary": result.summary.model_dump(mode="json"),
    }
    # What does not come back as it was is not kept.
    if _result(document, str(folder)) == result:
        with suppress(OSError):
            write_kept(folder / RESULT, fingerprint, document)


def read_result(folder: Path, fingerprint: str) -> StoredResult | None:
    """The result that was stored last; None if there is none, or not by this whyperf of what is there now."""
    content = read_kept(folder / RESULT, fingerprint)
    return None if content is None else _result(content, str(folder))


def _result(content: Mapping[str, object], folder: str) -> StoredResult | None:
    try:
        summary = Summary.model_validate_json(json.dumps(content["summary"]))
    except (ValidationError, KeyError, ValueError):
        return None
    why = content.get("why")
    is_of_here = isinstance(why, str) and (content.get("folder") == folder or str(content.get("folder")) not in why)
    return StoredResult(summary, str(why) if is_of_here else None, content.get("made_here") is True)
