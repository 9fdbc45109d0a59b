"""The catalog: all tables are in it, all commands parse, and all profiles that they name exist."""

import csv
import shlex
from pathlib import Path

import pytest
import typer

from lab import app as laboratory
from whyperf.cli.app import app
from whyperf.profile import shipped_names, shipped_workload_names
from whyperf.report.studies import published
from whyperf.studies.catalog import (
    LABORATORY,
    Chosen,
    Published,
    Study,
    StudyEntry,
    StudyRun,
    UnknownStudyError,
    chosen,
    results_named,
    whole_catalog,
)
from whyperf.studies.documents import published_series
from whyperf.studies.series import Series

#: Tables of other publications than the five studies.
OTHER_TABLES = frozenset({"stack_overheads"})
#: Columns that name a row, or repeat another one of the study.
KEYS = frozenset(
    {
        "hosts", "window_bytes", "payload_bytes", "message_bytes", "function", "path_rtt_ms", "protocols",
        "write_bytes", "connections", "maxpsz_multiplier", "window_kb", "workload", "connections_per_client",
    }
)  # fmt: skip
#: Columns that no entry reads, with the reason.
UNREAD = {
    ("gbe_small_packets_nodelay", "mbps_deferred_ack_off"): "packets/s of the same column are compared",
    ("wan_transports", "throughput_sd"): "of several paths; ours is one",
    ("wan_transports", "stability_sd"): "of several paths; ours is one",
    ("uperf_transmit", "intr"): "compared with system time, which is above it in every row",
    ("uperf_function_cost", "run_a_percent"): "the ratio is of both runs",
    ("uperf_function_cost", "run_b_percent"): "the ratio is of both runs",
    ("lso_segments", "sample2"): "as the first sample",
    ("lso_segments", "sample3"): "as the first sample",
    ("lso_segments", "app_percent"): "given as values of the entries tx-lso-app and tx-lso-small-writes",
    ("lso_segments", "worker_percent"): "1 to 37 %; Linux has no such worker but TCP small queues",
    ("lso_segments", "interrupt_percent"): "given as values of the entry tx-lso-interrupt",
}

#: Rows that no series reads: their figures are values of entries.
UNREAD_ROWS = {
    "lso_segments": 2,  # waiting for a reply: tx-lso-reply
    "wan_transports": 1,  # FAST: wan-fast-rate
}
TABLES = sorted(Path(published.__file__).parent.glob("*.csv"))
CATALOG = whole_catalog()
ENTRIES = CATALOG.entries
COMMANDS = sorted(
    {run.command for run in CATALOG.runs.values()} | {entry.command for entry in ENTRIES if entry.command}
)

WHOLE: dict[str, object] = {
    "id": "x",
    "kind": "claim",
    "says": "More is more.",
    "ours": {"ours": {"run": "r", "y": "a"}},
    "check": [{"kind": "between", "at_most": 1}],
    "why": "w",
}


def test_every_column_of_every_table_is_covered() -> None:
    read = {(each.csv, each.y) for entry in ENTRIES for each in entry.study.values() if each.csv}
    tables = {
        path.stem: path for path in Path(published.__file__).parent.glob("*.csv") if path.stem not in OTHER_TABLES
    }
    columns = {(name, column) for name, path in tables.items() for column in _columns(path) if column not in KEYS}
    assert columns - read == set(UNREAD)


def test_every_row_of_every_table_is_covered() -> None:
    """By a series that reads it, or that names it as left out."""
    for path in TABLES:
        series = [each for entry in ENTRIES for each in entry.study.values() if each.csv == path.stem]
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        rows = [row for row in csv.DictReader(lines) if not any(_reads(each, row) for each in series)]
        expected = UNREAD_ROWS.get(path.stem, 0) if path.stem not in OTHER_TABLES else len(lines) - 1
        assert len(rows) == expected, (path.stem, rows)


def _reads(series: Published, row: dict[str, str]) -> bool:
    kept = all(row[key] == value for key, value in series.where.items())
    return kept and not any(row[key] == value for key, value in series.leave_out_where.items())


