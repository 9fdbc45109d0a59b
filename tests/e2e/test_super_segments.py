"""What the large-send study says of segment sizes, seen by the counters on the testbed with segmentation offload."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import measure

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.usefixtures("ours")]

#: The most payload that fits into one super-segment at MTU 1500: 45 segments of 1448 bytes.
LARGEST_BYTES = 65_160


def averages(folder: Path, factor: str, levels: list[int], **fixed: Any) -> list[float]:
    """Average super-segment in bytes at each level: the median over three trials, in the order of `levels`."""
    record = measure(
        folder,
        trials=3,
        duration_s=0.3,
        warmup_s=0.1,
        cooldown_s=0.05,
        window_bytes=262_144,
        **{"write_size_bytes": LARGEST_BYTES, **fixed, factor: levels},
    )
    sent = (
        record.table("counters")
        .filter(role="sender", phase="measure")
        .group_by("trial", "cell")
        .agg(average=pl.col("data_out_bytes").sum() / pl.col("data_out_packets").sum())
        .group_by("cell")
        .agg(pl.col("average").median())
    )
    by_cell = dict(sent.iter_rows())
    cells = {int(cell.factors[factor]): cell.id for cell in record.experiment.plan.cells}
    return [by_cell[cells[level]] for level in levels]


def test_larger_writes_give_larger_ones(tmp_path: Path) -> None:
    small, middle, large = averages(tmp_path, "write_size_bytes", [1024, 8192, LARGEST_BYTES])
    assert small < middle < large
    assert large <= LARGEST_BYTES


def test_waiting_for_a_reply_gives_larger_ones_than_a_stream(tmp_path: Path) -> None:
    stream, replied = averages(tmp_path, "reply_size_bytes", [0, 64])
    assert replied > stream


def test_many_connections_give_smaller_ones(tmp_path: Path) -> None:
    single, many = averages(tmp_path, "connections", [1, 300])
    assert many < single
