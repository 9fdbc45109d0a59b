"""Pages of workloads: transactions, latency in full, the study's table beside ours."""

from pathlib import Path

import pytest

from tests.unit.analyze.workload_samples import Exchange, latency_load, rr_ack, write
from tests.unit.report.test_page import checked, page, words
from whyperf.analyze import summarize
from whyperf.profile import shipped_names
from whyperf.record import Experiment
from whyperf.report.study import COMPARISONS, read, study_section


def test_a_sweep_of_exchanges_is_told_in_transactions(tmp_path: Path) -> None:
    text = page(write(tmp_path / "rr", rr_ack()))
    parser = checked(text)
    told = words(text)
    assert "Transactions reached" in told
    assert "Latency is of a closed loop" in told
    charts = ("goodput", "latency-p50_ns", "latency-p99_ns", "curves", "transaction-sender")
    assert {f"chart-sweep-main-{name}" for name in charts} <= set(parser.ids)


def test_an_open_loop_says_where_it_was_overloaded(tmp_path: Path) -> None:
    text = page(write(tmp_path / "load", latency_load()))
    assert "chart-sweep-main-latency" in checked(text).ids
    told = words(text)
    assert "The ends kept up to offered rate 64,000 transactions/s; 99 % took at most" in told
    assert "Latency counts from the instant at which a transaction was to begin." in told
    assert "In 2 of 9 cells. For example: 90,000 transactions/s ended where 128,000 were intended: the backlog" in told
    assert "the backlog grew by 38,000 a second" in told


def test_a_single_exchange_has_its_latency_in_full(tmp_path: Path) -> None:
    text = page(write(tmp_path / "single", [Exchange()]))
    assert {"chart-latency-curve", "chart-course-transactions"} <= set(checked(text).ids)
    assert "1,000 transactions/s between near and far" in words(text)


def test_the_studys_table_stands_beside_ours(tmp_path: Path) -> None:
    folder = write(tmp_path / "rr-ack", rr_ack(blocks=1), profile="rr-ack")
    told = words(page(folder))
    assert "Beside the study" in told
    assert "Understanding Gigabit Ethernet Performance on Sun Fire Systems" in told
    summary = summarize(Experiment.open(folder))
    section = study_section("rr-ack", summary, {})
    assert section is not None
    (table,) = section.tables
    first = [entry.text for entry in table.table.rows[0]]
    # 30,000 / 1.004 with its block's 1 %, times 0.97 where ACKs are quick; one way is half of its time.
    assert first == ["4", "6,972", "29,270", "6,978", "30,180", "17.1", "16.6"]


@pytest.mark.parametrize("profile", sorted(COMPARISONS))
def test_every_table_of_a_study_has_its_source_and_only_numbers_or_lists(profile: str) -> None:
    assert profile in shipped_names()
    for comparison in COMPARISONS[profile]:
        source, rows = read(comparison.file)
        assert source.startswith("Source: ")
        assert len(rows) >= 6
        # What a row compares with are levels of the profile.
        assert all(isinstance(level, bool | int) for row in rows for level in comparison.match(row).values())


def test_other_profiles_have_no_study(tmp_path: Path) -> None:
    summary = summarize(Experiment.open(write(tmp_path / "other", [Exchange()])))
    assert study_section("quick", summary, {}) is None
