"""Tables with rows that no agent writes: small ones would take any amount of memory when they are joined."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan
from whyperf.analyze.cost.samples import FUNCTIONS, STACKS
from whyperf.analyze.read.tables import TABLES
from whyperf.record import Experiment, keys, read_table, sum_by_host
from whyperf.record.keys import KEYS, MAX_FUNCTIONS_OF_STACK, wrong_in_rows
from whyperf.record.kinds import COLUMNS, wrong_in_table

PLAN = sample_plan()
TRIALS = sorted(trial.id for trial in PLAN.trials())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        for trial in TRIALS:
            record(experiment, trial)
    return tmp_path / "sample"


def put(folder: Path, table: str, rows: dict[str, object]) -> None:
    for trial in TRIALS:
        values = rows if trial == TRIALS[1] else {name: [value[0]] for name, value in rows.items()}  # type: ignore[index]
        pl.DataFrame(values).write_parquet(folder / "trials" / trial / f"{table}.near.parquet")


def test_all_tables_but_logs_have_a_key_of_their_columns() -> None:
    columns = json.loads(COLUMNS.read_text())
    assert columns.keys() - KEYS.keys() == {"segments", "calls", "stages", "stage_gaps"}
    assert all(set(key) <= columns[name].keys() for name, key in KEYS.items())


@pytest.mark.parametrize("columns", [None, ["payload_bytes"]])
@pytest.mark.parametrize("is_shrunk", [True, False])
def test_a_trial_with_a_repeated_row_is_damaged_and_the_others_are_read(
    folder: Path, columns: list[str] | None, is_shrunk: bool
) -> None:
    rows = {"host": ["near"] * 3, "interval": [0, 1, 1], "payload_bytes": [7] * 3}
    put(folder, "intervals", rows)
    shrink = (lambda frame: frame) if is_shrunk else None
    frame, damaged = read_table(Experiment.open(folder), "intervals", columns=columns, shrink=shrink)
    assert [*damaged] == [(TRIALS[1], "its table intervals has 2 rows of the same host, interval")]
    # A row of the near side and three of the far one, which is left where files are read one by one.
    assert frame.height == (len(TRIALS) - 1) * 4 + 3 * is_shrunk


def test_rows_of_one_side_are_not_in_the_file_of_another(folder: Path) -> None:
    """With many of them, the joined table would grow by the square of their number."""
    home = folder / "trials" / TRIALS[0]
    (home / "intervals.far.parquet").write_bytes((home / "intervals.near.parquet").read_bytes())
    _, damaged = read_table(Experiment.open(folder), "intervals", columns=["payload_bytes"])
    assert [trial for trial, _ in damaged] == [TRIALS[0]]


def test_a_stack_has_no_more_functions_than_the_kernel_gives_it(folder: Path) -> None:
    most = " ".join(["1"] * MAX_FUNCTIONS_OF_STACK)
    put(folder, "stacks", {"host": ["near"] * 2, "functions": [most, f"{most} 2"]})
    frame, damaged = read_table(Experiment.open(folder), "stacks")
    wrong = "has a stack of 4,192 functions, and a stack has at most 4,191"
    assert [*damaged] == [(TRIALS[1], f"its table stacks {wrong}")]
    assert frame.height == len(TRIALS) - 1
    file = folder / "trials" / TRIALS[1] / "stacks.near.parquet"
    assert wrong_in_rows(pl.scan_parquet(file), "stacks") == wrong


def test_the_functions_on_all_stacks_have_a_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial has fewer; the first ones are read."""
    monkeypatch.setattr(keys, "MAX_FUNCTIONS_OF_STACKS", 5)
    put(folder, "stacks", {"host": ["near"] * 2, "functions": ["1 2", "1"]})
    frame, damaged = read_table(Experiment.open(folder), "stacks")
    assert sorted(set(frame["trial"])) == TRIALS[:2]
    assert sorted(trial for trial, _ in damaged) == TRIALS[2:]
    assert wrong_in_rows(pl.LazyFrame({"functions": ["1 2 3", "1 2 3"]}), "stacks") == (
        "has 6 functions on its stacks, and may have 5"
    )


