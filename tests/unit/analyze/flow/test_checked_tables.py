"""Tables of a trial that somebody else may exchange: the one that was checked is read."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from whyperf.analyze.flow import EndEvidence, FlowEnd, FlowTrial
from whyperf.analyze.stages.of_host import gaps_of
from whyperf.explain.gather.read import read_columns
from whyperf.record import RecordError, parquet


def test_what_takes_the_place_of_a_checked_table_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, forged = tmp_path / "tcp_info.near.parquet", tmp_path / "forged"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    pl.DataFrame({"a": [2]}).write_parquet(forged)
    check = parquet._checked

    def checked(file: Any) -> tuple[int, int]:
        found = check(file)
        forged.rename(path)
        return found

    monkeypatch.setattr(parquet, "_checked", checked)
    before = sorted(parquet.OWN_FILES.iterdir())
    ends = {"near": FlowEnd("near", "sender", 0, EndEvidence())}
    trial = FlowTrial(tmp_path, "001-c0001", "c0001", "complete", ends, 0, None)
    found = read_columns(trial, "tcp_info", "near", ["a"])
    assert found is not None
    assert found.rows() == [(1,)]
    assert pl.read_parquet(path).rows() == [(2,)]
    assert sorted(parquet.OWN_FILES.iterdir()) == before


def test_a_table_of_gaps_is_no_link(tmp_path: Path) -> None:
    pl.DataFrame({"reason": ["private"], "gaps_count": [1]}).write_parquet(tmp_path / "private")
    (tmp_path / "stage_gaps.near.parquet").symlink_to(tmp_path / "private")
    assert gaps_of(tmp_path, "far") == {}
    with pytest.raises(RecordError, match="it is a symbolic link"):
        gaps_of(tmp_path, "near")
