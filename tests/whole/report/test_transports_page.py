"""The pages of flows that come and go: table, course, comparison, and the published study."""

from pathlib import Path

import pytest

from tests.unit.analyze.transport_samples import trial, wan_transports, write
from tests.whole.report.test_page import checked, page, plain_text
from whyperf.analyze import Summary, summarize
from whyperf.record import Experiment
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


def test_cells_of_several_sweeps_have_names_of_their_own(summary: Summary) -> None:
    reno = [cell for cell in summary.cells if cell.factors["congestion_control"] == "reno"]
    of_sweeps = [cell.model_copy(update={"sweep": sweep}) for cell, sweep in zip(reno, ("near", "far"), strict=True)]
    named = scheduled_cells(of_sweeps)
    assert [cell.text for cell in named.cells] == ["reno, path RTT 10 ms", "reno, path RTT 180 ms"]
    assert len(named.settings) == 2


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
