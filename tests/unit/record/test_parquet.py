"""What a table declares decides whether it is read."""

import random
from pathlib import Path

import polars as pl
import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan
from whyperf.record import Experiment, RecordError, parquet, read_table
from whyperf.record.parquet import bytes_in_memory

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
