"""The matrix of fairness between protocols, and the course of the congestion window."""

from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.transport_samples import write
from whyperf.analyze import summarize
from whyperf.record import Experiment
from whyperf.report.transports.cells import scheduled_cells
from whyperf.report.transports.section import fairness_matrix

ACTIVE = ((0.0, 6.0), (2.0, 8.0))


def meeting(control: str, competitor: str, rtt_ms: float, cell: str) -> made.Trial:
    return made.Trial(
        cell=cell,
        rate_bps=20e6,
        connections=2,
        duration_s=8.0,
        warmup_s=0,
        cooldown_s=0,
        active=ACTIVE,
        factors={
            "schedule": "mixed",
            "congestion_control": control,
            "competitor": competitor,
            "path_rtt_ms": rtt_ms,
            "path_rate_bps": 20_000_000,
        },
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trials = [
        meeting("reno", "cubic", 10.0, "c0001"),
        meeting("reno", "cubic", 180.0, "c0002"),
        meeting("fast", "reno", 10.0, "c0003"),
    ]
    return write(tmp_path_factory.mktemp("fair") / "fair", trials)


def test_each_pair_of_protocols_has_a_row_and_each_round_trip_columns(folder: Path) -> None:
    found = fairness_matrix(scheduled_cells(summarize(Experiment.open(folder)).cells))
    assert found is not None
    headings = [column.heading for column in found.table.columns]
    assert headings[:4] == ["Transport", "Competitor", "Share, 10 ms", "Share, 180 ms"]
    rows = [dict(zip(headings, (entry.text for entry in row), strict=True)) for row in found.table.rows]
    assert [(row["Transport"], row["Competitor"]) for row in rows] == [("reno", "cubic"), ("fast", "reno")]
    # Synthetic flows share alike.
    assert (rows[0]["Share, 10 ms"], rows[0]["F, 180 ms"]) == ("50 %", "1.00")
    assert rows[1]["Share, 180 ms"] == ""
