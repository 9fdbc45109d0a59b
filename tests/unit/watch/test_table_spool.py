"""Tables that an agent sends, on a disk that is full: the one that does not fit is lost alone."""

import os
from pathlib import Path

import pytest

from whyperf.record import RecordError
from whyperf.run.agents.inbox import TablePiece
from whyperf.run.agents.received import ReceivedTables
from whyperf.run.errors import RunError
from whyperf.watch.spool import TableSpool

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
        with ReceivedTables(spool, "near") as tables:
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
    with TableSpool(tmp_path) as spool, ReceivedTables(spool, "far") as tables:
        with pytest.raises(
            RunError, match=r"^far: the agent announced a table flows of 4,294,967,297 bytes; it may have"
        ):
            tables.announce({"reply": "table", "name": "flows", "bytes": (4 << 30) + 1})
        assert not spool.tables