MANY = 50
MANY_ROWS = {"connection": [0] * MANY, "role": ["receiver"] * MANY, "payload_bytes": [7] * MANY}


@pytest.mark.parametrize("is_shrunk", [True, False])
@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"host": [f"h{place}" for place in range(MANY)]}, "rows of another host than near"),
        ({"role": [f"r{place}" for place in range(MANY)]}, "an unknown code word"),
        # Cast to the number of a connection, all would be 0.
        ({"connection": ["0" * (place + 1) for place in range(MANY)]}, "the column connection in another type"),
        ({"connection": [2**32 + place for place in range(MANY)]}, "50 rows of the same host, connection, role"),
    ],
)
def test_a_connection_has_no_rows_of_other_hosts_roles_or_types(
    folder: Path, changes: dict[str, object], wrong: str, is_shrunk: bool
) -> None:
    """Each row differs from the others, and yet there would be many of a connection: joins grow by their square."""
    put(folder, "flows", {"host": ["near"] * MANY, **MANY_ROWS, **changes})
    shrink = (lambda frame: frame) if is_shrunk else None
    frame, damaged = read_table(Experiment.open(folder), "flows", columns=["connection"], shrink=shrink)
    assert (TRIALS[1], f"its table flows has {wrong}") in damaged
    assert TRIALS[1] not in frame["trial"].to_list()


def test_a_table_of_an_agent_is_of_its_host_and_has_words_of_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "tls.parquet"
    schema = {"host": pl.String, "connection": pl.UInt32, "role": pl.Categorical, "version": pl.String}
    schema |= {"cipher": pl.String, "in_kernel": pl.Boolean, "requested_record_bytes": pl.UInt32}
    for host, role, wrong in (
        ("far2", "sender", None),
        ("far", "sender", "has the host 'far'"),
        ("far2", "sends\x1b", r"has the role 'sends\x1b'"),
        (None, None, None),
    ):
        rows = {**dict.fromkeys(schema), "host": host, "role": role}
        pl.DataFrame([rows], schema=schema).write_parquet(path)
        assert wrong_in_table(path, "tls", "far2") == wrong


def test_packs_and_sums_have_rows_of_their_own_host_alone(folder: Path) -> None:
    near = folder / "trials" / TRIALS[1] / "intervals.near.parquet"
    own = pl.read_parquet(near)
    pl.concat([own, own.with_columns(pl.lit("far").alias("host"))]).write_parquet(near)
    sums = sum_by_host(Experiment.open(folder), "intervals", TRIALS[1], lambda rows: rows.select("host"))
    assert sums is not None
    assert sorted(sums["host"]) == [*["far"] * 3, *["near"] * 3]
    pack = folder / "trials" / "pack-00001"
    pack.mkdir()
    flows = pl.DataFrame({"trial": TRIALS[:2], "host": ["near", "h1"], "connection": [0, 0], "role": ["sender"] * 2})
    flows.write_parquet(pack / "flows.near.parquet")
    frame, damaged = read_table(Experiment.open(folder), "flows", trials=TRIALS)
    assert frame["trial"].to_list() == TRIALS[:1]
    assert [*damaged] == [(TRIALS[1], "its table flows has rows of another host than near")]


def test_the_analysis_reads_columns_in_the_types_of_the_schema() -> None:
    columns = json.loads(COLUMNS.read_text())
    kinds = {"u32": pl.UInt32, "u64": pl.UInt64, "bool": pl.Boolean}
    for name, own in {**TABLES, "stacks": STACKS, "functions": FUNCTIONS}.items():
        for column in own.keys() - {"trial", "block", "cell"}:
            kind = columns[name][column]
            assert own[column] == kinds.get(kind if isinstance(kind, str) else "text", pl.String), (name, column)
