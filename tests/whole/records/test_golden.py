"""Records made by an earlier version: every command opens them, prints the same figures, and advises what can help."""

import contextlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.whole.records.golden import (
    COMMANDS,
    KINDS,
    TABLES,
    WHOLE,
    documents,
    main_figures,
    output,
    stored,
    stored_figures,
    tables,
    unpack,
    without_texts,
)
from whyperf.analyze import summarize
from whyperf.cli import main
from whyperf.explain.changes.commands import is_host_wide
from whyperf.explain.headline import MIN_GAIN
from whyperf.explain.setup import Setup
from whyperf.record import Experiment
from whyperf.report.headline import headline

#: Keys of JSON outputs that name the folder of the result, and what lies next to it.
NOT_COMPARED = frozenset({"experiment", "profile", "folder", "by_hand", "command", "page", "made_of"})
TYPES = {"text": pl.String, "bool": pl.Boolean, "u64": pl.UInt64, "u32": pl.UInt32, "i64": pl.Int64}


def differences(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """Where two documents differ in keys, types or figures."""
    if type(before) is not type(now):
        yield f"{where}: {before!r} → {now!r}"
    elif isinstance(before, Mapping):
        if changed := before.keys() - now.keys() | now.keys() - before.keys():
            yield f"{where}: keys {sorted(changed)}"
        for key in before.keys() & now.keys():
            yield from differences(before[key], now[key], f"{where}/{key}")
    elif isinstance(before, list):
        if len(before) != len(now):
            yield f"{where}: {len(before)} → {len(now)} values"
        for number, (old, new) in enumerate(zip(before, now, strict=False)):
            yield from differences(old, new, f"{where}/{number}")
    elif before != (pytest.approx(now, rel=1e-11, abs=0) if isinstance(before, float) else now):
        yield f"{where}: {before!r} → {now!r}"


#: Records that are opened in every way in `make test`; a page or a copy of each of the others takes two seconds.
FEW = ("agents", "datagrams", "model", "requests", "stream-segments")
EACH = [pytest.param(kind, marks=() if kind in FEW else pytest.mark.slow) for kind in KINDS]


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


def test_every_command_prints_the_same_figures(opened: Opened) -> None:
    assert main_figures(opened.kind, opened.documents) == stored_figures()[opened.kind]
    if opened.kind == WHOLE:
        assert list(differences(stored(), opened.documents)) == []


@pytest.mark.parametrize("opened", EACH, indirect=True)
def test_every_command_opens_it_for_readers(kind: str, opened: Opened, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        printed = output(command, f"results/{kind}")
        assert (printed.status, bool(printed.text.strip())) == (opened.documents[command]["status"], True), command
    capsys.readouterr()
    written = output("report", f"results/{kind}")
    assert written.status == opened.documents["show"]["status"]
    # Nobody is left to wonder why a report that was written exits with another code than 0.
    assert ("Some trial has no result" in capsys.readouterr().err) == (written.status != 0)
    page = (Path("results") / kind / "report.html").read_text()
    # What follows the rate is the answer, if there is one.
    rate = headline(summarize(Experiment.open(Path("results") / kind))).partition(". ")[0]
    assert rate in html.unescape(page).replace("\xa0", " ")


def test_a_printed_change_can_help(kind: str, opened: Opened) -> None:
    """None equals the plan, lowers a setting of its hosts, or gains nothing."""
    experiment = Experiment.open(Path("results") / kind)
    plan, hosts = experiment.plan, experiment.hosts()
    for cell in opened.documents["explain"]["document"]["cells"]:
        setup = Setup(plan.cell(cell["cell"]).factors, plan.testbed.kind, hosts)
        for verdict in cell["verdicts"]:
            change, gain = verdict["change"], verdict["predicted_gain"]
            if change is None:
                continue
            for name, level in change["factors"].items():
                assert not setup.has(name, level), (name, level)
            assert gain is None or gain >= MIN_GAIN or not (change["factors"] or change["command"])
            assert change["is_host_wide"] == is_host_wide(change["command"])
            assert lowered(change["command"], hosts.get(change["command_host"], {})) == []


def lowered(command: str, host: dict[str, Any]) -> list[str]:
    """The settings that a command would lower."""
    found = []
    for name, quoted, single in re.findall(r"([\w.]+)=(?:\"([\d ]+)\"|(\d+))", command):
        present = [int(word) for word in str(host.get("sysctls", {}).get(name, "")).split()]
        asked = [int(word) for word in (quoted or single).split()]
        if len(present) != len(asked) or any(then < now for now, then in zip(present, asked, strict=False)):
            found.append(name)
    return found


def test_a_lowered_setting_is_found() -> None:
    host = {"sysctls": {"net.ipv4.tcp_rmem": "4096 131072 33554432"}}
    assert lowered('sysctl -w net.ipv4.tcp_rmem="4096 131072 4194304"', host) == ["net.ipv4.tcp_rmem"]
    assert lowered('sysctl -w net.ipv4.tcp_rmem="4096 131072 67108864"', host) == []


@pytest.mark.parametrize("opened", EACH, indirect=True)
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
