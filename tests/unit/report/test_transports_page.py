"""The pages of flows that come and go: table, course, comparison, and the published study."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.analyze.transport_samples import trial, wan_transports, write
from tests.unit.report.test_page import checked, page, plain_text
from whyperf.analyze import Summary, summarize
from whyperf.record import Experiment
from whyperf.report.table import cells_table
from whyperf.report.transports.cells import scheduled_cells
from whyperf.report.transports.study import study_of_transports
from whyperf.report.transports.table import transports_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("wan") / "wan", wan_transports(blocks=3))


@pytest.fixture(scope="module")
def summary(folder: Path) -> Summary:
    return summarize(Experiment.open(folder))


def test_the_page_has_the_course_the_comparison_and_the_study(folder: Path) -> None:
    text = page(folder)
    charts = ("goodput", "rtt", "dots-goodput", "dots-stability", "dots-fairness", "dots-rtt", "dots-cpu")
    assert {f"chart-transports-{name}" for name in charts} <= set(checked(text).ids)
    shown = plain_text(text)
    assert "regions of the schedule, with 1, 2, 3, 4, 3, 2, 1 flows." in shown
    assert "the smoothed ones of the senders." in shown
    assert "Cottrell et al." in shown


def test_a_single_cell_has_its_course_and_nothing_to_compare(tmp_path: Path) -> None:
    text = page(write(tmp_path / "one", [trial("reno", 10.0, "c0001")]))
    ids = set(checked(text).ids)
    assert "chart-transports-goodput" in ids
    assert "chart-transports-dots-goodput" not in ids


def test_the_table_has_a_row_a_cell(summary: Summary) -> None:
    table = transports_table(scheduled_cells(summary.cells)).table
    headings = [column.heading for column in table.columns]
    rows = [dict(zip(headings, (entry.text for entry in row), strict=True)) for row in table.rows]
    assert [row["Transport"] for row in rows] == ["reno", "reno", "cubic", "cubic", "fast", "fast"]
    # Equal flows on a flat course: 60 Mbit/s with the second block's 2 %, over 1 + 10 / 400.
    assert rows[0]["Goodput (Mbit/s)"] == "59.7"
    assert (rows[0]["S"], rows[0]["F"]) == ("0.000", "1.000")
    # 1448 of 1514 bytes are what the path can carry of 100 Mbit/s.
    assert rows[0]["Of ideal"] == f"{59.7 / (100 * 1448 / 1514) * 100:.0f} %"


def test_cells_are_reported_with_stability_fairness_and_round_trips(summary: Summary) -> None:
    headings = [column.heading for column in cells_table(summary).columns]
    assert {"S", "F", "RTT (ms)"} <= set(headings)


def test_cells_of_several_sweeps_have_names_of_their_own(summary: Summary) -> None:
    reno = [cell for cell in summary.cells if cell.factors["congestion_control"] == "reno"]
    of_sweeps = [cell.model_copy(update={"sweep": sweep}) for cell, sweep in zip(reno, ("near", "far"), strict=True)]
    named = scheduled_cells(of_sweeps)
    assert [cell.text for cell in named.cells] == ["reno, path RTT 10 ms", "reno, path RTT 180 ms"]
    assert len(named.settings) == 2


def test_cells_with_the_same_factors_are_named_by_their_sweeps(summary: Summary) -> None:
    named = scheduled_cells([summary.cells[0].model_copy(update={"sweep": sweep}) for sweep in ("before", "after")])
    assert [cell.text for cell in named.cells] == ["reno, sweep before", "reno, sweep after"]
    assert len(named.settings) == 2
    headings = [column.heading for column in transports_table(named).table.columns]
    assert headings[:2] == ["Transport", "Sweep"]


def test_the_study_averages_over_the_transports_it_names(summary: Summary) -> None:
    section = study_of_transports(scheduled_cells(summary.cells))
    assert section is not None
    rows = [[entry.text for entry in row] for row in section.tables[0].table.rows]
    # RTT, transports, share of the path in the study and here, and how many transports that is.
    shown = [(row[0], row[1], row[2], row[-1]) for row in rows]
    assert shown == [
        ("10", "all but FAST", "72 % ± 6.4 %", "2"),
        ("10", "FAST", "40 % ± 12 %", "1"),
        ("80", "all", "35 % ± 10 %", "0"),
        ("180", "all", "34 % ± 13 %", "3"),
    ]
    # (60 + 85) / 2 with 2 % more over 1.025, of 100 Mbit/s.
    assert rows[0][3].startswith("72 %")
    assert rows[1][3] == "80 %"


def test_other_round_trip_times_have_no_study(tmp_path: Path) -> None:
    found = summarize(Experiment.open(write(tmp_path / "other", [trial("reno", 33.0, "c0001")])))
    assert study_of_transports(scheduled_cells(found.cells)) is None


def test_what_an_emulated_path_drops_is_no_cause_for_concern(tmp_path: Path) -> None:
    on_a_path = replace(trial("reno", 10.0, "c0001"), retransmitted=20_000)
    without = replace(on_a_path, factors={**on_a_path.factors, "path_rtt_ms": "none", "path_rate_bps": "none"})
    codes = [
        {
            warning.code
            for cell in summarize(Experiment.open(write(tmp_path / name, [made]))).cells
            for warning in cell.warnings
        }
        for name, made in (("path", on_a_path), ("without", without))
    ]
    assert "retransmissions" not in codes[0]
    assert "retransmissions" in codes[1]
