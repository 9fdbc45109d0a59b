"""Tables that an agent sends, on a disk that is full: the one that does not fit is lost alone."""

import math
import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from whyperf.record import RecordError
from whyperf.run.agents.inbox import TablePiece
from whyperf.run.agents.received import MIN_BYTES_PER_S, Deadline, ReceivedTables
from whyperf.run.errors import RunError
from whyperf.watch.spool import TableSpool

LOGGED = {"evidence": "segments"}
MORE_THAN_A_BUFFER = b"x" * (1 << 20)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written next goes to a disk that is full."""

    def onto_full_disk(_descriptor: int) -> int:
        return os.open("/dev/full", os.O_WRONLY)

    monkeypatch.setattr("whyperf.watch.spool.os.dup", onto_full_disk)


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.usefixtures("full")
def test_a_table_without_room_is_lost_alone(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TableSpool(tmp_path) as spool:
        with ReceivedTables(spool, "near", LOGGED) as tables:
            tables.announce({"reply": "table", "name": "segments", "bytes": 2 * size})
            for _ in range(2):
                tables.take(TablePiece("segments", b"x" * size))
            tables.finish()
            monkeypatch.undo()
            tables.announce({"reply": "table", "name": "flows", "bytes": 4})
            tables.take(TablePiece("flows", b"PAR1"))
            with pytest.raises(Exception, match="flows that cannot be read: it is not a Parquet file, or not whole"):
                tables.finish()
        assert (spool.lost, list(spool.tables)) == (["segments"], ["flows"])
    assert list(tmp_path.iterdir()) == []


def test_another_error_of_the_disk_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.watch.spool.os.dup", lambda _: os.open("/dev/null", os.O_RDONLY))
    with TableSpool(tmp_path) as spool, pytest.raises(RecordError, match="bad file descriptor"):
        spool.open_table("segments", "near").write(MORE_THAN_A_BUFFER)


def test_a_table_is_refused_by_the_size_that_is_announced(tmp_path: Path) -> None:
    with TableSpool(tmp_path) as spool, ReceivedTables(spool, "far", {}) as tables:
        with pytest.raises(
            RunError, match=r"^far: the agent announced a table flows of 4,294,967,297 bytes; all its tables may have"
        ):
            tables.announce({"reply": "table", "name": "flows", "bytes": (4 << 30) + 1})
        assert not spool.tables


def test_the_tables_of_an_agent_have_one_bound_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.run.agents.received.MAX_TABLES_BYTES", 1)
    monkeypatch.setattr("whyperf.record.wrong_in_table", lambda *_: None)
    with TableSpool(tmp_path) as spool, ReceivedTables(spool, "far", {}) as tables:
        tables.announce({"reply": "table", "name": "flows", "bytes": 1})
        tables.take(TablePiece("flows", b"x"))
        with pytest.raises(RunError, match="announced a table cpu of 1 bytes; all its tables may have 1: measure for"):
            tables.announce({"reply": "table", "name": "cpu", "bytes": 1})


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"evidence": "segments"}, {"segments", "calls"}),
        ({"evidence": "counters", "profile_hz": 99, "stages": None}, {"stacks", "functions"}),
        ({"evidence": "user", "stages": {"every": 1}}, {"stages", "stage_gaps"}),
        ({}, set()),
    ],
)
def test_a_table_that_grows_with_the_traffic_is_refused_unless_it_was_asked_for(
    tmp_path: Path, asked: dict[str, object], names: set[str]
) -> None:
    for name in ("segments", "calls", "stacks", "functions", "stages", "stage_gaps", "flows"):
        with TableSpool(tmp_path) as spool, ReceivedTables(spool, "far", asked) as tables:
            with nullcontext() if name in {*names, "flows"} else pytest.raises(RunError, match="that nobody asked for"):
                tables.announce({"reply": "table", "name": name, "bytes": 1})
            assert len(spool.tables) == (name in {*names, "flows"})


def test_an_empty_piece_is_refused(tmp_path: Path) -> None:
    """It brings nothing, and would renew the time that the next reply may take."""
    with TableSpool(tmp_path) as spool, ReceivedTables(spool, "far", {}) as tables:
        tables.announce({"reply": "table", "name": "flows", "bytes": 4})
        with pytest.raises(RunError, match=r"^far: the agent sent an empty piece of the table flows"):
            tables.take(TablePiece("flows", b""))


def test_bytes_of_tables_alone_give_an_agent_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr("whyperf.run.agents.received.time", SimpleNamespace(monotonic=lambda: now_s))
    deadline = Deadline(slack_s=10)
    deadline.on_bytes(MIN_BYTES_PER_S)
    assert deadline.end_s() == math.inf
    deadline.expect(in_s=5)
    deadline.expect(in_s=7)
    assert deadline.end_s() == 15
    now_s = 14.0
    deadline.on_bytes(2 * MIN_BYTES_PER_S)
    assert deadline.end_s() == 17
    deadline.on_bytes(1 << 30)
    assert deadline.end_s() == 24
    # An end that nears again takes nothing from what bytes have given.
    now_s = 13.0
    deadline.on_bytes(1)
    assert deadline.end_s() == 24
