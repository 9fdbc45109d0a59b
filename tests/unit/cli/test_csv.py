"""The cells as CSV."""

import csv
import io

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize_inputs
from whyperf.cli.output.cells_csv import print_csv


def rows_of(*trials: made.Trial) -> list[dict[str, str]]:
    stream = io.StringIO()
    print_csv(summarize_inputs(made.inputs(trials)), stream)
    return list(csv.DictReader(io.StringIO(stream.getvalue())))


def test_a_row_has_the_factors_and_figures_of_a_cell() -> None:
    rows = rows_of(*made.sweep([4096, 8192], [512, 8192], blocks=3))
    assert [(row["window_bytes"], row["write_size_bytes"]) for row in rows[:2]] == [("4096", "512"), ("4096", "8192")]
    assert {row["trials_count"] for row in rows} == {"3"}
    assert {row["no_delay"] for row in rows} == {"false"}
    assert all(float(row["goodput_bps_low"]) <= float(row["goodput_bps_median"]) for row in rows)
    assert all(0 < float(row["cpu_sender_load_threads_ratio"]) <= 1 for row in rows)


def test_varied_factors_come_first_and_what_is_not_known_is_empty() -> None:
    (row,) = rows_of(made.Trial())
    assert list(row)[:3] == ["cell", "sweep", "workload"]
    assert row["goodput_bps_low"] == row["rtt_idle_p50_ns"] == row["datagrams_lost_ratio"] == ""
    varied = rows_of(*made.sweep([4096, 8192], [512, 8192], blocks=1))[0]
    assert set(list(varied)[3:5]) == {"window_bytes", "write_size_bytes"}
