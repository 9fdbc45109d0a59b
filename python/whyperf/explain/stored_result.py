"""The record's result.json: the result, and why it is so in one sentence, as they were printed last.

Like the report it can be made again at any time. It counts as long as it is of the record as it is, and of this whyperf
(`whyperf.record.kept`). Reading it loads no library that computes.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from whyperf.analyze.summary import Summary
from whyperf.record.kept import read_kept, write_kept

NAME = "result.json"


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
            write_kept(folder / NAME, fingerprint, document)


def read_result(folder: Path, fingerprint: str) -> StoredResult | None:
    """The result that was stored last; None if there is none, or not by this whyperf of what is there now."""
    content = read_kept(folder / NAME, fingerprint)
    return None if content is None else _result(content, str(folder))


def _result(content: Mapping[str, object], folder: str) -> StoredResult | None:
    try:
        summary = Summary.model_validate_json(json.dumps(content["summary"]))
    except (ValidationError, KeyError, ValueError):
        return None
    why = content.get("why")
    is_of_here = isinstance(why, str) and (content.get("folder") == folder or str(content.get("folder")) not in why)
    return StoredResult(summary, str(why) if is_of_here else None, content.get("made_here") is True)
