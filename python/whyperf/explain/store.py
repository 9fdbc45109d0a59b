"""The record's explain.json: what was explained last, by `whyperf explain` or for a report.

Like the report it can be made again at any time.

Next to the explanation stands what it was made of: by another whyperf, or of other trials, it counts no more.
"""

import hashlib
import json
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from whyperf import __version__
from whyperf.explain.model import FORMAT, Explanation
from whyperf.foreign import MAX_LARGE_DOCUMENT_BYTES, parse_json, read_bytes
from whyperf.record import Experiment
from whyperf.record.durable import write_file
from whyperf.record.errors import failure

NAME = "explain.json"
_MADE_OF = "made_of"


def write_explanation(experiment: Experiment, explanation: Explanation, of: str | None = None) -> Path:
    """Writes it into the experiment's folder, whole or not at all; returns its path.

    `of` is the fingerprint (`made_of`) from before the explanation was made, where trials may be added meanwhile.

    Raises:
        RecordError: the disk refuses.
    """
    path = experiment.folder / NAME
    content = {_MADE_OF: of or made_of(experiment.folder)} | explanation.model_dump(mode="json")
    try:
        write_file(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise failure("write", path, error, has_out=False) from None
    return path


def read_explanation(experiment: Experiment) -> Explanation | None:
    """What was explained last; None if nothing was, or not by this whyperf of what is there now: then it is made again.

    Raises:
        RecordError: the file is there and cannot be opened.
    """
    path = experiment.folder / NAME
    try:
        content = parse_json(read_bytes(path, MAX_LARGE_DOCUMENT_BYTES))
        if not isinstance(content, dict) or content.pop(_MADE_OF, "") != made_of(experiment.folder):
            return None
        found = Explanation.model_validate_json(json.dumps(content))
    except (FileNotFoundError, ValueError, ValidationError):
        return None
    except OSError as error:
        raise failure("read", path, error) from None
    return found if found.format == FORMAT else None


def made_of(folder: Path) -> str:
    """A fingerprint of what the record's explanation follows from: its plan, its trials' files, and who explains.

    Of tables the sizes count, so that a copy of a record is the same record.
    """
    digest = hashlib.sha256(_explainer().encode())
    for path in (folder / "plan.json", *sorted((folder / "trials").rglob("*"))):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            continue
        digest.update(f"\n{path.relative_to(folder)} {found.st_size} ".encode())
        if path.suffix == ".json":
            # What cannot be read is damaged, and explained as that.
            with suppress(OSError):
                digest.update(read_bytes(path, MAX_LARGE_DOCUMENT_BYTES))
    return digest.hexdigest()


@cache
def _explainer() -> str:
    """The version, and the sources of what explains: one version may have several sets of rules while it is made."""
    digest = hashlib.sha256(__version__.encode())
    here = Path(__file__).parent
    for path in sorted((*here.rglob("*.py"), *here.rglob("*.toml"), *(here.parent / "analyze").rglob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()
