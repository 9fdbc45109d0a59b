"""What `whyperf overhead` computes for TCP is what two hosts that cost nothing reach on the model."""

import csv
from pathlib import Path

import pytest

from whyperf.overhead import Window, link_named, overhead, protocol_named
from whyperf.overhead.protocols import Options

TABLE = Path(__file__).parents[3] / "crates/sim/tests/link_rates.csv"
ROWS = list(csv.DictReader(line for line in TABLE.read_text().splitlines() if not line.startswith("#")))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(list(row.values())[:-1]))
def test_rates_are_those_that_the_model_reaches(row: dict[str, str]) -> None:
    window_bytes = int(row["window_bytes"])
    latency_s = float(row["latency_us"]) * 1e-6
    window = Window(window_bytes, False, int(row["acknowledged_every"]), latency_s) if window_bytes else None
    without_options = Options(tcp_options_bytes=0)
    answer = overhead(
        link_named(row["link"]),
        protocol_named("tcp"),
        [int(row["message_bytes"])],
        options=without_options,
        window=window,
    )
    assert answer.points[0].user_bps == pytest.approx(float(row["user_bps"]), rel=1e-6)
