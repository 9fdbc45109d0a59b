"""Records made by an earlier version: every command opens them, and prints the same figures."""

import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.records.golden import KINDS, TABLES, documents, output, stored, tables, unpack
from whyperf.analyze import summarize
from whyperf.record import Experiment
from whyperf.report.headline import headline

#: Figures are the same when they differ by no more than this share, which is what another order of sums makes.
SAME = 1e-9
#: Keys that documents got after the outputs were stored: of `explain --json` the data that its sentences are made from,
#: of `show --json` the single connections.
ADDED = {"code", "values", "change", "stretches", "predicted_basis", "streams"}
TYPES = {"text": pl.String, "bool": pl.Boolean, "u64": pl.UInt64, "u32": pl.UInt32, "i64": pl.Int64}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stored record in `results` of the current folder."""
    name = str(request.param)
    unpack(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return name


def differences(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """Where two documents differ in keys, types or figures."""
    if type(before) is not type(now):
        yield f"{where}: {before!r} → {now!r}"
    elif isinstance(before, Mapping):
        if changed := before.keys() - now.keys() | now.keys() - before.keys() - ADDED:
            yield f"{where}: keys {sorted(changed)}"
        for key in before.keys() & now.keys():
            yield from differences(before[key], now[key], f"{where}/{key}")
    elif isinstance(before, list):
        if len(before) != len(now):
            yield f"{where}: {len(before)} → {len(now)} values"
        for number, (old, new) in enumerate(zip(before, now, strict=False)):
            yield from differences(old, new, f"{where}/{number}")
    elif before != (pytest.approx(now, rel=SAME, abs=0) if isinstance(before, float) else now):
        yield f"{where}: {before!r} → {now!r}"


def test_every_command_prints_the_same_document_but_for_its_texts(kind: str) -> None:
    assert list(differences(stored(kind), documents(kind))) == []


def test_every_command_opens_it_for_readers(kind: str) -> None:
    before = stored(kind)
    for command in before:
        printed = output(command, f"results/{kind}")
        assert (printed.status, bool(printed.text.strip())) == (before[command]["status"], True), command
    assert output("report", f"results/{kind}").status == before["show"]["status"]
    page = (Path("results") / kind / "report.html").read_text()
    assert headline(summarize(Experiment.open(Path("results") / kind))) in html.unescape(page).replace("\xa0", " ")


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
