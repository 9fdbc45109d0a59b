"""The record's explain.json: what was explained last. Like the report it can be made again at any time."""

from pathlib import Path

from pydantic import ValidationError

from whyperf.explain.model import FORMAT, Explanation
from whyperf.record import Experiment, RecordError
from whyperf.record.durable import write_file

NAME = "explain.json"


def write_explanation(experiment: Experiment, explanation: Explanation) -> Path:
    """Writes it into the experiment's folder, whole or not at all; returns its path.

    Raises:
        RecordError: the disk refuses.
    """
    path = experiment.folder / NAME
    try:
        write_file(path, (explanation.model_dump_json(indent=1) + "\n").encode())
    except OSError as error:
        raise RecordError(f"cannot write {path}: {(error.strerror or '').lower()}") from None
    return path


def read_explanation(experiment: Experiment) -> Explanation | None:
    """What was explained last; None if nothing was, or by a version that wrote it otherwise: then it is made again.

    Raises:
        RecordError: the file is there and cannot be opened.
    """
    path = experiment.folder / NAME
    try:
        found = Explanation.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        return None
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from None
    return found if found.format == FORMAT else None
