"""Records made by an earlier version: every command opens them, and prints the same figures."""

import contextlib
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.records.golden import KINDS, TABLES, documents, output, stored, tables, unpack, without_texts
from tests.unit.snapshots import differences
from whyperf.analyze import summarize
from whyperf.cli import main
from whyperf.record import Experiment
from whyperf.report.headline import headline

#: Keys that documents got after the outputs were stored: of `explain --json` the data that its sentences are made from,
#: of `show --json` the single connections, of both what only a fleet has.
ADDED = {
    *("code", "values", "change", "stretches", "predicted_basis", "streams", "watched", "steps", "fleet"),
    *("needed_window", "modes", "shared", "cpus_count", "in_use_cpus", "softirq_on_threads_cpus", "adapters_count"),
    "per_adapter_cpus",
}
#: Keys of JSON outputs that name the folder of the result, and what lies next to it.
NOT_COMPARED = frozenset({"experiment", "profile", "folder", "by_hand", "command", "page", "made_of", "verification"})
TYPES = {"text": pl.String, "bool": pl.Boolean, "u64": pl.UInt64, "u32": pl.UInt32, "i64": pl.Int64}


@dataclass(frozen=True)
class Opened:
    """A stored record in `results` of a folder, and what the commands print of it today."""

    kind: str
    folder: Path
    documents: dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Each kind of record once for all tests here."""
    kind, folder = str(request.param), tmp_path_factory.mktemp("golden")
    unpack(kind, folder)
    with contextlib.chdir(folder):
        return Opened(kind, folder, documents(kind))


@pytest.fixture
def kind(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stored record in `results` of the current folder."""
    monkeypatch.chdir(opened.folder)
    return opened.kind


def test_every_command_prints_the_same_document_but_for_its_texts(opened: Opened) -> None:
    assert list(differences(stored(opened.kind), opened.documents, added=ADDED)) == []


def test_every_command_opens_it_for_readers(kind: str) -> None:
    before = stored(kind)
    for command in before:
        printed = output(command, f"results/{kind}")
        assert (printed.status, bool(printed.text.strip())) == (before[command]["status"], True), command
    assert output("report", f"results/{kind}").status == before["show"]["status"]
    page = (Path("results") / kind / "report.html").read_text()
    assert headline(summarize(Experiment.open(Path("results") / kind))) in html.unescape(page).replace("\xa0", " ")


def test_an_anonymous_copy_shows_the_same_figures(kind: str, opened: Opened) -> None:
    copy = Path("results") / f"copy-{kind}"
    assert main(["export", f"results/{kind}", "--anonymize", "--out", str(copy)]) == 0
    of_copy = documents(copy.name)
    for command, printed in opened.documents.items():
        assert of_copy[command]["status"] == printed["status"], command
        assert comparable(of_copy[command]["document"]) == comparable(printed["document"]), command
    assert output("report", str(copy)).status == opened.documents["show"]["status"]
    assert (copy / "report.html").stat().st_size > 10_000


def comparable(value: Any) -> Any:
    """A printed document without what names the folder, hosts or processes."""
    match without_texts(value):
        case dict() as table:
            return {name: comparable(part) for name, part in table.items() if name not in NOT_COMPARED}
        case list() as parts:
            return [comparable(part) for part in parts]
        case str() as text:
            return re.sub(r"\b(process-\d+|mypy|python3?|rustc|claude|node|chromium)\b", "PROCESS", text)
        case other:
            return other


def test_a_new_record_has_the_columns_of_a_stored_one() -> None:
    """New tables and columns may come; none goes, changes its type, or begins to be null."""
    today = tables()
    for table, columns in json.loads(TABLES.read_text()).items():
        assert [column for column in today[table] if column in columns] == columns, table


def test_the_columns_of_its_tables_are_those_of_its_time(kind: str) -> None:
    of_its_time = json.loads(TABLES.read_text())
    files = sorted(Path("results", kind, "trials").glob("*/*.parquet"))
    assert files
    for file in files:
        # What repeats is stored once: text is a category there.
        found = [
            (name, pl.String if kept == pl.Categorical else kept) for name, kept in pl.read_parquet_schema(file).items()
        ]
        expected: list[tuple[str, object]] = [
            (name, TYPES[code]) for name, code, _ in of_its_time[file.name.split(".")[0]]
        ]
        assert [column for column in found if column[0] != "trial"] == expected, file
