"""Stored records of every kind, and what whyperf printed of them when they were stored.

`python -m tests.unit.records.golden` writes the outputs of `tests/records` again.
"""

import contextlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyperf.cli import main

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "records"
TABLES = FOLDER / "tables.json"
"""The columns of the stored records: those of the day on which they were made."""
KINDS = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))
#: `run --json` prints the document of `show --json`; it needs a host.
COMMANDS = ("show", "explain", "flow")
#: Keys with sentences for readers. Their wording may change; whether there is one, and how many, may not.
TEXTS = {
    *("advice", "because", "by_hand", "cause_words", "changed_by", "claim", "gaps", "gives", "headline", "missing"),
    *("predicted_from", "prediction_words", "reason", "refuted_by", "text", "unpredicted_because", "waits", "words"),
}
TEXT = "<text>"


@dataclass(frozen=True)
class Output:
    """What a command printed and how it ended."""

    status: int
    text: str


def unpack(kind: str, folder: Path) -> None:
    """Puts a stored record into `folder/results`."""
    with tarfile.open(FOLDER / f"{kind}.tar.xz") as archive:
        archive.extractall(folder / "results", filter="data")


def output(*arguments: str) -> Output:
    """Runs a command in this process."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = main(arguments)
    return Output(status, printed.getvalue())


def without_texts(value: Any, key: str = "") -> Any:
    """The document with a mark in place of every sentence."""
    if isinstance(value, Mapping):
        return {name: without_texts(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [without_texts(part, key) for part in value]
    return TEXT if key in TEXTS and isinstance(value, str) and value else value


def documents(kind: str) -> dict[str, dict[str, Any]]:
    """What each command prints of a record, from the folder that has it in `results`."""
    found = {}
    for command in COMMANDS:
        printed = output(command, f"results/{kind}", "--json")
        found[command] = {"status": printed.status, "document": without_texts(json.loads(printed.text))}
    return found


def tables() -> dict[str, list[list[Any]]]:
    """Name, type and whether it may be null, of every column of every table, in order."""
    defined = json.loads((ROOT / "schemas" / "tables.json").read_text())["tables"]
    return {
        table["name"]: [[column["name"], column["type"], column["optional"]] for column in table["columns"]]
        for table in defined
    }


def stored(kind: str) -> dict[str, dict[str, Any]]:
    """What the commands printed when the outputs were stored."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / f"{kind}.json").read_text())
    return found


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


def _write_all() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        os.chdir(folder)
        for kind in KINDS:
            unpack(kind, Path(folder))
            _write(FOLDER / f"{kind}.json", documents(kind))


if __name__ == "__main__":
    _write_all()
