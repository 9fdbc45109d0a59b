"""What `show` and the report print of a fleet."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.fleet.fleet_records import PairOfHosts, write_fleet
from whyperf.analyze import Summary, summarize
from whyperf.analyze.fleet.result import Fleet
from whyperf.cli.output.cells_csv import print_csv
from whyperf.cli.output.fleet import fleet_lines, shared_text
from whyperf.record import Experiment
from whyperf.report.fleet import fleet_section
from whyperf.report.fleet.heat_colors import STEPS, fleet_styles, step_of

TRIAL = made.Trial(duration_s=0.6, warmup_s=0.2)


def fan_in(folder: Path, count: int, slow: int) -> Summary:
    pairs = [
        PairOfHosts(f"client-{number:02d}.example.org", "server.example.org", trial=TRIAL) for number in range(count)
    ]
    rates = [[4e8 if at == slow else 1e9 + 1e6 * at for at in range(count)]]
    return summarize(Experiment.open(write_fleet(folder, "fan-in", pairs, rates=rates)))


def fleet_of(summary: Summary) -> Fleet:
    fleet = summary.cells[0].fleet
    assert fleet is not None
    return fleet


def test_all_pairs_of_a_small_fleet_are_printed(tmp_path: Path) -> None:
    lines = list(fleet_lines(fleet_of(fan_in(tmp_path / "r", 6, 2))))
    assert max(map(len, lines)) <= 80
    assert "Slow host       client-02.example.org sends at 40 % of the rate of the others" in lines
    rows = [line for line in lines if " → " in line]
    assert len(rows) == 6
    assert rows[2].split()[0] == "3"
    assert "400 Mbit/s" in rows[2]


def test_a_stream_has_goodputs_although_its_script_counts_executions(tmp_path: Path) -> None:
    pairs = [PairOfHosts(f"client{number}", "server", trial=TRIAL) for number in range(3)]
    folder = write_fleet(tmp_path / "r", "fan-in", pairs)
    for home in (folder / "trials").iterdir():
        for number in range(3):
            end = "near" if number == 0 else f"near{number + 1}"
            flows = pl.read_parquet(home / f"intervals.{end}.parquet")
            rows = flows.select("connection", "phase", "start_mono_ns", "end_mono_ns").with_columns(
                pl.lit(end).alias("host"),
                pl.lit("stream").alias("transaction"),
                pl.lit(1000, pl.UInt64).alias("transactions_count"),
            )
            rows.write_parquet(home / f"transactions.{end}.parquet")
    summary = summarize(Experiment.open(folder))
    assert summary.cells[0].metric == "goodput"
    assert [pair.transactions_per_s.median for pair in fleet_of(summary).pairs] == [None] * 3
    lines = list(fleet_lines(fleet_of(summary)))
    assert not any("transactions" in line for line in lines)
    assert any(line.split()[:3] == ["#", "Pair", "Goodput"] for line in lines)


def test_a_cell_of_a_sweep_shows_how_its_fleet_shared_and_began(tmp_path: Path) -> None:
    fleet = fleet_of(fan_in(tmp_path / "r", 3, 1))
    window = fleet.window.model_copy(update={"skew_s": 1.2e-3, "skew_bound_s": 30e-6})
    assert fleet.fairness is not None
    shared = shared_text(fleet.model_copy(update={"window": window, "fairness": 0.9}))
    assert shared == "fairness 0.900 over pairs (Jain's index), first calls within 1.20 ms ± 30.0 µs"


def test_a_large_fleet_is_folded(tmp_path: Path) -> None:
    lines = list(fleet_lines(fleet_of(fan_in(tmp_path / "r", 20, 7))))
    assert max(map(len, lines)) <= 80
    numbers = [line.split()[0] for line in lines if " → " in line]
    # The slowest 5, then the fastest 2.
    assert numbers == ["8", "1", "2", "3", "4", "19", "20"]
    assert any("13 more" in line for line in lines)
    assert any(line.startswith("Quantiles") and "50 % 1.01 Gbit/s" in line for line in lines)


def test_csv_has_a_row_for_each_pair_behind_that_of_the_cell(tmp_path: Path) -> None:
    stream = io.StringIO()
    print_csv(fan_in(tmp_path / "r", 5, 1), stream)
    whole, *pairs = csv.DictReader(io.StringIO(stream.getvalue()))
    assert whole["pair"] == ""
    assert [row["pair"] for row in pairs] == ["1", "2", "3", "4", "5"]
    assert pairs[1]["near"] == "client-01.example.org"
    assert float(whole["goodput_bps_median"]) == pytest.approx(sum(float(row["goodput_bps_median"]) for row in pairs))


def test_a_fan_in_is_drawn_as_tiles_and_a_mesh_as_a_matrix(tmp_path: Path) -> None:
    summary = fan_in(tmp_path / "r", 5, 1)
    plan = Experiment.open(tmp_path / "r").plan
    section = fleet_section(plan, summary, [])
    assert section is not None
    (view,) = section.cells
    assert (len(view.tiles), view.rows, view.pairs_heading) == (5, (), "Senders of the fan-in")
    assert [spot.is_slow for spot in view.tiles] == [False, True, False, False, False]
    pairs = [PairOfHosts(near, far, trial=TRIAL) for near in "abc" for far in "abc" if near != far]
    mesh = summarize(Experiment.open(write_fleet(tmp_path / "m", "mesh", pairs)))
    section = fleet_section(Experiment.open(tmp_path / "m").plan, mesh, [])
    assert section is not None
    (view,) = section.cells
    assert not view.tiles
    # Rows and columns have the same order, and nobody sends to itself.
    assert list(view.columns) == [name for name, _ in view.rows] == ["a", "b", "c"]
    assert [[spot is None for spot in spots] for _, spots in view.rows] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]


def test_steps_of_the_colors() -> None:
    assert [step_of(value, 0.0, 8.0) for value in (0.0, 0.49, 4.0, 8.0)] == [0, 0, STEPS // 2, STEPS - 1]
    assert step_of(0.0, 0.0, 0.0) == STEPS - 1
    styles = fleet_styles()
    # Ink that can be read: white on the darkest step, black on the brightest.
    assert ".g0{--g:#440154;--g-ink:#fff}" in styles
    assert f".g{STEPS - 1}{{--g:#FDE724;--g-ink:#111}}" in styles
    assert ".r0{--r:#FDE724;--r-ink:#111}" in styles