def _columns(path: Path) -> list[str]:
    return next(csv.reader(line for line in path.read_text().splitlines() if not line.startswith("#")))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_parses(command: str) -> None:
    arguments = [word[1:] if word.startswith("@") else word for word in shlex.split(command)]
    is_own = arguments[0] != LABORATORY
    group = typer.main.get_command(app if is_own else laboratory.app)
    arguments = arguments if is_own else arguments[1:]
    verb = group.commands[arguments[0]]  # type: ignore[attr-defined]
    verb.make_context(arguments[0], arguments[1:])


def test_every_profile_of_a_command_exists() -> None:
    shipped = {*shipped_names(), *shipped_workload_names()}
    called = map(shlex.split, COMMANDS)
    named = {arguments[0] for verb, *arguments in called if verb in {"run", "simulate"}}
    assert named <= shipped


def test_every_run_is_read_and_the_whole_takes_at_most_28_minutes() -> None:
    needed = CATALOG.needed()
    assert set(needed) == set(CATALOG.runs)
    assert sum(run.seconds for run in needed.values() if run.cpus <= 2) <= 28 * 60
    # Two runs of one command measure the same twice.
    assert len({run.command for run in needed.values()}) == len(needed)


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_criteria_name_series_that_are_there(entry: StudyEntry) -> None:
    series = {*entry.study, *entry.ours}
    for criterion in entry.check:
        values = criterion.model_dump()
        places = [values.get(name) for name in ("series", "of", "than", "top", "bottom", "than_top", "than_bottom")]
        # The place of multiples is a number.
        named = {place.partition("@")[0] for place in places if isinstance(place, str) and place}
        assert named <= series, criterion
    for source in entry.ours.values():
        assert source.document in CATALOG.runs[source.run].documents, source


def test_published_series_read_their_table() -> None:
    series = {(entry.id, name): published_series(name, each) for entry in ENTRIES for name, each in entry.study.items()}
    assert all(found.figures for found in series.values())
    throughput: Series = series["atm-throughput", "study"]
    assert len(throughput.figures) == 15
    assert throughput.at("sparc2+sba-100@2.2.6 32768").value == 26
    assert [figure.x for figure in series["wan-throughput", "study"].figures] == [10, 80, 180]


def test_studies_and_entries_are_chosen_by_name() -> None:
    assert [entry.id for entry in chosen(["atm-peaks"]).entries] == ["atm-peaks"]
    assert {entry.id.partition("-")[0] for entry in chosen(["adapters"]).entries} == {"ad"}
    assert len(chosen(["transmit", "atm-peaks"]).entries) == len(chosen(["transmit"]).entries) + 1
    assert set(chosen(["atm-peaks"]).needed()) == {"atm-throughput"}
    with pytest.raises(UnknownStudyError, match="did you mean atm-peaks"):
        chosen(["atm-peak"])


def test_a_command_brings_the_runs_whose_results_it_reads() -> None:
    runs = {
        "old": StudyRun(command="simulate demo", seconds=1),
        "both": StudyRun(command="compare @old:c0001 @old:c0002", seconds=1),
    }
    assert results_named(runs["both"].command) == ["old", "old"]
    entry = StudyEntry.model_validate(WHOLE | {"ours": {"ours": {"run": "both", "y": "a"}}})
    study = Study(name="s", title="", source="", entry=(entry,))
    part = Chosen(studies=(study,), runs=runs)
    assert list(part.needed()) == ["old", "both"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"why": ""}, "has ours, checks and why"),
        ({"check": []}, "has ours, checks and why"),
        ({"cannot": "no host", "needs": "a host"}, "neither ours nor checks"),
        ({"study": {"ours": {"values": {"1": 1}}}}, "names a series of the study and one of ours"),
        ({"id": "Has Space"}, "pattern"),
    ],
)
def test_an_entry_that_is_not_complete_is_refused(changed: dict[str, object], message: str) -> None:
    StudyEntry.model_validate(WHOLE)
    with pytest.raises(ValueError, match=message):
        StudyEntry.model_validate(WHOLE | changed)
