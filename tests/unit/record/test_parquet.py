"""What a table declares decides whether it is read."""

import random
from pathlib import Path

import polars as pl
import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan
from whyperf.record import Experiment, RecordError, parquet, read_table
from whyperf.record.parquet import bytes_in_memory
from whyperf.record.thrift import read_struct

ROWS = 1000


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "flows.near.parquet"
    numbers = pl.DataFrame({"count": range(ROWS)}, schema={"count": pl.UInt64})
    texts = [f"{number:04}" for number in range(ROWS)]
    numbers.with_columns(pl.Series("role", texts), is_final=pl.lit(value=True)).write_parquet(path)
    return path


def test_a_table_takes_what_its_rows_and_texts_do(table: Path) -> None:
    needed = bytes_in_memory(table)
    assert ROWS * (8 + 16 + 4) < needed < 2 * ROWS * (8 + 16 + 4)


def test_pages_of_texts_count_as_they_unfold(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    pl.DataFrame({"role": ["a" * (1 << 20)] * 3}).write_parquet(path, compression="zstd")
    assert path.stat().st_size < 10_000
    assert bytes_in_memory(path) > 1 << 20


@pytest.mark.parametrize("compression", ["snappy", "gzip", "brotli", "lz4"])
def test_only_the_compression_of_agents_is_read(table: Path, compression: str) -> None:
    pl.read_parquet(table).write_parquet(table, compression=compression)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="compressed or encoded as no agent does"):
        bytes_in_memory(table)


def test_tables_within_tables_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [[1, 2]]}).write_parquet(tmp_path / "nested.parquet")
    with pytest.raises(ValueError, match="columns that no agent writes"):
        bytes_in_memory(tmp_path / "nested.parquet")


def test_whatever_is_changed_it_is_read_or_refused(table: Path) -> None:
    whole = table.read_bytes()
    rng = random.Random(14)
    refused = 0
    for _ in range(2000):
        changed = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            # The footer is the last of it.
            changed[-rng.randint(1, 700)] = rng.randrange(256)
        table.write_bytes(changed[: rng.choice([len(changed)] * 9 + [rng.randrange(len(changed))])])
        try:
            bytes_in_memory(table)
        except (ValueError, OSError):
            refused += 1
    assert 0 < refused < 2000


def test_many_small_tables_have_a_bound_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = sample_plan()
    with Experiment.create(tmp_path / "sample", plan, PROFILE_TEXT) as experiment:
        for trial in plan.trials():
            record(experiment, trial.id)
        size = bytes_in_memory(next(experiment.folder.glob("trials/*/intervals.near.parquet")))
        monkeypatch.setattr(parquet, "MAX_RATIO", 0)
        monkeypatch.setattr(parquet, "FREE_BYTES", 3 * size)
        with pytest.raises(RecordError, match=r"the tables intervals in .* would take over"):
            read_table(experiment, "intervals")


@pytest.mark.parametrize("where", [0, 1 << 20, 1 << 62])
def test_columns_lie_inside_the_file(table: Path, where: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """polars panics where they do not."""
    monkeypatch.setattr(parquet, "_first_page", lambda _: where)
    with pytest.raises(ValueError, match="not where its footer says"):
        bytes_in_memory(table)


@pytest.mark.parametrize("kind", range(16))
def test_a_list_has_no_more_values_than_bytes(kind: int) -> None:
    """A count of 2^49 is ten bytes, and takes no time."""
    many = b"\xff" * 6 + b"\x7f"
    for start in (b"\x19", b"\x1a"):
        with pytest.raises((IndexError, ValueError)):
            read_struct(start + bytes([0xF0 | kind]) + many + b"\x01" * 40, 0)


def test_a_text_lies_inside_the_data() -> None:
    with pytest.raises(IndexError):
        read_struct(b"\x18\x05abc\0", 0)
    assert read_struct(b"\x18\x03abc\0", 0) == ({1: b"abc"}, 6)


def test_a_page_has_no_more_values_than_its_column(tmp_path: Path) -> None:
    """polars makes room for what a page says, and ends the process where there is none."""
    path = tmp_path / "flows.near.parquet"
    pl.DataFrame({"count": range(ROWS)}).write_parquet(path, compression="uncompressed", statistics=False)
    content = path.read_bytes()
    assert bytes_in_memory(path) > 0
    # Thrift's compact numbers: zigzag, then seven bits a byte.
    pages = content[: -8 - int.from_bytes(content[-8:-4], "little")]
    footer = content[len(pages) :]
    assert varint(2 * ROWS) in pages
    path.write_bytes(pages.replace(varint(2 * ROWS), varint(2 * ROWS + 2)) + footer)
    with pytest.raises(ValueError, match="numbers of values differ"):
        bytes_in_memory(path)


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])
